"""Who may advise on whose work, and when somebody is idle."""

from core.domain.agent import Agent, Crew, Role, unadvised
from core.domain.task import AgentName
from tests.support.board import ADA, BOB, EVE, PAT, agent

ALL_ROUND = agent("sam", Role.EXECUTOR, Role.ADVISOR)


def crew(*agents: Agent, idle: tuple[Agent, ...] = ()) -> Crew:
    return Crew(agents=agents, idle=frozenset(one.name for one in idle))


def test_with_an_advisor_everybodys_work_is_advised_on() -> None:
    assert unadvised(crew(PAT, ADA, BOB, EVE)) == []


def test_without_an_advisor_nobodys_work_is_advised_on() -> None:
    assert unadvised(crew(PAT, ADA, BOB)) == ["ada", "bob"]


def test_nobody_advises_on_their_own_work() -> None:
    assert unadvised(crew(ADA, ALL_ROUND)) == ["sam"]


def test_two_who_do_both_advise_on_each_other() -> None:
    assert unadvised(crew(ALL_ROUND, agent("kim", Role.EXECUTOR, Role.ADVISOR))) == []


def test_only_executors_need_advice() -> None:
    assert unadvised(crew(PAT)) == []


def test_an_advisor_who_worked_on_it_may_not_advise() -> None:
    assert crew(EVE).may_advise({ADA.name})
    assert not crew(EVE).may_advise({ADA.name, EVE.name})
    assert not crew(ADA).may_advise({AgentName("somebody")})


def test_an_idle_executor_is_one_of_the_crew_with_nothing_to_do() -> None:
    assert crew(ADA, EVE, idle=(ADA,)).has_idle_executor
    assert not crew(ADA, EVE, idle=(EVE,)).has_idle_executor
    assert not crew(EVE, idle=(ADA,)).has_idle_executor
