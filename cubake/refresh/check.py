"""Whether the facts are behind, told from lists alone: no wheel is read and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date

from cubake import versions
from cubake.refresh import base_images, cudnn, pytorch, tensorflow, toolkit
from cubake.refresh.names import WheelName
from cubake.refresh.types import Data, Missing
from cubake.refresh.world import World
from cubake.refresh.yamlfile import ROWS

OLD_DAYS = 180


def missing(name: str, world: World) -> tuple[Missing, ...]:
    """The releases that the source of a file lists and the file lacks, newest first. Unavailable where it is silent."""
    listed, known = LISTS[name](world), world.committed[name].get(ROWS[name], {})
    return tuple(Missing(name, row, listed[row]) for row in versions.newest_first(listed) if row not in known)


def _first(wheels: Iterable[WheelName]) -> str:
    """The day the first of them was uploaded; empty where the index does not tell."""
    return min((wheel.file.uploaded or "" for wheel in wheels), default="")


LISTS: dict[str, Callable[[World], dict[str, str]]] = {
    "pytorch": lambda world: {row: _first(found) for row, found in pytorch.listed(world).items()},
    "tensorflow": lambda world: {row: _first(found) for row, found in tensorflow.listed(world).items()},
    "components": lambda world: {row: _first(found) for row, found in toolkit.listed(world).items()},
    "cudnn": lambda world: {
        row: _first(wheel for found in by_cuda.values() for wheel in found)
        for row, by_cuda in cudnn.listed(world).items()
    },
    "base_images": lambda world: dict.fromkeys(base_images.listed(world), ""),
}


def unknown_minors(toolkits: Iterable[str], cuda: Data) -> tuple[str, ...]:
    """The CUDA minors (X.Y) among the toolkit releases for which the table kept by hand has no row, oldest first."""
    minors = {versions.minor(toolkit) for toolkit in toolkits} - set(cuda["toolkits"])
    return tuple(
        f"cuda.yaml has no row for CUDA {minor}: NVIDIA's tables name its drivers and GPUs, add it by hand"
        for minor in sorted(minors, key=versions.key)
    )


def unnamed_releases(toolkits: Iterable[str], cuda: Data) -> tuple[str, ...]:
    """The releases (X.Y.Z) of minors that the table has, whose driver it does not name, oldest first."""
    rows = cuda["toolkits"]
    return tuple(
        f"cuda.yaml names no driver of CUDA {toolkit}: add it, or null where it bundles none"
        for toolkit in sorted(toolkits, key=versions.key)
        if toolkit not in rows.get(versions.minor(toolkit), {"drivers": toolkit})["drivers"]
    )


def old_tables(dates: Mapping[str, str], today: date) -> tuple[str, ...]:
    """The tables kept by hand, by name and date (YYYY-MM-DD), that nobody has looked through for half a year."""
    return tuple(
        f"{name}.yaml is of {stated}: look through its documents and date it anew"
        for name, stated in dates.items()
        if not stated or (today - date.fromisoformat(stated)).days > OLD_DAYS
    )
