"""What the resolver takes and gives: drafts, stacks, evidence, and the two outcomes of a cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from cubake.matrix import Cell
from cubake.resolve.host import Gpu

FRAMEWORKS = ("pytorch", "tensorflow")
DISTRIBUTION = {"pytorch": "torch", "tensorflow": "tensorflow"}


@dataclass(frozen=True)
class Evidence:
    """What one rule found. ``values`` fill the rule's sentence; wording lives in ``explain``.

    ``ok`` is None where the facts do not decide. ``warns``: it does not hold, and that is worth saying but refuses
    nothing. ``fact`` is the place in the facts (``pytorch.releases.2.6.0``), ``source`` where that row comes from.
    ``absent``: what was named does not exist at all (a wrong file), as against two things that do not fit.
    """

    rule: str
    ok: bool | None
    values: tuple[tuple[str, str], ...]
    fact: str
    source: str
    absent: bool = False
    warns: bool = False

    @property
    def refuses(self) -> bool:
        return self.ok is False and not self.warns


@dataclass(frozen=True)
class Base:
    """The image a Dockerfile starts from. ``kind`` is ``nvidia`` (published) or ``local`` (cubake makes it)."""

    reference: str
    kind: str
    toolkit: str
    flavor: str
    os: str
    cudnn: str | None


class Draft(NamedTuple):
    """A stack that might answer a cell, with what was asked where the rules must know it. Rules judge drafts.

    ``frameworks`` holds (name, full version); ``torch_index`` is PyTorch's own index (``cu126``) where its wheel does
    not come from the Python package index; ``extra``: TensorFlow with its and-cuda extra; ``driver`` and ``gpu`` are of
    the host that was named with the cell, if any.
    """

    frameworks: tuple[tuple[str, str], ...]
    cuda: str
    toolkit: str | None
    cudnn: str | None
    python: str
    os: str
    flavor: str
    platform: str
    torch_index: str | None
    base: Base | None
    extra: bool
    pip: tuple[str, ...]
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    asked_cuda: str | None
    asked_cudnn: str | None
    driver: str | None
    gpu: Gpu | None


@dataclass(frozen=True)
class Stack:
    """What stands in one image. Versions are full where the wheels or the base fix them.

    ``cuda`` is X.Y, ``toolkit`` the X.Y.Z of the base; ``requirements`` and ``constraints`` go to the lock.
    """

    pytorch: str | None
    tensorflow: str | None
    cuda: str
    toolkit: str | None
    cudnn: str | None
    python: str
    os: str
    flavor: str
    profile: str
    platform: str
    index: str | None = None
    base: Base | None = None
    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()

    @property
    def frameworks(self) -> tuple[tuple[str, str], ...]:
        pairs = (("pytorch", self.pytorch), ("tensorflow", self.tensorflow))
        return tuple((name, version) for name, version in pairs if version)


@dataclass(frozen=True)
class Solved:
    """``passed_over``: what stood before the answer in order of preference, each with the evidence against it."""

    cell: Cell
    stack: Stack
    because: tuple[Evidence, ...]
    passed_over: tuple[tuple[Draft, tuple[Evidence, ...]], ...] = ()


@dataclass(frozen=True)
class Near:
    """A cell that works near one that does not, and what it changes: ("cuda", "12.1", "12.4") per axis."""

    cell: Cell
    changes: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        return str(self.cell)


@dataclass(frozen=True)
class RefusedCell:
    """A cell that cannot work: the evidence against the best of its drafts (``findings``: all that was found of it).
    What is near and what clashes is found when it is asked for, since both try many other cells."""

    cell: Cell
    because: tuple[Evidence, ...]
    findings: tuple[Evidence, ...]
    find_near: Callable[[Cell], tuple[Near, ...]] = field(repr=False, compare=False)
    find_clash: Callable[[Cell], tuple[str, ...]] = field(repr=False, compare=False)

    @cached_property
    def near(self) -> tuple[Near, ...]:
        """Cells that work, those first that change least."""
        return self.find_near(self.cell)

    @property
    def nearest(self) -> tuple[str, ...]:
        return tuple(map(str, self.near))

    @cached_property
    def clash(self) -> tuple[str, ...]:
        """The smallest part of what was asked that cannot be had together, as ``axis=value``."""
        return self.find_clash(self.cell)
