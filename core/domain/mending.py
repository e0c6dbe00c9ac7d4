"""Mending a plan: what is wrong with it in words a planner understands, and how to save it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from core.domain.limits import Limits
from core.domain.plan import NewTask
from core.domain.task import Kind


def complaints(plan: Sequence[NewTask], already: int, limits: Limits) -> list[str]:
    """Everything that keeps this plan from being done as it stands."""
    found = []
    room = _room(already, limits)
    if not any(_is_work(new) for new in plan):
        found.append("the plan names no task: give at least one")
    if len(plan) > room:
        found.append(f"the plan has {len(plan)} tasks and may have {room}: merge some")
    if any(not new.title.strip() for new in plan):
        found.append("a task has no title: give each one")
    keys = Counter(new.key for new in plan)
    for key in sorted(key for key, times in keys.items() if key and times > 1):
        found.append(f"several tasks have the key {key!r}: keys must differ")
    by_key = _by_key(plan)
    for new in plan:
        found += [f"{new.title!r} {why}" for _, why in _bad_edges(new, by_key)]
    if not found and _edges(_without_cycles(plan)) < _edges(plan):
        found.append("tasks wait for each other in a circle: remove one of these dependencies")
    return found


def mended(plan: Sequence[NewTask], already: int, limits: Limits) -> tuple[NewTask, ...]:
    """What can be done of it: bad edges dropped, the list cut; empty when nothing is left."""
    seen: set[str] = set()
    kept: list[NewTask] = []
    for new in plan:
        if not new.title.strip() or new.kind is Kind.REQUEST:
            continue
        key = new.key if new.key not in seen else None
        if key is not None:
            seen.add(key)
        kept.append(new if key == new.key else new.model_copy(update={"key": key}))
    kept = kept[: _room(already, limits)]
    if not any(_is_work(new) for new in kept):
        return ()
    by_key = _by_key(kept)
    sound = [_with_good_edges(new, by_key) for new in kept]
    return tuple(_without_cycles(sound))


def _room(already: int, limits: Limits) -> int:
    return max(0, min(limits.plan_tasks, limits.request_tasks - already))


def _is_work(new: NewTask) -> bool:
    return new.kind in (Kind.TASK, Kind.MILESTONE) and bool(new.title.strip())


def _by_key(plan: Sequence[NewTask]) -> dict[str, NewTask]:
    return {one.key: one for one in plan if one.key is not None}


def _bad_edges(new: NewTask, by_key: Mapping[str, NewTask]) -> list[tuple[str, str]]:
    """Dependencies that can't be kept, each with the reason."""
    bad = []
    for name in new.depends_on:
        if name not in by_key:
            bad.append((name, f"depends on {name!r}, which is no task of this plan"))
        elif by_key[name] is new or name == new.key:
            bad.append((name, "depends on itself"))
        elif by_key[name].kind is Kind.IDEA:
            bad.append((name, f"depends on {name!r}, which is only an idea"))
    return bad


def _with_good_edges(new: NewTask, by_key: Mapping[str, NewTask]) -> NewTask:
    bad = {name for name, _ in _bad_edges(new, by_key)}
    return _needing(new, [name for name in dict.fromkeys(new.depends_on) if name not in bad])


def _without_cycles(plan: Sequence[NewTask]) -> list[NewTask]:
    """Edges are taken in plan order; one that would close a circle is left out."""
    needs: dict[str, set[str]] = {}
    kept = []
    for new in plan:
        good = []
        for name in new.depends_on:
            if new.key is None or not _reaches(needs, name, new.key):
                good.append(name)
                needs.setdefault(new.key or "", set()).add(name)
        kept.append(_needing(new, good))
    return kept


def _needing(new: NewTask, names: Sequence[str]) -> NewTask:
    same = len(names) == len(new.depends_on)
    return new if same else new.model_copy(update={"depends_on": tuple(names)})


def _reaches(needs: dict[str, set[str]], start: str, goal: str) -> bool:
    stack, seen = [start], set()
    while stack:
        here = stack.pop()
        if here == goal:
            return True
        if here not in seen:
            seen.add(here)
            stack += needs.get(here, set())
    return False


def _edges(plan: Sequence[NewTask]) -> int:
    return sum(len(new.depends_on) for new in plan)
