"""Reads YAML files into values that know the line and column they were written at."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
)
from ruamel.yaml.reader import ReaderError

from core.errors import BadConfig

# A cloned repository may bring any file: what is read is bounded in bytes, values and depth.
MAX_BYTES = 256 * 1024
MAX_VALUES = 10_000
MAX_DEPTH = 32

Plain: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null"), None),
    **dict.fromkeys(("true", "on", "yes"), True),
    **dict.fromkeys(("false", "off", "no"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9][0-9_]{0,39}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_ENDLESS = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}
_HALF = re.compile("[\ud800-\udfff]")

_TAB = "a tab can't indent a line; use spaces"
_PLAIN_WORDS = (
    ("'\\t'", _TAB),
    ("tab character", _TAB),
    (
        "mapping values are not allowed",
        "this ':' can't stand here; check the indent, or put the text in quotes",
    ),
    ("could not find expected ':'", "a ':' after the key is missing"),
    ("while scanning a quoted scalar", "a closing quote is missing"),
    ("<stream end>", "the file ends before a bracket is closed"),
    ("expected <block end>", "the indent of this line fits no line above it"),
    ("'%'", "a text that begins with '%' needs quotes"),
    ("'@'", "a text that begins with '@' needs quotes"),
    ("'`'", "a text that begins with '`' needs quotes"),
)


class Node(NamedTuple):
    """A value with the place it came from: a file's position, a variable or an option."""

    at: str
    value: "Plain | dict[str, Node] | list[Node]"
    key_at: str = ""
    """Where its key stands, if it has one."""
    blank: bool = False
    """Nothing at all was written, not even null."""

    @property
    def children(self) -> "Mapping[str, Node]":
        """Its keys and their values; none unless it is a group."""
        return self.value if isinstance(self.value, dict) else {}


def plain(text: str) -> Plain:
    """What an unquoted text means: a number, on or off (true, yes, …), nothing, or itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text.replace("_", ""))
    if _NUMBER.fullmatch(text):
        return float(text)
    return float(_ENDLESS[text.lower()]) if text.lower() in _ENDLESS else text


def quoted(text: str) -> str:
    """A stranger's text for a sentence: short, and without power over a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


def shown(path: Path) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in str(path))


def whole_text(at: str, text: str) -> str:
    if _HALF.search(text):
        raise BadConfig(f"{at}: the text holds half a character (a lone surrogate); remove it")
    return text


def read_text(path: Path) -> str:
    """The file's text with plain line ends; never more than MAX_BYTES of it."""
    name = shown(path)
    if path.is_dir():
        raise BadConfig(f"{name}: this is a folder, and a file is needed; rename or remove it")
    if path.exists() and not path.is_file():
        raise BadConfig(f"{name}: this is not an ordinary file; replace it with one")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        why = (error.strerror or "unknown").lower()
        raise BadConfig(f"{name}: the file can't be read ({why}); check its rights") from error
    if len(content) > MAX_BYTES:
        raise BadConfig(f"{name}: the file is larger than {MAX_BYTES // 1024} KiB; shorten it")
    return _decoded(name, content)


def _decoded(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace")
        raise BadConfig(
            f"{name}:{_line_and_column(before)}: this is not text; save the file as UTF-8"
        ) from error
    return text.replace("\r\n", "\n")


def _line_and_column(before: str) -> str:
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def read_yaml(path: Path) -> Node:
    """The file's keys and values; an empty file has none."""
    return parse_yaml(read_text(path), shown(path))


def parse_yaml(text: str, name: str, *, lines_before: int = 0) -> Node:
    """The keys and values of a text, placed as lines of the file of this name."""
    try:
        root = _Builder(name, lines_before).build(YAML(typ="safe", pure=True).parse(text))
    except ReaderError as error:
        line, column = _line_and_column(text[: error.position]).split(":")
        at = f"{name}:{int(line) + lines_before}:{column}"
        raise BadConfig(f"{at}: a control character can't stand here; remove it") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"{name}:{mark.line + 1 + lines_before}:{mark.column + 1}"
        raise BadConfig(f"{at}: {_in_plain_words(error)}") from error
    except (YAMLError, ValueError) as error:
        raise BadConfig(f"{name}: this is not readable as YAML; check its form") from error
    if not isinstance(root.value, dict):
        raise BadConfig(f"{root.at}: the file should hold keys with values, like 'key: value'")
    return root


def _in_plain_words(error: MarkedYAMLError) -> str:
    said = f"{error.context or ''} {error.problem or ''}"
    for telling, words in _PLAIN_WORDS:
        if telling in said:
            return words
    problem = " ".join((error.problem or "something is missing").split())
    return f"this is not readable as YAML ({problem}); check brackets, quotes and indent"


class _Open(NamedTuple):
    """A mapping or list whose end has not been read; a mapping may wait for a key's value."""

    node: Node
    keys: list[tuple[str, str]]


class _Builder:
    """Builds from events, not by recursion: aliases, tags and depth are refused on the way."""

    def __init__(self, name: str, lines_before: int) -> None:
        self._name = name
        self._lines_before = lines_before
        self._open: list[_Open] = []
        self._root: Node | None = None
        self._values = 0

    def build(self, events: Iterator[Event]) -> Node:
        documents = 0
        for event in events:
            self._bound(event)
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse(event, "a second document begins here; keep one in a file")
            elif isinstance(event, ScalarEvent):
                self._scalar(event)
            elif isinstance(event, CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, CollectionEndEvent):
                self._open.pop()
        if self._root is None or self._root.blank:
            return Node(f"{self._name}:{1 + self._lines_before}:1", {})
        return self._root

    def _bound(self, event: Event) -> None:
        if isinstance(event, AliasEvent):
            self._refuse(
                event, "an alias (a word that begins with '*') can't be used; write the value out"
            )
        if getattr(event, "tag", None):
            self._refuse(event, "a tag (a word that begins with '!') can't be used; remove it")
        if len(self._open) > MAX_DEPTH:
            self._refuse(event, f"values are nested deeper than {MAX_DEPTH} levels; flatten them")
        self._values += 1
        if self._values > MAX_VALUES:
            self._refuse(event, f"the file holds more than {MAX_VALUES:,} values; shorten it")

    def _scalar(self, event: ScalarEvent) -> None:
        at = self._at(event)
        text = whole_text(at, event.value)
        if self._open and self._wants_key():
            self._key(event, text)
            return
        unquoted = event.style is None
        self._place(Node(at, plain(text) if unquoted else text, blank=unquoted and not text))

    def _begin(self, event: CollectionStartEvent) -> None:
        if self._open and self._wants_key():
            self._refuse(event, "a key should be a word, not a list or a group")
        keyed = isinstance(event, MappingStartEvent)
        node = self._place(Node(self._at(event), {} if keyed else []))
        self._open.append(_Open(node, []))

    def _wants_key(self) -> bool:
        return isinstance(self._open[-1].node.value, dict) and not self._open[-1].keys

    def _key(self, event: ScalarEvent, text: str) -> None:
        into = self._open[-1].node.value
        assert isinstance(into, dict)
        if text in into:
            first = into[text].key_at.rsplit(":", 2)[1]
            self._refuse(
                event, f"the key {quoted(text)} is already on line {first}; keep one of them"
            )
        self._open[-1].keys.append((text, self._at(event)))

    def _place(self, node: Node) -> Node:
        if not self._open:
            self._root = node
            return node
        into = self._open[-1].node.value
        if isinstance(into, dict):
            key, key_at = self._open[-1].keys.pop()
            node = node._replace(at=key_at if node.blank else node.at, key_at=key_at)
            into[key] = node
        elif isinstance(into, list):
            into.append(node)
        return node

    def _at(self, event: Event) -> str:
        mark = event.start_mark
        return f"{self._name}:{mark.line + 1 + self._lines_before}:{mark.column + 1}"

    def _refuse(self, event: Event, why: str) -> NoReturn:
        raise BadConfig(f"{self._at(event)}: {why}")
