"""What a good file becomes: cells in order, defaults, exclusions, profiles, build options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict

import pytest

from cubake.errors import Position
from cubake.matrix import AXES, BuildOptions, Cell, Exclusion, Matrix, Profile
from cubake.matrix import load as loading

Load = Callable[[str], Matrix]
Refused = Callable[[str], list[str]]
TAIL = "os=ubuntu22.04 flavor=runtime profile=prod platform=linux/amd64"


def test_the_order_of_axes() -> None:
    assert AXES == ("pytorch", "tensorflow", "cuda", "cudnn", "python", "os", "flavor", "profile", "platform")


def test_cells_are_the_product_in_the_order_of_the_file(load: Load) -> None:
    matrix = load("images:\n  b: {python: [3.12, 3.10], cuda: [12.10, any]}\n  a: {tensorflow: 2.20}\n")
    assert [str(cell) for cell in matrix.cells] == [
        f"cuda=12.10 python=3.12 {TAIL}",
        f"cuda=12.10 python=3.10 {TAIL}",
        f"cuda=any python=3.12 {TAIL}",
        f"cuda=any python=3.10 {TAIL}",
        f"tensorflow=2.20 {TAIL}",
    ]
    assert [cell.entry for cell in matrix.cells] == ["b"] * 4 + ["a"]


def test_a_cell(load: Load) -> None:
    (cell,) = load(
        "images:\n  one: {pytorch: 2.6, pip: numpy<3, description: 'why; $5', platform: linux/arm64}\n"
    ).cells
    assert cell == Cell(
        entry="one",
        axes=(
            ("pytorch", "2.6"),
            ("os", "ubuntu22.04"),
            ("flavor", "runtime"),
            ("profile", "prod"),
            ("platform", "linux/arm64"),
        ),
        pip=("numpy<3",),
        position=Position("matrix.yaml", 4, 3),
        single=True,
        on_conflict="fail",
    )
    assert cell.get("pytorch") == "2.6"
    assert cell.get("python") is None


@pytest.mark.parametrize(
    ("entry", "single", "on_conflict"),
    [
        ("cuda: 12.4", True, "fail"),
        ("cuda: [12.4]", False, "skip"),
        ("cuda: 12.4, os: [debian12]", False, "skip"),
        ("cuda: 12.4, pip: [numpy, scipy]", True, "fail"),
        ("cuda: 12.4, on_conflict: skip", True, "skip"),
        ("cuda: [12.4], on_conflict: fail", False, "fail"),
    ],
)
def test_what_a_conflict_does(entry: str, single: bool, on_conflict: str, load: Load) -> None:
    (cell,) = load(f"images:\n  a: {{{entry}}}\n").cells
    assert (cell.single, cell.on_conflict) == (single, on_conflict)


def test_defaults_stand_where_the_entry_is_silent(load: Load) -> None:
    text = (
        "defaults: {os: debian12, python: 3.11}\nimages:\n  a: {cuda: any}\n  b: {cuda: any, os: ubi9, python: 3.10}\n"
    )
    rest = "flavor=runtime profile=prod platform=linux/amd64"
    assert [str(cell) for cell in load(text).cells] == [
        f"cuda=any python=3.11 os=debian12 {rest}",
        f"cuda=any python=3.10 os=ubi9 {rest}",
    ]
    text = "defaults: {flavor: devel, profile: dev, platform: linux/arm64}\n"
    assert str(load(text).cells[0]) == "pytorch=2.6 os=ubuntu22.04 flavor=devel profile=dev platform=linux/arm64"


def test_entries_that_give_the_same_cell(refused: Refused) -> None:
    assert refused("images:\n  a: {cuda: [12.4, 12.6]}\n  b: {cuda: 12.6, pip: numpy}\n") == [
        f"5:3: images.b and images.a (matrix.yaml:4:3) both give cuda=12.6 {TAIL}"
    ]


def test_products_beyond_reason(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_CELLS", 5)
    text = "images:\n  a: {cuda: ['12.1', '12.2']}\n  b: {cuda: ['12.3', '12.4'], os: [debian11, debian12]}\n"
    assert refused(text) == ["5:3: images.b makes 6 cells so far: more than 5 are refused"]
    monkeypatch.setattr(loading, "MAX_CELLS", 6)
    assert refused(text) == []


def test_a_product_that_no_memory_holds_is_refused_at_once(refused: Refused) -> None:
    versions = ", ".join(f"'1.{n}'" for n in range(400))
    text = f"images:\n  a: {{{', '.join(f'{axis}: [{versions}]' for axis in AXES[:5])}}}\n"
    assert refused(text) == [f"4:3: images.a makes {400**5} cells so far: more than 100000 are refused"]


def test_excluded_cells_keep_their_reason(load: Load) -> None:
    matrix = load(
        "images:\n  a: {pytorch: [2.5.1, 2.6], python: [3.12, 3.13]}\n"
        "exclude:\n  - {pytorch: 2.5, python: 3.13, reason: 'no wheels; see #1'}\n  - {pytorch: 2.5.1, reason: later}\n"
    )
    assert [(cell.get("pytorch"), cell.get("python")) for cell in matrix.cells] == [("2.6", "3.12"), ("2.6", "3.13")]
    found = [(cell.get("python"), rule.reason, str(rule.position)) for cell, rule in matrix.excluded]
    assert found == [("3.12", "later", "matrix.yaml:7:5"), ("3.13", "no wheels; see #1", "matrix.yaml:6:5")]


@pytest.mark.parametrize(
    ("axis", "excluded", "value", "matches"),
    [
        ("pytorch", ("2.5",), "2.5", True),
        ("pytorch", ("2.5",), "2.5.1", True),
        ("pytorch", ("2.5",), "2.50", False),
        ("pytorch", ("2.5.1",), "2.5", False),
        ("pytorch", ("2.5",), "any", False),
        ("pytorch", ("any",), "any", True),
        ("cuda", ("12",), "12.4", True),
        ("cudnn", ("9", "8"), "8.9", True),
        ("tensorflow", ("2.18", "2.19"), "2.20", False),
        ("os", ("ubuntu22",), "ubuntu22.04", False),
        ("os", ("ubuntu22.04", "debian12"), "debian12", True),
        ("python", ("3.1",), "3.12", False),
    ],
)
def test_what_an_exclusion_matches(axis: str, excluded: tuple[str, ...], value: str, matches: bool) -> None:
    place = Position("m", 1, 1)
    rule = Exclusion(((axis, excluded),), "no", place)
    cell = Cell("a", ((axis, value),), (), place, True, "fail")
    assert rule.matches(cell) is matches
    assert not rule.matches(Cell("a", (), (), place, True, "fail"))
    both = Exclusion(((axis, excluded), ("flavor", ("devel",))), "no", place)
    assert not both.matches(cell)


BUILT_IN = {
    "dev": (("CUDA_LAUNCH_BLOCKING", "1"),),
    "prod": (),
    "test": (("CUBLAS_WORKSPACE_CONFIG", ":4096:8"), ("TF_DETERMINISTIC_OPS", "1"), ("PYTHONHASHSEED", "0")),
}


def test_built_in_profiles(load: Load) -> None:
    profiles = load("").profiles
    assert {name: profile.env for name, profile in profiles.items()} == BUILT_IN
    assert all(profile.name == name and profile.description for name, profile in profiles.items())


def test_profiles_of_the_file_add_or_replace(load: Load) -> None:
    profiles = load("profiles: {dev: {env: {B: 0, A: true}, description: ours}, fast: {}}\n").profiles
    assert list(profiles) == ["dev", "prod", "test", "fast"]
    assert profiles["dev"] == Profile("dev", (("B", "0"), ("A", "true")), "ours")
    assert profiles["fast"] == Profile("fast", ())
    assert profiles["test"].env == BUILT_IN["test"]


def test_build_options(load: Load) -> None:
    assert load("").build == BuildOptions()
    text = (
        "build:\n  index_url: http://a\n  extra_index_urls: ['http://b', 'http://c']\n  find_links: wheels\n"
        "  ca_bundle: /ca.pem\n  network: host\n  mirrors: {apt: 'http://d', pytorch: 'http://e'}\n"
        "  python_mirror: file:///p\n  registry_mirror: https://m.example:5000/x/\n"
    )
    assert load(text).build == BuildOptions(
        index_url="http://a",
        extra_index_urls=("http://b", "http://c"),
        find_links="wheels",
        ca_bundle="/ca.pem",
        network="host",
        mirrors=(("apt", "http://d"), ("pytorch", "http://e")),
        python_mirror="file:///p",
        registry_mirror="m.example:5000/x",
    )


def test_the_rest_of_the_matrix(load: Load) -> None:
    matrix = load("drivers: [535.183, '550']\ngpus: [sm_90, sm_75]\n")
    assert (matrix.repository, matrix.drivers, matrix.gpus) == (
        "ghcr.io/acme/gpu",
        ("535.183", "550"),
        ("sm_90", "sm_75"),
    )
    assert asdict(matrix)["cells"][0]["entry"] == "torch"
    with pytest.raises(FrozenInstanceError):
        matrix.repository = "x"  # type: ignore[misc]
