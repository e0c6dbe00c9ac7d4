"""Events: one name per step, one envelope, data that any later version can read."""

import json
from pathlib import Path

import pytest
from pydantic_core import to_json

from core.domain.critique import Critique, Opinion
from core.domain.events import (
    EVENT_OF,
    FACT_OF,
    SCHEMA,
    TOLD,
    AddedFact,
    CritiqueFact,
    DecomposedFact,
    Event,
    EventType,
    Fact,
    MailFact,
    SaidFact,
    SubmittedFact,
    TaskFact,
    read_fact,
)
from core.domain.steps import Step
from core.domain.task import (
    Complexity,
    Kind,
    Phase,
    Reason,
    TaskId,
    TaskStatus,
    Verdict,
)
from tests.support.board import ADA, open_house
from tests.support.tasks import make_task

CRITIQUE = Critique(
    reviewer="eve",
    opinion=Opinion.REJECTED,
    suggestions=("name the source",),
    comment="close",
    ts=1.5,
    result_hash="h",
    cycle=1,
    mail=3,
)
TOLD_OF_A_TASK: dict[str, object] = {
    "kind": Kind.TASK,
    "status": TaskStatus.BLOCKED,
    "reason": Reason.NEEDS_HUMAN,
    "came_from": TaskStatus.CRITIQUE,
    "phase": Phase.FIX,
    "agent": "ada",
    "fence": 4,
    "round": 2,
    "attempts": 1,
    "iterations": 5,
    "critique_round": 2,
    "verdict": Verdict.REVISED,
    "needs_attention": True,
    "auto_approved": True,
    "merged": True,
    "cancel_wanted": True,
    "result_hash": "h",
    "answers": 1,
}
SAMPLES: dict[type[Fact], Fact] = {
    Fact: Fact(),
    TaskFact: TaskFact.model_validate(TOLD_OF_A_TASK),
    AddedFact: AddedFact(
        status=TaskStatus.PENDING,
        title="write it",
        parent=TaskId("rrrr"),
        depends_on=(TaskId("aaaa"),),
        complexity=Complexity.COMPLEX,
    ),
    DecomposedFact: DecomposedFact(children=(TaskId("aaaa"), TaskId("bbbb"))),
    SubmittedFact: SubmittedFact(status=TaskStatus.REVIEW, mail=3),
    CritiqueFact: CritiqueFact(status=TaskStatus.CRITIQUE, critique=CRITIQUE),
    SaidFact: SaidFact(text="which one?"),
    MailFact: MailFact(mail=3, agent="eve", tries=2),
}
KNOWN = [kind for kind in EventType if kind is not EventType.UNKNOWN]


def an_event(kind: EventType, fact: Fact) -> Event:
    return Event(seq=9, ts=1.5, type=kind, task=TaskId("aaaa"), request=TaskId("rrrr"), data=fact)


def test_every_step_has_an_event() -> None:
    assert EVENT_OF.keys() == set(Step)
    assert EventType.UNKNOWN not in EVENT_OF.values()


def test_only_claims_share_an_event() -> None:
    steps: dict[EventType, list[Step]] = {}
    for step, kind in EVENT_OF.items():
        steps.setdefault(kind, []).append(step)

    shared = {kind: found for kind, found in steps.items() if len(found) > 1}

    assert list(shared) == [EventType.TASK_CLAIMED]
    assert all(step.startswith("claim_") for step in shared[EventType.TASK_CLAIMED])


def test_there_is_a_sample_of_every_fact() -> None:
    assert SAMPLES.keys() == {TaskFact, *FACT_OF.values()}


@pytest.mark.parametrize("kind", KNOWN)
def test_every_events_fact_can_be_written_and_read(kind: EventType) -> None:
    fact = SAMPLES[FACT_OF.get(kind, TaskFact)]
    stored = to_json({name: getattr(fact, name) for name in fact.model_fields_set}).decode()

    assert read_fact(SCHEMA, kind.value, stored) == (kind, fact)


@pytest.mark.parametrize("kind", KNOWN)
def test_a_line_has_one_shape_for_every_event(kind: EventType) -> None:
    event = an_event(kind, SAMPLES[FACT_OF.get(kind, TaskFact)])

    line = event.line()

    assert "\n" not in line
    said = json.loads(line)
    assert list(said) == ["v", "seq", "ts", "type", "task", "request", "data"]
    assert [said[name] for name in ("v", "seq", "ts", "type", "task", "request")] == [
        SCHEMA,
        9,
        1.5,
        kind.value,
        "aaaa",
        "rrrr",
    ]


def test_the_data_of_a_line_holds_only_what_the_event_says() -> None:
    event = an_event(EventType.TASK_LET_GO, SaidFact(status=TaskStatus.PENDING, agent=None))

    assert json.loads(event.line())["data"] == {"status": "pending", "agent": None}


@pytest.mark.parametrize(("v", "kind"), [(SCHEMA, "task_teleported"), (SCHEMA + 1, "task_claimed")])
def test_an_event_of_another_version_stays_readable(v: int, kind: str) -> None:
    assert read_fact(v, kind, '{"anything": 1}') == (EventType.UNKNOWN, Fact())


def test_a_field_of_a_newer_writer_is_left_aside() -> None:
    _, fact = read_fact(SCHEMA, "task_claimed", '{"status": "claimed", "mood": "good"}')

    assert fact == TaskFact(status=TaskStatus.CLAIMED)


async def test_a_step_tells_what_it_changed_and_also_what_it_took_away(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        await house.add("write it")
        await house.board.let_go(await house.claim(ADA), "it broke")

        added, claimed, let_go = [json.loads(one.line()) for one in await house.board.events(0)]

        assert [one["type"] for one in (added, claimed, let_go)] == [
            "task_added",
            "task_claimed",
            "task_let_go",
        ]
        assert (added["data"]["title"], added["data"]["status"]) == ("write it", "pending")
        assert claimed["data"] == {"status": "claimed", "phase": "work", "agent": "ada", "fence": 1}
        assert let_go["data"] == {
            "status": "pending",
            "phase": None,
            "agent": None,
            "fence": 2,
            "attempts": 1,
            "text": "it broke",
        }


def test_every_told_field_is_a_field_of_the_task() -> None:
    assert set(TOLD) <= vars(make_task()).keys()
    assert TOLD_OF_A_TASK.keys() == set(TOLD)
