"""Rules: the limits and the review policy that every step is judged by."""

from pydantic import BaseModel, ConfigDict

from core.domain.budget import BudgetRules
from core.domain.human_review import ReviewRules
from core.domain.limits import Limits


class Rules(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits = Limits()
    review: ReviewRules = ReviewRules()
    budget: BudgetRules = BudgetRules()
