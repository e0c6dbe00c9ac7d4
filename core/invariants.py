"""The checker: promises every store keeps at every moment, and a sentence for each broken one."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.domain import conditions, lifecycle
from core.domain.events import TOLD, EventType, TaskFact
from core.domain.message import OPEN, MailStatus, MessageKind
from core.domain.plan import check_no_cycle
from core.domain.rules import Rules
from core.domain.steps import Place, place_of
from core.domain.task import (
    CANCELLED,
    CLAIMED,
    COMPLETED,
    CRITIQUE,
    HUMAN_REVIEW,
    MERGING,
    REVIEW,
    Kind,
    TaskId,
    Verdict,
    hash_of,
)
from core.errors import BadPlan
from core.picture import Picture, take_picture
from core.store.protocol import Store


@dataclass(frozen=True)
class Violation:
    rule: str
    about: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.sentence}"


Found = Iterator[tuple[object, str]]
Invariant = Callable[[Picture], Found]


async def check(store: Store, rules: Rules | None = None) -> list[Violation]:
    """Every promise that this store breaks; an empty list when it keeps them all."""
    async with store.read() as reader:
        picture = await take_picture(reader, rules or Rules())
    return [
        Violation(invariant.__name__, str(about), sentence)
        for invariant in INVARIANTS
        for about, sentence in invariant(picture)
    ]


def every_status_has_a_next_actor(picture: Picture) -> Found:
    """Nothing open waits for nobody."""
    for task in picture.tasks.values():
        match place_of(task):
            case Place.PENDING if task.claimable is None:
                waits = any(not conditions.is_met(one, task) for one in picture.dependencies(task))
                if not waits:
                    yield task.id, "is pending, depends on nothing open, and can't be claimed"
            case Place.CRITIQUE | Place.MERGING if task.claimable is None:
                yield task.id, f"is {task.status} and can't be claimed"
            case Place.WAITING if task.claimable is None:
                if all(child.settled for child in picture.children[task.id]):
                    yield task.id, "waits for no child and can't be closed out"
            case _:
                pass


def what_can_be_claimed_is_marked(picture: Picture) -> Found:
    """The mark of what can be claimed follows from statuses, dependencies and children."""
    for task in picture.tasks.values():
        children = picture.children[task.id]
        expected = lifecycle.claimable(
            task,
            dependencies_met=all(
                conditions.is_met(one, task) for one in picture.dependencies(task)
            ),
            children_settled=all(child.settled for child in children),
        )
        if task.claimable is not expected:
            yield task.id, f"is marked claimable for {task.claimable}, should be {expected}"


def a_claim_is_whole_or_not_there(picture: Picture) -> Found:
    for task in picture.tasks.values():
        held = [task.phase, task.holder, task.agent, task.lease_until, task.claimed_at]
        if any(part is None for part in held) and any(part is not None for part in held):
            yield task.id, "has half a claim"
        holds = task.status is CLAIMED or place_of(task) is Place.MERGE_BEGUN
        if holds is not (task.holder is not None):
            yield task.id, f"is {place_of(task)} and its holder is {task.holder}"


def no_task_was_claimed_while_held(picture: Picture) -> Found:
    """Between two claims of a task the first one ended: never two live holders."""
    holders: dict[TaskId, str | None] = {}
    for event in picture.events:
        if event.task is None or not isinstance(event.data, TaskFact):
            continue
        if event.type is EventType.TASK_CLAIMED and holders.get(event.task) is not None:
            yield event.task, f"was claimed at event {event.seq} while another held it"
        if "agent" in event.data.model_fields_set:
            holders[event.task] = event.data.agent


def fences_only_rise(picture: Picture) -> Found:
    fences: dict[TaskId, int] = defaultdict(int)
    for event in picture.events:
        if event.task is None or not isinstance(event.data, TaskFact):
            continue
        fence = event.data.fence
        if fence is not None:
            if fence <= fences[event.task]:
                yield event.task, f"has fence {fence} at event {event.seq}, it was higher before"
            fences[event.task] = fence
        elif event.type is EventType.TASK_CLAIMED:
            yield event.task, f"was claimed at event {event.seq} under an old fence"


def events_replayed_give_the_rows(picture: Picture) -> Found:
    replayed: dict[TaskId, dict[str, object]] = {}
    for event in picture.events:
        if event.task is None or not isinstance(event.data, TaskFact):
            continue
        state = replayed.setdefault(event.task, {})
        for name in event.data.model_fields_set.intersection(TOLD):
            state[name] = getattr(event.data, name)
    for task in picture.tasks.values():
        state = replayed.get(task.id, {})
        for name in TOLD:
            kept = getattr(task, name)
            if (state.get(name) or None) != (kept or None):
                yield task.id, f"has {name} {kept}, its events say {state.get(name)}"
    for unknown in replayed.keys() - picture.tasks.keys():
        yield unknown, "has events and is not on the board"


def event_numbers_only_rise(picture: Picture) -> Found:
    last = 0
    for event in picture.events:
        if event.seq <= last:
            yield event.seq, f"comes after event {last}"
        last = event.seq


def each_acknowledged_mail_had_its_effect_once(picture: Picture) -> Found:
    counted = Counter(
        critique.mail
        for kept in picture.critiques.values()
        for _, critique in kept
        if not critique.late
    )
    for mail in picture.mail.values():
        if mail.kind is not MessageKind.CRITIQUE_REQUEST or mail.task not in picture.tasks:
            continue
        acknowledged = mail.status is MailStatus.ACKNOWLEDGED
        if counted[mail.number] != int(acknowledged):
            yield f"mail {mail.number}", f"is {mail.status} with {counted[mail.number]} effects"


def a_review_has_its_mail(picture: Picture) -> Found:
    for task in picture.tasks.values():
        if task.status is REVIEW:
            mail = picture.mail.get(task.review_mail or 0)
            if mail is None or mail.status not in (*OPEN, MailStatus.DEAD):
                yield task.id, "is in review and nobody is asked for advice"
            elif (mail.task, mail.result_hash, mail.cycle) != (
                task.id,
                task.result_hash,
                task.critique_round + 1,
            ):
                yield task.id, f"is in review by mail {mail.number}, which is about another result"
        elif task.review_mail is not None:
            yield task.id, "is not in review and still has a mail for it"


def advice_is_asked_for_only_where_due(picture: Picture) -> Found:
    wanted = {task.review_mail for task in picture.tasks.values()}
    for mail in picture.mail.values():
        asks = mail.kind is MessageKind.CRITIQUE_REQUEST and mail.task in picture.tasks
        if asks and mail.status in OPEN and mail.number not in wanted:
            yield f"mail {mail.number}", "asks for advice nobody needs any more"


def a_taken_mail_has_one_holder(picture: Picture) -> Found:
    for mail in picture.mail.values():
        held = mail.holder is not None and mail.lease_until is not None
        if held is not (mail.status is MailStatus.TAKEN):
            yield f"mail {mail.number}", f"is {mail.status} and its lease does not fit that"
        if mail.tries > picture.rules.limits.mail_tries:
            yield f"mail {mail.number}", f"was tried {mail.tries} times"


def critiques_fit_the_verdict(picture: Picture) -> Found:
    """A verdict of the advisor's loop rests on 1 to max_cycles critiques of its round."""
    advised = (Verdict.APPROVED, Verdict.REVISED, Verdict.MAX_CYCLES_REACHED)
    for task in picture.tasks.values():
        count = len(picture.counted(task))
        if count != task.critique_round:
            yield task.id, f"counts {task.critique_round} critiques and has {count}"
        if task.verdict in advised and not 1 <= count <= task.max_cycles:
            yield task.id, f"is {task.verdict} after {count} critiques"
        if any(one.reviewer in task.worked_on_by for one in picture.counted(task)):
            yield task.id, "was advised on by somebody who worked on it"


def a_lost_fix_stays_a_fix(picture: Picture) -> Found:
    """Work begins without critiques: a round that was criticised goes on as a fix."""
    for task in picture.tasks.values():
        if place_of(task) in (Place.PENDING, Place.CLAIMED_WORK) and task.critique_round:
            yield task.id, f"is {place_of(task)} and its result of this round was criticised"


def parents_and_children_agree(picture: Picture) -> Found:
    for task in picture.tasks.values():
        children = picture.children[task.id]
        is_open = any(not child.settled for child in children)
        if is_open is not (task.id in picture.open_parents):
            yield task.id, "has open children and the store's index disagrees"
        if task.is_container and task.planned and not task.settled and not children:
            yield task.id, "was planned and has no children"
        if is_open and task.settled and task.status is not CANCELLED:
            yield task.id, f"is {task.status} and has an open child"
        if children and not task.is_container:
            yield task.id, f"is a {task.kind} and has children"


def every_task_has_its_place_in_a_request(picture: Picture) -> Found:
    for task in picture.tasks.values():
        if task.parent is None:
            if task.root != task.id:
                yield task.id, "has no parent and is not its own root"
            continue
        parent = picture.tasks.get(task.parent)
        if parent is None:
            yield task.id, f"has a parent {task.parent!r} that is not on the board"
        elif task.root != parent.root or task.depth != parent.depth + 1:
            yield task.id, "belongs to another request than its parent"


def dependencies_can_be_met(picture: Picture) -> Found:
    for task in picture.tasks.values():
        for name in task.depends_on:
            dependency = picture.tasks.get(name)
            if dependency is None or dependency.kind is Kind.IDEA:
                yield task.id, f"depends on {name!r}, which nobody will do"
    try:
        check_no_cycle(picture.tasks.values())
    except BadPlan as cycle:
        yield "the board", str(cycle)


def a_lost_dependency_blocks(picture: Picture) -> Found:
    for task in picture.tasks.values():
        lost = any(conditions.is_lost(one, task) for one in picture.dependencies(task))
        if place_of(task) is Place.PENDING and lost:
            yield task.id, "is pending and a dependency is lost"
        if place_of(task) is Place.BLOCKED_DEPENDENCY and not lost:
            yield task.id, "is blocked by a dependency and none is lost"


def nothing_rests_on_a_replaced_result(picture: Picture) -> Found:
    for task in picture.tasks.values():
        if task.kind is not Kind.TASK or picture.under_cancelled(task):
            continue
        moved = conditions.by_dependencies(task, picture.dependencies(task), under_cancelled=False)
        if moved is not None and conditions.is_stale(task, picture.dependencies(task)):
            yield task.id, f"is {task.status} and was built on a result that was replaced"


def hashes_match(picture: Picture) -> Found:
    for task in picture.tasks.values():
        expected = None if task.result is None else hash_of(task.result)
        if task.result_hash != expected:
            yield task.id, "has a result whose hash is another"
        kept = picture.answers.get(task.id, [])
        if any(one.hash != hash_of(one.text) for one in kept):
            yield task.id, "has an earlier answer whose hash is another"
        if [one.version for one in kept] != list(range(1, task.answers + 1)):
            yield task.id, f"should have {task.answers} earlier answers"
        if task.accepted not in (None, task.result_hash, *(one.hash for one in kept)):
            yield task.id, "has lost the result that was accepted"


def finished_work_has_a_result(picture: Picture) -> Found:
    needs_result = (REVIEW, CRITIQUE, HUMAN_REVIEW)
    for task in picture.tasks.values():
        if task.status in (*needs_result, MERGING) and task.result is None:
            yield task.id, f"is {task.status} and has no result"
        if task.status is COMPLETED:
            if task.result is None or task.accepted != task.result_hash:
                yield task.id, "is completed and its result was not accepted"
            if task.completed_at is None:
                yield task.id, "is completed and nobody knows since when"


def cancelled_is_final(picture: Picture) -> Found:
    """Below something cancelled nothing is open but a merge that was begun."""
    for task in picture.tasks.values():
        finishing = place_of(task) is Place.MERGE_BEGUN and task.cancel_wanted
        if task.settled or finishing or task.kind is Kind.IDEA:
            continue
        if picture.under_cancelled(task):
            yield task.id, f"is {task.status} below something cancelled"


def who_can_come_back_knows_where(picture: Picture) -> Found:
    away = (Place.FAILED, Place.NOTHING_COMPLETED, Place.BLOCKED_QUESTION, Place.BLOCKED_BUDGET)
    for task in picture.tasks.values():
        gone = place_of(task) in (*away, Place.DEFERRED)
        if gone is not (task.came_from is not None):
            yield task.id, f"is {task.status} and remembers {task.came_from} as where it was"


def counters_stay_in_their_limits(picture: Picture) -> Found:
    limits = picture.rules.limits
    for task in picture.tasks.values():
        if not 0 <= task.attempts <= limits.attempts:
            yield task.id, f"has {task.attempts} attempts"
        if not 0 <= task.round_iterations <= task.iterations:
            yield task.id, f"has {task.round_iterations} of {task.iterations} iterations"
        if not 0 <= task.critique_round <= max(task.max_cycles, 1):
            yield task.id, f"has {task.critique_round} critiques in a round"
        if task.needs_attention and task.status not in (COMPLETED, MERGING):
            yield task.id, f"needs attention and is {task.status}"
        if task.merged and not task.code:
            yield task.id, "is merged and is no code"


INVARIANTS: tuple[Invariant, ...] = (
    every_status_has_a_next_actor,
    what_can_be_claimed_is_marked,
    a_claim_is_whole_or_not_there,
    no_task_was_claimed_while_held,
    fences_only_rise,
    events_replayed_give_the_rows,
    event_numbers_only_rise,
    each_acknowledged_mail_had_its_effect_once,
    a_review_has_its_mail,
    advice_is_asked_for_only_where_due,
    a_taken_mail_has_one_holder,
    critiques_fit_the_verdict,
    a_lost_fix_stays_a_fix,
    parents_and_children_agree,
    every_task_has_its_place_in_a_request,
    dependencies_can_be_met,
    a_lost_dependency_blocks,
    nothing_rests_on_a_replaced_result,
    hashes_match,
    finished_work_has_a_result,
    cancelled_is_final,
    who_can_come_back_knows_where,
    counters_stay_in_their_limits,
)
