"""Views: the same pictures of the board behind every screen."""

from pathlib import Path

import pytest

from core import views
from core.domain.events import EventType
from core.domain.message import MailStatus
from core.domain.reply import KeptReply
from core.domain.steps import Place
from core.domain.task import AgentName, Complexity, Reason, Signal, TaskStatus, Usage, Verdict
from core.views.board import commands
from core.views.wording import _BARE, _DOING, _WHY, VERDICTS, doing, duration
from tests.support.board import ADA, BATCH, open_house
from tests.support.paid import paid
from tests.support.stories import fail, finish
from tests.support.tasks import make_task, part


def test_every_place_reason_verdict_and_event_has_its_words() -> None:
    assert set(_DOING) == set(Place)
    assert set(_WHY) == set(Reason)
    assert set(VERDICTS) == set(Verdict)
    assert set(_BARE) == set(EventType)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0s"), (59.9, "59s"), (60, "1m"), (125, "2m 5s"), (3661, "1h 1m"), (200000, "2d 7h")],
)
def test_a_duration_is_said_in_at_most_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


async def test_a_board_shows_open_requests_with_their_tasks_below(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (first, second) = await house.planned(part("one"), part("two", "one"))
        await finish(house, first)
        await house.claim()
        house.clock.jump(5)

        board = await views.board(house.store)

        assert [line.id for line in board.requests] == [request.id]
        below = board.requests[0].below
        assert [line.doing for line in below] == ["done", "working"]
        assert (below[1].agent, below[1].elapsed_seconds) == (ADA.name, 5)
        assert below[1].depends_on == (first.id,)
        assert second.id == below[1].id


async def test_finished_requests_are_counted_and_shown_when_asked_for(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        done = await finish(house, await house.add(complexity=Complexity.SIMPLE))

        closed, everything = (
            await views.board(house.store),
            await views.board(house.store, finished=True),
        )

        assert (closed.requests, closed.finished_requests) == ((), 1)
        assert [line.id for line in everything.requests] == [done.id]
        assert closed.counts == {TaskStatus.COMPLETED: 1}


async def test_what_needs_a_person_comes_with_the_commands_to_type(tmp_path: Path) -> None:
    async with open_house(tmp_path, BATCH) as house:
        waiting = await finish(house, await house.add(complexity=Complexity.SIMPLE))
        asking = await house.add("ask")
        await house.board.signal(await house.claim(), Signal.NEEDS_HUMAN, "Which one?")
        lost = await house.add("lose")
        await fail(house, lost)

        board = await views.board(house.store)

        assert [(need.task, need.why) for need in board.needs_you] == [
            (waiting.id, "finished work waits for your review"),
            (asking.id, "Which one?"),
        ]
        assert board.needs_you[0].commands[0] == f"swarm approve {waiting.id}"
        assert board.needs_you[1].commands[0] == f'swarm answer {asking.id} "…"'
        assert [need.commands[0] for need in board.failed] == [f"swarm retry {lost.id}"]


def test_nothing_is_offered_where_nothing_waits_for_a_person() -> None:
    working = make_task(status=TaskStatus.PENDING, claimable="work")

    assert commands(working) == ()
    assert doing(working) == "ready"


async def test_one_task_shows_its_story_its_advice_and_what_was_decided(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add("write it")
        await house.submit("first")
        await house.advise(passed=False)
        await house.fix("second")
        await house.board.people.redo(task.id, "shorter")

        view = await views.one_task(house.store, task.id)

        assert [one.text for one in view.story][:3] == [
            "added",
            "ada began to work",
            "a result was handed in; waits for advice",
        ]
        assert view.story[-1].text == "you asked for it to be done again: shorter"
        assert view.critiques[0].critique.suggestions == ("name the source",)
        assert view.feedback[0].text == "shorter"
        assert (view.result, view.round, view.doing) == ("second", 2, "ready")


async def test_a_request_shows_its_answer_and_earlier_versions(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        request, (only,) = await house.planned(part("one"))
        await finish(house, only)
        await house.close_out("first answer")
        await house.board.people.redo(request.id, "again")
        await house.close_out("second answer")

        view = await views.one_task(house.store, request.id)

        assert view.result == "second answer"
        assert [one.text for one in view.answers] == ["first answer"]
        assert [line.id for line in view.below] == [only.id]


async def test_calls_show_what_was_sent_and_sum_up_to_what_was_spent(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add()
        for number in range(2):
            reply = KeptReply(
                task=task.id,
                root=task.root,
                label="work",
                agent=AgentName("ada"),
                model="m",
                key=str(number),
                prompt='[["system", "be brief"], ["user", "do it"]]',
                text="done",
                usage=Usage(input_tokens=5, output_tokens=2),
            )
            await house.board.replies.keep(reply, paid(reply))

        calls = await views.calls(house.store, task.id)
        view = await views.one_task(house.store, task.id)

        assert calls[0].messages == (("system", "be brief"), ("user", "do it"))
        assert calls[0].reply == "done"
        assert (view.spent.calls, view.spent.input_tokens, view.spent.cost_usd) == (2, 10, None)


async def test_mail_shows_open_and_dead_letters_and_the_rest_when_asked_for(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        task = await house.add("write it")
        await house.submit()
        house.clock.jump(90)
        await house.mail()

        mail = await views.mail(house.store)
        await house.board.people.cancel(task.id)
        after, everything = (
            await views.mail(house.store),
            await views.mail(house.store, handled=True),
        )

        (letter,) = mail.letters
        assert (letter.task, letter.title, letter.to) == (task.id, "write it", "advisor")
        assert (letter.age_seconds, letter.tries, letter.status) == (90, 1, MailStatus.TAKEN)
        assert after.letters == ()
        assert [one.status for one in everything.letters] == [MailStatus.WITHDRAWN]
