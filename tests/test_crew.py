"""The crew file: who is on the crew, and which crews are refused."""

from pathlib import Path

import pytest

from core.crew import Member, load_crew
from core.domain.agent import Agent, Role
from core.domain.task import AgentName
from core.errors import BadConfig

FULL = "planner: {role: planner}\n  worker: {role: executor}\n  advisor: {role: advisor}"


def in_project(folder: Path, text: str) -> Path:
    (folder / ".swarm").mkdir(exist_ok=True)
    (folder / ".swarm" / "agents.yaml").write_text(text)
    return folder


def names(members: tuple[Member, ...]) -> list[str]:
    return [member.name for member in members]


def test_our_crew_is_a_planner_three_executors_and_an_advisor(tmp_path: Path) -> None:
    members = load_crew(tmp_path)

    assert [(member.name, member.role.value, member.skills) for member in members] == [
        ("planner", "planner", ("planning",)),
        ("executor-1", "executor", ("coding",)),
        ("executor-2", "executor", ("coding",)),
        ("executor-3", "executor", ("coding",)),
        ("advisor", "advisor", ("review",)),
    ]


def test_the_projects_file_replaces_ours_as_a_whole(tmp_path: Path) -> None:
    in_project(tmp_path, f"agents:\n  {FULL}\n")

    assert names(load_crew(tmp_path)) == ["planner", "worker", "advisor"]


def test_a_member_has_all_that_the_file_says(tmp_path: Path) -> None:
    in_project(
        tmp_path,
        f"agents:\n  {FULL}\n  ada:\n    role: executor\n    model: big\n    skills: [coding]\n"
        "    temperature: 0.5\n    max_output_tokens: 100\n    context_tokens: 9000\n",
    )

    ada = load_crew(tmp_path)[-1]

    assert ada == Member(
        name=AgentName("ada"),
        role=Role.EXECUTOR,
        model="big",
        skills=("coding",),
        temperature=0.5,
        max_output_tokens=100,
        context_tokens=9000,
    )
    assert ada.agent == Agent(name=AgentName("ada"), roles=frozenset({Role.EXECUTOR}))


def test_a_skill_of_the_project_may_be_named(tmp_path: Path) -> None:
    in_project(tmp_path, f"agents:\n  {FULL}\n  ada: {{role: executor, skills: [cooking]}}\n")
    (tmp_path / ".swarm" / "skills").mkdir()
    (tmp_path / ".swarm" / "skills" / "cooking.md").write_text(
        "---\nname: cooking\ndescription: Cook.\n---\nTaste first.\n"
    )

    assert load_crew(tmp_path)[-1].skills == ("cooking",)


@pytest.mark.parametrize("off", ["off", "false", "no"])
def test_a_crew_without_advisors_has_to_say_that_advice_is_off(tmp_path: Path, off: str) -> None:
    alone = "agents:\n  planner: {role: planner}\n  worker: {role: executor, count: 2}\n"

    assert names(load_crew(in_project(tmp_path, f"{alone}advice: {off}\n"))) == [
        "planner",
        "worker-1",
        "worker-2",
    ]
    assert len(load_crew(in_project(tmp_path, alone), advice=False)) == 3
    with pytest.raises(BadConfig) as refused:
        load_crew(in_project(tmp_path, alone))
    assert str(refused.value) == (
        f"{tmp_path}/.swarm/agents.yaml:3:3: nobody may advise on the work of 'worker-1'; "
        "add an advisor, or say 'advice: off'"
    )


def test_with_advice_off_advisors_stay_at_home(tmp_path: Path) -> None:
    in_project(tmp_path, f"agents:\n  {FULL}\nadvice: off\n")

    assert names(load_crew(tmp_path)) == ["planner", "worker"]
    assert "advisor" not in names(load_crew(tmp_path, advice=False))


SERVERS = (
    "can't be set in a file; base_url names a server, key_variable the variable of its key, "
    "and keys come from the environment only"
)
SIMPLE = "is not a simple word; use a-z, 0-9, '-' and '_', at most 40 of them"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "1:1: the key 'agents' is missing; add it"),
        ("agents:\n", "1:1: 'agents' has no value; give it one, or remove the line"),
        ("agents: {}\n", "1:1: the crew has no planner; add one, like 'planner: {role: planner}'"),
        (
            "agents:\n  planner: {role: planner}\n",
            "1:1: the crew has no executor; add one, like 'executor: {role: executor}'",
        ),
        (
            "agents:\n  worker: {role: executor}\n",
            "1:1: the crew has no planner; add one, like 'planner: {role: planner}'",
        ),
        ("agent: {}\n", "1:1: the key 'agent' is unknown; did you mean 'agents'?"),
        ("agents:\n  ada: {skills: []}\n", "2:8: the key 'role' is missing; add it"),
        ("agents:\n  ada:\n", "2:3: 'ada' has no value; give it one, or remove the line"),
        (
            "agents:\n  ada: {role: excutor}\n",
            "2:15: 'role' can't be 'excutor'; did you mean 'executor'?",
        ),
        (
            "agents:\n  ada: {role: executor, skill: [x]}\n",
            "2:25: the key 'skill' is unknown; did you mean 'skills'?",
        ),
        (
            "agents:\n  ada: {role: executor, count: 0}\n",
            "2:32: 'count' is 0 and should be at least 1",
        ),
        (
            "agents:\n  ada: {role: executor, count: 1001}\n",
            "2:32: 'count' is 1001 and should be at most 1000",
        ),
        (
            "agents:\n  ada: {role: executor, temperature: 2.5}\n",
            "2:38: 'temperature' is 2.5 and should be at most 2",
        ),
        (
            "agents:\n  ada: {role: executor, skills: coding}\n",
            "2:33: 'skills' should be a list, like [a, b], not 'coding'",
        ),
        (
            "agents:\n  ada: {role: executor, skills: [1]}\n",
            "2:34: item 1 of 'skills' should be a text, not 1",
        ),
        (
            "agents:\n  ada:\n    role: executor\n    skills: [coding, reviw]\n",
            "4:22: the skill 'reviw' is unknown; did you mean 'review'?",
        ),
        (
            "agents:\n  ada: {role: executor, skills: [xyz]}\n",
            "2:34: the skill 'xyz' is unknown; known are coding, planning, retrospective, review",
        ),
        ("agents:\n  Ada: {role: executor}\n", f"2:3: the name 'Ada' {SIMPLE}"),
        ("agents:\n  a b: {role: executor}\n", f"2:3: the name 'a b' {SIMPLE}"),
        ("agents:\n  ../x: {role: executor}\n", f"2:3: the name '../x' {SIMPLE}"),
        (
            "agents:\n  ada: {role: executor}\n  ada: {role: planner}\n",
            "3:3: the key 'ada' is already on line 2; keep one of them",
        ),
        (
            "agents:\n  ada: {role: executor, count: 3}\n  ada-2: {role: planner}\n",
            "3:3: two agents would be called 'ada-2'; rename one of them",
        ),
        (
            "agents:\n" + "".join(f"  a{n}: {{role: executor, count: 500}}\n" for n in range(6)),
            "7:3: the crew has more than 2,500 agents; lower a count",
        ),
        (
            "agents:\n  ada: {role: executor, base_url: x, model: m}\n",
            "2:35: 'base_url' should look like http://host:port/v1",
        ),
        (
            "agents:\n  ada: {role: executor, base_url: 'http://me:pass@x/v1', model: m}\n",
            "2:35: a server's address in a file may hold no password; use key_variable",
        ),
        (
            "agents:\n  ada: {role: executor, base_url: 'http://x/v1'}\n",
            "2:25: a server of its own needs a 'model'; add it",
        ),
        (
            "agents:\n  ada: {role: executor, key_variable: MY_API_KEY}\n",
            "2:25: 'key_variable' belongs to a server; add its base_url",
        ),
        (
            "agents:\n  ada:\n    role: executor\n    base_url: http://x/v1\n    model: m\n"
            "    key_variable: HOME\n",
            "6:19: 'key_variable' should be the name of a variable that ends in _API_KEY, "
            "never a key",
        ),
        (
            "agents:\n  ada: {role: executor, fallback_models: ['http://x/m']}\n",
            f"2:43: 'http://x/m' {SERVERS}",
        ),
        ("agents:\n  ada: {role: executor, api_key: x}\n", f"2:25: 'api_key' {SERVERS}"),
        (
            "agents:\n  ada: {role: executor, OPENAI_API_KEY: x}\n",
            f"2:25: 'OPENAI_API_KEY' {SERVERS}",
        ),
        ("agents:\n  ada: {role: executor, server: x}\n", f"2:25: 'server' {SERVERS}"),
        ("providers: {}\n", f"1:1: 'providers' {SERVERS}"),
        (
            "agents:\n  ada: {role: executor, model: 'https://example.org/m'}\n",
            f"2:32: 'https://example.org/m' {SERVERS}",
        ),
        (
            "agents: {}\nadvice: 'off'\n",
            "2:9: 'advice' should be on or off, not 'off'; remove the quotes",
        ),
    ],
)
def test_a_crew_that_can_not_work_is_refused_with_its_place(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(BadConfig) as refused:
        load_crew(in_project(tmp_path, text))

    assert str(refused.value) == f"{tmp_path}/.swarm/agents.yaml:{sentence}"
