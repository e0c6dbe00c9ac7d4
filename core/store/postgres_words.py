"""Values and errors between Python and PostgreSQL, which keeps no character of number zero."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import errors

from core.errors import (
    StoreBusy,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreInterrupted,
    StoreReadOnly,
    UnstorableText,
)

_MARK = "\ue000"
"""Stands before what replaces a zero character, and before itself."""

_AGAIN = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
    errors.TooManyConnections,
    errors.DivisionByZero,  # a row that another step changed meanwhile
    errors.UniqueViolation,  # an id that another process gave at the same time
)
_REFUSED = (errors.ReadOnlySqlTransaction, errors.InsufficientPrivilege)


class Statement(NamedTuple):
    """One statement with a place for each of its values."""

    text: str
    values: Sequence[Any] = ()


def kept(values: Iterable[Any]) -> list[Any]:
    """As PostgreSQL keeps them."""
    return [
        _marked(one) if type(one) is str else int(one) if type(one) is bool else one
        for one in values
    ]


def _marked(text: str) -> str:
    if "\0" in text or _MARK in text:
        return text.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
    return text


def read(row: Sequence[Any]) -> Sequence[Any]:
    """As they were before they were kept."""
    if any(type(one) is str and _MARK in one for one in row):
        return [_unmarked(one) if type(one) is str else one for one in row]
    return row


def _unmarked(text: str) -> str:
    return text.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK)


def numbered(text: str) -> str:
    """With $1, $2, … in its places, as PREPARE wants them."""
    first, *rest = text.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))


def is_lost(error: BaseException) -> bool:
    """The connection is gone, and with it whatever was not committed."""
    return isinstance(error, psycopg.OperationalError) and (
        error.sqlstate is None or error.sqlstate[:2] == "08" or error.sqlstate in ("57P01", "57P02")
    )


def translated(error: BaseException, shown: str) -> BaseException:
    """What PostgreSQL said, as a sentence a person can act on; nothing of the step was kept."""
    if isinstance(error, UnicodeEncodeError):
        return UnstorableText()
    if not isinstance(error, psycopg.Error) or isinstance(error, StoreError):
        return error
    why = one_line(error)
    match error:
        case errors.QueryCanceled():
            return StoreBusy(shown, 0)
        case errors.DiskFull():
            return StoreFull(shown)
        case _ if isinstance(error, _REFUSED):
            return StoreReadOnly(shown)
        case _ if is_lost(error) or isinstance(error, _AGAIN):
            return StoreInterrupted(shown, why)
        case _:
            return StoreFailed(shown, why)


def one_line(error: psycopg.Error) -> str:
    """Its first line: what comes after it quotes values."""
    said = error.diag.message_primary or str(error)
    return next((line.strip() for line in said.splitlines() if line.strip()), "no reason given")
