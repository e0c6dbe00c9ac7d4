"""Bell: wakes who waits in this process, once something they could do is committed."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import anyio

EVENTS = "events"
"""Rung by a store whenever new events are kept."""

REMEMBERED_TOPICS = 10_000


class Bell:
    """Rings carry no news: whoever wakes looks at the board."""

    def __init__(self) -> None:
        self.count = 0
        self._last: dict[str, int] = {}
        self._forgotten = 0
        self._waiting: defaultdict[str, set[Callable[[], object]]] = defaultdict(set)
        self.watches: defaultdict[str, list[Callable[[], object]]] = defaultdict(list)

    def ring(self, topics: Iterable[str]) -> None:
        last, waiting = self._last, self._waiting
        for topic in topics:
            self.count += 1
            last[topic] = self.count
            if topic in waiting:
                for wake in waiting.pop(topic):
                    wake()
            if topic in self.watches:
                for act in tuple(self.watches[topic]):
                    act()
        if len(self._last) > REMEMBERED_TOPICS:
            # Most topics are of one claim and never rung again. Who last listened before this
            # wakes once for nothing; no ring is missed.
            self._forgotten = self.count
            self._last.clear()

    def listen(self, *topics: str) -> "Ear":
        """Listen from now on; look at the board after this and before waiting."""
        return Ear(self, topics)

    def watch(self, acts: Mapping[str, Callable[[], object]]) -> "Watch":
        """Inside this, call these at every ring of their topics."""
        return Watch(self, acts)

    def rang_since(self, mark: int, topics: Iterable[str]) -> bool:
        if mark == self.count:
            return False
        if mark < self._forgotten:
            return True
        last = self._last
        return any(last[one] > mark for one in topics if one in last)

    def enter(self, topics: Iterable[str], wake: Callable[[], object]) -> None:
        """Call this once, at the next ring."""
        for topic in topics:
            self._waiting[topic].add(wake)

    def leave(self, topics: Iterable[str], wake: Callable[[], object]) -> None:
        for topic in topics:
            if topic in self._waiting:
                self._waiting[topic].discard(wake)
                if not self._waiting[topic]:
                    del self._waiting[topic]


class Watch:
    """Calls at every ring, for as long as one is in it."""

    __slots__ = ("_acts", "_watches")

    def __init__(self, bell: Bell, acts: Mapping[str, Callable[[], object]]) -> None:
        self._watches = bell.watches
        self._acts = acts

    def __enter__(self) -> None:
        for topic, act in self._acts.items():
            self._watches[topic].append(act)

    def __exit__(self, *error: object) -> None:
        for topic, act in self._acts.items():
            self._watches[topic].remove(act)
            if not self._watches[topic]:
                del self._watches[topic]


class Ear:
    """One listener; hears every ring since it began to listen or last woke."""

    def __init__(self, bell: Bell, topics: tuple[str, ...]) -> None:
        self._bell = bell
        self._topics = topics
        self._mark = bell.count

    def rang(self) -> bool:
        """Whether it rang since this was last asked; whoever acts on it looks until all is done."""
        rang = self._bell.rang_since(self._mark, self._topics)
        self._mark = self._bell.count
        return rang

    async def wait(self, poll_seconds: float) -> bool:
        """Until a ring, or until it is time to look anyway; True when it rang."""
        if not self._bell.rang_since(self._mark, self._topics):
            event = anyio.Event()
            self._bell.enter(self._topics, event.set)
            try:
                with anyio.move_on_after(poll_seconds):
                    await event.wait()
            finally:
                self._bell.leave(self._topics, event.set)
        return self.rang()
