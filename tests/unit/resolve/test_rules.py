"""Rules that no cell of today's facts can break, broken by hand; and what holds of all rules. Each is judged on a
draft: that of a cell, with one thing put in."""

from __future__ import annotations

import re

import pytest

from cubake.facts import Facts
from cubake.resolve import Solved, solve
from cubake.resolve.cells import parse_cell
from cubake.resolve.draft import drafts
from cubake.resolve.explain import SENTENCES, as_json, sentence
from cubake.resolve.rules import RULES, Judge, check
from cubake.resolve.rules_parts import need
from cubake.resolve.types import Base, Draft, Evidence


@pytest.fixture
def draft(facts: Facts) -> Draft:
    """torch 2.7.1 (CUDA 12.6, cuDNN 9.5.1.17) in a devel image."""
    return next(drafts(parse_cell(["pytorch=2.7.1 flavor=devel"], facts), facts))


def found(rule: str, draft: Draft, facts: Facts) -> list[Evidence]:
    return check(RULES[rule], draft, facts)


def test_a_base_with_a_second_cudnn_is_refused(draft: Draft, facts: Facts) -> None:
    """NOTES, PyTorch 1: a cudnn image under a wheel adds a second copy."""
    base = Base(
        "nvidia/cuda:12.6.3-cudnn-devel-ubuntu22.04", "nvidia", "12.6.3", "cudnn-devel", "ubuntu22.04", "9.5.1.17"
    )
    (one,) = found("R-007", draft._replace(base=base), facts)
    assert one.refuses
    assert sentence(one) == f"{base.reference} carries a cuDNN beside that of pytorch 2.7.1 (9.5.1.17)"


@pytest.mark.parametrize(("toolkit", "ok"), [("12.6.0", True), ("12.6.3", True), ("12.8.1", False), ("12.4.1", False)])
def test_nvcc_has_the_cuda_of_the_framework(toolkit: str, ok: bool, draft: Draft, facts: Facts) -> None:
    """Design section 3: a devel image's nvcc must have the CUDA version of torch.version.cuda (12.6 for torch 2.7)."""
    base = Base(f"nvidia/cuda:{toolkit}-devel-ubuntu22.04", "nvidia", toolkit, "devel", "ubuntu22.04", None)
    (one,) = found("R-008", draft._replace(base=base), facts)
    assert one.ok is ok
    assert one.refuses is not ok


def test_nvcc_is_asked_in_devel_images_only(draft: Draft, facts: Facts) -> None:
    assert found("R-008", draft._replace(flavor="runtime"), facts) == []
    assert found("R-013", draft._replace(flavor="runtime"), facts) == []


@pytest.mark.parametrize(("glibc", "ok"), [("2.27", False), ("2.28", True), ("2.9", False), ("2.100", True)])
def test_an_old_glibc_is_refused(glibc: str, ok: bool, draft: Draft, facts: Facts) -> None:
    """torch 2.7.1 is manylinux_2_28 (NOTES, PyTorch 16). 2.9 is older than 2.28, 2.100 newer."""

    class Old(Facts):
        os = facts.os.model_copy(
            update={"releases": {"ubuntu22.04": facts.os.releases["ubuntu22.04"].model_copy(update={"glibc": glibc})}}
        )

    (one,) = found("R-005", draft, Old())
    assert one.ok is ok
    assert glibc in sentence(one)


@pytest.mark.parametrize(
    ("cuda", "os", "ok"),
    # gcc: ubuntu22.04 11, debian12 12, ubuntu24.04 13, debian13 14; nvcc takes up to 11 (CUDA 11.8), 12 (12.3),
    # 13 (12.6), 14 (12.8), 15 (13.0): nixpkgs cuda-modules
    [
        ("11.8", "ubuntu22.04", True),
        ("11.8", "debian12", False),
        ("12.3", "debian12", True),
        ("12.3", "ubuntu24.04", False),
        ("12.6", "ubuntu24.04", True),
        ("12.6", "debian13", False),
        ("12.8", "debian13", True),
        ("13.0", "debian13", True),
    ],
)
def test_nvcc_refuses_a_newer_gcc(cuda: str, os: str, ok: bool, draft: Draft, facts: Facts) -> None:
    (one,) = found("R-013", draft._replace(cuda=cuda, os=os), facts)
    assert one.ok is ok


def test_a_gcc_that_is_not_known_is_not_judged(draft: Draft, facts: Facts) -> None:
    """What CUDA 13.5 takes was not found anywhere (facts/cuda.yaml: null)."""
    assert facts.cuda.toolkits["13.5"].max_gcc is None
    assert found("R-013", draft._replace(cuda="13.5"), facts) == []


def test_a_release_that_cannot_be_installed_is_refused(draft: Draft, facts: Facts) -> None:
    """tensorflow 2.15.0 asks for tensorrt-libs 8.6.1, which the index lacks (NOTES, TensorFlow 2). As `2.15.0` also
    stands for 2.15.0.post1, which is preferred, no cell ends here."""
    (one,) = found("R-017", draft._replace(frameworks=(("tensorflow", "2.15.0"),)), facts)
    assert one.refuses
    assert "take 2.15.1" in sentence(one)
    assert found("R-017", draft._replace(frameworks=(("tensorflow", "2.15.1"),)), facts) == []


@pytest.mark.parametrize(
    ("specifier", "least"),
    # An exact pin says what was tested: libraries of one CUDA major stay compatible upwards
    [
        ("==12.5.3.2", ">=12.5.3.2,<13"),
        ("==2.23.4", ">=2.23.4,<3"),
        ("==13.1.0.3.*", ">=13.1.0.3,<14"),
        ("<13.0,>=12.5.82", "<13.0,>=12.5.82"),
    ],
)
def test_an_exact_pin_means_at_least(specifier: str, least: str) -> None:
    assert need(specifier) == least


def test_a_rule_sees_what_it_names_and_nothing_else(draft: Draft, facts: Facts) -> None:
    for rule in RULES.values():
        assert set(rule.reads) <= set(Draft._fields), rule.id
        assert list(rule.reads) == list(dict.fromkeys(rule.reads))
    (one,) = RULES["R-004"].check(facts, frameworks=draft.frameworks, platform=draft.platform, python="3.7", pip=())
    assert one.refuses


def test_a_judge_asks_every_rule_in_order(draft: Draft, facts: Facts) -> None:
    rules = [one.rule for one in Judge(facts).findings(draft)]
    assert rules == sorted(rules)
    assert {"R-002", "R-003", "R-004", "R-005", "R-006", "R-007", "R-008", "R-013"} == set(rules)


def test_only_rules_about_the_host_decide_a_verdict() -> None:
    by_verdict: dict[str, set[str]] = {}
    for rule in RULES.values():
        by_verdict.setdefault(rule.verdict, set()).add(rule.id)
    assert {name: sorted(rules) for name, rules in by_verdict.items() if name} == {
        "starts": ["R-023"],
        "runs": ["R-020", "R-021", "R-022"],
        "jits": ["R-024"],
        "kernels": ["R-019", "R-025"],
    }


def test_rules_are_numbered_without_gaps_and_documented() -> None:
    assert sorted(RULES) == [f"R-{number:03}" for number in range(len(RULES))]
    for rule in RULES.values():
        what, _, mend = (rule.__doc__ or "").partition("\n\n")
        assert what, rule.id
        assert mend.strip(), f"{rule.id} does not say how to mend a refusal"


def test_every_rule_has_its_sentences() -> None:
    """One for what holds and one for what does not, where the rule ever says so; R-023 also where nothing decides."""
    assert set(SENTENCES) == set(RULES)
    only_refuse = {"R-000", "R-001", "R-011", "R-012", "R-017"}
    never_refuse = {"R-015", "R-016"}
    for rule, forms in SENTENCES.items():
        assert bool(forms[0]) is (rule not in only_refuse), rule
        assert bool(forms[1]) is (rule not in never_refuse), rule
        assert len(forms) == (3 if rule == "R-023" else 2), rule


def test_evidence_as_a_document(facts: Facts) -> None:
    """The keys other programs read (design section 5), and what else is told."""
    outcome = solve(parse_cell(["pytorch=2.7.1 driver=535.104.05"], facts), facts)
    assert isinstance(outcome, Solved)
    document = {one.rule: as_json(one) for one in outcome.because}
    assert document["R-004"] == {
        "rule": "R-004",
        "statement": "pytorch 2.7.1 has a wheel for Python 3.10",
        "fact": "pytorch.releases.2.7.1.wheels.linux/amd64.python",
        "source": document["R-004"]["source"],
        "ok": True,
        "warning": False,
    }
    assert document["R-004"]["source"].endswith("(verified)")
    assert (document["R-024"]["ok"], document["R-024"]["warning"]) == (False, True)
    assert (document["R-023"]["ok"], document["R-023"]["warning"]) == (None, False)


def test_every_fact_named_is_a_place_in_the_facts(draft: Draft, facts: Facts) -> None:
    places = r"(pytorch|tensorflow)\.releases|(base_images\.images|components\.toolkits|cuda\.toolkits)"
    for one in Judge(facts).findings(draft):
        assert re.match(rf"^({places})\.", one.fact)
