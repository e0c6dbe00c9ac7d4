"""Shelf: a store as bare tables, for moving it to another engine row by row."""

import hashlib
from collections.abc import AsyncIterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

Row = Sequence[Any]
Tables = dict[str, tuple[str, ...]]
"""Their columns, in the order rows come in; both engines have the same tables and columns."""


class Sum(NamedTuple):
    """What a table holds, whatever the order of its rows."""

    rows: int = 0
    hash: int = 0

    def with_row(self, row: Row) -> "Sum":
        one = int.from_bytes(hashlib.sha256(repr(tuple(row)).encode()).digest()[:16], "big")
        return Sum(self.rows + 1, (self.hash + one) % (1 << 128))

    @property
    def short(self) -> str:
        return f"{self.hash:032x}"


class OpenShelf(Protocol):
    """In one transaction: a picture to read from, or all of what is filled in or nothing."""

    async def tables(self) -> Tables: ...
    def rows(self, table: str, columns: Sequence[str]) -> AsyncIterable[Row]: ...
    async def fill(self, table: str, columns: Sequence[str], rows: AsyncIterable[Row]) -> None: ...
    async def keep(self) -> None:
        """Commit what was filled in; without it nothing of it stays."""
        ...


class Shelf(Protocol):
    @property
    def shown(self) -> str: ...
    def open(self, *, filling: bool) -> AbstractAsyncContextManager[OpenShelf]: ...


async def sums(shelf: OpenShelf) -> dict[str, Sum]:
    """What each table holds."""
    found = {}
    for table, columns in (await shelf.tables()).items():
        total = Sum()
        async for row in shelf.rows(table, columns):
            total = total.with_row(row)
        found[table] = total
    return found
