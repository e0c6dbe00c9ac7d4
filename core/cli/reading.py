"""The text of a request: from words, a file, stdin and attached files, each checked."""

import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from core.cli.command import STDIN
from core.cli.plain import one_line
from core.domain.task import Task
from core.errors import EmptyRequest, SwarmError

MOST_BYTES = 16 * 1024 * 1024
"""No more is read of one source, so that an endless one ends; the board's limit is stricter."""


class BadInput(SwarmError):
    """Something given on the command line can't be used; the sentence says how to mend it."""


def request_text(
    words: Sequence[str], file: Path | None = None, attached: Sequence[Path] = ()
) -> str:
    """What is asked for, with the attached files below it."""
    if file is not None and words:
        raise BadInput("the request is given twice, as words and with -f; leave one of them out")
    if STDIN in words and len(words) > 1:
        raise BadInput("the request is given twice, as words and as -; leave one of them out")
    if file is not None:
        text = read_text(file)
    else:
        text = read_text(Path(STDIN)) if STDIN in words else " ".join(words)
    if not text.strip():
        raise EmptyRequest
    parts = [text.strip(), *(_attachment(path) for path in attached)]
    return "\n\n".join(parts)


def with_earlier(text: str, earlier: Task) -> str:
    """A follow-up that carries what was asked before and what came of it."""
    answer = earlier.result or "(there is no answer yet)"
    before = earlier.description or earlier.title
    return (
        f"{text}\n\n--- This follows an earlier request ---\n{before}\n\n"
        f"--- The answer to the earlier request ---\n{answer}"
    )


def read_text(path: Path) -> str:
    """A text file, or stdin; anything else is refused with a sentence."""
    name = _name(path)
    try:
        data = _bytes(path)
    except IsADirectoryError as error:
        raise BadInput(f"{name} is a folder; name a text file") from error
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {name}; check the name") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"{name} can't be read ({why}); check the file and its rights") from error
    if len(data) > MOST_BYTES:
        raise BadInput(f"{name} has more than {MOST_BYTES:,} bytes; give a part of it")
    if b"\0" in data:
        raise BadInput(f"{name} is a binary file; give text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not UTF-8 text; convert it first") from error


def _bytes(path: Path) -> bytes:
    if str(path) == STDIN:
        return _bounded(sys.stdin.buffer)
    if stat.S_ISDIR(path.stat().st_mode):
        raise IsADirectoryError
    with path.open("rb") as source:
        return _bounded(source)


def _bounded(source: BinaryIO) -> bytes:
    return source.read(MOST_BYTES + 1)


def _attachment(path: Path) -> str:
    text = read_text(path).strip("\n")
    name = "stdin" if str(path) == STDIN else one_line(path.name)
    return f"--- Attached file: {name} ---\n{text}\n--- End of {name} ---"


def _name(path: Path) -> str:
    return "stdin" if str(path) == STDIN else f"'{one_line(str(path))}'"
