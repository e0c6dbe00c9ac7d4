"""Advisor: answers a request for a critique; what can't be read goes to a person."""

from core.agents.asking import Asking, Subject, Voice
from core.agents.condensing import short_request
from core.agents.report import Report
from core.domain.critique import Advice, Opinion
from core.domain.message import Message
from core.domain.rules import Rules
from core.domain.task import Task
from core.errors import UnreadableReply
from core.task_board import TaskBoard


class Advisor:
    def __init__(self, board: TaskBoard, voice: Voice, rules: Rules) -> None:
        self._board = board
        self._voice = voice
        self._limits = rules.limits

    async def advise(self, mail: Message, task: Task) -> Report:
        seen = self._voice.manner.seen(task, self._limits.suggestions)
        advice = seen or await self._asked(mail, task)
        return lambda: self._board.add_critique(mail, advice)

    async def _asked(self, mail: Message, task: Task) -> Advice:
        voice, limits = self._voice, self._limits
        subject = Subject(task, "advice", str(mail.number), again=mail.tries > 1)
        asking = Asking(voice, self._board.replies, limits, subject)
        request = await short_request(asking, self._board, task)
        question = voice.manner.advise(voice.skills, task, request, limits.suggestions)
        try:
            return await asking.ask_for(question.messages, question.read, question.schema)
        except UnreadableReply as error:
            return Advice(opinion=Opinion.UNREADABLE, comment=error.complaint)
