"""Charges and budgets to rows and back, the same on every engine."""

from collections.abc import Sequence
from typing import Any

from core.domain.budget import Budget, Charge, ChargeState
from core.domain.reply import Spent


def row_of(charge: Charge, now: float) -> tuple[Any, ...]:
    return (*charge[:7], now, charge.state._value_, *charge[9:])


def settled_row(charge: Charge) -> tuple[Any, ...]:
    return (charge.model, charge.state.value, *charge[9:], charge.id)


def charge_of(row: Sequence[Any]) -> Charge:
    return Charge._make((*row[:8], ChargeState(row[8]), *row[9:]))


def spent_of(row: Sequence[Any]) -> Spent:
    return Spent(*row)


def budget_of(row: Sequence[Any] | None) -> Budget | None:
    return None if row is None else Budget(*row)
