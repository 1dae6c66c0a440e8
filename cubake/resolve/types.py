"""What the resolver takes and gives: wants, stacks, evidence, and the two outcomes of a cell."""

from __future__ import annotations

from dataclasses import dataclass

from cubake.matrix import Cell


@dataclass(frozen=True)
class Evidence:
    """What one rule found. ``values`` fill the rule's sentence; wording lives in ``explain``.

    ``fact`` is the place in the facts (``pytorch.releases.2.6.0``) and ``source`` where that row comes from.
    ``absent``: what was named does not exist at all (a wrong file), as against two things that do not fit.
    """

    rule: str
    ok: bool
    values: tuple[tuple[str, str], ...]
    fact: str
    source: str
    absent: bool = False


@dataclass(frozen=True)
class Base:
    """The image a Dockerfile starts from. ``kind`` is ``nvidia`` (published) or ``local`` (cubake makes it)."""

    reference: str
    kind: str
    toolkit: str
    flavor: str
    os: str
    cudnn: str | None


@dataclass(frozen=True)
class Stack:
    """What stands in one image. Versions are full where the wheels or the base fix them.

    ``cuda`` is X.Y, ``toolkit`` the X.Y.Z of the base; ``index`` names PyTorch's own index (``cu126``) where the
    wheel does not come from the Python package index; ``requirements`` and ``constraints`` go to the lock.
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
    cell: Cell
    stack: Stack
    because: tuple[Evidence, ...]


@dataclass(frozen=True)
class RefusedCell:
    """A cell that cannot work: the evidence against it, and the cells nearest to it that do work."""

    cell: Cell
    because: tuple[Evidence, ...]
    nearest: tuple[str, ...]
