"""What small models are shown: they follow an example better than a rule."""

from typing import NamedTuple

from core.llm.small_replies import Form


class Planned(NamedTuple):
    request: str
    parts: tuple[tuple[str, Form], ...]


class Written(NamedTuple):
    request: str
    part: str
    others: str
    reply: str


class Judged(NamedTuple):
    part: str
    text: str
    fixes: tuple[str, ...]
    """None of them: it passed."""


PLANS = (
    Planned(
        "Write a checklist for moving to a new office",
        (
            ("Four weeks before: contracts and notices", Form.LIST),
            ("Packing: boxes, screens and cables", Form.LIST),
            ("Moving day: meters, keys and doors", Form.LIST),
            ("First week: network, desks and signs", Form.LIST),
        ),
    ),
    Planned(
        "Write a Python function that parses dates, with tests",
        (
            ("The function parse_date", Form.CODE),
            ("Tests for valid and invalid dates", Form.CODE),
            ("How to call it, with two examples", Form.TEXT),
        ),
    ),
    Planned(
        "Write a checklist for a slow SQL query",
        (
            ("Measure: slow query log and timings", Form.LIST),
            ("Read the query plan", Form.LIST),
            ("Indexes to add or drop", Form.LIST),
            ("Rewriting the query", Form.LIST),
        ),
    ),
    Planned(
        "Explain how to put a small program into a container",
        (
            ("What a container image is", Form.TEXT),
            ("The Dockerfile, line by line", Form.CODE),
            ("Commands to build and run it", Form.CODE),
            ("Common mistakes and their cure", Form.LIST),
        ),
    ),
)

WRITTEN = {
    Form.LIST: Written(
        "Write a checklist for moving to a new office",
        "Moving day: meters, keys and doors",
        "Four weeks before: contracts and notices; Packing: boxes, screens and cables",
        '{"points": ["Read the electricity and water meters at 8:00 and photograph them.", '
        '"Count the boxes when they leave and again when they arrive.", '
        '"Photograph each empty room before you hand over the keys.", '
        '"Hand over all keys to the landlord and let them sign for it.", '
        '"Plug in the router first and test it with one laptop."]}',
    ),
    Form.CODE: Written(
        "Write a Python function that parses dates, with tests",
        "The function parse_date",
        "Tests for valid and invalid dates; How to call it, with two examples",
        "```python\nfrom datetime import date\n\n\ndef parse_date(text: str) -> date:\n"
        '    """A date like 2026-01-31; ValueError for anything else."""\n'
        "    return date.fromisoformat(text.strip())\n```\n"
        "It takes only the ISO form, so no date can be read in two ways.",
    ),
    Form.TEXT: Written(
        "Explain how to put a small program into a container",
        "What a container image is",
        "The Dockerfile, line by line; Commands to build and run it",
        "An image is a read-only package of your program with everything it needs: files, "
        "libraries and the command to start. A container is one running copy of it. Because the "
        "image carries its own libraries, it starts the same way on your laptop and on a server.",
    ),
}

JUDGED = (
    Judged(
        "The function parse_date",
        "It takes only the ISO form, so no date can be read in two ways: "
        "`date.fromisoformat(text.strip())` raises ValueError for the rest.",
        (),
    ),
    Judged(
        "Measure: slow query log and timings",
        "- Measure the query.\n- Measuring is important.\n- Look at the results carefully.",
        (
            "Name the setting that turns the slow query log on",
            "Say which figure to note before and after the change",
        ),
    ),
    Judged(
        "Moving day: meters, keys and doors",
        "- Read the electricity and water meters and photograph them.\n"
        "- Count the boxes when they leave and when they arrive.\n"
        "- Hand over all keys and let the landlord sign for them.",
        (),
    ),
    Judged(
        "Indexes to add or drop",
        "Databases are used by many companies all over the world to store their data.",
        ("Say which columns need an index", "Show one CREATE INDEX statement"),
    ),
    Judged(
        "What a container image is",
        "An image is a read-only package of your program with its files, libraries and start "
        "command. A container is one running copy of it.",
        (),
    ),
    Judged(
        "Tests for valid and invalid dates",
        "```python\ndef test_iso_date():\n"
        '    assert parse_date("2026-01-31") == date(2026, 1, 31)\n```',
        (),
    ),
)
"""Four pass and two don't: with more of either, the model would always say the same."""
