"""Budgets as a person sets, meets and raises them."""

import json
from pathlib import Path

from tests.cli.conftest import WithModel
from tests.support.brain import Brain, planned
from tests.support.openai_server import Answer
from tests.support.terminal import Command

USAGE = {"prompt_tokens": 300, "completion_tokens": 100}


def metered(with_model: WithModel, project: Path) -> Command:
    brain = Brain(plan=[planned(f"part {number}") for number in range(6)])
    swarm = with_model(lambda asked: Answer(brain(asked["messages"]), usage=USAGE))
    (project / ".swarm" / "settings.yaml").write_text("limits:\n  max_output_tokens: 500\n")
    return swarm


def test_a_spent_budget_is_6_with_a_partial_answer_and_a_way_on(
    with_model: WithModel, project: Path
) -> None:
    swarm = metered(with_model, project)

    done = swarm("run", "--budget-tokens", "3000", "Do it")
    shown = json.loads(swarm("status", "--json").stdout)
    request = shown["requests"][0]["id"]

    assert done.returncode == 6
    assert "This answer is partial" in done.stdout
    assert "the budget of 3,000 tokens is spent" in done.stderr
    assert f"swarm retry {request} --budget-tokens" in done.stderr

    refused = swarm("retry", request)
    assert (refused.returncode, "raise its budget" in refused.stderr) == (1, True)
    assert swarm("retry", request, "--budget-tokens", "50000").returncode == 0
    again = swarm("work", "--json")
    result = json.loads(again.stdout.splitlines()[-1])
    assert (result["exit"], result["answer"], result["partial"]) == (0, "The whole answer.", False)
    assert result["usage"]["calls"] == 8 or result["usage"]["calls"] == 9


def test_a_budget_in_dollars_without_a_price_is_refused_before_anything_is_added(
    with_model: WithModel, project: Path
) -> None:
    swarm = metered(with_model, project)

    done = swarm("run", "--budget-usd", "1", "Do it")

    assert done.returncode == 3
    assert "budget.prices" in done.stderr
    assert "the board is empty" in swarm("work").stderr


def test_a_budget_of_nothing_is_bad_input(swarm: Command) -> None:
    assert swarm("run", "--budget-tokens", "0", "Do it").returncode == 2
    assert swarm("add", "--task", "--budget-tokens", "9", "Do it").returncode == 2
