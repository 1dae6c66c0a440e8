"""What the resolver accepts can be installed: a sample of stacks, put to the package index through cubake's own door.

The sample is the same in every run: releases, Pythons and distributions are drawn at random, among the cells that the
resolver answers with wheels of the package index (builds of PyTorch's own index need another one). No wheel is
downloaded: uv reads metadata. Where it finds no answer, the message names the cell and uv's reason.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice, product

import pytest

from cubake import versions
from cubake.errors import CubakeError
from cubake.facts import Facts, load
from cubake.fetch import Sources, resolve
from cubake.plan import Package
from cubake.plan.make import lock_input
from cubake.resolve import Solved, Stack, solve
from cubake.resolve.cells import parse_cell

AT_ONCE = 8  # the resolver waits for the index, not for us
PYTHONS = [f"3.{minor}" for minor in range(9, 16)]
KINDS = {"pytorch": 11, "tensorflow": 9, "both": 10}
PACKAGES = ("", "numpy", "torchvision", "pandas")
Answer = tuple[Package, ...] | CubakeError


@cache
def sample() -> dict[str, Solved]:
    """By the cell's words; no two of a kind are of one release."""
    facts, dice = load(), random.Random(20261130)
    found: dict[str, Solved] = {}
    for kind, count in KINDS.items():
        turns = list(releases(kind, facts))
        dice.shuffle(turns)
        drawn = filter(None, (draw(words, dice, facts) for words in turns))
        found |= dict(islice(drawn, count))
    return found


def draw(words: str, dice: random.Random, facts: Facts) -> tuple[str, Solved] | None:
    """A cell of a release that is answered from the package index, if any of some is."""
    for _ in range(40):
        asked = f"{words} python={dice.choice(PYTHONS)} os={dice.choice(list(facts.os.releases))}"
        package = dice.choice(PACKAGES)
        if package and (package != "torchvision" or "pytorch" in words):
            asked += f" pip={package}"
        outcome = solve(parse_cell([asked], facts), facts)
        if isinstance(outcome, Solved) and outcome.stack.index is None:
            return asked, outcome
    return None


def releases(kind: str, facts: Facts) -> Iterator[str]:
    """Every release in the facts (PyTorch's begin with 2.1); no cell can name a .post1."""
    torch, flow = (
        [f"{name}={version}" for version in facts.frameworks[name].releases if "post" not in version]
        for name in ("pytorch", "tensorflow")
    )
    if kind == "both":
        yield from (f"{one} {other}" for one, other in product(torch, flow))
    else:
        yield from torch if kind == "pytorch" else flow


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    """What the index says of each cell."""
    facts = load()

    def ask(solved: Solved) -> Answer:
        try:
            return resolve(lock_input(solved.stack, facts), Sources())
        except CubakeError as error:
            return error

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(sample(), pool.map(ask, sample().values()), strict=True))


@pytest.mark.parametrize("asked", sample())
def test_installable(asked: str, answers: dict[str, Answer]) -> None:
    answer, stack = answers[asked], sample()[asked].stack
    if isinstance(answer, CubakeError):
        pytest.fail(f"{asked}\n{answer.message}", pytrace=False)
    found = {package.name: package.version for package in answer}
    assert found.get("torch") == stack.pytorch
    assert found.get("tensorflow") == stack.tensorflow
    cudnn = found.get(f"nvidia-cudnn-cu{versions.major(stack.cuda)}")
    assert cudnn == stack.cudnn, f"{asked}: the stack promises cuDNN {stack.cudnn}"
    if for_numpy_1(stack):
        assert versions.major(found.get("numpy", "1")) == "1", f"{asked}: NumPy {found['numpy']}"
    others = [name for name in found if name.startswith("nvidia-") and f"-cu{other_major(stack.cuda)}" in name]
    assert others == [], f"{asked}: libraries of another CUDA major"


def for_numpy_1(stack: Stack) -> bool:
    """Whether a framework is compiled for NumPy 1, which 2 breaks (R-014)."""
    torch, flow = (versions.key(version or "999") for version in (stack.pytorch, stack.tensorflow))
    return torch < versions.key("2.3") or flow < versions.key("2.18")


def other_major(cuda: str) -> str:
    return {"11": "12", "12": "13", "13": "12"}[versions.major(cuda)]


def test_the_sample_is_wide() -> None:
    stacks = [solved.stack for solved in sample().values()]
    assert len(stacks) == sum(KINDS.values()) == 30
    assert len({stack.pytorch for stack in stacks}) > 12
    assert len({stack.tensorflow for stack in stacks}) > 8
    assert len({stack.python for stack in stacks}) >= 5
    assert len({stack.os for stack in stacks}) == 4
