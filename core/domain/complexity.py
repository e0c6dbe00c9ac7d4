"""Guess how hard a task is when the planner did not say."""

import re

from core.domain.task import Complexity

_WORDS = (
    (Complexity.COMPLEX, ("review", "audit", "verify", "analyze")),
    (Complexity.NORMAL, ("fix", "update", "change")),
    (Complexity.SIMPLE, ("list", "show", "get")),
)


def guess_complexity(text: str) -> Complexity:
    """Whole words decide, the strongest wins; a text without any is normal."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    for complexity, telling in _WORDS:
        if words.intersection(telling):
            return complexity
    return Complexity.NORMAL
