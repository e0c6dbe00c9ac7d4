"""Asking a model for one piece of work: every reply is kept before it is used."""

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from core.agents.paying import Order, Paid, Till
from core.agents.speech import Speech
from core.domain.limits import Limits
from core.domain.reply import KeptReply
from core.domain.task import NO_USAGE, AgentName, Task, Usage
from core.errors import BadReply, ContextOverflow, ContextTooLong, UnreadableReply
from core.llm import prompts
from core.llm.client import LLM, Call, Said
from core.llm.manner import FULL, Manner
from core.replies import Replies

Readable = TypeVar("Readable")

BYTES_A_TOKEN = 3


def estimated_tokens(text: str) -> int:
    """From its bytes: there is no tokenizer to be had offline."""
    return len(text.encode(errors="replace")) // BYTES_A_TOKEN + 1


class Voice(NamedTuple):
    """How one agent asks: its model, its skills and its limits."""

    agent: AgentName
    llm: LLM
    model: str
    till: Till
    speech: Speech
    skills: str = ""
    temperature: float | None = None
    max_output_tokens: int = 4096
    context_tokens: int = 8192
    manner: Manner = FULL
    merges: bool = True
    """Can it write one answer from several results? Else they are put under headings."""


class Subject(NamedTuple):
    """What is asked about."""

    task: Task
    label: str
    """plan, work, fix, advice, close_out."""
    state: str
    """Where the task stands; the same question in another state is another question."""
    again: bool = True
    """An earlier try may have left a reply that is paid for."""


class Asking:
    """The calls of one piece of work."""

    def __init__(self, voice: Voice, replies: Replies, limits: Limits, subject: Subject) -> None:
        self.voice = voice
        self.usage: Usage = NO_USAGE
        self._replies = replies
        self._limits = limits
        self._subject = subject

    def about(self, subject: Subject) -> "Asking":
        """The same voice on another subject."""
        return Asking(self.voice, self._replies, self._limits, subject)

    @property
    def room_tokens(self) -> int:
        """What a prompt may take of the model's context."""
        context = self.context_tokens
        return max(context - min(self.voice.max_output_tokens, context // 2), 256)

    @property
    def context_tokens(self) -> int:
        voice = self.voice
        return voice.till.estimates.context(voice.model, voice.context_tokens)

    async def ask(
        self,
        messages: Sequence[Said],
        schema: type[BaseModel] | None = None,
        max_output_tokens: int | None = None,
    ) -> str:
        voice = self.voice
        prompt = to_json(messages)
        key = self._key(prompt)
        task, label, _, again = self._subject
        if again:
            found = await self._replies.kept(task.id, key)
            if found is not None:
                self.usage += found.usage
                return found.text
        longest = max_output_tokens or min(voice.max_output_tokens, self.context_tokens // 2)
        hear = voice.speech.hear(task.id)
        asked = (voice.model, tuple(messages), schema, longest, voice.temperature, task.root)
        reply, usage, settlement = await self._paid(Call(*asked, hear=hear), prompt)
        self.usage = usage if self.usage is NO_USAGE else self.usage + usage
        said = (task.id, task.root, label, voice.agent, reply.model or voice.model)
        kept = KeptReply(*said, key, prompt.decode(), reply.text, usage)
        await self._replies.keep(kept, settlement)
        return reply.text

    async def _paid(self, call: Call, prompt: bytes) -> Paid:
        """A prompt that is too long is not sent: a server might cut it without a word."""
        voice, (task, label, _, _) = self.voice, self._subject
        till, size = voice.till, len(prompt)
        tokens, room = till.estimates.tokens(voice.model, size), self.context_tokens
        if tokens > room:
            raise ContextTooLong(voice.model, tokens, room)
        try:
            return await till.ask(voice.llm, call, Order(task, voice.agent, label, size))
        except ContextOverflow as error:
            till.estimates.overflowed(voice.model, error.limit or tokens * 3 // 4)
            raise
        finally:
            voice.speech.over(task.id)

    async def ask_for(
        self,
        messages: Sequence[Said],
        read: Callable[[str], Readable],
        schema: type[BaseModel] | None = None,
    ) -> Readable:
        """A reply of a certain form; a model that misses it is told so, and may try again."""
        talk = list(messages)
        for left in range(self._limits.repair_turns, -1, -1):
            text = await self.ask(talk, schema)
            try:
                return read(text)
            except BadReply as bad:
                if not left:
                    raise UnreadableReply(bad.complaint) from bad
                talk += [Said("assistant", text or "(nothing)"), prompts.complaint(bad.complaint)]
        raise AssertionError("the last try returns or raises")

    def _key(self, prompt: bytes) -> str:
        asked = f"{self._subject.label}|{self._subject.state}|{self.voice.model}|"
        return hashlib.sha256(asked.encode(errors="replace") + prompt).hexdigest()[:32]
