"""Puts new tasks on the board inside a transaction: ids, ranks, dependencies, refusals."""

import random
from collections.abc import Sequence

from core.consequences import Consequences, under_cancelled
from core.domain.frozen import evolve
from core.domain.limits import Limits
from core.domain.plan import (
    NewTask,
    Placing,
    check_children,
    check_new,
    check_no_cycle,
    check_plan,
    placed,
    resolved,
)
from core.domain.steps import Place, Step, place_of
from core.domain.task import Kind, Task, TaskId, random_id
from core.errors import BadPlan, IllegalTransition
from core.store.protocol import Transaction

_ID_LENGTHS = (4, 4, 5, 5, 6, 6, 6, 6)
_TAKES_CHILDREN = frozenset({Place.WAITING, Place.CLAIMED_CLOSE_OUT})


class NewTasks:
    """Of one transaction."""

    def __init__(
        self, tx: Transaction, keep: Consequences, limits: Limits, chance: random.Random
    ) -> None:
        self._tx = tx
        self._keep = keep
        self._limits = limits
        self._chance = chance

    async def add_root(self, new: NewTask) -> Task:
        """A request, or a single task nobody has to plan; it may depend on other roots."""
        check_new(new, self._limits)
        if new.kind not in (Kind.REQUEST, Kind.TASK):
            raise BadPlan(f"a {new.kind} needs a parent; only requests and tasks stand alone")
        depends_on = [TaskId(name) for name in dict.fromkeys(new.depends_on)]
        for task_id in depends_on:
            if not await self._tx.has_task(task_id):
                raise BadPlan(f"{new.title!r} depends on {task_id!r}, which is not on the board")
            if (await self._tx.task(task_id)).parent is not None:
                raise BadPlan(f"{new.title!r} depends on {task_id!r}, a part of a request")
        at = Placing(id=await self._free_id(), parent=None, rank="", now=self._tx.now)
        task = placed(new, at, depends_on, self._limits)
        await self._keep.add(task)
        return task

    async def add_child(self, parent: Task, new: NewTask) -> Task:
        """One more task, milestone or idea below a parent whose plan was made."""
        await self.check_parent(parent, Step.ADD)
        check_children((new,), await self._tx.count_family(parent.root), self._limits)
        siblings = await self._tx.children(parent.id)
        (task,) = await self._create(parent, (new,), first=len(siblings))
        return task

    async def add_plan(self, parent: Task, plan: Sequence[NewTask]) -> list[Task]:
        """The children of a plan, all or none."""
        check_plan(plan, await self._tx.count_family(parent.root), self._limits)
        return await self._create(parent, plan, first=0)

    async def check_parent(self, parent: Task, step: Step) -> None:
        """Refuse a child where no close-out would come to see it."""
        place = place_of(parent)
        if place not in _TAKES_CHILDREN and not (parent.planned and parent.settled):
            raise IllegalTransition(parent.id, place, step, "it takes no tasks now")
        if await under_cancelled(self._tx, parent):
            raise IllegalTransition(parent.id, place, step, "what is above it is cancelled")

    async def _create(self, parent: Task, plan: Sequence[NewTask], *, first: int) -> list[Task]:
        now = self._tx.now
        ids = [await self._free_id() for _ in plan]
        if len(set(ids)) < len(ids):
            return await self._create(parent, plan, first=first)
        keys = {new.key: task_id for new, task_id in zip(plan, ids, strict=True) if new.key}
        named = any(new.depends_on for new in plan)
        family = {task.id: task for task in await self._tx.family(parent.root)} if named else {}
        born: dict[TaskId, Task] = {}
        for number, (new, task_id) in enumerate(zip(plan, ids, strict=True), start=first):
            at = Placing(id=task_id, parent=parent, rank=f"{parent.rank}{number:05d}.", now=now)
            born[task_id] = placed(new, at, (), self._limits)
        if named:
            family |= born
            for new, task_id in zip(plan, ids, strict=True):
                depends_on = tuple(resolved(new, keys, family))
                born[task_id] = evolve(born[task_id], {"depends_on": depends_on})
            check_no_cycle((family | born).values())
        for task in born.values():
            await self._keep.add(task)
        return list(born.values())

    async def _free_id(self) -> TaskId:
        """As short as it can be and still be free."""
        for length in _ID_LENGTHS:
            task_id = random_id(self._chance, length)
            if not await self._tx.has_task(task_id):
                return task_id
        raise BadPlan("no free id was found; the board is full")
