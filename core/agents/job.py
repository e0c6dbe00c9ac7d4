"""One piece of work: do, report, or give back."""

import traceback
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import anyio
import structlog

from core.agents.hands import Hands, Held
from core.agents.report import Report
from core.domain.task import AgentName
from core.errors import BudgetSpent, ClaimLost, MailLost, ModelOutage, ModelRefused, SwarmError

LAST_WORDS_SECONDS = 5.0
"""How long the board may take to hear of a piece of work when everything stops."""

log = structlog.get_logger()


class Job(NamedTuple):
    """Something found to do."""

    agent: AgentName
    held: Held
    do: Callable[[], Awaitable[Report]]
    let_go: Callable[[str | None], Awaitable[object]]
    """Give it back: with a cause it counts as an attempt."""


class Shift(Protocol):
    """What a piece of work must know of the crew it is done in."""

    hands: Hands

    def answered(self, server: str) -> None: ...
    async def budget_spent(self, error: BudgetSpent) -> bool:
        """Whether its request stops for that; a single task can't, and only fails."""
        ...

    async def outage(self, server: str, error: ModelOutage) -> None: ...
    def refused(self, error: SwarmError) -> None: ...


async def carry_out(job: Job, shift: Shift, server: str) -> None:
    """Do it and tell the board; whatever goes wrong costs this piece of work one attempt.

    It is cancelled when the claim is lost: then the board has moved on, and nothing is reported.
    """
    held = False
    try:
        try:
            report = await job.do()
        finally:
            # Before the report, which ends the claim itself.
            held = shift.hands.put_down(job.held)
        shift.answered(server)
        await _hand_in(job, report, shift.hands)
    except anyio.get_cancelled_exc_class():
        if held:
            with anyio.fail_after(LAST_WORDS_SECONDS, shield=True):
                await _give_back(job, None)
        raise
    except (ClaimLost, MailLost) as lost:
        log.info("claim_lost", held=job.held.name, reason=str(lost))
    except (BudgetSpent, ModelOutage, ModelRefused) as error:
        await _hold_up(job, shift, server, error)
    except SwarmError as error:
        log.warning("work_failed", held=job.held.name, reason=str(error))
        await _give_back(job, str(error))
    except Exception as error:
        # Not foreseen, so a bug: loud, but no reason to stop the others.
        log.error("work_crashed", held=job.held.name, trace=traceback.format_exc())
        await _give_back(job, f"{type(error).__name__}: {error}")


async def _hand_in(job: Job, report: Report, hands: Hands) -> None:
    """The model has been paid: a stop must not lose its answer."""
    try:
        await report()
    except anyio.get_cancelled_exc_class():
        with anyio.fail_after(LAST_WORDS_SECONDS, shield=True):
            if await hands.may_report(job.held):
                await report()
        raise


async def _hold_up(
    job: Job, shift: Shift, server: str, error: BudgetSpent | ModelOutage | ModelRefused
) -> None:
    """Not the fault of this piece of work: it costs no attempt."""
    match error:
        case BudgetSpent():
            stops = await shift.budget_spent(error)
            await _give_back(job, None if stops else str(error))
        case ModelOutage():
            await _give_back(job, None)
            await shift.outage(server, error)
        case ModelRefused():
            await _give_back(job, None)
            shift.refused(error)


async def _give_back(job: Job, because: str | None) -> None:
    """Also when a stop comes in the middle of it."""
    try:
        try:
            await job.let_go(because)
        except anyio.get_cancelled_exc_class():
            with anyio.fail_after(LAST_WORDS_SECONDS, shield=True):
                await job.let_go(because)
            raise
    except (ClaimLost, MailLost) as lost:
        log.info("claim_lost", held=job.held.name, reason=str(lost))
