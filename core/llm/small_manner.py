"""The manner for small models: examples in place of rules, and short, bounded replies."""

import json
from collections.abc import Sequence

from core.domain.critique import Advice, Opinion
from core.domain.plan import NewTask
from core.domain.soundness import faults
from core.domain.task import FIX, Phase, Task
from core.llm.client import Said
from core.llm.manner import Question
from core.llm.prompts import Part
from core.llm.replies import Answer
from core.llm.small_examples import JUDGED, PLANS, WRITTEN, Judged, Planned
from core.llm.small_replies import (
    Form,
    PartsReply,
    PointsReply,
    VerdictReply,
    form_of,
    read_parts,
    read_points,
    read_verdict,
    read_written,
    too_few,
)

PLAN_RULE = (
    "You split a request into 3 to 5 parts for different writers. Every part has its own subject, "
    "named in 3 to 8 words; no two parts overlap. The form of a part is list (steps or checks), "
    "code (a script, a function, a test) or text (an explanation)."
)
WORK_RULE = (
    "You write one part of a longer text; other writers do the other parts. Write only your part: "
    "no greeting, no heading, no conclusion. Be concrete: name commands, files, numbers, or who "
    "does what."
)
ADVICE_RULE = (
    "You are an editor. You pass a text that does its task, and send back one that does not."
)
FORMS = {
    Form.LIST: "Form: JSON with 3 to 6 points, each one sentence.",
    Form.CODE: "Form: one code block of at most 25 lines, then one sentence.",
    Form.TEXT: "Form: plain text of 3 to 5 sentences; commands in one short block.",
}


class Small:
    """For models of a few billion parameters and less."""

    def plan(self, skills: str, task: Task, request: str) -> Question[list[NewTask]]:
        messages = [_system(skills, PLAN_RULE)]
        for shown in PLANS:
            messages += [_user(f"Request: {shown.request}"), Said("assistant", _as_reply(shown))]
        wanted = f"Request: {request}"
        if task.id != task.root:
            wanted += f"\nSplit only this part of it: {_words(task)}"
        messages.append(_user(_with_feedback(wanted, task)))
        wish = _words(task)
        return Question(tuple(messages), lambda text: read_parts(text, wish), PartsReply, too_few)

    def work(
        self, skills: str, task: Task, request: str, phase: Phase, material: Sequence[Part]
    ) -> Question[Answer]:
        form = form_of((*task.tags, *task.planner_tags))
        shown = WRITTEN[form]
        asked = _part_asked(shown.request, shown.part, shown.others, form)
        messages = [_system(skills, WORK_RULE), _user(asked), Said("assistant", shown.reply)]
        written = "".join(f"Already written, do not repeat it:\n{one.text}\n\n" for one in material)
        whole = "" if task.id == task.root else request
        wanted = _part_asked(whole, _words(task), task.description, form)
        if phase is FIX and task.critique is not None:
            fixes = "\n".join(f"- {fix}" for fix in task.critique.suggestions)
            wanted += f"\n\nYour earlier text:\n{task.result}\n\nWrite it again and mend:\n{fixes}"
        messages.append(_user(written + _with_feedback(wanted, task)))
        if form is Form.LIST:
            return Question(tuple(messages), read_points, PointsReply)
        return Question(tuple(messages), lambda text: read_written(text, shown.reply))

    def seen(self, task: Task, limit: int) -> Advice | None:
        found = faults(task.result or "")
        if not found:
            return None
        fixes = tuple(found[:limit])
        return Advice(opinion=Opinion.REJECTED, suggestions=fixes, comment="seen without a model")

    def advise(self, skills: str, task: Task, request: str, limit: int) -> Question[Advice]:
        messages = [_system(skills, ADVICE_RULE)]
        for shown in JUDGED:
            messages += [
                _user(_advice_asked(shown.part, shown.text)),
                Said("assistant", _verdict(shown)),
            ]
        messages.append(_user(_advice_asked(_words(task), task.result or "")))
        return Question(tuple(messages), lambda text: read_verdict(text, limit), VerdictReply)


SMALL = Small()


def _system(skills: str, rule: str) -> Said:
    return Said("system", f"{skills}\n\n{rule}".strip())


def _user(text: str) -> Said:
    return Said("user", text)


def _words(task: Task) -> str:
    """A request in its own words; a part by its title, for its description names the others."""
    return task.description or task.title if task.is_container else task.title


def _part_asked(request: str, part: str, others: str, form: Form) -> str:
    lines = [f"The whole text: {request}" if request else "", f"Others write: {others}"]
    return "\n".join([*(line for line in lines if line), f"Your part: {part}", FORMS[form]])


def _advice_asked(part: str, text: str) -> str:
    return f"Task: {part}\nText:\n{text}"


def _with_feedback(text: str, task: Task) -> str:
    if task.feedback is None:
        return text
    said = [*task.feedback.quick_issues, task.feedback.text]
    return f"{text}\n\nThe reader of an earlier version asks: {'; '.join(filter(None, said))}"


def _as_reply(shown: Planned) -> str:
    return json.dumps({"parts": [{"title": title, "form": form} for title, form in shown.parts]})


def _verdict(shown: Judged) -> str:
    return json.dumps({"passed": not shown.fixes, "suggestions": shown.fixes})
