"""The printed pages of board, mail and crew."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from core.cli.paper import block, columns, heading, many, tree
from core.cli.plain import one_line, plain
from core.crew import Member
from core.domain.message import MailStatus
from core.domain.task import TaskStatus
from core.views.board import BoardView, Need
from core.views.mail import MailLine, MailView
from core.views.wording import duration

NEEDS_SHOWN = 20
NOTES_SHOWN = 5

_COUNTED = {
    TaskStatus.PENDING: "waiting to begin",
    TaskStatus.CLAIMED: "in work",
    TaskStatus.WAITING: "waiting",
    TaskStatus.REVIEW: "with the advisor",
    TaskStatus.CRITIQUE: "to be mended",
    TaskStatus.HUMAN_REVIEW: "with you",
    TaskStatus.MERGING: "to be merged",
    TaskStatus.COMPLETED: "done",
    TaskStatus.FAILED: "failed",
    TaskStatus.BLOCKED: "blocked",
    TaskStatus.DEFERRED: "put aside",
    TaskStatus.CANCELLED: "cancelled",
}
_LETTERS = {
    MailStatus.QUEUED: "waiting",
    MailStatus.TAKEN: "taken",
    MailStatus.ACKNOWLEDGED: "handled",
    MailStatus.WITHDRAWN: "withdrawn",
    MailStatus.DEAD: "dead",
}


def print_board(console: Console, board: BoardView, *, finished: bool) -> None:
    if not board.open_requests and not board.finished_requests:
        console.print('Nothing was asked for yet. Begin with: swarm run "what you want"')
        return
    _needs(console, "Needs you", board.needs_you, NEEDS_SHOWN)
    _needs(console, "Failed", board.failed, NOTES_SHOWN)
    _needs(console, "Worth a look", board.worth_a_look, NOTES_SHOWN)
    if board.needs_you or board.failed or board.worth_a_look:
        console.print()
        block(console, "Before you decide, swarm show ID shows the work and what happened.")
    if board.requests:
        heading(console, "All requests" if finished else "Open requests")
        tree(console, board.requests)
    elif not board.needs_you:
        console.print("\nNothing is open.")
    console.print()
    parts = [f"{count:,} {_COUNTED[status]}" for status, count in board.counts.items()]
    if parts:
        console.print(f"{many(sum(board.counts.values()), 'task')}: {', '.join(parts)}.")
    if board.finished_requests and not finished:
        console.print(f"{many(board.finished_requests, 'finished request')}: swarm status --all")


def _needs(console: Console, title: str, needs: Sequence[Need], shown: int) -> None:
    if not needs:
        return
    heading(console, f"{title} ({len(needs)})")
    for need in needs[:shown]:
        console.print(
            Text.assemble("  ", (need.task, "bold"), "  ", one_line(need.title)),
            no_wrap=True,
            overflow="ellipsis",
        )
        if need.why:
            block(console, one_line(need.why, 300), 8)
        for command in need.commands:
            console.print(Text(f"        {command}", style="cyan"))
    if len(needs) > shown:
        console.print(f"  … and {len(needs) - shown:,} more: swarm status --json")


def print_mail(console: Console, mail: MailView, *, everything: bool) -> None:
    if not mail.letters:
        handled = sum(mail.counts.values())
        more = f" ({handled:,} handled: swarm mail --all)" if handled and not everything else ""
        console.print(f"No mail is open{more}.")
        return
    head = [Text(word, "dim") for word in ("mail", "task", "to", "state", "tries", "age")]
    columns(console, [head, *(_letter(letter) for letter in mail.letters)], stretch=1)
    if mail.counts.get(MailStatus.DEAD):
        console.print("\nA dead letter is not tried again; its task went to you: swarm status")


def _letter(letter: MailLine) -> list[Text]:
    state = Text(_LETTERS[letter.status], "red" if letter.status is MailStatus.DEAD else "")
    if letter.agent:
        state.append(f" by {one_line(letter.agent)}")
    return [
        Text(str(letter.number), "bold"),
        Text(one_line(f"{letter.task or ''}  {letter.title}")),
        Text(one_line(letter.to)),
        state,
        Text(str(letter.tries)),
        Text(duration(letter.age_seconds)),
    ]


def print_agents(console: Console, members: Sequence[Member], file: Path, *, own: bool) -> None:
    head = [Text(word, "dim") for word in ("name", "role", "model", "skills")]
    columns(console, [head, *(_member(member) for member in members)], stretch=3)
    if own:
        text = f"The crew of this project: {plain(str(file))}"
    else:
        text = "This is Swarm's own crew; swarm init makes a file for one of this project."
    console.print()
    block(console, text, 0)


def _member(member: Member) -> list[Text]:
    return [
        Text(member.name, "bold"),
        Text(member.role.value),
        Text(one_line(member.model or "the one chosen", 40)),
        Text(one_line(", ".join(member.skills))),
    ]
