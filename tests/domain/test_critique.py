"""What counts as a readable opinion of an advisor."""

import pytest

from core.domain.critique import Opinion, advice


@pytest.mark.parametrize("suggestions", [(), ("", "  "), ("\n",)])
def test_a_rejection_that_names_nothing_to_mend_is_unreadable(suggestions: tuple[str, ...]) -> None:
    assert advice(passed=False, suggestions=suggestions).opinion is Opinion.UNREADABLE


def test_a_rejection_keeps_what_it_names() -> None:
    said = advice(passed=False, suggestions=["name the source", " shorten it "], comment="close")

    assert said.opinion is Opinion.REJECTED
    assert said.suggestions == ("name the source", "shorten it")
    assert said.comment == "close"


def test_more_than_three_suggestions_are_cut_to_the_first_three() -> None:
    said = advice(passed=False, suggestions=["one", "", "two", "three", "four"])

    assert said.suggestions == ("one", "two", "three")


def test_as_many_suggestions_are_kept_as_the_limit_says() -> None:
    assert advice(passed=False, suggestions=["one", "two"], limit=1).suggestions == ("one",)


@pytest.mark.parametrize("suggestions", [(), ("a nicety",)])
def test_a_pass_stays_a_pass_and_asks_for_nothing(suggestions: tuple[str, ...]) -> None:
    said = advice(passed=True, suggestions=suggestions, comment="good")

    assert (said.opinion, said.suggestions, said.comment) == (Opinion.PASSED, (), "good")
