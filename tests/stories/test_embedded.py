"""A crew on a model in this process: it plans, works and answers without any server or key."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import anyio

from core import Swarm
from core.domain.task import Kind
from core.invariants import check
from core.llm.embedded import Embedded
from core.llm.small_replies import PartsReply
from core.views import calls
from tests.support.small_model import small_model

DEADLINE_SECONDS = 300.0
CREW = """\
agents:
  planner: {role: planner, manner: small, close_out: sections, temperature: 0.6}
  executor: {role: executor, count: 3, manner: small, temperature: 0.4}
advice: off
"""
"""This model's opinion on its own words is noise, and reading them takes it long."""
OPTIONS = {
    "limits.attempts": 1,
    "limits.max_output_tokens": 250,
    "limits.context_tokens": 2048,
}
REQUEST = (
    "Write a checklist for opening a small web shop: legal pages, payment, delivery, first day"
)


async def test_a_request_is_planned_worked_on_and_answered_by_a_model_in_this_process(
    tmp_path: Path,
) -> None:
    env = {"SWARM_MODEL": str(small_model())}
    (tmp_path / ".swarm").mkdir()
    (tmp_path / ".swarm" / "agents.yaml").write_text(CREW)

    with anyio.fail_after(DEADLINE_SECONDS):
        async with Swarm.open(tmp_path, env=env, options=OPTIONS) as swarm:
            outcome = await swarm.run(REQUEST)
            family = await swarm.board.family(outcome.request)
            asked = await calls(swarm.store, outcome.request)
            broken = await check(swarm.store, swarm.rules)
            model = swarm._server_of(swarm.members[0]).llm
            assert isinstance(model, Embedded)
            port = urlsplit(model.url).port

    plans = [PartsReply.model_validate_json(one.reply) for one in asked if one.label == "plan"]
    assert plans
    tasks = [task for task in family if task.kind is Kind.TASK]
    assert 1 <= len(tasks) <= 5
    assert all(task.settled for task in family)
    assert outcome.answer
    assert broken == []
    with socket.socket() as knock:
        assert knock.connect_ex(("127.0.0.1", port or 0)) != 0
