"""How hard a task is guessed to be when the planner did not say."""

import pytest

from core.domain.complexity import guess_complexity
from core.domain.task import Complexity


@pytest.mark.parametrize(
    ("complexity", "words"),
    [
        (Complexity.COMPLEX, ("review", "audit", "verify", "analyze")),
        (Complexity.NORMAL, ("fix", "update", "change")),
        (Complexity.SIMPLE, ("list", "show", "get")),
    ],
)
def test_each_telling_word_decides(complexity: Complexity, words: tuple[str, ...]) -> None:
    assert {guess_complexity(f"please {word} this") for word in words} == {complexity}


@pytest.mark.parametrize(
    "text", ["a budget widget", "the playlist", "prefixed", "together", "a showcase", "unchanged"]
)
def test_only_whole_words_decide(text: str) -> None:
    assert guess_complexity(f"{text} and get the list") is Complexity.SIMPLE
    assert guess_complexity(text) is Complexity.NORMAL


@pytest.mark.parametrize(
    ("text", "complexity"),
    [
        ("list the changes, then audit them", Complexity.COMPLEX),
        ("show and fix", Complexity.NORMAL),
        ("get, update, verify", Complexity.COMPLEX),
    ],
)
def test_the_strongest_word_wins(text: str, complexity: Complexity) -> None:
    assert guess_complexity(text) is complexity


@pytest.mark.parametrize("text", ["", "write a poem", "42"])
def test_a_text_without_a_telling_word_is_normal(text: str) -> None:
    assert guess_complexity(text) is Complexity.NORMAL


@pytest.mark.parametrize("text", ["LIST it", "List: it", "(list)", "one\nlist\ntwo", "list."])
def test_case_and_punctuation_do_not_matter(text: str) -> None:
    assert guess_complexity(text) is Complexity.SIMPLE
