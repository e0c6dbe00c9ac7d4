"""Queues: what can be taken next, in order and in memory, as long as nobody else writes."""

from bisect import insort
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry", bound=Any)

FIRST_LOOK = 8
LONGEST = 512


class Queue(Generic[Entry]):
    """The first entries of an order that lies in the database, or all of them.

    What it lacks comes after all it holds. Entries are not taken out when what they stand for
    changes: whoever walks along drops those that do not hold any more.
    """

    __slots__ = ("complete", "entries")

    def __init__(self, entries: Iterable[Entry], *, complete: bool) -> None:
        self.entries = list(entries)
        self.complete = complete

    def enter(self, entry: Entry) -> None:
        entries = self.entries
        if entries and entry < entries[-1]:
            insort(entries, entry)
        elif self.complete:
            entries.append(entry)
        else:
            return  # It may come after something that is not held here.
        if len(entries) > 2 * LONGEST:
            del entries[LONGEST:]
            self.complete = False
