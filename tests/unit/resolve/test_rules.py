"""Rules that no cell of today's facts can break, broken by hand; and what holds of all rules."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cubake.facts import Facts
from cubake.matrix import load_matrix
from cubake.resolve import Base, Evidence, Solved, Stack, solve
from cubake.resolve.explain import SENTENCES, as_json, sentence
from cubake.resolve.rules import RULES

TEXT = "version: 1\nrepository: r.example/gpu\nimages:\n  one: {pytorch: '2.7.1', flavor: devel, os: ubuntu22.04}\n"


@pytest.fixture
def solved(facts: Facts) -> Solved:
    outcome = solve(load_matrix(Path("matrix.yaml"), TEXT).cells[0], facts)
    assert isinstance(outcome, Solved)
    return outcome


def check(rule: str, solved: Solved, stack: Stack, facts: Facts) -> list[Evidence]:
    return RULES[rule].check(solved.cell, stack, facts)


def test_a_base_with_a_second_cudnn_is_refused(solved: Solved, facts: Facts) -> None:
    """NOTES, PyTorch 1: a cudnn image under a wheel adds a second copy."""
    base = Base(
        "nvidia/cuda:12.6.3-cudnn-devel-ubuntu22.04", "nvidia", "12.6.3", "cudnn-devel", "ubuntu22.04", "9.5.1.17"
    )
    (found,) = check("R-007", solved, replace(solved.stack, base=base), facts)
    assert not found.ok
    assert sentence(found) == f"{base.reference} carries a cuDNN beside that of pytorch 2.7.1 (9.5.1.17)"


@pytest.mark.parametrize(("toolkit", "ok"), [("12.6.0", True), ("12.6.3", True), ("12.8.1", False), ("12.4.1", False)])
def test_nvcc_has_the_cuda_of_the_framework(toolkit: str, ok: bool, solved: Solved, facts: Facts) -> None:
    """Design section 3: a devel image's nvcc must have the CUDA version of torch.version.cuda (12.6 for torch 2.7)."""
    base = Base(f"nvidia/cuda:{toolkit}-devel-ubuntu22.04", "nvidia", toolkit, "devel", "ubuntu22.04", None)
    (found,) = check("R-008", solved, replace(solved.stack, base=base), facts)
    assert found.ok is ok


def test_nvcc_is_asked_in_devel_images_only(solved: Solved, facts: Facts) -> None:
    assert check("R-008", solved, replace(solved.stack, flavor="runtime"), facts) == []


@pytest.mark.parametrize(("glibc", "ok"), [("2.27", False), ("2.28", True), ("2.9", False), ("2.100", True)])
def test_an_old_glibc_is_refused(glibc: str, ok: bool, solved: Solved, facts: Facts) -> None:
    """torch 2.7.1 is manylinux_2_28 (NOTES, PyTorch 16). 2.9 is older than 2.28, 2.100 newer."""

    class Old(Facts):
        os = facts.os.model_copy(
            update={"releases": {"ubuntu22.04": facts.os.releases["ubuntu22.04"].model_copy(update={"glibc": glibc})}}
        )

    (found,) = check("R-005", solved, solved.stack, Old())
    assert found.ok is ok
    assert glibc in sentence(found)


def test_rules_are_numbered_without_gaps_and_documented() -> None:
    assert sorted(RULES) == [f"R-{number:03}" for number in range(1, len(RULES) + 1)]
    for rule in RULES.values():
        what, _, mend = (rule.__doc__ or "").partition("\n\n")
        assert what, rule.id
        assert mend.strip(), f"{rule.id} does not say how to mend a refusal"


def test_every_rule_has_its_sentences() -> None:
    assert set(SENTENCES) == {"R-000", *RULES}
    assert all(refusal for _, refusal in SENTENCES.values())


def test_evidence_as_a_document(solved: Solved) -> None:
    """The keys other programs read (design section 5)."""
    document = as_json(solved.because[0])
    assert document.keys() == {"rule", "statement", "fact", "source"}
    assert document["rule"] == "R-002"
    assert document["statement"] == "pytorch 2.7.1 is built with CUDA 12.6"
    assert document["fact"] == "pytorch.releases.2.7.1.wheels"
    assert document["source"].endswith("(verified)")


def test_every_fact_named_is_a_place_in_the_facts(solved: Solved, facts: Facts) -> None:
    for evidence in solved.because:
        assert re.match(
            r"^(pytorch|tensorflow)\.releases\.|^(base_images\.images|components\.toolkits)\.", evidence.fact
        )
