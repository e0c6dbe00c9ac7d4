"""Lays values of several sources over each other and checks them; an error names its source."""

import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from core.errors import BadConfig
from core.yaml_files import Node, Plain, plain, quoted

Model = TypeVar("Model", bound=BaseModel)

_SHOULD_BE = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number with an end",
    "bool_type": "on or off",
    "string_type": "a text",
    "list_type": "a list, like [a, b]",
    "tuple_type": "a list, like [a, b]",
    "dict_type": "a group of keys with values",
    "model_type": "a group of keys with values",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_SERVER_KEY = re.compile(
    r"(.*[_-])?(api([_-]?\w+)?|(base[_-]?)?ur[il]|key|token|secret|password|authorization"
    r"|servers?|providers?|hosts?|port|endpoint|headers?|proxy)",
    re.IGNORECASE,
)


def leaf(keys: Sequence[str], value: Plain, at: str) -> Node:
    """One value under its chain of keys, as a layer of its own."""
    node = Node(at, value, key_at=at)
    for key in reversed(keys):
        node = Node(at, {key: node}, key_at=at)
    return node


def over(strong: Node, weak: Node) -> Node:
    """Groups are laid together key by key; any other value of the strong layer wins."""
    if not isinstance(weak.value, dict):
        return strong
    if strong.blank:
        return weak
    if not isinstance(strong.value, dict):
        return strong
    merged = dict(weak.value)
    for key, node in strong.value.items():
        merged[key] = over(node, merged[key]) if key in merged else node
    return strong._replace(value=merged)


def checked(model: type[Model], node: Node, remarks: Mapping[str, str] | None = None) -> Model:
    """The values as a model; a remark is added where a section's value is missing or too small."""
    try:
        return model.model_validate_json(json.dumps(_bare(node)), strict=True)
    except ValidationError as error:
        # A misspelt key explains a missing one, so it comes first.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        raise BadConfig(_sentence(model, node, first, remarks or {})) from error


def refuse_servers(node: Node, but: str = "base_url") -> None:
    """A file names a server and the variable of its key in one way, which trust watches."""
    for key, child in node.children.items():
        if key != but and _SERVER_KEY.fullmatch(key):
            raise BadConfig(f"{child.key_at}: {server_words(key)}")


def server_words(what: str) -> str:
    return (
        f"{quoted(what)} can't be set in a file; base_url names a server, key_variable the "
        "variable of its key, and keys come from the environment only"
    )


def nearest(word: str, known: Sequence[str]) -> str:
    """How to mend an unknown word: the nearest known one, or all that are known."""
    by_lower = {one.lower(): one for one in known}
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{by_lower[close[0]]}'?"
    return f"known are {', '.join(known)}" if known else "nothing is known here"


def _bare(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _bare(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_bare(child) for child in node.value]
    return node.value


def _sentence(
    model: type[BaseModel], root: Node, complaint: ErrorDetails, remarks: Mapping[str, str]
) -> str:
    path = [part for part in complaint["loc"] if part != "[key]"]
    about_key = "[key]" in complaint["loc"]
    node, name = _found(root, path), str(path[-1]) if path else ""
    match complaint["type"]:
        case "extra_forbidden":
            hint = nearest(name, _known_keys(model, path[:-1]))
            return f"{node.key_at}: the key {quoted(name)} is unknown; {hint}"
        case "missing":
            return f"{node.at}: the key '{name}' is missing; add it"
        case "enum" | "literal_error":
            at = node.key_at if about_key else node.at
            return f"{at}: {_not_one_of(name, node, complaint, about_key=about_key)}"
    remark = remarks.get(str(path[0]), "") if path else ""
    return f"{node.at}: {_wrong_value(_subject(path), node, complaint, remark)}"


def _not_one_of(name: str, node: Node, complaint: ErrorDetails, *, about_key: bool) -> str:
    known = [word for word in complaint["ctx"]["expected"].split("'")[1::2] if word]
    if about_key:
        return f"the key {quoted(name)} is unknown; {nearest(name, known)}"
    if node.value is None:
        return f"{quoted(name)} has no value; choose one of {', '.join(known)}"
    hint = nearest(str(node.value), known)
    return f"{quoted(name)} can't be {_described(node, 'string_type')}; {hint}"


def _wrong_value(subject: str, node: Node, complaint: ErrorDetails, remark: str) -> str:
    kind, context = complaint["type"], complaint.get("ctx", {})
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        said = f"{subject} is {node.value} and should be {words} {context[bound]:g}"
        return f"{said}; {remark}" if remark and bound in ("gt", "ge") else said
    if node.value is None:
        return f"{subject} has no value; {remark or 'give it one, or remove the line'}"
    if kind in _SHOULD_BE:
        return f"{subject} should be {_SHOULD_BE[kind]}, not {_described(node, kind)}"
    if kind == "value_error":
        return str(context["error"])
    return f"{subject} can't be used: {complaint['msg'].lower()}"


def _subject(path: Sequence[str | int]) -> str:
    match path:
        case [*_, str(group), int(place)]:
            return f"item {place + 1} of {quoted(group)}"
        case [*_, last]:
            return quoted(str(last))
    return "the file"


def _described(node: Node, kind: str) -> str:
    if isinstance(node.value, dict):
        return "a group of keys"
    if isinstance(node.value, list):
        return "a list"
    if isinstance(node.value, bool):
        return "on or off"
    if not isinstance(node.value, str):
        return str(node.value)
    unquoted = kind != "string_type" and not isinstance(plain(node.value), str)
    return f"{quoted(node.value)}" + ("; remove the quotes" if unquoted else "")


def _found(root: Node, path: Sequence[str | int]) -> Node:
    """The node at the path, or the last one on the way to it."""
    node = root
    for part in path:
        if isinstance(node.value, dict) and part in node.value:
            node = node.value[str(part)]
        elif isinstance(node.value, list) and isinstance(part, int):
            node = node.value[part]
    return node


def _known_keys(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    for part in path:
        by_key = {field.alias or name: field for name, field in model.model_fields.items()}
        inner = by_key[str(part)].annotation if part in by_key else None
        for found in (inner, *get_args(inner)):
            if isinstance(found, type) and issubclass(found, BaseModel):
                model = found
    return [field.alias or name for name, field in model.model_fields.items()]
