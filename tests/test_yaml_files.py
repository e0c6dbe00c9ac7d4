"""YAML files: every mistake is one sentence that begins with its file, line and column."""

import os
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from core.errors import BadConfig
from core.layers import checked, leaf, over
from core.yaml_files import MAX_BYTES, Node, parse_yaml, plain, read_yaml
from tests.support.rights import by_the_rights

UNREADABLE = [
    ("a: 1\nb: 2\na: 3\n", "3:1: the key 'a' is already on line 1; keep one of them"),
    ("x: {b: 1, b: 2}\n", "1:11: the key 'b' is already on line 1; keep one of them"),
    ("a:\n\t- b\n", "2:1: a tab can't indent a line; use spaces"),
    ("a: b: c\n", "1:5: this ':' can't stand here; check the indent, or put the text in quotes"),
    ("a:\n  b: 1\n c: 2\n", "3:2: the indent of this line fits no line above it"),
    ("a: [1, 2", "1:9: the file ends before a bracket is closed"),
    ("a: 'x\n", "2:1: a closing quote is missing"),
    ("a: @x\n", "1:4: a text that begins with '@' needs quotes"),
    ("ok: 1\na: \x07\n", "2:4: a control character can't stand here; remove it"),
    (
        'a: "\\q"\n',
        "1:6: this is not readable as YAML (found unknown escape character 'q'); "
        "check brackets, quotes and indent",
    ),
    ("- 1\n", "1:1: the file should hold keys with values, like 'key: value'"),
    ("word\n", "1:1: the file should hold keys with values, like 'key: value'"),
    ("a: 1\n---\nb: 1\n", "2:1: a second document begins here; keep one in a file"),
    ("? [a]\n: 1\n", "1:3: a key should be a word, not a list or a group"),
    ('a: "\\ud800"\n', "1:4: the text holds half a character (a lone surrogate); remove it"),
]

HOSTILE = [
    (
        "a: &a [x, x]\nb: &b [*a, *a]\n",
        "2:8: an alias (a word that begins with '*') can't be used; write the value out",
    ),
    (
        "a: !!python/object/apply:os.system [ls]\n",
        "1:4: a tag (a word that begins with '!') can't be used; remove it",
    ),
    ("[" * 100_000, "1:34: values are nested deeper than 32 levels; flatten them"),
    (
        "a: [" + "1, " * 20_000 + "]",
        "1:29990: the file holds more than 10,000 values; shorten it",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), UNREADABLE + HOSTILE)
def test_what_can_not_be_read_is_named_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(BadConfig) as refused:
        parse_yaml(text, "some/file.yaml")

    assert str(refused.value) == f"some/file.yaml:{sentence}"


def test_a_strangers_words_have_no_power_over_the_terminal() -> None:
    with pytest.raises(BadConfig) as refused:
        parse_yaml('"\\e[31mred": 1\n"\\e[31mred": 2\n', "f.yaml")

    assert str(refused.value).isprintable()


def test_an_empty_file_has_no_keys(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("# nothing but a remark\n")

    assert read_yaml(tmp_path / "f.yaml").children == {}


def test_windows_line_ends_and_a_byte_order_mark_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: two\r\n")

    node = read_yaml(tmp_path / "f.yaml")

    assert {key: child.value for key, child in node.children.items()} == {"a": 1, "b": "two"}
    assert node.children["b"].at == f"{tmp_path / 'f.yaml'}:2:4"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a: 1\nb: \xff\n", ":2:4: this is not text; save the file as UTF-8"),
        (b"#" * (MAX_BYTES + 1), ": the file is larger than 256 KiB; shorten it"),
    ],
)
def test_a_file_that_is_no_text_or_too_large_is_refused(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    (tmp_path / "f.yaml").write_bytes(content)

    with pytest.raises(BadConfig) as refused:
        read_yaml(tmp_path / "f.yaml")

    assert str(refused.value) == f"{tmp_path / 'f.yaml'}{sentence}"


def test_a_folder_a_pipe_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    for name, words in {
        "folder": "this is a folder, and a file is needed; rename or remove it",
        "pipe": "this is not an ordinary file; replace it with one",
        "missing": "the file can't be read (no such file or directory); check its rights",
    }.items():
        with pytest.raises(BadConfig) as refused:
            read_yaml(tmp_path / name)
        assert str(refused.value) == f"{tmp_path / name}: {words}"


def test_a_file_nobody_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.touch(mode=0)

    with by_the_rights(), pytest.raises(BadConfig, match=r"permission denied"):
        read_yaml(path)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("4", 4),
        ("-4", -4),
        ("1_000", 1000),
        ("2.5", 2.5),
        ("1e3", 1000.0),
        (".inf", float("inf")),
        ("on", True),
        ("Off", False),
        ("true", True),
        ("no", False),
        ("", None),
        ("null", None),
        ("2026-01-01", "2026-01-01"),
        ("review:auto", "review:auto"),
    ],
)
def test_an_unquoted_text_means_what_a_person_means_by_it(text: str, meant: object) -> None:
    assert plain(text) == meant
    assert type(plain(text)) is type(meant)


class Room(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    seats: int = Field(default=2, ge=1, le=10)
    metres: float = Field(default=1, gt=0)
    open: bool = True
    name: str = "hall"
    doors: tuple[str, ...] = ()


class House(BaseModel):
    model_config = ConfigDict(extra="forbid")

    room: Room = Room()
    rooms: dict[str, Room] = {}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rom: {}", "1:1: the key 'rom' is unknown; did you mean 'room'?"),
        ("room: {doors: ~}", "1:15: 'doors' has no value; two at most"),
        ("zzz: 1", "1:1: the key 'zzz' is unknown; known are room, rooms"),
        ("room:\n  seat: 3", "2:3: the key 'seat' is unknown; did you mean 'seats'?"),
        ("rooms: {a: {seat: 3}}", "1:13: the key 'seat' is unknown; did you mean 'seats'?"),
        ("room: 3", "1:7: 'room' should be a group of keys with values, not 3"),
        ("room: [3]", "1:7: 'room' should be a group of keys with values, not a list"),
        ("room: {seats: many}", "1:15: 'seats' should be a whole number, not 'many'"),
        ("room: {seats: 2.5}", "1:15: 'seats' should be a whole number, not 2.5"),
        ("room: {seats: on}", "1:15: 'seats' should be a whole number, not on or off"),
        (
            "room: {seats: '3'}",
            "1:15: 'seats' should be a whole number, not '3'; remove the quotes",
        ),
        ("room: {seats: {a: 1}}", "1:15: 'seats' should be a whole number, not a group of keys"),
        ("room: {seats: 0}", "1:15: 'seats' is 0 and should be at least 1; two at most"),
        ("room: {seats: 11}", "1:15: 'seats' is 11 and should be at most 10"),
        ("room: {metres: -1.5}", "1:16: 'metres' is -1.5 and should be more than 0; two at most"),
        ("room: {metres: .inf}", "1:16: 'metres' should be a number with an end, not inf"),
        ("room: {metres: wide}", "1:16: 'metres' should be a number, not 'wide'"),
        ("room: {seats: null}", "1:15: 'seats' has no value; two at most"),
        ("room:\n  seats:\n", "2:3: 'seats' has no value; two at most"),
        ("rooms: {a: ~}", "1:12: 'a' has no value; give it one, or remove the line"),
        ("room: {open: 1}", "1:14: 'open' should be on or off, not 1"),
        ("room: {open: 'off'}", "1:14: 'open' should be on or off, not 'off'; remove the quotes"),
        ("room: {name: 3}", "1:14: 'name' should be a text, not 3"),
        ("room: {doors: front}", "1:15: 'doors' should be a list, like [a, b], not 'front'"),
        ("room: {doors: [a, 3]}", "1:19: item 2 of 'doors' should be a text, not 3"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(BadConfig) as refused:
        checked(House, parse_yaml(text, "f.yaml"), {"room": "two at most"})

    assert str(refused.value) == f"f.yaml:{sentence}"


def test_layers_are_laid_together_key_by_key() -> None:
    weak = parse_yaml("room: {seats: 3, name: kitchen}\nrooms: {a: {seats: 1}}", "weak.yaml")
    strong = parse_yaml("room: {seats: 4}\nrooms: {b: {}}", "strong.yaml")

    house = checked(House, over(strong, weak))

    assert (house.room.seats, house.room.name) == (4, "kitchen")
    assert set(house.rooms) == {"a", "b"}


def test_a_group_whose_lines_are_all_commented_out_changes_nothing() -> None:
    weak = parse_yaml("room: {seats: 3}", "weak.yaml")

    blank = over(parse_yaml("room:\n  # seats: 4\n", "strong.yaml"), weak)

    assert checked(House, blank).room.seats == 3
    with pytest.raises(BadConfig, match=r"^strong.yaml:1:7: 'room' has no value"):
        checked(House, over(parse_yaml("room: null", "strong.yaml"), weak))


@pytest.mark.parametrize("bad_first", [True, False])
def test_a_mistake_is_reported_where_it_was_made(bad_first: bool) -> None:
    good, bad = "room: {name: hall}", "room: {seats: 99}"
    layers = [("one.yaml", bad if bad_first else good), ("two.yaml", good if bad_first else bad)]
    weak, strong = (parse_yaml(text, name) for name, text in layers)

    with pytest.raises(BadConfig) as refused:
        checked(House, over(strong, weak))

    assert str(refused.value).startswith("one.yaml:1:15:" if bad_first else "two.yaml:1:15:")


def test_one_value_under_its_keys_is_a_layer_of_its_own() -> None:
    layer = leaf(["room", "seats"], 99, "option room.seats")

    with pytest.raises(BadConfig, match=r"^option room\.seats: 'seats' is 99"):
        checked(House, over(layer, Node("f.yaml:1:1", {})))


def test_a_refusal_never_speaks_of_the_libraries_behind_it() -> None:
    """Whatever the mistake: one sentence, one line, no address."""
    for text, _ in UNREADABLE + HOSTILE:
        with pytest.raises(BadConfig) as refused:
            parse_yaml(text, "f.yaml")
        for foreign in ("http", "pydantic", "ruamel", "\n", "Traceback"):
            assert foreign not in str(refused.value)
