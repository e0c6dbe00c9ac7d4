"""The checker: for every promise a store that breaks it, and nothing else."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from core.domain.plan import NewTask
from core.domain.task import Kind
from core.invariants import INVARIANTS, Violation, check
from core.store.sqlite import SqliteStore
from tests.support.board import AUTO, BOB, EVE, House, open_house
from tests.support.database import database
from tests.support.stories import close, fail, finish, redo
from tests.support.tasks import part


async def settle_a_request(house: House) -> None:
    """One that is closed with an idea left, and one that was cancelled half done."""
    closed, (child, _) = await house.planned(
        part("child"), NewTask(title="perhaps", kind=Kind.IDEA)
    )
    await finish(house, child)
    await close(house, closed)
    dropped, (done, _) = await house.planned(part("kept"), part("dropped"))
    await finish(house, done)
    await house.board.people.cancel(dropped.id)


async def settle_tasks(house: House) -> None:
    ground = await house.add("ground", complexity="simple")
    await finish(house, ground, "the ground")
    built = await house.add("built", complexity="simple", depends_on=(ground.id,))
    await finish(house, built, "a house")
    redone = await house.add("redone", complexity="simple")
    await finish(house, redone, "old")
    await redo(house, redone, "new")
    lost = await house.add("lost", complexity="simple")
    await house.add("blocked", depends_on=(lost.id,))
    await fail(house, lost)


async def ask_for_advice(house: House) -> None:
    """Advised on, to be fixed, cancelled in review; then one mail taken and one waiting."""
    await house.add("advised")
    await house.submit()
    await house.advise(passed=True)
    await house.add("criticised")
    await house.submit()
    await house.advise(passed=False)
    unwanted = await house.add("unwanted")
    await house.submit()
    await house.board.people.cancel(unwanted.id)
    for title in ("read", "asked"):
        await house.add(title)
        await house.submit()
    await house.mail(EVE)


async def leave_work_open(house: House) -> None:
    await house.add("held")
    await house.board.let_go(await house.claim())
    claim = await house.claim(BOB)
    await house.board.iterate(claim, "a draft")
    await house.planned(part("ready"), part("later", "ready"))
    await house.add("alone")


async def a_full_board(folder: Path) -> None:
    """Everything the promises are about, and all of them kept."""
    async with open_house(folder) as house:
        await settle_a_request(house)
        await settle_tasks(house)
        await ask_for_advice(house)
        await leave_work_open(house)


def id_of(title: str) -> str:
    return f"(SELECT id FROM tasks WHERE title = '{title}')"


def mail_of(title: str) -> str:
    return f"task = {id_of(title)}"


@dataclass(frozen=True)
class Plant:
    """Changes behind the board's back that break one promise."""

    invariant: str
    says: str
    sql: tuple[str, ...]
    also: frozenset[str] = frozenset()
    """Promises that can't be kept where this one is broken."""

    def __str__(self) -> str:
        return f"{self.invariant}: {self.says}"


def plant(invariant: str, says: str, *sql: str) -> Plant:
    return Plant(invariant, says, sql)


MARKED = frozenset({"what_can_be_claimed_is_marked"})
PLANTS = (
    Plant(
        "every_status_has_a_next_actor",
        "depends on nothing open, and can't be claimed",
        ("UPDATE tasks SET claimable = NULL WHERE title = 'alone'",),
        also=MARKED,
    ),
    Plant(
        "every_status_has_a_next_actor",
        "is critique and can't be claimed",
        ("UPDATE tasks SET claimable = NULL WHERE title = 'criticised'",),
        also=MARKED,
    ),
    plant(
        "what_can_be_claimed_is_marked",
        "is marked claimable for work, should be None",
        "UPDATE tasks SET claimable = 'work' WHERE title = 'later'",
    ),
    plant(
        "a_claim_is_whole_or_not_there",
        "has half a claim",
        "UPDATE tasks SET lease_until = NULL WHERE title = 'held'",
    ),
    plant(
        "no_task_was_claimed_while_held",
        "while another held it",
        "UPDATE tasks SET fence = fence + 1 WHERE title = 'held'",
        "INSERT INTO events (v, ts, type, task, request, data) "
        "SELECT 1, 0, 'task_claimed', id, root, json_object('fence', fence) FROM tasks "
        "WHERE title = 'held'",
    ),
    plant(
        "fences_only_rise",
        "it was higher before",
        "UPDATE events SET data = json_set(data, '$.fence', 1) "
        f"WHERE type = 'task_let_go' AND task = {id_of('held')}",
    ),
    plant(
        "events_replayed_give_the_rows",
        "has iterations 8, its events say 1",
        "UPDATE tasks SET iterations = 8 WHERE title = 'held'",
    ),
    plant(
        "events_replayed_give_the_rows",
        "has events and is not on the board",
        "INSERT INTO events (v, ts, type, task, data) VALUES (1, 0, 'task_added', 'zzzz', '{}')",
    ),
    plant(
        "event_numbers_only_rise",
        "comes after event",
        "CREATE TABLE copy AS SELECT * FROM events",
        "INSERT INTO copy SELECT * FROM events WHERE type = 'mail_taken' LIMIT 1",
        "DROP TABLE events",
        "ALTER TABLE copy RENAME TO events",
    ),
    plant(
        "each_acknowledged_mail_had_its_effect_once",
        "is acknowledged with 0 effects",
        f"UPDATE mail SET status = 'acknowledged' WHERE {mail_of('unwanted')}",
    ),
    plant(
        "a_review_has_its_mail",
        "nobody is asked for advice",
        f"UPDATE mail SET status = 'withdrawn' WHERE {mail_of('asked')}",
    ),
    plant(
        "a_review_has_its_mail",
        "which is about another result",
        f"UPDATE mail SET cycle = 2 WHERE {mail_of('asked')}",
    ),
    plant(
        "a_review_has_its_mail",
        "is not in review and still has a mail for it",
        "UPDATE tasks SET review_mail = 1 WHERE title = 'alone'",
    ),
    plant(
        "advice_is_asked_for_only_where_due",
        "asks for advice nobody needs any more",
        f"UPDATE mail SET status = 'queued' WHERE {mail_of('unwanted')}",
    ),
    plant(
        "a_taken_mail_has_one_holder",
        "is taken and its lease does not fit that",
        f"UPDATE mail SET holder = NULL WHERE {mail_of('read')}",
    ),
    plant(
        "a_taken_mail_has_one_holder",
        "was tried 6 times",
        f"UPDATE mail SET tries = 6 WHERE {mail_of('read')}",
    ),
    plant(
        "critiques_fit_the_verdict",
        "was advised on by somebody who worked on it",
        "UPDATE critiques SET critique = json_set(critique, '$.reviewer', 'ada') "
        f"WHERE task = {id_of('advised')}",
    ),
    plant(
        "critiques_fit_the_verdict",
        "counts 1 critiques and has 0",
        f"UPDATE critiques SET round = 7 WHERE task = {id_of('criticised')}",
    ),
    Plant(
        "a_lost_fix_stays_a_fix",
        "its result of this round was criticised",
        (
            "UPDATE tasks SET status = 'pending', claimable = 'work' WHERE title = 'criticised'",
            "INSERT INTO events SELECT max(seq) + 1, 1, 0, 'task_let_go', "
            f'{id_of("criticised")}, NULL, \'{{"status": "pending"}}\' FROM events',
        ),
    ),
    plant(
        "parents_and_children_agree",
        "the store's index disagrees",
        "UPDATE tasks SET settled = 0 WHERE title = 'child'",
    ),
    plant(
        "every_task_has_its_place_in_a_request",
        "belongs to another request than its parent",
        "UPDATE tasks SET depth = 5 WHERE title = 'child'",
    ),
    plant(
        "every_task_has_its_place_in_a_request",
        "has a parent 'zzzz' that is not on the board",
        "UPDATE tasks SET parent = 'zzzz' WHERE title = 'alone'",
    ),
    plant(
        "dependencies_can_be_met",
        "depends on 'zzzz', which nobody will do",
        "UPDATE tasks SET depends_on = '[\"zzzz\"]' WHERE title = 'ground'",
    ),
    plant(
        "dependencies_can_be_met",
        "these tasks wait for each other",
        f"UPDATE tasks SET depends_on = json_array({id_of('built')}) WHERE title = 'ground'",
    ),
    plant(
        "a_lost_dependency_blocks",
        "is blocked by a dependency and none is lost",
        f"UPDATE tasks SET depends_on = json_array({id_of('ground')}) WHERE title = 'blocked'",
    ),
    plant(
        "nothing_rests_on_a_replaced_result",
        "was built on a result that was replaced",
        f"UPDATE tasks SET inputs = json_object({id_of('ground')}, 'other') WHERE title = 'built'",
    ),
    plant(
        "hashes_match",
        "has a result whose hash is another",
        "UPDATE tasks SET result = 'a forgery' WHERE title = 'ground'",
    ),
    plant(
        "hashes_match",
        "should have 1 earlier answers",
        f"DELETE FROM answers WHERE task = {id_of('redone')}",
    ),
    plant(
        "finished_work_has_a_result",
        "is completed and nobody knows since when",
        "UPDATE tasks SET completed_at = NULL WHERE title = 'ground'",
    ),
    plant(
        "cancelled_is_final",
        "is pending below something cancelled",
        "UPDATE tasks SET depth = 1, (parent, root) = "
        "(SELECT parent, root FROM tasks WHERE title = 'kept') WHERE title = 'alone'",
    ),
    plant(
        "who_can_come_back_knows_where",
        "is failed and remembers None as where it was",
        "UPDATE tasks SET came_from = NULL WHERE title = 'lost'",
        "UPDATE events SET data = json_set(data, '$.came_from', NULL) "
        f"WHERE type = 'task_failed' AND task = {id_of('lost')}",
    ),
    plant(
        "counters_stay_in_their_limits",
        "has 9 of 1 iterations",
        "UPDATE tasks SET round_iterations = 9 WHERE title = 'held'",
    ),
)


@pytest.fixture(scope="module")
def full_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    anyio.run(a_full_board, folder)
    return folder


@pytest.fixture
def folder(full_board: Path, tmp_path: Path) -> Path:
    """A full board of this test's own."""
    shutil.copytree(full_board, tmp_path, dirs_exist_ok=True)
    return tmp_path


async def checked(folder: Path) -> list[Violation]:
    store = await SqliteStore.open(folder / "swarm.db")
    try:
        return await check(store, AUTO)
    finally:
        await store.close()


@pytest.mark.parametrize("planted", PLANTS, ids=str)
async def test_a_broken_promise_is_found_and_named_in_a_sentence(
    planted: Plant, folder: Path
) -> None:
    with database(folder) as db:
        for statement in planted.sql:
            assert db.execute(statement).rowcount != 0, f"changed nothing: {statement}"

    found = await checked(folder)

    assert {violation.rule for violation in found} == {planted.invariant} | planted.also
    sentences = [str(violation) for violation in found if violation.rule == planted.invariant]
    assert len(sentences) == 1
    assert planted.says in sentences[0]


def test_every_promise_is_broken_by_a_plant() -> None:
    assert {planted.invariant for planted in PLANTS} == {one.__name__ for one in INVARIANTS}


async def test_a_whole_board_breaks_no_promise(folder: Path) -> None:
    assert await checked(folder) == []
