"""Around a cell that cannot work: the order of what is tried, and the smallest part that clashes. What works is made up
here; that real suggestions work is in test_properties."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cubake.facts import Facts
from cubake.matrix import Cell
from cubake.resolve.cells import parse_cell
from cubake.resolve.draft import drafts
from cubake.resolve.explain import change_text, short
from cubake.resolve.near import NEAREST, changed, clash, nearest
from cubake.resolve.types import Draft

Works = Callable[[Cell], Draft | None]


@pytest.fixture
def works_where(facts: Facts) -> Callable[[Callable[[Cell], bool]], Works]:
    """A world in which those cells work that a rule says, and no others."""
    draft = next(drafts(parse_cell(["pytorch=2.6"], facts), facts))

    def make(rule: Callable[[Cell], bool]) -> Works:
        return lambda cell: draft if rule(cell) else None

    return make


@pytest.fixture
def near(facts: Facts, works_where: Callable[[Callable[[Cell], bool]], Works]) -> Callable[..., list[str]]:
    def find(asked: str, rule: Callable[[Cell], bool]) -> list[str]:
        found = nearest(parse_cell([asked], facts), facts, works_where(rule))
        assert len(found) <= NEAREST
        return [change_text(one) for one in found]

    return find


def has(**values: str) -> Callable[[Cell], bool]:
    return lambda cell: all(cell.get(axis) == value for axis, value in values.items())


def test_neighbours_come_first_the_newer_of_two(near: Callable[..., list[str]]) -> None:
    assert near("pytorch=2.6 python=3.11", lambda cell: cell.get("python") != "3.11") == [
        "python 3.11 -> 3.12",
        "python 3.11 -> 3.10",
        "python 3.11 -> 3.13",
    ]


def test_a_version_that_is_none_has_the_neighbours_of_its_place(near: Callable[..., list[str]]) -> None:
    """CUDA 12.7 never existed: 12.8 and 12.6 are nearest."""
    found = near("pytorch=2.6 cuda=12.7", lambda cell: cell.get("cuda") not in (None, "12.7"))
    assert found[:2] == ["cuda 12.7 -> 12.8", "cuda 12.7 -> 12.6"]


def test_an_update_that_is_not_to_be_had_is_nearest_to_its_own_minor(near: Callable[..., list[str]]) -> None:
    assert near("cuda=12.1.0", lambda cell: cell.get("cuda") != "12.1.0")[0] == "cuda 12.1.0 -> 12.1"


def test_what_people_care_least_about_is_given_up_first(near: Callable[..., list[str]]) -> None:
    """Any single change helps: cuDNN goes first, then CUDA, and a framework's version is not touched."""
    asked = "pytorch=2.6 cuda=12.1 cudnn=9.5 python=3.12"
    assert near(asked, lambda cell: short(cell) != asked)[0] == "without cudnn 9.5"
    asked = "pytorch=2.6 cuda=12.1 python=3.12"
    assert all(text.startswith("cuda ") for text in near(asked, lambda cell: short(cell) != asked))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (has(cuda="12.6"), "cuda 12.1 -> 12.6"),
        (has(python="3.9"), "python 3.12 -> 3.9"),
        (has(pytorch="2.4"), "pytorch 2.6 -> 2.4"),
        (has(flavor="devel"), "flavor runtime -> devel"),
        (has(os="debian12"), "os ubuntu22.04 -> debian12"),
    ],
)
def test_every_axis_may_be_the_one(rule: Callable[[Cell], bool], expected: str, near: Callable[..., list[str]]) -> None:
    assert near("pytorch=2.6 cuda=12.1 python=3.12", rule)[0] == expected


def test_two_changes_where_one_is_too_few(near: Callable[..., list[str]]) -> None:
    assert near("pytorch=2.6 cuda=12.1 python=3.12", has(cuda="12.4", python="3.11")) == [
        "cuda 12.1 -> 12.4, python 3.12 -> 3.11"
    ]


def test_no_second_change_where_the_first_is_enough(near: Callable[..., list[str]]) -> None:
    found = near("pytorch=2.6 cuda=12.1 python=3.12", has(cuda="12.4"))
    assert found[0] == "cuda 12.1 -> 12.4"
    assert not any("12.4" in text for text in found[1:])


def test_a_cuda_left_out_is_named_as_the_one_that_is_found(
    facts: Facts, works_where: Callable[[Callable[[Cell], bool]], Works]
) -> None:
    """People look for a value, not for a gap; the draft of this world has CUDA 12.4."""
    cell = parse_cell(["pytorch=2.6 cuda=12.1"], facts)
    (one,) = nearest(cell, facts, works_where(lambda other: other.get("cuda") is None))
    assert one.changes == (("cuda", "12.1", "12.4"),)
    assert one.cell.get("cuda") == "12.4"


def test_drivers_are_asked_for_last_and_the_oldest_first(near: Callable[..., list[str]]) -> None:
    """The branches of facts/gpus.yaml, in their order."""
    asked = "pytorch=2.6 driver=470.57 gpu=sm_120"
    assert near(asked, lambda cell: cell.get("driver") != "470.57") == [
        "driver 470.57 -> 495",
        "driver 470.57 -> 510",
        "driver 470.57 -> 515",
    ]
    assert near("pytorch=2.6 driver=620.10", lambda cell: cell.get("driver") != "620.10") == []


def test_nothing_works(near: Callable[..., list[str]]) -> None:
    assert near("pytorch=2.6 cuda=12.1", lambda _: False) == []


def test_what_was_not_asked_is_not_changed(
    facts: Facts, works_where: Callable[[Callable[[Cell], bool]], Works]
) -> None:
    """A framework is not taken away, another one not put in, and pip= stays."""
    cell = parse_cell(["pytorch=2.6 cuda=12.1 profile=test", "pip=numpy<2"], facts)
    for one in nearest(cell, facts, works_where(lambda other: other.get("cuda") != "12.1")):
        assert one.cell.get("pytorch") and not one.cell.get("tensorflow")
        assert one.cell.pip == ("numpy<2",)
        assert one.cell.get("profile") == "test"
        assert one.cell.get("driver") is None


def test_changed_keeps_the_order_of_axes(facts: Facts) -> None:
    cell = parse_cell(["pytorch=2.6 gpu=sm_89"], facts)
    assert short(changed(cell, "cuda", "12.4")) == "pytorch=2.6 cuda=12.4 gpu=sm_89"
    assert short(changed(cell, "driver", "550.54")) == "pytorch=2.6 driver=550.54 gpu=sm_89"
    assert short(changed(cell, "gpu", None)) == "pytorch=2.6"
    assert changed(cell, "cuda", None) == cell
    assert cell.get("cuda") is None, "the cell itself is as it was"


class TestClash:
    @pytest.fixture
    def found(
        self, facts: Facts, works_where: Callable[[Callable[[Cell], bool]], Works]
    ) -> Callable[..., tuple[str, ...]]:
        return lambda asked, rule: clash(parse_cell([asked], facts), facts, works_where(rule))

    ASKED = "pytorch=2.6 cuda=12.1 python=3.12 driver=550.54 gpu=sm_89"

    def test_two_that_do_not_fit(self, found: Callable[..., tuple[str, ...]]) -> None:
        rule = has(pytorch="2.6", cuda="12.1")
        assert found(self.ASKED, lambda cell: not rule(cell)) == ("pytorch=2.6", "cuda=12.1")

    def test_one_that_never_works(self, found: Callable[..., tuple[str, ...]]) -> None:
        assert found(self.ASKED, lambda cell: cell.get("python") != "3.12") == ("python=3.12",)

    def test_three_that_do_not_fit(self, found: Callable[..., tuple[str, ...]]) -> None:
        rule = has(cuda="12.1", driver="550.54", gpu="sm_89")
        assert found(self.ASKED, lambda cell: not rule(cell)) == ("cuda=12.1", "driver=550.54", "gpu=sm_89")

    def test_what_every_cell_has_is_part_of_it_only_where_no_other_value_works(
        self, found: Callable[..., tuple[str, ...]]
    ) -> None:
        rule = has(cuda="12.1", os="ubuntu22.04")
        assert found(self.ASKED, lambda cell: not rule(cell)) == ("cuda=12.1", "os=ubuntu22.04")
        assert found(self.ASKED, lambda cell: cell.get("cuda") != "12.1") == ("cuda=12.1",)

    def test_of_two_clashes_the_more_telling_one(self, found: Callable[..., tuple[str, ...]]) -> None:
        """Frameworks are freed last."""
        first, second = has(pytorch="2.6", cuda="12.1"), has(python="3.12", os="ubuntu22.04")
        assert found(self.ASKED, lambda cell: not first(cell) and not second(cell)) == ("pytorch=2.6", "cuda=12.1")
