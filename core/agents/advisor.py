"""Advisor: answers a request for a critique; what can't be read goes to a person."""

from core.agents.asking import Asking, Subject, Voice
from core.agents.condensing import short_request
from core.agents.report import Report
from core.domain.critique import Advice, Opinion
from core.domain.message import Message
from core.domain.rules import Rules
from core.domain.task import Task
from core.errors import UnreadableReply
from core.llm import prompts
from core.llm.replies import AdviceReply, read_advice
from core.task_board import TaskBoard


class Advisor:
    def __init__(self, board: TaskBoard, voice: Voice, rules: Rules) -> None:
        self._board = board
        self._voice = voice
        self._limits = rules.limits

    async def advise(self, mail: Message, task: Task) -> Report:
        subject = Subject(task, "advice", str(mail.number), again=mail.tries > 1)
        asking = Asking(self._voice, self._board.replies, self._limits, subject)
        request = await short_request(asking, self._board, task)
        messages = prompts.advise(self._voice.skills, task, request)
        try:
            advice = await asking.ask_for(
                messages, lambda text: read_advice(text, self._limits.suggestions), AdviceReply
            )
        except UnreadableReply as error:
            advice = Advice(opinion=Opinion.UNREADABLE, comment=error.complaint)
        return lambda: self._board.add_critique(mail, advice)
