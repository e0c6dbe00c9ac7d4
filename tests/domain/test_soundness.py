"""Soundness: what is wrong with a text that nobody has to understand it to see."""

import pytest

from core.domain.soundness import faults

GOOD = """\
- Read the electricity and water meters at 8:00 and photograph them.
- Count the boxes when they leave and again when they arrive.
- Hand over all keys to the landlord and let them sign for it."""


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "```python\nimport sys\n\nfor line in sys.stdin:\n    print(len(line.split()))\n```\n"
        "It prints the number of words of every line it reads.",
    ],
)
def test_a_sound_text_has_no_faults(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "too short"),
        ("Use public transportation.", "too short"),
        ("I'm sorry, but I can't help with that.", "instead of declining"),
        ("As an AI language model I have no access to your shop and its files.", "declining"),
        (f"{GOOD}\n- Count the boxes when they leave and again when they arrive.", "Say it once"),
        ("\n".join(f"- Verify that the new table has {n}." for n in "abcd"), "verify that the new"),
        (f"{GOOD}\nAnd then you have to take care of these:", "breaks off"),
        (f"{GOOD}\n```python\nprint(1)", "breaks off"),
        (
            "```python\ndef test_it():\n    # check everything that changed\n    pass\n```",
            "placeholder",
        ),
        (" ".join(f"word{number}" for number in range(300)), "too long"),
    ],
)
def test_a_fault_comes_with_what_to_do_about_it(text: str, word: str) -> None:
    assert any(word in fault for fault in faults(text))
