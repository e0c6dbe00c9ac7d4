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


def test_a_plan_shows_what_it_may_cost(with_model: WithModel, project: Path) -> None:
    shown = metered(with_model, project)("run", "--plan", "Do it")

    # The plan itself took 400 tokens; six tasks and the answer are seven calls more.
    assert "estimate: 7 calls, about 2,800 tokens" in shown.stdout


def test_a_plan_that_is_more_than_its_budget_is_told_before_it_runs(
    with_model: WithModel, project: Path
) -> None:
    done = metered(with_model, project)("run", "--budget-tokens", "2500", "Do it")

    told = next(line for line in done.stderr.splitlines() if "more than its budget" in line)
    assert "2,500 tokens" in told
    assert "about 2,800 tokens (an estimate)" in told


def test_a_big_plan_is_told_with_its_price(with_model: WithModel, project: Path) -> None:
    brain = Brain(plan=[planned(f"part {number}", "normal") for number in range(10)])
    swarm = with_model(lambda asked: Answer(brain(asked["messages"]), usage=USAGE))
    swarm.env["SWARM_BUDGET__REQUEST_TOKENS"] = "1000000"
    (project / ".swarm" / "settings.yaml").write_text(
        "budget: {prices: {model-a: {input: 1, output: 10}}}\n"
    )

    done = swarm("run", "Do it")

    assert "a big plan: 21–31 calls, about 8,400–12,400 tokens, $0.03–$0.04" in done.stderr
    assert "$0.0" in done.stderr.splitlines()[-1]
