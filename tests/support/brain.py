"""Brain: a model that plays every role of the crew by rules a test sets."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.llm import prompts
from core.llm.client import Call

Planned = Mapping[str, Any]


def _done(title: str, prompt: str) -> str:
    return f"The result of {title}.\nSTATUS: COMPLETE\nMESSAGE: done"


def _passes(title: str, prompt: str) -> Mapping[str, Any]:
    return {"passed": True, "comment": "ready"}


def _sums_up(prompt: str) -> str:
    return "The whole answer."


def planned(title: str, complexity: str = "simple", *needs: str, **more: Any) -> Planned:
    """A task of a plan, named by its title."""
    return {"key": title, "title": title, "complexity": complexity, "depends_on": needs, **more}


def rejection(*suggestions: str) -> Mapping[str, Any]:
    return {"passed": False, "suggestions": list(suggestions or ("name the source",))}


@dataclass
class Brain:
    plan: Sequence[Planned] | Callable[[str], str] = (planned("Write it"),)
    work: Callable[[str, str], str] = _done
    fix: Callable[[str, str], str] | None = None
    advise: Callable[[str, str], Mapping[str, Any] | str] = _passes
    answer: Callable[[str], str] = _sums_up
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Role, title and prompt of every call, in order."""

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        prompt = "\n\n".join(str(one["content"]) for one in messages if one["role"] != "system")
        role, title = role_of(prompt), title_of(prompt)
        self.asked.append((role, title, prompt))
        match role:
            case "plan":
                if callable(self.plan):
                    return self.plan(prompt)
                return json.dumps({"tasks": [dict(one) for one in self.plan]})
            case "advice":
                said = self.advise(title, prompt)
                return said if isinstance(said, str) else json.dumps(dict(said))
            case "close_out" | "summary":
                return self.answer(prompt)
            case "fix" if self.fix is not None:
                return self.fix(title, prompt)
            case _:
                return self.work(title, prompt)

    def reply(self, call: Call) -> str:
        """For a scripted model in this process."""
        return self([{"role": said.role, "content": said.content} for said in call.messages])

    def roles(self) -> list[str]:
        return [role for role, _, _ in self.asked]

    def prompts_of(self, role: str, title: str = "") -> list[str]:
        return [
            prompt
            for asked, about, prompt in self.asked
            if asked == role and (not title or about == title)
        ]


_ORDERS = {
    prompts.PLAN_FORM: "plan",
    prompts.ADVICE_FORM: "advice",
    prompts.CLOSE_OUT_ORDER: "close_out",
    prompts.SUMMARY_ORDER: "summary",
    prompts.FIX_ORDER: "fix",
    prompts.ANSWER_FORM: "work",
}


def role_of(prompt: str) -> str:
    return next((role for order, role in _ORDERS.items() if order in prompt), "other")


def title_of(prompt: str) -> str:
    found = re.search(r"<task>\n(.*)", prompt)
    return found[1] if found else ""
