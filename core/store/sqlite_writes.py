"""What is to be written with the next commit, collected and grouped by statement."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from core.domain.events import SCHEMA
from core.domain.message import Message
from core.domain.task import FIELDS, Task, TaskId
from core.errors import StoreFailed, UnstorableText
from core.store import rows


def insert(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def update(table: str, names: Sequence[str], where: str) -> str:
    return f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in names)} WHERE {where}"


NEW_EVENT = (
    f"INSERT INTO events (v, ts, type, task, request, data) VALUES ({SCHEMA}, ?, ?, ?, ?, ?)"
)
NEW_MAIL = insert("mail", rows.MAIL_COLUMNS)
MAIL_STATE = update("mail", rows.MAIL_STATE, "number = ? AND fence = ?")
DEPENDENCY = insert("dependencies", ("depends_on", "task"))
CRITIQUE = insert("critiques", ("task", "round", "late", "mail", "critique"))
FEEDBACK = insert("feedback", ("task", "feedback"))
ANSWER = insert("answers", ("task", "version", "hash", "partial", "ts", "text"))

Row = Sequence[Any]
TaskWrite = tuple[int, tuple[str, ...], str, Row]
"""The version a task is written over (0: it is new), its new fields, the statement, the row."""


class Shape(NamedTuple):
    """How to write one set of fields of a task."""

    text: str
    get: Callable[[dict[str, Any]], tuple[Any, ...]]
    encoded: tuple[tuple[int, Callable[[Any], Any]], ...]
    spoken: tuple[int, ...]
    """Where words from outside stand."""
    settles: bool


@lru_cache(maxsize=1024)
def _shape(names: tuple[str, ...], *, new: bool) -> Shape:
    settles = new or "status" in names or "reason" in names
    columns = (*names, "settled") if settles else names
    if new:
        text = insert("tasks", (*columns, "number"))
    else:
        text = update("tasks", columns, "number = ? AND version = ?")
    places = tuple(enumerate(names))
    encoded = tuple((index, rows.ENCODE[name]) for index, name in places if name in rows.ENCODE)
    spoken = tuple(index for index, name in places if name in rows.SPOKEN)
    # Of one name alone an itemgetter returns the bare value.
    get = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)
    return Shape(text, get, encoded, spoken, settles)


def task_write(task: Task, number: int, version: int, names: tuple[str, ...]) -> TaskWrite:
    """The row of a changed task; a text no database takes is refused before anything is written."""
    text, get, encoded, spoken, settles = _shape(names, new=not version)
    values = [*get(task.__dict__)]
    for index, encode in encoded:
        value = values[index]
        if value is not None:
            values[index] = encode(value)
    for index in spoken:
        value = values[index]
        if value is not None and not value.isascii():
            check_storable(value)
    if settles:
        values.append(1 if task.settled else 0)
    values.append(number)
    if version:
        values.append(version)
    return version, names, text, values


def check_storable(text: str) -> None:
    """Before anything is written, so that a step with a bad text fails alone."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnstorableText from error


class Writes:
    """Tasks and mail by their last state, each once; then rows by statement."""

    __slots__ = ("events", "mail", "rows", "tasks")

    def __init__(self) -> None:
        self.tasks: dict[TaskId, TaskWrite] = {}
        self.mail: dict[int, tuple[int | None, Message]] = {}
        """With the fence it is written over; None: it is new."""
        self.rows: defaultdict[str, list[Row]] = defaultdict(list)
        self.events: list[Row] = []

    def __bool__(self) -> bool:
        return bool(self.tasks or self.rows or self.mail)

    def prepared(
        self, task: Task, number: int, version: int, names: Iterable[str]
    ) -> tuple[TaskId, TaskWrite]:
        """A task written before in this commit is written once, over what stood there first."""
        earlier = self.tasks.get(task.id)
        if earlier is not None:
            version = earlier[0]
            both = {*earlier[1], *names}
            names = [name for name in FIELDS if name in both]
        columns = tuple(names) if version else rows.new_columns(task)
        return task.id, task_write(task, number, version, columns)

    def add_mail(self, mail: Message, fence: int | None) -> None:
        earlier = self.mail.get(mail.number)
        self.mail[mail.number] = (fence if earlier is None else earlier[0], mail)

    def flush(self, connection: sqlite3.Connection, path: str) -> None:
        groups: defaultdict[str, list[Row]] = defaultdict(list)
        for _, _, text, row in self.tasks.values():
            groups[text].append(row)
        for fence, mail in self.mail.values():
            if fence is None:
                groups[NEW_MAIL].append(rows.mail_inserted(mail))
            else:
                groups[MAIL_STATE].append((*rows.mail_state(mail), mail.number, fence))
        groups.update(self.rows)
        self.tasks, self.mail, self.rows = {}, {}, defaultdict(list)
        for text, group in groups.items():
            if connection.executemany(text, group).rowcount != len(group):
                raise StoreFailed(path, "a row changed behind a step's back")

    def tell(self, connection: sqlite3.Connection) -> None:
        """The events, last of all: their numbers follow the order of the steps."""
        connection.executemany(NEW_EVENT, self.events)
