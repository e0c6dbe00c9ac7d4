"""Soundness: what is wrong with a text that nobody has to understand it to see."""

import re
from collections import Counter

FEWEST_WORDS, MOST_WORDS = 12, 180
SAME_BEGINNING_WORDS, MOST_SAME_BEGINNINGS = 4, 2

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_REFUSES = re.compile(
    r"\A\W*(i(’|')?m sorry|sorry|i can(’|')?t|i can ?not|i(’|')?m (not able|unable)|as an ai\b|"
    r"i do(n(’|')t| not) have (access|the ability))",
    re.IGNORECASE,
)
_STUB = re.compile(
    r"\b(TODO|FIXME|lorem ipsum)\b|^\s*(pass|\.\.\.)\s*$|your code here", re.IGNORECASE | re.M
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_SIGNS = re.compile(r"[^\w\s]")


def faults(text: str) -> list[str]:
    """Each as a suggestion that says what to do about it."""
    prose, words = _FENCED.sub(" ", text), text.split()
    if _REFUSES.match(text):
        return ["Write the part itself instead of declining it"]
    found = []
    if len(words) < FEWEST_WORDS:
        found.append("It is too short: say what to do, step by step, with names or figures")
    if len(words) > MOST_WORDS:
        found.append("It is too long: keep the most useful half")
    if repeated := _said_twice(prose):
        found.append(f"Say it once: '{repeated}'")
    if beginning := _same_beginning(prose):
        found.append(f"Too many sentences begin with '{beginning}': say something else in each")
    if _STUB.search(text):
        found.append("Write out what is only a placeholder")
    if text.rstrip().endswith((":", ",")) or text.count("```") % 2:
        found.append("It breaks off: bring it to its end")
    return found


def sentences(text: str) -> list[str]:
    """Of prose and lists, without the signs around them."""
    parts = (part.strip(" -*#>\t") for part in _SENTENCE_END.split(text))
    return [part for part in parts if part]


def same(sentence: str) -> str:
    """What two sentences share that say the same in the same words."""
    return " ".join(_SIGNS.sub("", sentence.lower()).split())


def _said_twice(prose: str) -> str:
    seen = set()
    for sentence in sentences(prose):
        key = same(sentence)
        if len(key.split()) >= SAME_BEGINNING_WORDS and key in seen:
            return sentence[:80]
        seen.add(key)
    return ""


def _same_beginning(prose: str) -> str:
    """A small model in a loop changes the ends of its sentences, not their beginnings."""
    beginnings = Counter(
        " ".join(same(one).split()[:SAME_BEGINNING_WORDS])
        for one in sentences(prose)
        if len(one.split()) > SAME_BEGINNING_WORDS
    )
    most = beginnings.most_common(1)
    return most[0][0] if most and most[0][1] > MOST_SAME_BEGINNINGS else ""
