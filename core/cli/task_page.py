"""The printed pages of one task: all about it, or what was said to models for it."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from core.cli.paper import block, fields, hanging, heading, many, tree, when
from core.cli.plain import one_line, plain
from core.domain.feedback import Feedback
from core.domain.task import Kind, Usage
from core.views.board import TaskLine
from core.views.task import Call, CritiqueLine, Spending, TaskView
from core.views.wording import duration, opinion


def print_task(console: Console, task: TaskView, now: float) -> None:
    _head(console, task)
    fields(console, _facts(task, now))
    if task.description.strip() not in ("", task.title.strip()):
        heading(console, "What was asked")
        block(console, task.description)
    if task.below:
        heading(console, "Its tasks")
        tree(console, task.below)
    _advice(console, task.critiques, now)
    _decisions(console, task.feedback, now)
    _results(console, task, now)
    _story(console, task, now)
    if task.commands:
        heading(console, "What you can do")
        for command in task.commands:
            console.print(Text(f"  {command}", style="cyan"))


def _head(console: Console, task: TaskView) -> None:
    console.print(
        Text.assemble((task.id, "bold"), f"  {task.kind.value}, ", (task.doing, "bold")),
    )
    console.print(Text(one_line(task.title), "bold"))


def _facts(task: TaskView, now: float) -> Iterator[tuple[str, str]]:
    if task.parent is not None:
        yield "request", f"{task.request}  {task.request_title}"
    yield "why", task.why
    yield "advice", task.verdict
    yield "look", "it was accepted although something is not right" if task.needs_attention else ""
    if task.agent:
        since = f" for {duration(task.elapsed_seconds)}" if task.elapsed_seconds else ""
        yield "in hand", f"{task.agent}{since}"
    yield "done by", task.executor or ""
    if task.kind is Kind.TASK:
        yield "nature", f"{task.complexity.value}, type {task.type}"
    yield "tags", ", ".join(task.tags)
    yield "depends on", "; ".join(_named(one) for one in task.depends_on)
    yield "so far", _counters(task)
    yield "added", when(task.created, now)
    if task.completed_at is not None:
        took = f" after {duration(task.elapsed_seconds)}" if task.elapsed_seconds else ""
        yield "ended", when(task.completed_at, now) + took
    yield "cost", cost(task.spent)


def _named(line: TaskLine) -> str:
    return f"{line.id} {line.title} ({line.doing})"


def _counters(task: TaskView) -> str:
    parts = [
        many(task.iterations, "working pass").replace("passs", "passes") if task.iterations else "",
        many(task.critiques_so_far, "critique") if task.critiques_so_far else "",
        many(task.attempts, "failed attempt") if task.attempts else "",
        f"round {task.round}" if task.round > 1 else "",
    ]
    return ", ".join(part for part in parts if part)


def cost(spent: Spending) -> str:
    if not spent.calls and not spent.unknown:
        return "no calls yet"
    cached = f" ({spent.cached_tokens:,} cached)" if spent.cached_tokens else ""
    money = f"${spent.cost_usd:.4f}" if spent.cost_usd is not None else "price unknown"
    if spent.cost_usd is not None and spent.unpriced:
        money += f", {many(spent.unpriced, 'call')} of unknown price"
    open_calls = f", {many(spent.unknown, 'call')} of unknown cost" if spent.unknown else ""
    return (
        f"{many(spent.calls, 'call')}, {spent.input_tokens:,} tokens in{cached}, "
        f"{spent.output_tokens:,} out, {money}{open_calls}"
    )


def _advice(console: Console, critiques: Sequence[CritiqueLine], now: float) -> None:
    if not critiques:
        return
    heading(console, "Advice")
    for line in critiques:
        one = line.critique
        late = " (too late: only kept)" if one.late else ""
        who = one_line(f"{one.reviewer} {opinion(one)}")
        console.print(Text(f"  {when(one.ts, now)}  {who}{late}"))
        for suggestion in one.suggestions:
            block(console, f"- {suggestion}", 6)
        if one.comment.strip():
            block(console, one.comment, 6)


def _decisions(console: Console, said: Sequence[Feedback], now: float) -> None:
    if not said:
        return
    heading(console, "What you decided")
    for one in said:
        console.print(Text(f"  {when(one.ts, now)}  {one.decision.value}"))
        words = [*one.quick_issues, *([one.text] if one.text.strip() else [])]
        for text in words:
            block(console, text, 6)


def _results(console: Console, task: TaskView, now: float) -> None:
    word = "Answer" if task.kind is Kind.REQUEST else "Result"
    for earlier in task.answers:
        partial = ", partial" if earlier.partial else ""
        heading(console, f"{word}, version {earlier.version} ({when(earlier.ts, now)}{partial})")
        block(console, earlier.text)
    if task.result is not None:
        current = f", version {len(task.answers) + 1} (the current one)" if task.answers else ""
        heading(console, f"{word}{current}")
        block(console, task.result)


def _story(console: Console, task: TaskView, now: float) -> None:
    heading(console, "What happened")
    for line in task.story:
        hanging(console, Text(f"  {when(line.ts, now)}", "dim"), one_line(line.text, 500))


def print_calls(console: Console, task: TaskView, calls: Sequence[Call], now: float) -> None:
    _head(console, task)
    if not calls:
        console.print("\nNo model was asked for this task yet.")
        if task.below:
            console.print("Its tasks have calls of their own: swarm show ID --prompts")
        return
    for number, call in enumerate(calls, 1):
        heading(console, f"Call {number} of {len(calls)}: {one_line(call.label)}")
        unused = "  (could not be used; asked anew)" if call.discarded else ""
        fields(
            console,
            [
                ("agent", call.agent),
                ("model", call.model),
                ("kept at", f"{when(call.ts, now)}{unused}"),
                ("tokens", _tokens(call.usage)),
            ],
        )
        for role, content in call.messages:
            _said(console, f"sent as {role}", content)
        _said(console, "came back", call.reply)


def _said(console: Console, title: str, text: str) -> None:
    """As it was, line by line: only what a terminal would obey is left out."""
    console.print(Text(f"\n  ── {one_line(title)} ──", "dim"))
    console.print(Text(plain(text)), soft_wrap=True)


def _tokens(usage: Usage) -> str:
    if not usage.input_tokens and not usage.output_tokens:
        return "unknown"
    return f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"
