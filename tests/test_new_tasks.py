"""New tasks on the board: their ids, their place, and what is refused."""

from pathlib import Path
from random import Random

import pytest

from core.domain.limits import Limits
from core.domain.plan import NewTask
from core.domain.rules import Rules
from core.domain.task import CROCKFORD, Kind
from core.errors import BadPlan, RequestTooLarge
from core.task_board import TaskBoard
from tests.support.board import AUTO, open_house
from tests.support.stories import claimed, plan
from tests.support.tasks import milestone, part


class Stuck(Random):
    """Always draws the first."""

    def getrandbits(self, k: int) -> int:
        return 0


async def test_an_id_is_as_short_as_it_can_be_and_still_be_free(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        board = TaskBoard(house.store, AUTO, chance=Stuck())

        ids = [(await board.add(part(title))).id for title in ("1", "2", "3")]

        assert ids == ["0000", "00000", "000000"]
        with pytest.raises(BadPlan, match="no free id"):
            await board.add(part("4"))


async def test_ids_of_a_plan_are_typeable_and_differ(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, children = await house.planned(*(part(str(number)) for number in range(50)))

        ids = {request.id, *(child.id for child in children)}

        assert len(ids) == 51
        assert {len(one) for one in ids} <= {4, 5, 6}
        assert set("".join(ids)) <= set(CROCKFORD)


async def test_tasks_are_claimed_by_hint_then_by_request_then_in_the_order_of_the_plan(
    tmp_path: Path,
) -> None:
    async with open_house(tmp_path) as house:
        _, (half, last) = await house.planned(milestone("m"), part("3"))
        house.clock.jump(1)
        other = await house.add("4")
        first = await house.add("0", hint=0)
        later = await house.add("5", hint=2)
        low = await plan(house, half, part("1"), part("2"))

        order = [(await house.claim()).task_id for _ in range(6)]

        assert order == [first.id, *(one.id for one in low), last.id, other.id, later.id]


async def test_the_tags_of_a_request_reach_all_its_tasks(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request = await house.board.add_request("a request", tags=("security",))
        (half,) = await plan(house, request, milestone("m"))
        (child,) = await plan(house, half, part("1", tags=("urgent",)))

        assert (half.tags, child.tags) == (("security",), ("security", "urgent"))


async def test_a_milestone_too_deep_to_be_planned_is_a_task(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        _, (one,) = await house.planned(milestone("1"))
        (two,) = await plan(house, one, milestone("2"))
        (three,) = await plan(house, two, milestone("3"))

        assert [(task.kind, task.depth) for task in (one, two, three)] == [
            (Kind.MILESTONE, 1),
            (Kind.MILESTONE, 2),
            (Kind.TASK, 3),
        ]
        assert (await claimed(house, three)).task_id == three.id


async def test_a_request_never_has_more_tasks_than_the_limit_says(tmp_path: Path) -> None:
    rules = Rules(limits=Limits(request_tasks=3), review=AUTO.review)
    async with open_house(tmp_path, rules) as house:
        request, (half,) = await house.planned(milestone("m"))
        claim = await claimed(house, half)

        with pytest.raises(BadPlan, match="4 tasks and may have 3"):
            await house.board.decompose(claim, [part("1"), part("2"), part("3")])

        await house.board.decompose(claim, [part("1"), part("2")])
        with pytest.raises(BadPlan, match="4 tasks and may have 3"):
            await house.board.add(part("3"), parent=request.id)


@pytest.mark.parametrize("kind", [Kind.MILESTONE, Kind.IDEA])
async def test_only_requests_and_tasks_stand_alone(kind: Kind, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(BadPlan, match="needs a parent"):
            await house.board.add(NewTask(title="alone", kind=kind))


async def test_a_request_too_large_is_refused(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        with pytest.raises(RequestTooLarge):
            await house.board.add_request("x" * 300_000)

        assert await house.board.events(0) == []


async def test_the_title_of_a_request_is_its_first_line(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request = await house.board.add_request("\nCompare the three.\nIn a table.")

        assert request.title == "Compare the three."
        assert "In a table." in request.description
