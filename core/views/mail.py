"""The mail: open and dead letters, or all there ever were."""

from collections import defaultdict

from core.domain.message import OPEN, MailStatus, Message
from core.domain.task import TaskId
from core.store.protocol import Store
from core.views.view import View


class MailLine(View):
    number: int
    kind: str
    status: MailStatus
    to: str
    task: TaskId | None
    title: str
    age_seconds: float
    tries: int
    agent: str | None


class MailView(View):
    now: float
    letters: tuple[MailLine, ...]
    counts: dict[MailStatus, int]


async def mail(store: Store, *, handled: bool = False) -> MailView:
    """Open and dead letters; with `handled`, those that were answered or withdrawn too."""
    async with store.read() as reader:
        letters, now = await reader.messages(), reader.now
        wanted = [one for one in letters if handled or one.status in {*OPEN, MailStatus.DEAD}]
        titles = {one.task: (await reader.task(one.task)).title for one in wanted if one.task}
    counts: dict[MailStatus, int] = defaultdict(int)
    for letter in letters:
        counts[letter.status] += 1
    return MailView(
        now=now,
        letters=tuple(_letter(one, titles[one.task] if one.task else "", now) for one in wanted),
        counts={status: counts[status] for status in MailStatus if counts[status]},
    )


def _letter(letter: Message, title: str, now: float) -> MailLine:
    return MailLine(
        number=letter.number,
        kind=letter.kind.value,
        status=letter.status,
        to=letter.to_agent or (letter.to_role.value if letter.to_role else ""),
        task=letter.task,
        title=title,
        age_seconds=max(now - letter.created, 0.0),
        tries=letter.tries,
        agent=letter.agent,
    )


NO_MAIL = MailView(now=0.0, letters=(), counts={})
