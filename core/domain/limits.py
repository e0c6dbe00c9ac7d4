"""Limits: each has a default and a bound, each can be raised, none can be unset."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.domain.task import Phase

Minutes = Annotated[float, Field(gt=0)]


class Limits(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    max_iterations: int = Field(
        default=50, ge=1, description="Working passes of one task within a round."
    )
    task_timeout_minutes: float = Field(
        default=30, gt=0, description="How long one claim may take where the type sets nothing."
    )
    type_timeout_minutes: dict[str, dict[Phase, Minutes]] = Field(
        default={"implement": {Phase.WORK: 60.0, Phase.FIX: 30.0}},
        description="How long one claim may take, by type of task and phase.",
    )
    max_cycles: int = Field(
        default=3, ge=1, le=10, description="Critiques before a complex task is accepted as is."
    )
    suggestions: int = Field(default=3, ge=1, description="Suggestions kept of one critique.")
    lease_seconds: float = Field(
        default=60, gt=0, description="A silent claim or taken mail is taken back after this."
    )
    heartbeat_seconds: float = Field(
        default=15, gt=0, description="How often a living holder renews its lease."
    )
    critique_own_seconds: float = Field(
        default=60, gt=0, description="How long a critique waits for its own executor."
    )
    critique_forced_seconds: float = Field(
        default=300, gt=0, description="How long a critique waits before it is forced."
    )
    no_advice_seconds: float = Field(
        default=300, gt=0, description="How long a review waits while nobody may advise on it."
    )
    attempts: int = Field(default=3, ge=1, description="Lost or failed claims before a task fails.")
    mail_tries: int = Field(default=5, ge=1, description="Tries before a mail is a dead letter.")
    plan_depth: int = Field(default=3, ge=1, description="Levels of a plan below the request.")
    plan_tasks: int = Field(default=50, ge=1, description="Tasks of one plan.")
    request_tasks: int = Field(default=200, ge=1, description="Tasks of one request, all levels.")
    request_bytes: int = Field(
        default=256 * 1024, ge=1, description="Size of a request's or task's text in bytes."
    )

    max_parallel: int = Field(default=8, ge=1, description="Model calls at the same time.")
    retries: int = Field(
        default=5, ge=1, description="Tries more of a call that failed in passing."
    )
    repair_turns: int = Field(
        default=1, ge=1, description="Times a model is told what is wrong with its reply."
    )
    requests_per_minute: int = Field(
        default=10_000, ge=1, description="Calls to one server within a minute."
    )
    tokens_per_minute: int = Field(
        default=10_000_000, ge=1, description="Tokens to and from one server within a minute."
    )
    first_token_seconds: float = Field(
        default=300, gt=0, description="How long a server may take until it begins to answer."
    )
    silence_seconds: float = Field(
        default=120, gt=0, description="How long it may say nothing after that."
    )
    max_output_tokens: int = Field(default=4096, ge=1, description="Length of one reply.")
    context_tokens: int = Field(
        default=8192, ge=512, description="Context length of a model nobody knows."
    )

    def timeout_seconds(self, task_type: str, phase: Phase) -> float:
        by_phase = self.type_timeout_minutes.get(task_type, {})
        return by_phase.get(phase, self.task_timeout_minutes) * 60
