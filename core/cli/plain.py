"""Text of models, tasks and files for a terminal: hostile until it went through here."""

import re

from rich.markup import escape

_SEQUENCES = re.compile(
    "(?:\x1b\\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links, the clipboard
    "|(?:\x1b[P^_X]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\\\|\x9c)?"  # device strings
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor, screen
    "|\x1b[ -/]*[0-~]?"
)
# Also what turns the direction of writing: it shows another text than is there.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_HALF = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?")


def plain(text: str) -> str:
    """The letters of a text, its line ends and nothing that a terminal obeys.

    Rich still sees its own markup in it: print it with markup=False, as a rich.text.Text, or
    through `escaped`.
    """
    readable = _HALF.sub("\ufffd", _LINE_ENDS.sub("\n", text)).replace("\t", "    ")
    return _CONTROLS.sub("", _SEQUENCES.sub("", readable))


def one_line(text: str, width: int = 0) -> str:
    """The same in one line; with a width, cut to it and marked where it was cut."""
    line = " ".join(plain(text).split())
    return line if not width or len(line) <= width else f"{line[: max(width - 1, 0)].rstrip()}…"


def escaped(text: str) -> str:
    """Plain, and safe within rich's markup."""
    return escape(plain(text))
