"""What YAML may look like: every refusal of structure, with its exact place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cubake.errors import InputError
from cubake.matrix import load_matrix, yamltree
from cubake.matrix.yamltree import read_tree

Refused = Callable[[str], list[str]]

STRUCTURE = {
    "duplicate key": (
        "images:\n  a: {cuda: 12.4, pytorch: 2.6, cuda: 12.6}\n",
        ["4:33: duplicate key 'cuda' in images.a: first on line 4"],
    ),
    "duplicate key at the top": ("version: 1\n", ["3:1: duplicate key 'version' in the file: first on line 1"]),
    "merge key": (
        "images:\n  a: &a {cuda: 12.4}\n  b: {<<: *a, os: debian12}\n",
        [
            "5:3: images.b wants at least one of pytorch, tensorflow, cuda",
            "5:7: merge key '<<' in images.b: write the keys out, or use defaults",
        ],
    ),
    "recursive alias": (
        "drivers: &d [*d]\n",
        ["3:10: drivers[0] is an alias of something that holds it: it never ends"],
    ),
    "undefined alias": ("drivers: [*d]\n", ["3:11: not YAML: found undefined alias"]),
    "python tag": (
        "drivers: !!python/object:os.system ['550']\n",
        ["3:10: tag '!!python/object:os.system' on drivers: tags are not allowed, values are text"],
    ),
    "own tag": ("drivers: [!x '550']\n", ["3:11: tag '!x' on drivers[0]: tags are not allowed, values are text"]),
    "tag on a key": ("!x drivers: ['550']\n", ["3:1: tag '!x' on the file: tags are not allowed, values are text"]),
    "non-core tag of YAML": (
        "drivers: [!!binary NTUw]\n",
        [
            "3:11: tag '!!binary' on drivers[0]: tags are not allowed, values are text",
        ],
    ),
    "second document": (
        "---\nversion: 1\n",
        ["3:1: a second document: the file holds one, so no '---' after the start"],
    ),
    "key that is a list": ("? [a]\n: b\n", ["3:3: a key of the file is no plain text"]),
    "no value": ("drivers:\n", ["3:9: drivers has no value: give one, or leave it out"]),
    "null": ("drivers: [~]\n", ["3:11: drivers[0] has no value: give one, or leave it out"]),
    "empty list": ("drivers: []\n", ["3:10: drivers is an empty list: give a value, or leave it out"]),
    "repeated value": ("gpus: [sm_75,\n  sm_75]\n", ["4:3: gpus[1] repeats a value: first on line 3"]),
    "repeated axis": (
        "images:\n  a: {cuda: ['12.4', 12.4]}\n",
        ["4:22: images.a.cuda[1] repeats a value: first on line 4"],
    ),
    "not YAML": ("drivers: a: b\n", ["3:11: not YAML: mapping values are not allowed in this context"]),
    "open bracket": ("drivers: [1\n\n", ["5:7: not YAML: did not find expected ',' or ']'"]),
    "bad tab": ("drivers:\n\t- 1\n", ["4:1: not YAML: found character that cannot start any token"]),
}


@pytest.mark.parametrize(("text", "lines"), STRUCTURE.values(), ids=STRUCTURE)
def test_structure_is_refused_where_it_stands(text: str, lines: list[str], refused: Refused) -> None:
    assert refused(text) == lines


def test_an_alias_that_ends_is_fine(refused: Refused) -> None:
    assert refused("images:\n  a: {cuda: &c ['12.4'], python: '3.11'}\n  b: {cuda: *c, python: '3.12'}\n") == []


@pytest.mark.parametrize("tag", ["!!str", "!!int", "!!float", "!"])
def test_core_tags_are_text_all_the_same(tag: str) -> None:
    assert read_tree("f", f"a: {tag} 3.10").data == {"a": "3.10"}


def test_scalars_stay_text() -> None:
    text = "a: 3.10\nb: 12.10\nc: true\nd: 010\ne: 1_000\nf: 2024-01-01\ng: 1e3\nh: yes\ni: '2.20'\n"
    assert read_tree("f", text).data == {
        "a": "3.10",
        "b": "12.10",
        "c": "true",
        "d": "010",
        "e": "1_000",
        "f": "2024-01-01",
        "g": "1e3",
        "h": "yes",
        "i": "2.20",
    }


def test_every_key_and_value_has_its_place() -> None:
    tree = read_tree("f", "a:\n  é: [x,\n    y]\n")
    assert {path: str(place) for path, place in tree.keys.items()} == {("a",): "f:1:1", ("a", "é"): "f:2:3"}
    assert {path: str(place) for path, place in tree.values.items()} == {
        (): "f:1:1",
        ("a",): "f:2:3",
        ("a", "é"): "f:2:6",
        ("a", "é", 0): "f:2:7",
        ("a", "é", 1): "f:3:5",
    }


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "\ufeff", "''"])
def test_an_empty_file_is_shown_the_smallest_matrix(text: str) -> None:
    with pytest.raises(InputError) as caught:
        load_matrix(Path("matrix.yaml"), text)
    assert caught.value.message == "matrix.yaml:1:1: the file is empty"
    load_matrix(Path("matrix.yaml"), caught.value.hint.removeprefix("the smallest matrix: "))


def test_a_byte_order_mark_in_front_is_no_character_of_the_file() -> None:
    assert read_tree("f", "\ufeffa: b").data == {"a": "b"}


def test_laughs_by_the_billion_stop() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(InputError, match=r"^f:\d+:\d+: the file is too large: more than 100000 values"):
        read_tree("f", "\n".join(["l0: &l0 [a]", *levels]))


def test_as_many_nodes_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltree, "MAX_NODES", 4)
    assert read_tree("f", "[a, b, c]").data == ["a", "b", "c"]
    with pytest.raises(InputError, match=r"^f:1:11: the file is too large"):
        read_tree("f", "[a, b, c, d]")


@pytest.fixture
def python_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yamltree, "_TextLoader", type("_Python", (yaml.SafeLoader,), {"yaml_implicit_resolvers": {}}))


def test_depth_is_limited() -> None:
    assert read_tree("f", "[" * 21 + "]" * 21).data
    with pytest.raises(InputError, match=r"^f:1:22: nested too deeply: more than 20 levels$"):
        read_tree("f", "[" * 22 + "]" * 22)
    with pytest.raises(InputError, match=r"^f:1:1001: not YAML: exceeded maximum nesting depth$"):
        read_tree("f", "[" * 100_000)


@pytest.mark.usefixtures("python_loader")
def test_depth_is_limited_without_libyaml() -> None:
    with pytest.raises(InputError, match=r"^f:1:1: not YAML: nested too deeply$"):
        read_tree("f", "[" * 100_000)


SAME_WORDS = [name for name in STRUCTURE if name not in {"not YAML", "open bracket", "bad tab", "undefined alias"}]


@pytest.mark.usefixtures("python_loader")
@pytest.mark.parametrize("name", SAME_WORDS)
def test_the_loader_written_in_python_answers_the_same(name: str, refused: Refused) -> None:
    text, lines = STRUCTURE[name]
    assert refused(text) == lines
