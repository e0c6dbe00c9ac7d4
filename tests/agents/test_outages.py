"""Outages: how long a crew waits for a server, or for the next day."""

from core.agents.outages import EVERYBODY, OUTAGE_SECONDS, Outages
from core.errors import DayBudgetSpent, ModelOutage
from tests.support.clock import VirtualClock

SERVER = "http://server"
DAY_SECONDS = 86_400


def _worked_until_now() -> tuple[Outages, VirtualClock]:
    clock = VirtualClock()
    outages = Outages(clock, lambda text: None)
    outages.answered(SERVER)
    return outages, clock


def test_an_outage_of_a_quarter_of_an_hour_is_the_end() -> None:
    outages, clock = _worked_until_now()
    out = ModelOutage(SERVER, "connection refused")

    assert outages.began(SERVER, out)
    clock.jump(OUTAGE_SECONDS)

    assert not outages.began(SERVER, out)


def test_a_day_that_is_spent_as_soon_as_it_began_is_waited_for_like_the_one_before() -> None:
    outages, clock = _worked_until_now()

    assert outages.began(EVERYBODY, DayBudgetSpent("2,000 tokens", DAY_SECONDS))
    clock.jump(DAY_SECONDS)

    assert outages.began(EVERYBODY, DayBudgetSpent("2,000 tokens", DAY_SECONDS))
    assert outages.pause_seconds(SERVER) == DAY_SECONDS
