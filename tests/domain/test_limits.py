"""Limits: each has a default and a bound, each can be raised, none can be unset."""

import math

import pytest
from pydantic import ValidationError

from core.domain.limits import Limits
from core.domain.task import Phase

NUMBERS = [name for name in Limits.model_fields if name != "type_timeout_minutes"]
DECIMALS = [name for name in NUMBERS if Limits.model_fields[name].annotation is float]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_iterations", 50),
        ("task_timeout_minutes", 30),
        ("max_cycles", 3),
        ("suggestions", 3),
        ("lease_seconds", 60),
        ("heartbeat_seconds", 15),
        ("critique_own_seconds", 60),
        ("critique_forced_seconds", 300),
        ("no_advice_seconds", 300),
        ("attempts", 3),
        ("mail_tries", 5),
        ("plan_depth", 3),
        ("plan_tasks", 50),
        ("request_tasks", 200),
        ("request_bytes", 256 * 1024),
    ],
)
def test_the_defaults_are_those_of_the_design(name: str, value: float) -> None:
    assert getattr(Limits(), name) == value


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("nothing", [None, 0, -1])
def test_no_limit_can_be_unset(name: str, nothing: object) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({name: nothing})


@pytest.mark.parametrize("name", DECIMALS)
@pytest.mark.parametrize("endless", [math.inf, math.nan])
def test_no_limit_can_be_endless(name: str, endless: float) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({name: endless})


@pytest.mark.parametrize("name", NUMBERS)
def test_every_limit_can_be_raised(name: str) -> None:
    raised = getattr(Limits(), name) + 1

    assert getattr(Limits.model_validate({name: raised}), name) == raised


@pytest.mark.parametrize("cycles", [0, 11])
def test_max_cycles_lies_between_one_and_ten(cycles: int) -> None:
    with pytest.raises(ValidationError):
        Limits(max_cycles=cycles)


def test_an_unknown_limit_is_refused() -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({"max_cycle": 3})


@pytest.mark.parametrize("minutes", [None, 0, -5, math.inf])
def test_the_timeout_of_a_type_can_not_be_unset_either(minutes: object) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate({"type_timeout_minutes": {"answer": {"work": minutes}}})


def test_a_type_has_its_own_timeouts_and_the_others_the_common_one() -> None:
    limits = Limits()

    assert limits.timeout_seconds("implement", Phase.WORK) == 60 * 60
    assert limits.timeout_seconds("implement", Phase.FIX) == 30 * 60
    assert limits.timeout_seconds("answer", Phase.WORK) == 30 * 60
    assert Limits(task_timeout_minutes=5).timeout_seconds("implement", Phase.PLAN) == 5 * 60
