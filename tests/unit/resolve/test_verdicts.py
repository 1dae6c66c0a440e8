"""The four verdicts of a stack on a host (design section 3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cubake.facts import Facts
from cubake.resolve import Solved, Stack, solve
from cubake.resolve.cells import parse_cell
from cubake.resolve.host import Host, find_gpu
from cubake.resolve.verdicts import NEEDED, VERDICTS, Verdict, of, verdicts

Ask = Callable[..., dict[str, Verdict]]


@pytest.fixture
def stack(facts: Facts) -> Stack:
    """torch 2.8.0: CUDA 12.8, machine code from sm_70 on, in an image whose gate names no GeForce."""
    outcome = solve(parse_cell(["pytorch=2.8 cuda=12.8 python=3.12"], facts), facts)
    assert isinstance(outcome, Solved)
    return outcome.stack


@pytest.fixture
def ask(stack: Stack, facts: Facts) -> Ask:
    def on(driver: str | None, *cards: str) -> dict[str, Verdict]:
        return verdicts(stack, Host(driver, tuple(find_gpu(card, facts) for card in cards), "given"), facts)

    return on


def oks(found: dict[str, Verdict]) -> dict[str, bool | None]:
    return {name: verdict.ok for name, verdict in found.items()}


@pytest.mark.parametrize(
    ("driver", "card", "starts", "runs", "jits", "kernels"),
    # floor of CUDA 12: 525.60.13; PTX of 12.8 from R570 on; gate of 12.8: 12.8, or R470, 535, 550, 560, 565 on
    # data-center brands; machine code from 7.0 on (facts, verified or high)
    [
        ("570.86.10", "RTX 4090", True, True, True, True),
        ("550.144.03", "RTX 4090", False, True, False, True),
        ("550.144.03", "H100", True, True, False, True),
        ("530.41.03", "H100", False, True, False, True),
        ("570.86.10", "GTX 1080", True, True, True, False),
        ("590.48.01", "V100", True, False, True, True),
        ("550.144.03", "B200", True, False, False, True),
        ("515.65.01", "A100", False, False, False, True),
    ],
)
def test_each_verdict_is_its_own(
    driver: str, card: str, starts: bool, runs: bool, jits: bool, kernels: bool, ask: Ask
) -> None:
    expected = {"starts": starts, "runs": runs, "jits": jits, "kernels": kernels}
    assert oks(ask(driver, card)) == expected


def test_what_is_not_told_is_not_known(ask: Ask) -> None:
    assert oks(ask(None)) == dict.fromkeys(VERDICTS)
    assert {verdict.word for verdict in ask(None).values()} == {"?"}
    assert ask(None)["starts"].statement == "not known: no driver was named"
    assert ask(None)["kernels"].statement == "not known: no GPU was named"
    assert oks(ask(None, "RTX 4090")) == {"starts": None, "runs": None, "jits": None, "kernels": True}
    assert oks(ask("570.86.10")) == {"starts": True, "runs": True, "jits": True, "kernels": None}


def test_a_gate_that_compares_brands_is_not_decided_by_a_capability(ask: Ask) -> None:
    found = ask("550.144.03", "sm_89")
    assert found["starts"].ok is None
    assert "is not known" in found["starts"].statement


def test_of_several_gpus_the_worst_verdict_counts(ask: Ask) -> None:
    assert oks(ask("570.86.10", "RTX 4090", "GTX 1080"))["kernels"] is False
    assert oks(ask("570.86.10", "GTX 1080", "RTX 4090"))["kernels"] is False
    assert "GTX 1080" in ask("570.86.10", "RTX 4090", "GTX 1080")["kernels"].statement
    assert oks(ask("550.144.03", "H100", "sm_90"))["starts"] is None, "unknown is worse than yes"
    assert oks(ask("550.144.03", "sm_90", "RTX 4090"))["starts"] is False, "and better than no"


def test_eight_gpus_alike_are_one(ask: Ask) -> None:
    assert ask("570.86.10", *["H100"] * 8) == ask("570.86.10", "H100")


def test_a_statement_tells_what_is_against_it_and_nothing_else(ask: Ask) -> None:
    found = ask("515.65.01", "A100")["runs"]
    assert found.statement.startswith("CUDA 12.x needs driver >= 525.60.13 (have 515.65.01")
    assert "drives A100" not in found.statement
    good = ask("570.86.10", "A100")["runs"]
    assert "runs the libraries of CUDA 12.8" in good.statement
    assert "drives A100" in good.statement


def test_a_verdict_has_the_sources_of_what_it_says(ask: Ask) -> None:
    for verdict in ask("570.86.10", "RTX 4090").values():
        assert verdict.source.endswith(")")
        assert verdict.document == {"ok": True, "statement": verdict.statement, "source": verdict.source}
        assert verdict.word == "yes"
    assert ask("550.144.03", "RTX 4090")["starts"].word == "no"


def test_of_gives_every_verdict_of_a_cells_evidence(facts: Facts) -> None:
    outcome = solve(parse_cell(["pytorch=2.8 cuda=12.8 driver=570.86.10 gpu=RTX 4090"], facts), facts)
    assert isinstance(outcome, Solved)
    assert tuple(of(outcome.because)) == VERDICTS
    assert set(NEEDED) < set(VERDICTS)
    assert oks(of(outcome.because)) == dict.fromkeys(VERDICTS, True)
    assert oks(of(())) == dict.fromkeys(VERDICTS)


def test_a_cell_and_its_stack_have_the_same_verdicts(facts: Facts) -> None:
    for text in (
        "pytorch=2.5 cuda=12.4 driver=535.104.05 gpu=RTX 3090",
        "pytorch=any driver=470.82 gpu=T4",
        "tensorflow=2.15 python=3.11 driver=535.104.05 gpu=H100",
        "pytorch=2.7 tensorflow=2.20 python=3.12 driver=560.35.03 gpu=L4",
        "cuda=12.9 cudnn=any os=debian12 driver=575.51.03 gpu=GTX 1080",
    ):
        cell = parse_cell([text], facts)
        outcome = solve(cell, facts)
        assert isinstance(outcome, Solved), text
        host = Host(cell.get("driver"), (find_gpu(cell.get("gpu") or "", facts),), "given")
        assert verdicts(outcome.stack, host, facts) == of(outcome.because), text


class TestTheImagesOwnGate:
    """What an image says stands before what is known of its base (design section 3: read from the image)."""

    def starts(self, environment: dict[str, str], driver: str | None, card: str, stack: Stack, facts: Facts) -> Verdict:
        return verdicts(stack, Host(driver, (find_gpu(card, facts),), "given"), facts, environment)["starts"]

    @pytest.mark.parametrize(
        ("environment", "driver", "card", "ok"),
        [
            ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.0"}, "550.144.03", "RTX 4090", True),  # the base's would refuse it
            ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.9"}, "570.86.10", "RTX 4090", False),  # the base's would let it start
            ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.9", "NVIDIA_DISABLE_REQUIRE": "1"}, "570.86.10", "RTX 4090", True),
            ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.0", "NVIDIA_REQUIRE_ARCH": "arch>=9.0"}, "570.86.10", "RTX 4090", False),
            ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.9 brand=tesla"}, "570.86.10", "sm_90", None),
            (
                {"NVIDIA_REQUIRE_CUDA": "cuda>>12.9"},
                "570.86.10",
                "RTX 4090",
                False,
            ),  # the runtime refuses it as invalid
            ({"PATH": "/bin"}, "450.80.02", "T4", True),  # an image without a gate
        ],
    )
    def test_it_decides(
        self, environment: dict[str, str], driver: str, card: str, ok: bool | None, stack: Stack, facts: Facts
    ) -> None:
        found = self.starts(environment, driver, card, stack, facts)
        assert found.ok is ok, found
        assert found.source == "the environment of the image, as the engine here has it"
        if ok is False:
            assert "unsatisfied condition" in found.statement

    def test_without_a_driver_it_is_not_known(self, stack: Stack, facts: Facts) -> None:
        assert self.starts({"NVIDIA_REQUIRE_CUDA": "cuda>=12.0"}, None, "T4", stack, facts).ok is None
