"""Sections: several results as one text, for models that can't merge them without loss."""

import re
from collections.abc import Sequence

from core.domain.soundness import same
from core.domain.task import Task

LONG_WORDS = 4
"""A shorter line may stand in several sections and still say something else in each."""

_HEADING = re.compile(r"\A\s*(#+\s+|\*\*)?(?P<title>[^\n]+?)(\*\*)?:?\s*\n", re.MULTILINE)


def in_sections(parts: Sequence[Task]) -> str:
    """Each under its title, in the order of the plan; a line that was said before is left out."""
    said: set[str] = set()
    sections = []
    for part in parts:
        text = _without_heading((part.result or "").strip(), part.title)
        if new := _only_new_lines(text, said):
            sections.append(f"## {part.title}\n\n{new}")
    return "\n\n".join(sections)


def _without_heading(text: str, title: str) -> str:
    found = _HEADING.match(text)
    return text[found.end() :].lstrip() if found and same(found["title"]) == same(title) else text


def _only_new_lines(text: str, said: set[str]) -> str:
    """Code is left as it is: there a line may have to come twice."""
    kept, fenced = [], False
    for line in text.splitlines():
        key = same(line)
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and len(key.split()) >= LONG_WORDS:
            if key in said:
                continue
            said.add(key)
        kept.append(line)
    return "\n".join(kept).strip()
