"""What the rest of cubake knows of matrix.yaml: frozen value objects that remember where they were written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cubake.errors import Position
from cubake.facts import Facts
from cubake.facts import load as shipped_facts

AXES = ("pytorch", "tensorflow", "cuda", "cudnn", "python", "os", "flavor", "profile", "platform")
HOST_AXES = ("driver", "gpu")  # of a cell that is asked about, not of a matrix: the host it is to run on
_VERSION_AXES = frozenset({"pytorch", "tensorflow", "cuda", "cudnn", "python"})


@dataclass(frozen=True)
class Cell:
    """One image wanted: one value for each axis that was given or has a default, in the order of AXES."""

    entry: str
    axes: tuple[tuple[str, str], ...]
    pip: tuple[str, ...]
    position: Position
    single: bool
    on_conflict: str

    @cached_property
    def _values(self) -> dict[str, str]:
        return dict(self.axes)

    def get(self, axis: str) -> str | None:
        return self._values.get(axis)

    def __str__(self) -> str:
        pairs = (*self.axes, *(("pip", one) for one in self.pip))
        return " ".join(f"{name}={value!r}" if " " in value else f"{name}={value}" for name, value in pairs)


@dataclass(frozen=True)
class Exclusion:
    """A part of the matrix that is not wanted: on each axis named, any of its values."""

    axes: tuple[tuple[str, tuple[str, ...]], ...]
    reason: str
    position: Position

    def matches(self, cell: Cell) -> bool:
        return all(_any_matches(axis, values, cell.get(axis)) for axis, values in self.axes)


def _any_matches(axis: str, values: tuple[str, ...], found: str | None) -> bool:
    if found is None:
        return False
    if axis in _VERSION_AXES:  # 2.5 stands for 2.5.1 too, but not for 2.50
        return any(f"{found}.".startswith(f"{value}.") for value in values)
    return found in values


@dataclass(frozen=True)
class Profile:
    """Environment of an image for one way of using it."""

    name: str
    env: tuple[tuple[str, str], ...]
    description: str = ""


@dataclass(frozen=True)
class BuildOptions:
    """Where a build gets its parts from; None or empty where the file says nothing.

    `registry_mirror` is host[:port][/path], ready to stand in front of an image's name.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: str | None = None
    ca_bundle: str | None = None
    network: str | None = None
    mirrors: tuple[tuple[str, str], ...] = ()
    python_mirror: str | None = None
    registry_mirror: str | None = None


@dataclass(frozen=True)
class Matrix:
    """The whole of matrix.yaml; `excluded` holds the cells that an exclusion took out of `cells`, `idle` the exclusions
    that took out none."""

    file: str
    repository: str
    drivers: tuple[str, ...]
    gpus: tuple[str, ...]
    cells: tuple[Cell, ...]
    excluded: tuple[tuple[Cell, Exclusion], ...]
    profiles: Mapping[str, Profile]
    build: BuildOptions
    idle: tuple[Exclusion, ...] = ()
    facts: Facts = field(default_factory=shipped_facts)
