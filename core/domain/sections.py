"""Sections: several results as one text, for models that can't merge them without loss."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.domain.soundness import same
from core.domain.task import Task

LONG_WORDS = 4
"""A shorter line may stand in several sections and still say something else in each."""
MOST_REPEATED = 0.7
"""Of the lines of a block of code; with more it is the one before once again."""

_FENCED = re.compile(r"(^[ \t]*```.*?(?:^[ \t]*```[^\n]*|\Z))", re.DOTALL | re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")
_HEADING = re.compile(r"\A\s*(#+\s+|\*\*)?(?P<title>[^\n]+?)(\*\*)?:?\s*\n", re.MULTILINE)


class _Said(NamedTuple):
    """Lines of the sections before, as they are compared."""

    prose: set[str]
    code: set[str]


def in_sections(parts: Sequence[Task]) -> str:
    """Each under its title, in the order of the plan; what was said before is left out."""
    said = _Said(set(), set())
    sections = []
    for part in parts:
        text = _without_heading((part.result or "").strip(), part.title)
        if new := _only_new(text, said):
            sections.append(f"## {part.title}\n\n{new}")
    return "\n\n".join(sections)


def _without_heading(text: str, title: str) -> str:
    found = _HEADING.match(text)
    return text[found.end() :].lstrip() if found and same(found["title"]) == same(title) else text


def _only_new(text: str, said: _Said) -> str:
    kept = []
    for number, piece in enumerate(_FENCED.split(text)):
        is_code = number % 2 == 1
        new = _only_new_code(piece, said.code) if is_code else _only_new_lines(piece, said.prose)
        kept.append(new)
    return "\n\n".join(piece.strip("\n") for piece in kept if piece.strip())


def _only_new_lines(prose: str, said: set[str]) -> str:
    before = frozenset(said)
    said |= _keys(prose)
    lines = (line for line in prose.splitlines() if same(line) not in before)
    return _GAPS.sub("\n\n", "\n".join(lines))


def _only_new_code(code: str, said: set[str]) -> str:
    """Whole or not at all: a line of code may have to come twice, a block may not."""
    keys = _keys(code)
    repeated = len(keys & said) > len(keys) * MOST_REPEATED
    said |= keys
    return "" if repeated else code


def _keys(text: str) -> set[str]:
    found = (same(line) for line in text.splitlines())
    return {key for key in found if len(key.split()) >= LONG_WORDS}
