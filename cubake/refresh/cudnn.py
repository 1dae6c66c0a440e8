"""``cudnn.yaml``: every cuDNN wheel, and the oldest GPU that one of them has machine code for."""

from __future__ import annotations

from typing import Any

from cubake import versions
from cubake.refresh.names import MACHINES, WheelName, wheels
from cubake.refresh.types import AMD, Data
from cubake.refresh.world import World, ascending, source, used_sources

PROJECTS = {"cu11": "nvidia-cudnn-cu11", "cu12": "nvidia-cudnn-cu12", "cu13": "nvidia-cudnn-cu13"}
OWN = {
    "index": source(
        "package index file list; capabilities from the CUDA fat binaries in one library of a wheel of each version",
        "verified",
    )
}
Wheels = dict[str, list[WheelName]]  # by CUDA major


def listed(world: World) -> dict[str, Wheels]:
    """The cuDNN versions on the index with their Linux wheels. Yanked ones are listed too: wheels of others pin them.
    Builds in development are not."""
    found: dict[str, Wheels] = {}
    for cuda, project in PROJECTS.items():
        for wheel in wheels(world.index.files(project)):
            if wheel.stable and wheel.on_linux:
                found.setdefault(str(wheel.version), {}).setdefault(cuda, []).append(wheel)
    return found


def build(world: World) -> Data:
    rows = ascending({version: _row(world, version, by_cuda) for version, by_cuda in listed(world).items()})
    return {"sources": used_sources(OWN, world.committed["cudnn"], rows), "versions": rows}


def _row(world: World, version: str, by_cuda: Wheels) -> Data:
    return {
        "soname": int(versions.major(version)),
        "min_capability": _least(world, by_cuda),
        "wheels": {cuda: _wheel(world, found) for cuda, found in by_cuda.items()},
        "source": "index",
    }


def _least(world: World, by_cuda: Wheels) -> str:
    """Read from the wheel of the oldest CUDA: that of CUDA 13 may leave out what the toolkit itself cannot make."""
    oldest = next(iter(by_cuda.values()))
    wheel = max(oldest, key=lambda one: (one.fits(AMD), one.build, one.file.name))
    least = str(min(world.reader.ask(wheel.file, "cudnn")["cudnn"]))
    return f"{least[:-1]}.{least[-1]}"


def _wheel(world: World, found: list[WheelName]) -> Data:
    sizes = [file.size or 0 for file in world.completed(wheel for wheel in found if wheel.fits(AMD))]
    row: dict[str, Any] = {
        "bytes": max(sizes, default=0),
        "platforms": [platform for platform in MACHINES if any(wheel.fits(platform) for wheel in found)],
    }
    return row | ({"yanked": True} if all(wheel.file.yanked for wheel in found) else {})
