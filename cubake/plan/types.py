"""What the plan room gives: images with names, layers, floors and checks, in the order they are built."""

from __future__ import annotations

from dataclasses import dataclass

from cubake.errors import Position
from cubake.matrix import Matrix, Profile
from cubake.plan.lock import Lock, LockInput, Package
from cubake.resolve import Evidence, RefusedCell, Stack


@dataclass(frozen=True)
class Layer:
    """Wheels that are installed in one step; ``bytes`` is the size of their files."""

    title: str
    packages: tuple[Package, ...]

    @property
    def bytes(self) -> int:
        return sum(package.bytes for package in self.packages)


@dataclass(frozen=True)
class Floors:
    """Oldest Linux drivers: one on which the CUDA libraries run, one whose compiler knows this toolkit's PTX."""

    library: str
    ptx: str | None


@dataclass(frozen=True)
class GpuCode:
    """The GPU code of one framework: machine code and PTX. A toolkit image has what its user compiles: none."""

    framework: str
    sass: tuple[str, ...]
    ptx: tuple[str, ...]


@dataclass(frozen=True)
class Image:
    name: str
    tag: str
    stack: Stack
    because: tuple[Evidence, ...]
    position: Position
    profile: Profile
    lock_input: LockInput
    lock: Lock | None
    stale: bool
    layers: tuple[Layer, ...]
    floors: Floors
    codes: tuple[GpuCode, ...]
    checks: tuple[str, ...]

    @property
    def sass(self) -> tuple[str, ...]:
        """Architectures that every framework has machine code for."""
        return self._common([code.sass for code in self.codes])

    @property
    def ptx(self) -> tuple[str, ...]:
        return self._common([code.ptx for code in self.codes])

    @staticmethod
    def _common(lists: list[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(arch for arch in lists[0] if all(arch in other for other in lists)) if lists else ()

    @property
    def locked(self) -> bool:
        return self.lock is not None and not self.stale


@dataclass(frozen=True)
class Plan:
    matrix: Matrix
    images: tuple[Image, ...]
    refused: tuple[RefusedCell, ...]

    @property
    def unlocked(self) -> tuple[Image, ...]:
        return tuple(image for image in self.images if not image.locked)
