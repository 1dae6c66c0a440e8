"""Random questions over all that can be asked, the same in every run: known and unknown versions, every distribution
and flavour, packages, hosts with and without a driver or a GPU."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from cubake import versions
from cubake.facts import Facts, load
from cubake.matrix import Cell
from cubake.resolve.cells import parse_cell

CUDNN = ("any", "8", "9", "9.1", "9.5.1.17", "9.10", "9.99")
PIP = ("torchvision", "torchvision==0.21.0", "torchaudio", "numpy", "numpy<2", "numpy>=2", "numpy>=2.1", "pandas")
MINORS = ("", ".10", ".54.14", ".124.06")  # of a driver branch


@cache
def cells(seed: int, count: int) -> tuple[Cell, ...]:
    """Parsed questions, none twice."""
    facts, dice = load(), random.Random(seed)
    found: dict[str, Cell] = {}
    while len(found) < count:
        words = list(_words(dice, facts))
        found.setdefault(" ".join(words), parse_cell(words, facts))
    return tuple(found.values())


def drivers(facts: Facts) -> list[str]:
    """A late driver of each branch, oldest first."""
    return [f"{branch}.147.05" for branch in sorted(facts.gpus.branches, key=int)]


def gpus(facts: Facts) -> list[str]:
    """Every capability, and a card or two of each row of models."""
    plain = [f"sm_{capability.replace('.', '')}" for capability in facts.gpus.capabilities]
    return plain + [name for row in facts.gpus.models for name in row.names[:2]]


def _words(dice: random.Random, facts: Facts) -> Iterator[str]:
    kind = dice.choice(("pytorch", "pytorch", "tensorflow", "both", "toolkit"))
    for name in ("pytorch", "tensorflow"):
        if kind in (name, "both"):
            known = list(facts.frameworks[name].releases)
            want = dice.choice([*map(versions.minor, known), *(v for v in known if v.count(".") == 2), "any", "2.99"])
            yield f"{name}={want}"
    toolkits = [*facts.cuda.toolkits, *facts.base_images.images, "any", "12.7", "14.0"]
    if kind == "toolkit" or dice.random() < 0.45:
        yield f"cuda={dice.choice(toolkits)}"
    if dice.random() < 0.25:
        yield f"cudnn={dice.choice(CUDNN)}"
    if dice.random() < 0.8:
        yield f"python=3.{dice.randint(8, 15)}"
    yield f"os={dice.choice([*facts.os.releases, *facts.os.releases, 'ubuntu20.04', 'fedora41'])}"
    yield f"flavor={dice.choice(('runtime', 'runtime', 'devel', 'base'))}"
    yield f"profile={dice.choice(('prod', 'dev', 'test'))}"
    yield f"platform={dice.choice(('linux/amd64',) * 5 + ('linux/arm64',))}"
    if dice.random() < 0.25:
        yield from (f"pip={one}" for one in dice.sample(PIP, dice.randint(1, 2)))
    if dice.random() < 0.5:
        yield f"driver={dice.choice(list(facts.gpus.branches))}{dice.choice(MINORS)}"
    if dice.random() < 0.5:
        yield f"gpu={dice.choice(gpus(facts))}"
