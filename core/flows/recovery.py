"""One sweep over board and mailbox: what was left behind is taken back."""

from core.domain.agent import Crew
from core.domain.message import Message
from core.domain.task import Task
from core.mailbox import Mailbox
from core.task_board import TaskBoard


async def recover(
    board: TaskBoard, mailbox: Mailbox, crew: Crew | None = None
) -> tuple[list[Message], list[Task]]:
    """Mail first: a letter that dies now sends its review to a person in the same sweep."""
    letters = await mailbox.recover()
    return letters, await board.recover_stale_tasks(crew)
