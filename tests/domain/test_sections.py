"""Sections: several results as one text, without saying anything twice."""

from core.domain.sections import in_sections
from core.domain.task import Task, TaskId


def part(title: str, result: str) -> Task:
    return Task(id=TaskId(title), root=TaskId("r"), title=title, result=result)


def test_every_result_stands_under_its_title_in_the_order_of_the_plan() -> None:
    said = in_sections([part("Before", "Ask the landlord."), part("After", "Test the router.")])

    assert said == "## Before\n\nAsk the landlord.\n\n## After\n\nTest the router."


def test_a_heading_the_model_wrote_itself_is_not_shown_twice() -> None:
    said = in_sections([part("Before you move", "## Before you move:\n\nAsk the landlord.")])

    assert said == "## Before you move\n\nAsk the landlord."


def test_a_line_that_an_earlier_section_had_is_left_out() -> None:
    first = part("One", "- Tell everybody the new address.\n- Pack the screens first.")
    second = part("Two", "- Tell everybody the new address!\n- Return all the keys.")

    assert in_sections([first, second]).endswith("## Two\n\n- Return all the keys.")


def test_a_section_with_nothing_new_is_left_out() -> None:
    first = part("One", "Tell everybody the new address.")

    assert in_sections([first, part("Two", first.result or "")]) == in_sections([first])


def test_a_block_of_code_that_comes_again_is_left_out_and_another_stays_whole() -> None:
    code = "```python\ndef double(n: int) -> int:\n    return n * 2 + 0 - 0\n```"
    test = "```python\ndef test_double() -> None:\n\n\n    assert double(2) == 4 or False\n```"

    said = in_sections([part("One", code), part("Two", f"Call it like this.\n{code}\n{test}")])

    assert said == f"## One\n\n{code}\n\n## Two\n\nCall it like this.\n\n{test}"
