"""What every rule must bring: examples that are true, a text that says how to mend, and facts that are there; and what
every finding must bring, over a wide sample of questions: a sentence that reads, a place in the facts, its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from pydantic import BaseModel

from cubake.facts import Facts, load
from cubake.facts.model import Row
from cubake.resolve import Evidence, RefusedCell, Solved, solve
from cubake.resolve.cells import parse_cell
from cubake.resolve.explain import sentence
from cubake.resolve.rules import RULES, Example
from cubake.resolve.types import Draft
from tests.unit.resolve.sample import cells

EXAMPLES = [pytest.param(rule, one, id=f"{rule}-{one.cell}") for rule in RULES for one in RULES[rule].examples]
MEND = ("Take", "Name", "Leave", "Ask", "Change", "Nothing to mend")


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example(rule: str, example: Example, facts: Facts) -> None:
    outcome = solve(parse_cell([example.cell], facts), facts)
    found = [one for one in evidence_of(outcome) if one.rule == rule]
    assert found, f"{rule} says nothing of it"
    if example.holds is True:
        assert all(one.ok for one in found)
    elif example.holds is False:
        assert isinstance(outcome, RefusedCell)
        assert any(one.refuses for one in found)
    else:
        assert any(one.warns and one.ok is False for one in found)
        assert not any(one.refuses for one in found)


def evidence_of(outcome: Solved | RefusedCell) -> tuple[Evidence, ...]:
    return outcome.because if isinstance(outcome, Solved) else outcome.findings


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_examples_of_what_it_ever_finds(rule: str) -> None:
    """At least one; and one of a refusal where a cell can end there (test_cases says why the others cannot)."""
    examples = RULES[rule].examples
    assert examples
    if rule not in {"R-005", "R-007", "R-008", "R-013", "R-015", "R-016", "R-017", "R-021", "R-024"}:
        assert any(one.holds is False for one in examples)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_why_and_how_to_mend(rule: str) -> None:
    text = re.sub(r"\n +", "\n", RULES[rule].__doc__ or "").strip()
    what, _, mend = text.partition("\n\n")
    assert len(what) > 60, "what, and why"
    assert mend.startswith(MEND), "how to mend it, in one paragraph"
    assert "\n\n" not in mend
    assert what.rstrip().endswith(".") and mend.rstrip().endswith(".")


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_reads_what_there_is(rule: str, facts: Facts) -> None:
    assert set(RULES[rule].reads) <= set(Draft._fields)
    assert RULES[rule].facts
    for place in RULES[rule].facts:
        assert any(True for _ in chains(place, facts)), place


def chains(place: str, facts: Facts) -> Iterator[list[Any]]:
    """The nodes that lie on the way to a place in the facts, for each way there is: ``*`` is any key, and keys may hold
    dots (2.6.0)."""
    head, _, rest = place.partition(".")
    file = facts.frameworks.get(head) or getattr(facts, head, None)
    if file is not None:
        yield from ([file, *way] for way in _below(file, rest))


def _below(node: Any, rest: str) -> Iterator[list[Any]]:
    if not rest:
        yield []
        return
    if isinstance(node, BaseModel):
        keys: Mapping[str, Any] = {name: getattr(node, name) for name in type(node).model_fields}
    elif isinstance(node, dict):
        keys = node
    else:
        return
    for key, value in keys.items():
        for wanted in (key, "*") if isinstance(node, dict) else (key,):
            if rest == wanted or rest.startswith(f"{wanted}."):
                yield from ([value, *way] for way in _below(value, rest[len(wanted) + 1 :]))


@cache
def all_evidence() -> tuple[Evidence, ...]:
    """Everything that is found of 3000 random cells, once each."""
    facts = load()
    found: dict[Evidence, None] = {}
    for cell in cells(seed=1, count=3000):
        outcome = solve(cell, facts)
        found |= dict.fromkeys(evidence_of(outcome))
        if isinstance(outcome, Solved):
            found |= dict.fromkeys(one for _, against in outcome.passed_over for one in against)
    return tuple(found)


def test_the_sample_is_wide() -> None:
    """Every rule is heard in it; so are holding, refusing, warning and not knowing."""
    assert {one.rule for one in all_evidence()} == set(RULES)
    assert any(one.ok for one in all_evidence()) and any(one.refuses for one in all_evidence())
    assert any(one.warns for one in all_evidence()) and any(one.ok is None for one in all_evidence())


def test_every_finding_reads_as_a_sentence() -> None:
    for one in all_evidence():
        text = sentence(one)
        assert text, one
        assert not re.search(r"None|[{}]|\(\)|  | ,|; ;|: ;|,,", text), text
        assert text == text.strip()


def test_every_fact_named_is_there(facts: Facts) -> None:
    missing = {(one.rule, one.fact) for one in all_evidence() if not any(True for _ in chains(one.fact, facts))}
    assert sorted(missing) == []


def test_every_source_is_one_of_its_file(facts: Facts) -> None:
    for one in all_evidence():
        head = one.fact.partition(".")[0]
        file = facts.frameworks.get(head) or getattr(facts, head)
        assert one.source in {said(source) for source in file.sources.values()}, one


def test_every_source_is_that_of_the_row(facts: Facts) -> None:
    """What was read from a wheel is verified; what a build script says of another build is not (facts/pytorch.yaml)."""
    wrong = set()
    for one in all_evidence():
        ways = list(chains(one.fact, facts))
        rows = [[node for node in way if isinstance(node, Row)] for way in ways]
        expected = {said(way[0].sources[on_way[-1].source]) for way, on_way in zip(ways, rows, strict=True) if on_way}
        if expected and one.source not in expected:
            wrong.add((one.rule, one.fact))
    assert sorted(wrong) == []


@pytest.mark.parametrize("rule", ["R-002", "R-003", "R-025"])
def test_what_is_said_of_an_index_build_is_from_its_row(rule: str, facts: Facts) -> None:
    """The cu128 build of torch 2.11 pins cuDNN 9.17.1.4 by RELEASE.md; the wheel that was read is another build."""
    outcome = solve(parse_cell(["pytorch=2.11 cuda=12.8 gpu=H100"], facts), facts)
    (one,) = [one for one in evidence_of(outcome) if one.rule == rule]
    assert one.fact.startswith("pytorch.releases.2.11.0.indexes.cu128")
    assert one.source == said(facts.frameworks["pytorch"].sources["index-3"])


def said(source: Any) -> str:
    return f"{source.text} ({source.confidence})"
