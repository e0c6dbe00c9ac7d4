"""Condensing: material that does not fit a model's context is summarised in steps, never cut."""

from collections.abc import Sequence

from core.agents.asking import BYTES_A_TOKEN, Asking, Subject, estimated_tokens
from core.domain.task import Task
from core.errors import UnreadableReply
from core.llm import prompts
from core.llm.prompts import Part
from core.llm.replies import read_text
from core.task_board import TaskBoard

MOST_ROUNDS = 6
ORDERS_TOKENS = 200
"""What our own words around the material take."""


async def condensed(
    asking: Asking, request: str, parts: Sequence[Part], frame_tokens: int
) -> list[Part]:
    """The parts as they are where they fit beside the frame, else summaries that do."""
    room = asking.room_tokens - frame_tokens
    kept = list(parts)
    for _ in range(MOST_ROUNDS):
        if _size(kept) <= room:
            return kept
        kept = await _one_round(asking, request, kept)
    raise UnreadableReply("the results are too long for this model, and its summaries too")


async def short_request(asking: Asking, board: TaskBoard, task: Task) -> str:
    """What was asked for, or its summary where it would leave too little room for the work."""
    words = await board.words(task.root)
    most = asking.room_tokens // 2
    # Of four bytes at most is a character: a short request need not be counted.
    if 4 * len(words) < most or estimated_tokens(words) <= most:
        return words
    # Of the request itself, so that every agent with this model finds the same summary.
    root = await board.get(task.root)
    own = asking.about(Subject(root, "request", "summary"))
    frame_tokens = own.room_tokens - most
    parts = await condensed(own, root.title[:200], [Part("request", words)], frame_tokens)
    asking.usage += own.usage
    return "\n\n".join(part.text for part in parts)


async def _one_round(asking: Asking, request: str, parts: Sequence[Part]) -> list[Part]:
    room = asking.room_tokens - ORDERS_TOKENS - estimated_tokens(request)
    if room < ORDERS_TOKENS:
        raise UnreadableReply("the request leaves no room for results in this model's context")
    longest = max(room // 4, 64)
    summaries = []
    for group in _groups(parts, room):
        messages = prompts.summary(request, group)
        text = read_text(await asking.ask(messages, max_output_tokens=longest))
        if len(text) >= sum(len(part.text) for part in group):
            raise UnreadableReply("the model's summary is longer than what it summarises")
        summaries.append(Part(_joined_title(group), text))
    return summaries


def _groups(parts: Sequence[Part], room: int) -> list[list[Part]]:
    """Neighbours together, as many as fit; a part too large for one group is taken in pieces."""
    groups: list[list[Part]] = [[]]
    for part in parts:
        for piece in _pieces(part, room):
            if groups[-1] and _size([*groups[-1], piece]) > room:
                groups.append([])
            groups[-1].append(piece)
    return groups


def _pieces(part: Part, room: int) -> list[Part]:
    if _size([part]) <= room:
        return [part]
    # A character may take four bytes, so this many always fit.
    step = max((room - ORDERS_TOKENS // 4) * BYTES_A_TOKEN // 4, 64)
    texts = [part.text[at : at + step] for at in range(0, len(part.text), step)]
    return [Part(f"{part.title} ({number})", text) for number, text in enumerate(texts, 1)]


def _size(parts: Sequence[Part]) -> int:
    return sum(estimated_tokens(part.text) + estimated_tokens(part.title) + 16 for part in parts)


def _joined_title(group: Sequence[Part]) -> str:
    return "; ".join(dict.fromkeys(part.title for part in group))[:200]
