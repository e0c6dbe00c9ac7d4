"""Planner: splits a request into tasks, and writes the one answer at the end."""

from collections.abc import Sequence
from contextlib import suppress
from textwrap import shorten

from core.agents.asking import Asking, Subject, Voice, estimated_tokens
from core.agents.condensing import condensed, short_request
from core.agents.paying import PARTIAL
from core.agents.report import Report
from core.domain.mending import complaints, mended
from core.domain.plan import NewTask
from core.domain.rules import Rules
from core.domain.sections import in_sections
from core.domain.task import CANCELLED, CLOSE_OUT, COMPLETED, FAILED, Kind, Reason, Task
from core.errors import BadReply, BudgetSpent, ModelError, UnreadableReply
from core.llm import prompts
from core.llm.prompts import Part
from core.llm.replies import read_text
from core.task_board import Claim, TaskBoard

CAUSE_CHARACTERS = 300
"""So much of an error is told in an answer, on one line."""


class Planner:
    def __init__(self, board: TaskBoard, voice: Voice, rules: Rules) -> None:
        self._board = board
        self._voice = voice
        self._limits = rules.limits

    async def work(self, claim: Claim) -> Report:
        """Plan it, or write its answer."""
        return await (self.close_out(claim) if claim.phase is CLOSE_OUT else self.plan(claim))

    async def plan(self, claim: Claim) -> Report:
        task = claim.task
        already = len(await self._board.family(task.root)) - 1
        asking = self._asking(task, "plan", f"{task.round}")
        request = await short_request(asking, self._board, task)
        plan = await self._ask_for_plan(asking, task, request, already)
        return lambda: self._board.decompose(claim, plan)

    async def _ask_for_plan(
        self, asking: Asking, task: Task, request: str, already: int
    ) -> Sequence[NewTask]:
        """A plan with faults goes back once; then it is mended, or the request is one task."""
        last: list[NewTask] = []
        tries = 0

        def read(text: str) -> list[NewTask]:
            nonlocal tries
            tries += 1
            last[:] = question.read(text)
            wrong = [*complaints(last, already, self._limits), *question.doubts(last)]
            if wrong and tries <= self._limits.repair_turns:
                raise BadReply("; ".join(wrong[:5]))
            return last

        question = self._voice.manner.plan(self._voice.skills, task, request)
        # A plan that was readable at first and not after the complaint is mended as it was.
        with suppress(UnreadableReply):
            await asking.ask_for(question.messages, read, question.schema)
        return mended(last, already, self._limits) or (_one_task(task),)

    async def close_out(self, claim: Claim) -> Report:
        task = claim.task
        below = await self._board.collect_results(task.id)
        answer = await self._answer(task, below)
        return lambda: self._board.close_out(claim, answer)

    async def _answer(self, task: Task, below: Sequence[Task]) -> str:
        children = [one for one in below if one.parent == task.id]
        done = [one for one in children if one.status is COMPLETED and one.result]
        notes = _notes(below)
        if not done:
            return notes or "Nothing came of this request."
        if len(children) == 1 and task.feedback is None:
            return _with_notes(done[0].result or "", notes)
        if not self._voice.merges and task.feedback is None:
            return _with_notes(in_sections(done), notes)
        results = [Part(one.title, one.result or "") for one in done]
        return _with_notes(await self._written("close_out", task, results), notes)

    async def _written(self, label: str, task: Task, results: Sequence[Part]) -> str:
        """By the model, from these results."""
        asking = self._asking(task, label, _state(task))
        request = await short_request(asking, self._board, task)
        frame = prompts.close_out(self._voice.skills, task, request, [])
        frame_tokens = sum(estimated_tokens(said.content) for said in frame)
        results = await condensed(asking, request, results, frame_tokens)
        messages = prompts.close_out(self._voice.skills, task, request, results)
        return await asking.ask_for(messages, read_text)

    async def answer_partially(self, task: Task) -> None:
        """From what there is when the budget is spent; without a model where even that is spent."""
        below = await self._board.collect_results(task.id)
        done = [one for one in below if one.status is COMPLETED and one.result]
        results = [Part(one.title, one.result or "") for one in done if one.kind is Kind.TASK]
        try:
            answer = await self._written(PARTIAL, task, results) if results else ""
        except (ModelError, BudgetSpent):
            answer = "\n\n".join(f"## {part.title}\n\n{part.text}" for part in results)
        text = "\n\n".join(part for part in (_PARTIAL, answer, _unfinished(below)) if part)
        await self._board.people.partial_answer(task.id, text)

    def _asking(self, task: Task, label: str, state: str) -> Asking:
        subject = Subject(task, label, state, again=task.fence > 1)
        return Asking(self._voice, self._board.replies, self._limits, subject)


def _state(task: Task) -> str:
    told = task.feedback.ts if task.feedback is not None else 0
    return f"{task.round}.{task.answers}.{told}"


def _one_task(task: Task) -> NewTask:
    """The request as one piece of work."""
    return NewTask(
        title=task.title,
        description=task.description,
        planner_tags=("review:auto",),
        complexity=task.complexity,
    )


_WHY = {
    Reason.ATTEMPTS: "it failed several times",
    Reason.MAX_ITERATIONS: "it took too many passes",
    Reason.TIMEOUT: "it took too long",
    Reason.DEPENDENCY: "something it needs is missing",
}


def _notes(below: Sequence[Task]) -> str:
    """What is missing or doubtful, named honestly by code and not by a model."""
    tasks = [one for one in below if one.kind is Kind.TASK]
    missing = [one for one in tasks if one.settled and one.status is not COMPLETED]
    doubtful = [one for one in tasks if one.status is COMPLETED and one.needs_attention]
    lines = []
    if missing:
        lines += ["**Not done:**", *(f"- {one.title}: {_why(one)}" for one in missing)]
    if doubtful:
        lines += ["**Please look at this:**"]
        lines += [
            f"- {one.title}: accepted although the advisor had objections" for one in doubtful
        ]
    return "\n".join(lines)


_PARTIAL = "**This answer is partial: the budget was spent before all was done.**"


def _unfinished(below: Sequence[Task]) -> str:
    missing = [one for one in below if one.kind is Kind.TASK and one.status is not COMPLETED]
    if not missing:
        return ""
    return "\n".join(["**Not done:**", *(f"- {one.title}: {_why_not_yet(one)}" for one in missing)])


def _why_not_yet(task: Task) -> str:
    return _why(task) if task.settled else "the budget was spent"


def _why(task: Task) -> str:
    if task.status is CANCELLED:
        return "cancelled"
    cause = shorten(task.message, CAUSE_CHARACTERS, placeholder=" …")
    if task.status is FAILED and task.reason is Reason.ERROR and cause:
        return cause
    said = _WHY.get(task.reason, "it failed") if task.reason is not None else "it failed"
    return f"{said}: {cause}" if task.reason is Reason.ATTEMPTS and cause else said


def _with_notes(answer: str, notes: str) -> str:
    return f"{answer}\n\n{notes}" if notes else answer
