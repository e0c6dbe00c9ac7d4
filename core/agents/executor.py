"""Executor: does one task, or revises just what an advisor named."""

from collections.abc import Awaitable, Callable, Mapping

from core.agents.asking import Asking, Subject, Voice, estimated_tokens
from core.agents.condensing import condensed, short_request
from core.agents.report import Report
from core.domain.reports import Work
from core.domain.rules import Rules
from core.domain.task import Signal, Task
from core.errors import WorkFailed
from core.llm.prompts import Part
from core.llm.replies import Answer
from core.task_board import Claim, TaskBoard

Craft = Callable[[Task], Awaitable[str]]
"""A person's own code in place of the model: a task in, its result out."""


class Crafts:
    """Own code by tag; what has no tag is for every task."""

    def __init__(self, by_tag: Mapping[str, Craft] | None = None, any_task: Craft | None = None):
        self.by_tag = dict(by_tag or {})
        self.any_task = any_task

    def of(self, task: Task) -> Craft | None:
        tags = (*task.tags, *task.planner_tags)
        return next((self.by_tag[tag] for tag in tags if tag in self.by_tag), self.any_task)


class Executor:
    def __init__(self, board: TaskBoard, voice: Voice, rules: Rules, crafts: Crafts) -> None:
        self._board = board
        self._voice = voice
        self._limits = rules.limits
        self._crafts = crafts

    async def work(self, claim: Claim) -> Report:
        craft = self._crafts.of(claim.task)
        if craft is not None:
            result = await craft(claim.task)
            return lambda: self._board.submit(claim, Work(result=str(result)))
        task = claim.task
        state = f"{task.round}.{task.critique_round}"
        subject = Subject(task, claim.phase.value, state, again=_was_let_go(task))
        asking = Asking(self._voice, self._board.replies, self._limits, subject)
        answer = await self._ask(asking, claim)
        return self._report(claim, answer, asking)

    async def _ask(self, asking: Asking, claim: Claim) -> Answer:
        task, voice = claim.task, self._voice
        request = await short_request(asking, self._board, task)
        material: list[Part] = []
        if task.inputs:
            needed = [await self._board.get(one) for one in task.inputs]
            material = [Part(one.title, one.result or "") for one in needed]
            frame = voice.manner.work(voice.skills, task, request, claim.phase, [])
            frame_tokens = sum(estimated_tokens(said.content) for said in frame.messages)
            material = await condensed(asking, request, material, frame_tokens)
        question = voice.manner.work(voice.skills, task, request, claim.phase, material)
        return await asking.ask_for(question.messages, question.read, question.schema)

    def _report(self, claim: Claim, answer: Answer, asking: Asking) -> Report:
        match answer.status:
            case Signal.COMPLETE:
                work = Work(result=answer.text, message=answer.message, usage=asking.usage)
                return lambda: self._board.submit(claim, work)
            case Signal.BLOCKED | Signal.NEEDS_HUMAN:
                question = answer.message or answer.text or "It can't go on without you."
                return lambda: self._board.signal(claim, answer.status, question)
            case Signal.ERROR:
                raise WorkFailed(answer.message or answer.text[:500] or "no reason was given")


def _was_let_go(task: Task) -> bool:
    """Some claim of it ended without a report: a claim raises the fence, and so does its end."""
    return task.fence > 2 * task.critique_round + 1
