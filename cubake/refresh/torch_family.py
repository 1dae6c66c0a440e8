"""Which torchvision and torchaudio belong to a torch release: what their METADATA says of torch."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from cubake import versions
from cubake.refresh import pins
from cubake.refresh.names import WheelName, chosen, wheels
from cubake.refresh.types import AMD
from cubake.refresh.world import World

FLOORS = {"torchvision": "0.16", "torchaudio": "2.1"}  # the first that belong to torch 2.1


@dataclass(frozen=True)
class Sibling:
    """A version of a sibling package with the torch it asks for; ``exact`` where that is one version. ``pythons`` are
    those it has a wheel for, empty where its wheel is for any."""

    version: str
    torch: SpecifierSet
    exact: bool
    yanked: bool
    pythons: frozenset[str] = frozenset()


def siblings(world: World) -> dict[str, list[Sibling]]:
    """Every stable version that has a Linux wheel, oldest first, by package."""
    return {name: [_sibling(world, found) for found in _stable(world, name, floor)] for name, floor in FLOORS.items()}


def _stable(world: World, name: str, floor: str) -> list[list[WheelName]]:
    found: dict[str, list[WheelName]] = {}
    for wheel in wheels(world.index.files(name)):
        if wheel.fits(AMD) and wheel.stable and wheel.version >= versions.key(floor):
            found.setdefault(str(wheel.version), []).append(wheel)
    return [found[version] for version in sorted(found, key=versions.key)]


def _sibling(world: World, found: list[WheelName]) -> Sibling:
    read = chosen(found)
    requires = world.reader.ask(read.file, "metadata")["metadata"]["requires"]
    python = read.pythons[0].rstrip("t") if read.pythons else "3.11"
    torch = pins.applying(requires, AMD, python).get("torch")
    specifier = torch.specifier if torch else SpecifierSet()
    exact = any(one.operator in ("==", "===") for one in specifier)
    pythons = (
        frozenset()
        if any(not wheel.pythons for wheel in found)
        else frozenset(one for wheel in found for one in wheel.pythons)
    )
    return Sibling(str(read.version), specifier, exact, all(wheel.file.yanked for wheel in found), pythons)


def matching(found: list[Sibling], torch: str) -> list[str]:
    """The versions that pin this torch; without one, those that leave it open; a yanked one only for want of others."""
    fitting = [one for one in found if one.torch.contains(torch)]
    for choice in (
        [one for one in fitting if one.exact and not one.yanked],
        [one for one in fitting if not one.exact and not one.yanked],
        fitting,
    ):
        if choice:
            return [one.version for one in choice]
    return []


def lacking(found: list[Sibling], fits: list[str], pythons: list[str]) -> list[str]:
    """The Pythons of torch (free-threaded ones aside) that none of the versions that fit has a wheel for."""
    fitting = [one for one in found if one.version in fits]
    if not fitting or any(not one.pythons for one in fitting):
        return []
    has = frozenset().union(*(one.pythons for one in fitting))
    return [python for python in pythons if not python.endswith("t") and python not in has]
