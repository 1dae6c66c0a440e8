"""What holds of every answer, on random questions: what is near works, a clash is minimal, a newer driver takes nothing
away, an answer is its own answer, and nothing depends on what was asked before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from cubake.facts import Facts, load
from cubake.matrix import Cell
from cubake.resolve import RefusedCell, Solved, solve
from cubake.resolve.cells import parse_cell
from cubake.resolve.draft import drafts
from cubake.resolve.host import Host, driver_branch, find_gpu
from cubake.resolve.near import changed
from cubake.resolve.rules import RULES, Judge, check
from cubake.resolve.solve import Resolver
from cubake.resolve.types import Draft, Near
from cubake.resolve.verdicts import Verdict, verdicts
from tests.unit.resolve.sample import cells, drivers, gpus

FACTS = load()
PLATFORMS = ("linux/amd64", "linux/arm64")
FLAVORS = ("base", "runtime", "devel")


@cache
def refused(count: int) -> tuple[RefusedCell, ...]:
    outcomes = (solve(cell, FACTS) for cell in cells(seed=2, count=3 * count))
    return tuple(one for one in outcomes if isinstance(one, RefusedCell))[:count]


@cache
def solved(count: int) -> tuple[Solved, ...]:
    outcomes = (solve(cell, FACTS) for cell in cells(seed=3, count=10 * count))
    return tuple(one for one in outcomes if isinstance(one, Solved))[:count]


def works(cell: Cell) -> bool:
    return isinstance(solve(cell, FACTS), Solved)


def test_the_samples_are_large_enough() -> None:
    assert len(refused(40)) == 40
    assert len(solved(100)) == 100


class TestNear:
    def suggestions(self) -> Iterator[tuple[RefusedCell, Near]]:
        found = [(one, near) for one in refused(40) for near in one.near]
        assert len(found) > 40
        return iter(found)

    def test_what_is_near_works(self) -> None:
        for _, near in self.suggestions():
            assert works(near.cell), near

    def test_what_is_near_works_as_people_would_type_it(self) -> None:
        for one, near in self.suggestions():
            words = [str(near.cell), *(f"pip={text}" for text in one.cell.pip)]
            assert works(parse_cell(words, FACTS)), near

    def test_it_differs_in_what_it_says_and_in_nothing_else(self) -> None:
        for one, near in self.suggestions():
            before, after = dict(one.cell.axes), dict(near.cell.axes)
            differ = {axis for axis in before.keys() | after.keys() if before.get(axis) != after.get(axis)}
            assert differ == {axis for axis, _, _ in near.changes}, near
            for axis, now, new in near.changes:
                assert (before.get(axis) or "", after.get(axis) or "") == (now, new)
            assert near.cell.pip == one.cell.pip

    def test_they_are_few_and_differ(self) -> None:
        for one in refused(40):
            assert len(set(one.nearest)) == len(one.near) <= 3


def pips(cell: Cell) -> list[tuple[str, str]]:
    return [("pip", one) for one in cell.pip]


class TestClash:
    """An axis is free where it may have any value: it is left out, or, where a cell always has one, all are tried."""

    def possible(self, cell: Cell, free: set[str]) -> bool:
        kept = cell
        for axis in free - {"os", "flavor", "platform", "profile"}:
            kept = changed(kept, axis, None)
        values = {"os": tuple(FACTS.os.releases), "flavor": FLAVORS, "platform": PLATFORMS}
        tried = [[(axis, value) for value in values[axis]] for axis in values if axis in free]
        return any(works(self.put(kept, chosen)) for chosen in product(*tried))

    def put(self, cell: Cell, chosen: tuple[tuple[str, str], ...]) -> Cell:
        for axis, value in chosen:
            cell = changed(cell, axis, value)
        return cell

    def test_it_is_part_of_the_question(self) -> None:
        for one in refused(40):
            assert one.clash
            assert set(one.clash) <= {f"{axis}={value}" for axis, value in (*one.cell.axes, *pips(one.cell))}

    def test_alone_it_cannot_be_had(self) -> None:
        for one in refused(40):
            cell, named = self.part(one, one.clash)
            assert not self.possible(cell, {axis for axis, _ in cell.axes} - named), one.clash

    def test_without_any_one_of_it_something_works(self) -> None:
        for one in refused(40):
            for dropped in one.clash:
                cell, named = self.part(one, tuple(text for text in one.clash if text != dropped))
                assert self.possible(cell, {axis for axis, _ in cell.axes} - named), (one.clash, dropped)

    def part(self, one: RefusedCell, clash: tuple[str, ...]) -> tuple[Cell, set[str]]:
        """The cell with the packages of a part of the question alone, and the axes of that part."""
        pip = tuple(text.removeprefix("pip=") for text in clash if text.startswith("pip="))
        named = {text.partition("=")[0] for text in clash if not text.startswith("pip=")}
        return replace(one.cell, pip=pip), named


class TestDrivers:
    """A newer driver runs what an older one ran (NVIDIA minor-version compatibility), but for two things: the oldest
    GPUs end with R580, and cuda-compat serves single branches, with a driver's libraries of its own."""

    def along(self, one: Solved, gpu: str | None) -> list[tuple[str, dict[str, Verdict]]]:
        cards = (find_gpu(gpu, FACTS),) if gpu else ()
        return [(driver, verdicts(one.stack, Host(driver, cards, "given"), FACTS)) for driver in drivers(FACTS)]

    def rows(self) -> Iterator[tuple[Solved, str | None, list[tuple[str, dict[str, Verdict]]]]]:
        dice = random.Random(4)
        for one in solved(30):
            gpu = dice.choice([None, *gpus(FACTS)])
            yield one, gpu, self.along(one, gpu)

    def last_branch(self, gpu: str | None) -> int:
        row = FACTS.gpus.capabilities[find_gpu(gpu, FACTS).capability] if gpu else None
        return row.branch_last if row and row.branch_last else 10_000

    def test_libraries_that_run_run_on_every_newer_driver(self) -> None:
        for one, gpu, row in self.rows():
            before: Verdict | None = None
            for driver, found in row:
                now = found["runs"]
                if driver_branch(driver) > self.last_branch(gpu):
                    assert now.ok is False, (one.stack, gpu, driver)
                elif before and before.ok and "cuda-compat" not in before.statement:
                    assert now.ok, (one.stack, gpu, driver)
                before = now

    def by_their_own_driver(self, row: list[tuple[str, dict[str, Verdict]]], name: str) -> list[Verdict]:
        """Without the drivers on which cuda-compat stands in: it has libraries and a PTX compiler of its own."""
        return [
            found[name] for _, found in row if not any("cuda-compat" in verdict.statement for verdict in found.values())
        ]

    def test_ptx_that_compiles_compiles_on_every_newer_driver(self) -> None:
        for one, gpu, row in self.rows():
            oks = [verdict.ok for verdict in self.by_their_own_driver(row, "jits")]
            assert None not in oks, (one.stack, gpu)
            assert oks == sorted(oks, key=bool), (one.stack, gpu, "no before yes")

    def test_kernels_depend_on_the_driver_only_where_ptx_alone_fits(self) -> None:
        for one, gpu, row in self.rows():
            found = self.by_their_own_driver(row, "kernels")
            oks = [verdict.ok for verdict in found]
            if len(set(oks)) > 1:
                assert oks == sorted(oks, key=bool)
                old = [verdict.statement for verdict in found if not verdict.ok]
                assert all("only PTX" in text and "too old to compile" in text for text in old), (one.stack, gpu)

    def test_no_verdict_is_lost_without_a_gpu(self) -> None:
        for _, gpu, row in self.rows():
            for _, found in row:
                assert (found["kernels"].ok is None) is (gpu is None)

    def test_forward_compatibility_serves_single_branches(self, facts: Facts) -> None:
        """The gate of 12.4.1 lists R470 but not R510: on a data-center card the former runs CUDA 12.4, the latter does
        not, and from 525.60.13 on all do."""
        one = solve(parse_cell(["pytorch=2.5 cuda=12.4"], facts), facts)
        assert isinstance(one, Solved)
        oks = {driver_branch(driver): found["runs"].ok for driver, found in self.along(one, "T4")}
        assert [oks[branch] for branch in (460, 470, 510, 525, 620)] == [False, True, False, True, True]

    def test_the_start_gate_is_not_monotone(self, facts: Facts) -> None:
        """NVIDIA_REQUIRE_CUDA of 12.4.1: R535 is listed, R545 (CUDA 12.3) is neither listed nor new enough, R550 is."""
        one = solve(parse_cell(["pytorch=2.5 cuda=12.4"], facts), facts)
        assert isinstance(one, Solved)
        oks = {driver_branch(driver): found["starts"].ok for driver, found in self.along(one, "RTX 3090")}
        assert [oks[branch] for branch in (515, 525, 530, 535, 545, 550, 555)] == [
            False, True, False, True, False, True, True,
        ]  # fmt: skip


def test_every_refusal_names_its_rule_and_a_fact_with_its_source() -> None:
    for one in refused(40):
        assert one.because
        assert all(found.refuses and found.rule in RULES and found.fact and found.source for found in one.because)
        assert set(one.because) <= set(one.findings)


def test_a_stack_is_given_with_no_evidence_against_it() -> None:
    for one in solved(100):
        assert one.because
        assert not any(found.refuses for found in one.because)
        assert one.stack.base is not None
        for _, against in one.passed_over:
            assert against and all(found.refuses for found in against)


def test_what_was_answered_is_its_own_answer() -> None:
    """A stack put as a question, with all that was left open filled in, is answered by itself."""
    axes = ("pytorch", "tensorflow", "cuda", "cudnn", "python")
    for one in solved(100):
        values = {axis: getattr(one.stack, axis) for axis in axes}
        if not one.stack.frameworks:
            values["cuda"] = one.stack.toolkit
        cell = one.cell
        for axis, value in values.items():
            cell = changed(cell, axis, value)
        again = solve(cell, FACTS)
        assert isinstance(again, Solved), (str(one.cell), str(cell), again)
        assert again.stack == one.stack


def all_drafts(count: int) -> list[Draft]:
    return [draft for cell in cells(seed=5, count=count) for draft in list(drafts(cell, FACTS))[:3]]


def test_a_rule_depends_on_nothing_that_it_does_not_name() -> None:
    """What a judge found once for the fields that a rule reads is what the rule finds anew for every such draft."""
    judge = Judge(FACTS)
    for draft in all_drafts(400):
        fresh = [one for _, rule in sorted(RULES.items()) for one in check(rule, draft, FACTS)]
        assert list(judge.findings(draft)) == fresh


def test_what_a_judge_finds_on_a_host_is_part_of_all_it_finds() -> None:
    judge = Judge(FACTS)
    for draft in all_drafts(200):
        found = judge.findings(draft)
        assert judge.on_host(draft) == tuple(one for one in found if RULES[one.rule].verdict)


def test_answers_do_not_depend_on_the_order_of_questions() -> None:
    asked = cells(seed=6, count=150)
    forward, backward = Resolver(FACTS), Resolver(FACTS)
    first = {str(cell): forward.solve(cell) for cell in asked}
    second = {str(cell): backward.solve(cell) for cell in reversed(asked)}
    shuffled = random.Random(7).sample(asked, 15)
    for cell in shuffled:
        one, other = first[str(cell)], second[str(cell)]
        assert one == other
        if isinstance(one, RefusedCell) and isinstance(other, RefusedCell):
            assert (one.near, one.clash) == (other.near, other.clash)
    assert first == second


@pytest.mark.parametrize("profile", ["dev", "prod", "test", "of-my-own"])
def test_an_answer_does_not_depend_on_the_profile(profile: str) -> None:
    for cell in cells(seed=8, count=300):
        one, other = solve(cell, FACTS), solve(changed(cell, "profile", profile), FACTS)
        if isinstance(one, Solved):
            assert isinstance(other, Solved)
            assert other.stack == replace(one.stack, profile=profile)
            assert (one.because, one.passed_over) == (other.because, other.passed_over)
        else:
            assert isinstance(other, RefusedCell)
            assert (one.because, one.findings) == (other.because, other.findings)


def test_what_is_near_keeps_the_profile() -> None:
    for one in refused(20):
        other = solve(changed(one.cell, "profile", "of-my-own"), FACTS)
        assert isinstance(other, RefusedCell)
        assert [near.changes for near in one.near] == [near.changes for near in other.near]
        assert all(near.cell.get("profile") == "of-my-own" for near in other.near)
