"""The resolver on cases that are data: `tests/cases/resolve/*.yaml`, one file a case; a bug report becomes one file.

why: one line with the source
ask: pytorch=2.6 cuda=12.4                 a cell; os, flavor, profile and platform have matrix.yaml's defaults
pip: [torchvision]                         optional
stack: {cuda: "12.4", base: nvidia/cuda…}  the fields that must be equal (base: its reference), and
because: {R-002: part of the sentence}     what is said of it; or
refused: {R-006: part of the sentence}     exactly these rules refuse ("any": it is not fixed which)
warns: {R-017: part of the sentence}       what is worth knowing, and refuses nothing
unknown: [R-023]                           what the facts do not decide
verdicts: {starts: no, runs: unknown}      on the host that the cell names
never: [CUDA none]                         what no sentence of the outcome may say
nearest: [pytorch=2.6 cuda=12.6]           how the list of nearest cells begins
clash: [pytorch=2.6, cuda=12.1]            the smallest part that cannot be had together, in any order
passed_over: part of a sentence            said of a stack that stood before the answer
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cubake.facts import load
from cubake.matrix import Cell, load_matrix
from cubake.matrix.types import HOST_AXES
from cubake.resolve import RefusedCell, Solved, solve
from cubake.resolve.cells import parse_cell
from cubake.resolve.explain import sentence
from cubake.resolve.rules import RULES
from cubake.resolve.types import Evidence
from cubake.resolve.verdicts import of

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "resolve"
CASES = {path.stem: yaml.load(path.read_text(), Loader=yaml.BaseLoader) for path in sorted(FOLDER.glob("*.yaml"))}
ANSWERS = {"stack", "because", "refused", "warns", "unknown", "verdicts", "never", "nearest", "clash", "passed_over"}
LISTS = ("requirements", "constraints")
OK = {"yes": True, "no": False, "unknown": None}


def cell_of(ask: str, pip: list[str]) -> Cell:
    """By way of matrix.yaml, since what no matrix can say is no case; a host stands in a question only."""
    if any(f"{axis}=" in ask for axis in HOST_AXES):
        return parse_cell([ask, *(f"pip={one}" for one in pip)], load())
    rows = "".join(f"    {axis}: '{value}'\n" for axis, _, value in (word.partition("=") for word in ask.split()))
    rows += f"    pip: {pip!r}\n" if pip else ""
    text = f"version: 1\nrepository: registry.example/gpu\nimages:\n  case:\n{rows}"
    (cell,) = load_matrix(Path("matrix.yaml"), text).cells
    return cell


def outcome_of(case: dict[str, Any]) -> Solved | RefusedCell:
    return solve(cell_of(case["ask"], case.get("pip", [])), load())


def all_found(outcome: Solved | RefusedCell) -> tuple[Evidence, ...]:
    return outcome.because if isinstance(outcome, Solved) else outcome.findings


def said(evidence: list[Evidence]) -> dict[str, str]:
    """What each rule says, its sentences joined."""
    found: dict[str, str] = {}
    for one in evidence:
        found[one.rule] = found.get(one.rule, "") + sentence(one) + "\n"
    return found


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    case = CASES[name]
    assert case.keys() <= {"why", "ask", "pip"} | ANSWERS, "unknown key"
    assert case["why"]
    assert ("stack" in case) is not ("refused" in case), "an answer is one of the two"
    outcome = outcome_of(case)
    found = all_found(outcome)
    assert all(one.source for one in found)
    told = {
        "because": said([one for one in found if one.ok]),
        "refused": said([one for one in found if one.refuses]),
        "warns": said([one for one in found if one.warns]),
        "unknown": said([one for one in found if one.ok is None]),
    }
    if "refused" in case:
        assert isinstance(outcome, RefusedCell), outcome
        assert said(list(outcome.because)) == told["refused"], "those that refuse, and no others"
        check_refusal(case["refused"], told["refused"])
    else:
        assert isinstance(outcome, Solved), told["refused"]
        check_stack(case["stack"], outcome)
    for kind in ("because", "warns"):
        for rule, part in case.get(kind, {}).items():
            assert part in told[kind].get(rule, f"{rule} says nothing")
    assert set(case.get("unknown", [])) <= set(told["unknown"])
    for phrase in case.get("never", []):
        assert phrase not in "".join(map(sentence, found))
    if "verdicts" in case:
        verdicts = {name: verdict.ok for name, verdict in of(found).items()}
        assert {name: verdicts[name] for name in case["verdicts"]} == {
            name: OK[word] for name, word in case["verdicts"].items()
        }
    if "passed_over" in case:
        assert isinstance(outcome, Solved)
        assert case["passed_over"] in "\n".join(sentence(one) for _, against in outcome.passed_over for one in against)


def check_refusal(expected: dict[str, str], told: dict[str, str]) -> None:
    if "any" in expected:
        assert expected["any"] in "".join(told.values())
        return
    assert set(told) == set(expected), told
    for rule, part in expected.items():
        assert part in told[rule]


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


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if {"nearest", "clash"} & case.keys()])
def test_what_is_told_of_a_refusal(name: str) -> None:
    case = CASES[name]
    outcome = outcome_of(case)
    assert isinstance(outcome, RefusedCell)
    expected = [str(cell_of(text, case.get("pip", []))) for text in case.get("nearest", [])]
    assert list(outcome.nearest[: len(expected)]) == expected
    if "clash" in case:
        assert set(outcome.clash) == set(case["clash"])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "refused" in case])
def test_what_is_near_works(name: str) -> None:
    outcome = outcome_of(CASES[name])
    near = outcome.nearest if isinstance(outcome, RefusedCell) else ()
    assert len(set(near)) == len(near) <= 3, "a few, not a catalogue"
    for text in near:
        assert isinstance(solve(parse_cell([text], load()), load()), Solved), text


def test_every_rule_has_its_cases() -> None:
    """Each rule is named where it holds and where it does not. R-000, R-001, R-011, R-012 and R-017 never say that
    something holds; R-015 and R-016 never that it does not; R-021 and R-024 warn. R-005, R-007, R-008, R-013 and R-017
    cannot refuse a cell with today's facts: test_rules breaks them by hand."""
    held = {rule for case in CASES.values() for rule in case.get("because", {})}
    refused = {rule for case in CASES.values() for rule in case.get("refused", {})} - {"any"}
    warned = {rule for case in CASES.values() for rule in case.get("warns", {})}
    assert held | {"R-000", "R-001", "R-011", "R-012", "R-017"} == set(RULES)
    assert refused | {"R-005", "R-007", "R-008", "R-013", "R-017", "R-015", "R-016", "R-021", "R-024"} == set(RULES)
    assert {"R-017", "R-021", "R-024"} == warned


def test_there_are_many() -> None:
    assert len(CASES) >= 80
