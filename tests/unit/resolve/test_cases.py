"""The resolver on cases that are data: `tests/cases/resolve/*.yaml`, one file a case; a bug report becomes one file.

why: one line with the source
ask: pytorch=2.6 cuda=12.4                 a cell; os, flavor, profile and platform have matrix.yaml's defaults
pip: [torchvision]                         optional
stack: {cuda: "12.4", base: nvidia/cuda…}  the fields that must be equal (base: its reference), and
because: {R-002: part of the sentence}     what is said of it; or
refused: {R-006: part of the sentence}     exactly these rules refuse ("any": it is not fixed which)
never: [CUDA none]                         what no sentence of the outcome may say
nearest: [pytorch=2.6 cuda=12.6]           how the list of nearest cells begins
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cubake.facts import load
from cubake.matrix import Cell, load_matrix
from cubake.resolve import RefusedCell, Solved, solve
from cubake.resolve.explain import sentence
from cubake.resolve.rules import RULES

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "resolve"
CASES = {path.stem: yaml.load(path.read_text(), Loader=yaml.BaseLoader) for path in sorted(FOLDER.glob("*.yaml"))}
KEYS = {"why", "ask", "pip", "stack", "because", "refused", "never", "nearest"}
LISTS = ("requirements", "constraints")


def cell_of(ask: str, pip: list[str]) -> Cell:
    """By way of matrix.yaml: what no matrix can say is no case."""
    rows = "".join(f"    {axis}: '{value}'\n" for axis, _, value in (word.partition("=") for word in ask.split()))
    rows += f"    pip: {pip!r}\n" if pip else ""
    text = f"version: 1\nrepository: registry.example/gpu\nimages:\n  case:\n{rows}"
    (cell,) = load_matrix(Path("matrix.yaml"), text).cells
    return cell


def outcome_of(case: dict[str, Any]) -> Solved | RefusedCell:
    return solve(cell_of(case["ask"], case.get("pip", [])), load())


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    assert case.keys() <= KEYS, "unknown key"
    assert case["why"]
    outcome = outcome_of(case)
    said = {evidence.rule: "" for evidence in outcome.because}
    for evidence in outcome.because:
        said[evidence.rule] += sentence(evidence) + "\n"
        assert evidence.source
    if "refused" in case:
        assert isinstance(outcome, RefusedCell), outcome
        check_refusal(case["refused"], said)
        assert all(not evidence.ok for evidence in outcome.because)
    else:
        assert isinstance(outcome, Solved), said
        check_stack(case["stack"], outcome)
        for rule, part in case.get("because", {}).items():
            assert part in said[rule]
    for phrase in case.get("never", []):
        assert phrase not in "".join(said.values())
    if "nearest" in case:
        assert isinstance(outcome, RefusedCell)
        expected = [str(cell_of(text, [])) for text in case["nearest"]]
        assert list(outcome.nearest[: len(expected)]) == expected


def check_refusal(expected: dict[str, str], said: dict[str, str]) -> None:
    if "any" in expected:
        assert expected["any"] in "".join(said.values())
        return
    assert set(said) == set(expected), said
    for rule, part in expected.items():
        assert part in said[rule]


def check_stack(expected: dict[str, Any], outcome: Solved) -> None:
    found: dict[str, Any] = {}
    for field, value in expected.items():
        if field in LISTS:
            found[field] = [one for one in getattr(outcome.stack, field) if one in value]
        elif field == "base":
            assert outcome.stack.base is not None
            found[field] = outcome.stack.base.reference
        else:
            found[field] = getattr(outcome.stack, field) or "null"
    assert found == expected


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "refused" in case])
def test_what_is_near_works(name: str) -> None:
    outcome = outcome_of(CASES[name])
    near = outcome.nearest if isinstance(outcome, RefusedCell) else ()
    assert len(set(near)) == len(near) <= 3, "a few, not a catalogue"
    for text in near:
        assert isinstance(solve(cell_of(text, CASES[name].get("pip", [])), load()), Solved), text


def test_every_rule_has_its_cases() -> None:
    """Each rule is named where it holds and where it refuses. R-000, R-001, R-011 and R-012 only ever refuse; R-005,
    R-007 and R-008 cannot refuse a cell with today's facts: test_rules breaks them by hand."""
    held = {rule for case in CASES.values() for rule in case.get("because", {})}
    refused = {rule for case in CASES.values() for rule in case.get("refused", {})} - {"any"}
    assert held | {"R-001", "R-011", "R-012"} == set(RULES)
    assert refused | {"R-005", "R-007", "R-008"} == {"R-000", *RULES}


def test_there_are_many() -> None:
    assert len(CASES) >= 40
