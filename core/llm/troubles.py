"""Turns what went wrong at a model server into the error the crew acts on."""

import json
import re
from typing import Any, NamedTuple

from core.errors import ContextOverflow, ModelFailed, ModelOutage, ModelRefused
from core.llm.retries import Temporary

LONGEST_QUOTE = 300
TEMPORARY_STATUSES = frozenset({408, 409, 425, 429})
KEY_MEND = "check OPENAI_API_KEY"
MODEL_MEND = "name a model the server has; see swarm doctor"
MONEY_MEND = "add credit there, or use another key"

CONTEXT = re.compile(
    r"context[ _](length|size|window)|prompt is too long|too many (input )?tokens", re.IGNORECASE
)
UNKNOWN_MODEL = re.compile(
    r"model_not_found|\bmodel\b.*(not found|not exist|not a valid)|invalid model", re.IGNORECASE
)
LOOKS_LIKE_A_KEY = re.compile(r"\bsk-\S+|\S*\*{3,}\S*")


_LIMIT = re.compile(
    r"(?:context[ _](?:length|size|window)|maximum|limit)\D{0,30}?(\d[\d,]{2,8})\b", re.IGNORECASE
)


class Complaint(NamedTuple):
    """What a server said about a call it did not take."""

    text: str
    code: str = ""
    param: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in self if part)

    @property
    def about_money(self) -> bool:
        return "insufficient_quota" in self.code

    @property
    def about_context(self) -> bool:
        return bool(CONTEXT.search(str(self)))


def complaint_in(body: bytes) -> Complaint:
    """The sentence in an error body, whichever of the usual forms it has."""
    text = body.decode(errors="replace").strip()
    try:
        return _complaint(json.loads(text))
    except (ValueError, RecursionError):
        return Complaint("a web page" if text.startswith("<") else text)


def complaint_of(error: object) -> Complaint:
    """The same for the error object in the middle of a stream."""
    return _complaint({"error": error})


def _complaint(found: Any) -> Complaint:
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, dict):
        return Complaint(str(found))
    error = found.get("error") or found
    if not isinstance(error, dict):
        return Complaint(str(error))
    codes = [str(error[name]) for name in ("code", "type") if error.get(name)]
    text = error.get("message") or _details(error.get("detail"))
    return Complaint(str(text), " ".join(codes), str(error.get("param") or ""))


def _details(detail: object) -> str:
    if not isinstance(detail, list):
        return str(detail or "")
    # Only place and message: such a detail also repeats the whole input.
    known = [one for one in detail if isinstance(one, dict)]
    return "; ".join(f"{_place(one.get('loc'))}: {one.get('msg', '')}" for one in known)


def _place(loc: object) -> str:
    return ".".join(map(str, loc)) if isinstance(loc, list) else str(loc or "")


def quoted(text: str, key: str) -> str:
    """A server's words on one line, short, and with nothing of a key in them."""
    if key:
        text = text.replace(key, "[key]")
    words = LOOKS_LIKE_A_KEY.sub("[key]", text).split()
    line = "".join(char for char in " ".join(words) if char.isprintable())
    return line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE] + "…"


def judged(
    server: str, status: int, complaint: Complaint, retry_after_seconds: float | None = None
) -> Temporary | ModelRefused | ModelFailed:
    """What a refusal with this status means; the complaint's text is already `quoted`."""
    why = f"HTTP {status}: {complaint.text}" if complaint.text else f"HTTP {status}"
    if complaint.about_money or status == 402:
        return ModelRefused(server, why, MONEY_MEND)
    if status in TEMPORARY_STATUSES or status >= 500:
        return Temporary(ModelOutage(server, why), retry_after_seconds, busy=status == 429)
    if status < 400:
        return Temporary(ModelFailed(server, f"an error instead of a reply: {complaint.text}"))
    if status == 413 or complaint.about_context:
        said = _LIMIT.search(complaint.text)
        return ContextOverflow(
            server,
            f"the prompt does not fit the model's context ({why})",
            int(said[1].replace(",", "")) if said else None,
        )
    return ModelRefused(server, why, _mend(status, complaint))


def _mend(status: int, complaint: Complaint) -> str:
    if status == 404 or UNKNOWN_MODEL.search(str(complaint)):
        return MODEL_MEND
    return KEY_MEND if status in (401, 403) else "see swarm doctor"
