"""Ids are short, typeable and drawn at random."""

from random import Random

import pytest

from core.domain.task import CROCKFORD, random_id


def test_the_alphabet_has_no_letters_that_look_like_digits() -> None:
    assert len(set(CROCKFORD)) == 32
    assert not set(CROCKFORD) & set("ilou")
    assert CROCKFORD.lower() == CROCKFORD


@pytest.mark.parametrize("length", [4, 5, 6])
def test_an_id_has_the_length_asked_for_and_only_letters_of_the_alphabet(length: int) -> None:
    drawn = random_id(Random(1), length)

    assert len(drawn) == length
    assert set(drawn) <= set(CROCKFORD)


def test_the_same_chance_draws_the_same_id_and_another_another() -> None:
    assert random_id(Random(1), 6) == random_id(Random(1), 6)
    assert random_id(Random(1), 6) != random_id(Random(2), 6)


def test_every_letter_is_drawn() -> None:
    chance = Random(3)

    drawn = {letter for _ in range(400) for letter in random_id(chance, 6)}

    assert drawn == set(CROCKFORD)
