"""Room 3's door: a cell and the facts give a stack with its reasons, or a refusal with evidence and what is near."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from cubake import versions
from cubake.facts import Facts
from cubake.matrix import Cell
from cubake.resolve import rules_images, rules_wheels  # noqa: F401  importing them registers their rules
from cubake.resolve.draft import FRAMEWORKS, drafts
from cubake.resolve.rules import RULES, unknown
from cubake.resolve.types import Evidence, RefusedCell, Solved, Stack

NEAREST = 3


def solve(cell: Cell, facts: Facts) -> Solved | RefusedCell:
    """The newest stack that every rule lets pass, else the evidence against the best of those drafted."""
    outcome = _try(cell, facts)
    if isinstance(outcome, Solved):
        return outcome
    return RefusedCell(cell, outcome, tuple(_nearest(cell, facts)))


def _try(cell: Cell, facts: Facts) -> Solved | tuple[Evidence, ...]:
    best: tuple[Evidence, ...] | None = None
    for stack in drafts(cell, facts):
        evidence = judge(cell, stack, facts)
        against = tuple(one for one in evidence if not one.ok)
        if not against:
            return Solved(cell, stack, evidence)
        if best is None or len(against) < len(best):
            best = against
    return best if best is not None else (unknown(cell, facts),)


def judge(cell: Cell, stack: Stack, facts: Facts) -> tuple[Evidence, ...]:
    return tuple(one for _, rule in sorted(RULES.items()) for one in rule.check(cell, stack, facts))


def _nearest(cell: Cell, facts: Facts) -> Iterator[str]:
    """Cells one change away that work, those first that give up least."""
    found = 0
    for changed in _changes(cell, facts):
        if found == NEAREST:
            return
        if isinstance(_try(changed, facts), Solved):
            found += 1
            yield str(changed)


def _changes(cell: Cell, facts: Facts) -> Iterator[Cell]:
    """One axis dropped (the library then decides), else moved, nearest value first."""
    for axis in ("cudnn", "cuda"):
        if cell.get(axis) and any(cell.get(name) for name in FRAMEWORKS):
            yield _with(cell, axis, None)
    moves: dict[str, list[str]] = {
        "python": [f"3.{n}" for n in range(9, 15)],
        "cuda": list(facts.cuda.toolkits),
        "pytorch": sorted({versions.minor(v) for v in facts.frameworks["pytorch"].releases}, key=versions.key),
        "tensorflow": sorted({versions.minor(v) for v in facts.frameworks["tensorflow"].releases}, key=versions.key),
        "flavor": ["runtime", "devel"],
        "os": list(facts.os.releases),
        "platform": ["linux/amd64"],
    }
    for axis, values in moves.items():
        now = cell.get(axis)
        if now is None:
            continue
        for value in _by_distance(values, now):
            yield _with(cell, axis, value)


def _by_distance(values: list[str], now: str) -> list[str]:
    """Neighbours first, the newer of two equally near first; where ``now`` is none of them (12.7), by where it would
    stand. Values in no order (an OS) stay as they are."""
    if not now[:1].isdigit():
        return [value for value in values if value != now]
    here = versions.key(versions.minor(now))
    older = [value for value in values if versions.key(value) < here]
    newer = [value for value in values if versions.key(value) > here]
    # An update release that is not to be had (12.1.0): the newest of its own minor is nearest.
    own = [value for value in values if versions.key(value) == here and value != now]
    both = zip_longest(newer, reversed(older))
    return own + [value for pair in both for value in pair if value is not None]


def _with(cell: Cell, axis: str, value: str | None) -> Cell:
    axes = tuple((name, value if name == axis else now) for name, now in cell.axes if name != axis or value is not None)
    return replace(cell, axes=tuple((name, now) for name, now in axes if now is not None))
