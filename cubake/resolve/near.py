"""Around a cell that cannot work: the smallest part of it that clashes, and the nearest cells that do work.

Both ask many other cells, most of them again and again: ``works`` answers each once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, product, zip_longest

from cubake import versions
from cubake.facts import Facts
from cubake.matrix import Cell
from cubake.matrix.types import AXES, HOST_AXES
from cubake.resolve.draft import known_pythons
from cubake.resolve.host import driver_branch, find_gpu
from cubake.resolve.types import FRAMEWORKS, Draft, Near

NEAREST = 3
# What giving up one axis costs: another cuDNN is nothing to most people, another machine is much.
COST = {"cudnn": 0, "cuda": 10, "python": 20, "pytorch": 30, "tensorflow": 40, "flavor": 50, "os": 60, "platform": 70,
        "driver": 80}  # fmt: skip
ORDER = (*AXES, *HOST_AXES)
ARM = "linux/arm64"
FAR = 8  # values of one axis that are tried together with those of another
_Works = Callable[[Cell], Draft | None]
_Move = tuple[int, str, str | None]  # cost, axis, new value (None: left out, so that the library decides)


def nearest(cell: Cell, facts: Facts, works: _Works) -> tuple[Near, ...]:
    """Up to NEAREST cells that work, those first that give up least: one change away, then two where one is too few."""
    moves = sorted(_moves(cell, facts), key=lambda move: move[0])
    found: dict[str, Near] = {}
    enough = [move for move in moves if _take(cell, (move,), works, found)]
    if len(found) < NEAREST:
        few = [move for move in moves if move[0] - COST[move[1]] < FAR and move not in enough]
        pairs = [pair for pair in combinations(few, 2) if pair[0][1] != pair[1][1]]
        for pair in sorted(pairs, key=lambda pair: pair[0][0] + pair[1][0]):
            _take(cell, pair, works, found)
    for move in _drivers(cell, facts):  # another driver is the last thing to ask of people
        _take(cell, (move,), works, found)
    return tuple(found.values())


def _take(cell: Cell, way: tuple[_Move, ...], works: _Works, found: dict[str, Near]) -> bool:
    """Whether the cell works so changed; it is put to what was found while there is room."""
    if len(found) == NEAREST:
        return False
    new = cell
    for _, axis, value in way:
        new = changed(new, axis, value)
    draft = works(new)
    if draft is not None:
        near = _said(cell, new, draft, [axis for _, axis, _ in way])
        found.setdefault(str(near), near)
    return draft is not None


def _said(cell: Cell, new: Cell, draft: Draft, axes: list[str]) -> Near:
    """What was left out or left open is named as what was found: people look for a value, not for a gap."""
    if "cuda" in axes and new.get("cuda") is None:
        new = changed(new, "cuda", draft.cuda)
    if "cudnn" in axes and new.get("cudnn") == versions.ANY:
        new = changed(new, "cudnn", draft.cudnn)
    changes = tuple((axis, cell.get(axis) or "", new.get(axis) or "") for axis in axes)
    return Near(new, changes)


def _moves(cell: Cell, facts: Facts) -> Iterator[_Move]:
    """Every single change: an axis left out, or moved to another value, nearest value first."""
    if any(cell.get(name) for name in FRAMEWORKS):
        yield from ((COST[axis] - 1, axis, None) for axis in ("cudnn", "cuda") if cell.get(axis))
        if cell.get("pytorch") and not cell.get("cuda"):  # another build than the default one, from PyTorch's own index
            newest = sorted(facts.cuda.toolkits, key=versions.key, reverse=True)
            yield from ((COST["pytorch"] - 1, "cuda", cuda) for cuda in newest)
    elif cell.get("cudnn") not in (None, versions.ANY):
        yield COST["cudnn"], "cudnn", versions.ANY
    for axis, values in _values(facts).items():
        now = cell.get(axis)
        if now is not None:
            yield from ((COST[axis] + rank, axis, value) for rank, value in enumerate(_by_distance(values, now)))


def _values(facts: Facts) -> dict[str, list[str]]:
    frameworks = {
        name: sorted({versions.minor(version) for version in facts.frameworks[name].releases}, key=versions.key)
        for name in FRAMEWORKS
    }
    return {
        "python": list(known_pythons(facts)),
        "cuda": sorted(facts.cuda.toolkits, key=versions.key),
        **frameworks,
        "flavor": ["runtime", "devel"],
        "os": list(facts.os.releases),
        "platform": ["linux/amd64"],
    }


def _drivers(cell: Cell, facts: Facts) -> Iterator[_Move]:
    """Newer driver branches, oldest first; for an old GPU the last that drives it."""
    now = cell.get("driver")
    if now is None:
        return
    gpu = cell.get("gpu")
    row = facts.gpus.capabilities.get(find_gpu(gpu, facts).capability) if gpu else None
    if row and row.branch_last and row.branch_last < driver_branch(now):
        yield COST["driver"], "driver", str(row.branch_last)
    newer = sorted(int(branch) for branch in facts.gpus.branches if int(branch) > driver_branch(now))
    yield from ((COST["driver"] + rank, "driver", str(branch)) for rank, branch in enumerate(newer))


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


def clash(cell: Cell, facts: Facts, works: _Works) -> tuple[str, ...]:
    """The smallest part of the cell that cannot be had together: each axis is freed in turn, the least telling first,
    and stays free where the rest still cannot work."""
    free: tuple[str, ...] = ("profile",)
    for one in cell.pip:
        bare = replace(cell, pip=tuple(other for other in cell.pip if other != one))
        cell = cell if _possible(bare, free, facts, works) else bare
    for axis in ("platform", "os", "flavor", "python", "cudnn", "cuda", *HOST_AXES, *FRAMEWORKS):
        if cell.get(axis) is not None and not _possible(cell, (*free, axis), facts, works):
            free = (*free, axis)
    return (*(f"{axis}={value}" for axis, value in cell.axes if axis not in free), *(f"pip={one}" for one in cell.pip))


def _possible(cell: Cell, free: tuple[str, ...], facts: Facts, works: _Works) -> bool:
    """Whether the cell works with the axes that are free at any value; those that a cell always has are tried out."""
    always = {"os": list(facts.os.releases), "flavor": ["base", "runtime", "devel"], "platform": ["linux/amd64", ARM]}
    kept = cell
    for axis in free:
        if axis not in always and axis != "profile":
            kept = changed(kept, axis, None)
    tried = [[(axis, value) for value in always[axis]] for axis in free if axis in always]
    return any(works(_set(kept, chosen)) for chosen in product(*tried))


def _set(cell: Cell, values: tuple[tuple[str, str], ...]) -> Cell:
    for axis, value in values:
        cell = changed(cell, axis, value)
    return cell


def changed(cell: Cell, axis: str, value: str | None) -> Cell:
    """The cell with one axis at another value, or without it (None). Called for every cell that is tried, so it is
    quick about it."""
    if value is None:
        axes = tuple(pair for pair in cell.axes if pair[0] != axis)
    elif cell.get(axis) is not None:
        axes = tuple([(axis, value) if pair[0] == axis else pair for pair in cell.axes])
    else:
        axes = tuple(sorted((*cell.axes, (axis, value)), key=lambda pair: ORDER.index(pair[0])))
    return Cell(cell.entry, axes, cell.pip, cell.position, cell.single, cell.on_conflict)
