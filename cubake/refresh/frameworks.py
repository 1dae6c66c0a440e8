"""What the rows of PyTorch and TensorFlow have in common. Each release is read from one wheel a platform."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from cubake import versions
from cubake.refresh.names import MACHINES, WheelName, in_order
from cubake.refresh.types import Data
from cubake.refresh.world import World


def by_platform(wheels: Iterable[WheelName]) -> dict[str, list[WheelName]]:
    """The wheels of a release for each platform that has some."""
    found = {platform: [wheel for wheel in wheels if wheel.fits(platform)] for platform in MACHINES}
    return {platform: some for platform, some in found.items() if some}


def files_row(world: World, wheels: list[WheelName], platform: str) -> Data:
    """``python``, ``glibc`` and ``bytes`` of a platform's wheels: what holds for each of them."""
    return {
        "python": list(in_order(python for wheel in wheels for python in wheel.pythons)),
        "glibc": max((wheel.glibc(platform) or "0" for wheel in wheels), key=versions.key),
        "bytes": max(file.size or 0 for file in world.completed(wheels)),
    }


def release_row(world: World, wheels: list[WheelName], read: WheelName) -> Data:
    """``released``, ``requires_python`` and ``source``. The date is that of the first of its Linux wheels."""
    stated = read.file.requires_python or world.reader.ask(read.file, "metadata")["metadata"]["python"]
    return {
        "released": min(file.uploaded or "" for file in world.completed(wheels)),
        "requires_python": stated,
        "source": "wheel",
    }


def build_tag(wheels: list[WheelName]) -> str:
    """The build tag of the files that replace others with the same tags; empty where nothing was uploaded again."""
    first = {tags: min(wheel.build for wheel in wheels if wheel.tags == tags) for tags in {one.tags for one in wheels}}
    replacing = [wheel.build for wheel in wheels if wheel.build > first[wheel.tags]]
    return str(max(replacing)) if replacing else ""


def split_architectures(names: Iterable[str]) -> dict[str, Any]:
    """``sass`` (machine code) and ``ptx`` of a list of sm_XX and compute_XX."""
    found = list(names)
    return {
        kind: [name for name in found if re.match(start, name)] for kind, start in (("sass", "sm_"), ("ptx", "comp"))
    }
