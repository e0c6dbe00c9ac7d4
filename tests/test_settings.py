"""Settings: which source wins, and what is said when one of them is wrong."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from core.domain.human_review import ReviewMode
from core.domain.task import Phase
from core.errors import BadConfig
from core.settings import Settings, find_project, load_settings
from core.shipped import shipped
from core.yaml_files import Node, read_yaml


def in_project(folder: Path, text: str) -> Path:
    (folder / ".swarm").mkdir(exist_ok=True)
    (folder / ".swarm" / "settings.yaml").write_text(text)
    return folder


def refusal(
    folder: Path,
    text: str = "",
    env: dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
) -> str:
    with pytest.raises(BadConfig) as refused:
        load_settings(in_project(folder, text), env or {}, options)
    return str(refused.value)


def test_our_file_says_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}) == Settings()


def test_our_file_names_every_key() -> None:
    def keys(node: Node) -> Any:
        return {key: keys(child) for key, child in node.children.items()} or None

    def fields(model: BaseModel) -> Any:
        return {name: below(value) for name, value in model}

    def below(value: object) -> Any:
        if isinstance(value, BaseModel):
            return fields(value)
        if isinstance(value, dict):
            return {str(key): below(inner) for key, inner in value.items()} or None
        return None

    assert keys(read_yaml(shipped("config") / "settings.yaml")) == fields(Settings())


def test_every_setting_is_described() -> None:
    groups: list[type[BaseModel]] = [type(group) for _, group in Settings()]

    for group in groups:
        for name, field in group.model_fields.items():
            nested = isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
            assert nested or field.description, name


def test_the_strongest_source_wins(tmp_path: Path) -> None:
    in_project(tmp_path, "limits: {max_cycles: 4, suggestions: 4, attempts: 4}\n")
    env = {"SWARM_LIMITS__MAX_CYCLES": "5", "SWARM_LIMITS__SUGGESTIONS": "5"}

    limits = load_settings(tmp_path, env, {"limits.max_cycles": 6}).limits

    assert (limits.max_cycles, limits.suggestions, limits.attempts) == (6, 5, 4)
    assert limits.mail_tries == 5


def test_groups_keep_what_a_stronger_source_does_not_name(tmp_path: Path) -> None:
    in_project(
        tmp_path,
        "limits:\n  type_timeout_minutes: {implement: {fix: 45}, answer: {work: 10}}\n"
        "review:\n  label_rules: {docs: batch}\n",
    )

    settings = load_settings(tmp_path, {"SWARM_REVIEW__LABEL_RULES__LEGAL": "per-task"})

    assert settings.limits.timeout_seconds("implement", Phase.WORK) == 3600
    assert settings.limits.timeout_seconds("implement", Phase.FIX) == 2700
    assert settings.limits.timeout_seconds("answer", Phase.WORK) == 600
    assert settings.review.label_rules == {
        "security": ReviewMode.PER_TASK,
        "docs": ReviewMode.BATCH,
        "trivial": ReviewMode.AUTO,
        "legal": ReviewMode.PER_TASK,
    }


def test_the_environment_sets_words_numbers_and_switches(tmp_path: Path) -> None:
    env = {
        "SWARM_REVIEW__DEFAULT_MODE": "auto",
        "SWARM_REVIEW__AUTO_APPROVE__ENABLED": "off",
        "SWARM_REVIEW__TRUST": "true",
        "SWARM_LIMITS__SILENCE_SECONDS": " 7.5 ",
        "SWARM_STORE__SYNCHRONOUS": "NORMAL",
    }

    settings = load_settings(tmp_path, env)

    assert settings.review.default_mode is ReviewMode.AUTO
    assert settings.review.auto_approve.enabled is False
    assert settings.review.trust is True
    assert settings.limits.silence_seconds == 7.5
    assert settings.store.synchronous == "NORMAL"


def test_other_variables_are_no_settings(tmp_path: Path) -> None:
    env = {"SWARM_STORE": "x.db", "SWARM_MODEL": "m", "SWARM_LIMITS": "3", "HOME": "/", "A__B": "1"}

    assert load_settings(tmp_path, env) == Settings()


def test_an_option_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}, {"limits.max_cycles": None}) == Settings()


def test_an_option_may_be_a_member_of_an_enum(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {}, {"review.default_mode": ReviewMode.SKIP})

    assert settings.review.default_mode is ReviewMode.SKIP


def test_limits_and_review_together_are_the_rules(tmp_path: Path) -> None:
    rules = load_settings(tmp_path, {"SWARM_LIMITS__MAX_CYCLES": "7"}).rules

    assert rules.limits.max_cycles == 7
    assert rules.review == Settings().review


UNSET = "limits can be raised, none can be unset"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("limit: {}", "1:1: the key 'limit' is unknown; did you mean 'limits'?"),
        (
            "limits:\n  max_cycle: 4",
            "2:3: the key 'max_cycle' is unknown; did you mean 'max_cycles'?",
        ),
        ("limits:\n  max_cycles: 11", "2:15: 'max_cycles' is 11 and should be at most 10"),
        (
            "limits:\n  max_cycles: -1",
            f"2:15: 'max_cycles' is -1 and should be at least 1; {UNSET}",
        ),
        ("limits:\n  max_cycles: null", f"2:15: 'max_cycles' has no value; {UNSET}"),
        ("limits:\n  max_cycles:", f"2:3: 'max_cycles' has no value; {UNSET}"),
        ("limits: null", f"1:9: 'limits' has no value; {UNSET}"),
        (
            "limits: {lease_seconds: 0}",
            f"1:25: 'lease_seconds' is 0 and should be more than 0; {UNSET}",
        ),
        (
            "limits: {lease_seconds: .inf}",
            "1:25: 'lease_seconds' should be a number with an end, not inf",
        ),
        ("limits: {max_cycles: lots}", "1:22: 'max_cycles' should be a whole number, not 'lots'"),
        (
            "limits: {type_timeout_minutes: {implement: {wrok: 3}}}",
            "1:45: the key 'wrok' is unknown; did you mean 'work'?",
        ),
        (
            "review: {default_mode: bach}",
            "1:24: 'default_mode' can't be 'bach'; did you mean 'batch'?",
        ),
        (
            "review: {default_mode: 3}",
            "1:24: 'default_mode' can't be 3; known are per-task, batch, auto, skip",
        ),
        (
            "review: {default_mode: ~}",
            "1:24: 'default_mode' has no value; choose one of per-task, batch, auto, skip",
        ),
        (
            "review:\n  label_rules: {docs: skp}",
            "2:23: 'docs' can't be 'skp'; did you mean 'skip'?",
        ),
        (
            "review: {auto_approve: on}",
            "1:24: 'auto_approve' should be a group of keys with values, not on or off",
        ),
        (
            "store: {synchronous: OFF}",
            "1:22: 'synchronous' can't be on or off; known are FULL, NORMAL",
        ),
        ("store: {synchronous: full}", "1:22: 'synchronous' can't be 'full'; did you mean 'FULL'?"),
        (
            "api_key: abc",
            "1:1: 'api_key' can't be set in a file; base_url names a server, key_variable the "
            "variable of its key, and keys come from the environment only",
        ),
        (
            "server: {base_url: 'http://x/v1', token: abc}",
            "1:35: 'token' can't be set in a file; base_url names a server, key_variable the "
            "variable of its key, and keys come from the environment only",
        ),
    ],
)
def test_a_mistake_in_the_projects_file_is_named_with_its_place(
    tmp_path: Path, text: str, sentence: str
) -> None:
    assert refusal(tmp_path, text) == f"{tmp_path}/.swarm/settings.yaml:{sentence}"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("SWARM_LIMITS__MAX_CYCLES", "many", "'max_cycles' should be a whole number, not 'many'"),
        ("SWARM_LIMITS__MAX_CYCLES", "0", f"'max_cycles' is 0 and should be at least 1; {UNSET}"),
        ("SWARM_LIMITS__MAX_CYCLES", "", f"'max_cycles' has no value; {UNSET}"),
        (
            "SWARM_LIMITS__MAX_CYCLE",
            "4",
            "the key 'max_cycle' is unknown; did you mean 'max_cycles'?",
        ),
        ("SWARM_LIMIT__MAX_CYCLES", "4", "the key 'limit' is unknown; did you mean 'limits'?"),
        (
            "SWARM_REVIEW__DEFAULT_MODE",
            "autp",
            "'default_mode' can't be 'autp'; did you mean 'auto'?",
        ),
        (
            "SWARM_REVIEW__DEFAULT_MODE",
            "\udcff",
            "the text holds half a character (a lone surrogate); remove it",
        ),
    ],
)
def test_a_mistake_in_the_environment_is_named_by_its_variable(
    tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    assert refusal(tmp_path, env={name: text}) == f"{name}: {sentence}"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("limits.max_cycles", 11, "'max_cycles' is 11 and should be at most 10"),
        ("limits.max_cycels", 4, "the key 'max_cycels' is unknown; did you mean 'max_cycles'?"),
    ],
)
def test_a_mistake_in_an_option_is_named_by_the_option(
    tmp_path: Path, name: str, value: object, sentence: str
) -> None:
    assert refusal(tmp_path, options={name: value}) == f"option {name}: {sentence}"


def test_a_mistake_is_blamed_on_its_own_source_not_on_the_strongest(tmp_path: Path) -> None:
    said = refusal(tmp_path, "limits: {max_cycles: 99}", {"SWARM_LIMITS__SUGGESTIONS": "2"})

    assert said.startswith(f"{tmp_path}/.swarm/settings.yaml:1:22: 'max_cycles' is 99")


def test_a_mistake_that_a_stronger_source_covers_does_no_harm(tmp_path: Path) -> None:
    in_project(tmp_path, "limits: {max_cycles: 99}")

    assert load_settings(tmp_path, {"SWARM_LIMITS__MAX_CYCLES": "4"}).limits.max_cycles == 4


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("heartbeat_seconds", "lease_seconds"),
        ("critique_own_seconds", "critique_forced_seconds"),
    ],
)
def test_limits_that_would_defeat_each_other_are_refused(
    tmp_path: Path, low: str, high: str
) -> None:
    said = refusal(tmp_path, f"limits: {{{low}: 400, {high}: 300}}")

    place = f"{tmp_path}/.swarm/settings.yaml:1:"
    assert said.startswith(
        f"{place}{len(low) + 12}: '{low}' is 400 and should be less than '{high}'"
    )
    assert f"which is 300 ({place}" in said


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".swarm" / "settings.yaml").mkdir(parents=True)

    with pytest.raises(BadConfig, match=r"settings\.yaml: this is a folder, and a file is needed"):
        load_settings(tmp_path, {})


def test_the_project_is_the_nearest_folder_upwards_with_a_swarm_folder(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / "a" / ".swarm").mkdir()
    (tmp_path / ".swarm").mkdir()

    assert find_project(deep) == tmp_path / "a"
    assert find_project(tmp_path / "a") == tmp_path / "a"
    assert find_project(tmp_path) == tmp_path


def test_without_a_swarm_folder_the_start_is_the_project(tmp_path: Path) -> None:
    assert find_project(tmp_path) == tmp_path


def test_a_file_in_place_of_the_swarm_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".swarm").write_text("")

    with pytest.raises(BadConfig) as refused:
        find_project(tmp_path)

    assert str(refused.value) == (
        f"{tmp_path}/.swarm: this is a file, and Swarm keeps a folder of this name; "
        "rename or remove it"
    )


def test_a_start_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="there is no such folder; make it, or name another"):
        find_project(tmp_path / "nowhere")
