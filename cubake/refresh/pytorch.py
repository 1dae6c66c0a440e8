"""``pytorch.yaml``: every stable release, from the wheels' METADATA, version.py and libtorch_python.so."""

from __future__ import annotations

from typing import Any

from cubake import versions
from cubake.refresh import pins
from cubake.refresh.frameworks import build_tag, by_platform, files_row, release_row, split_architectures
from cubake.refresh.names import WheelName, chosen, releases
from cubake.refresh.toolkit import resolved
from cubake.refresh.torch_family import Sibling, lacking, matching, siblings
from cubake.refresh.torch_index import index_builds
from cubake.refresh.types import AMD, Data
from cubake.refresh.world import World, source, used_sources

FLOOR = "2.1"
OWN = {
    "wheel": source(
        "torch wheel METADATA (nvidia pins, through the extras of cuda-toolkit where it names them), torch/version.py "
        "and the CUDA_ARCH_FLAGS string of libtorch_python.so",
        "verified",
    ),
    "index-wheel": source(
        "wheels on PyTorch's own index: METADATA and the CUDA_ARCH_FLAGS string of libtorch_python.so", "verified"
    ),
}


def listed(world: World) -> dict[str, list[WheelName]]:
    """The stable releases on the index with their Linux wheels, newest first. Post-releases are left out: nothing that
    belongs to a torch pins one."""
    found = releases(world.index.files("torch"), FLOOR)
    return {version: wheels for version, wheels in found.items() if not wheels[0].version.is_postrelease}


def build(world: World) -> Data:
    committed = world.committed["pytorch"]
    found, family = listed(world), siblings(world)
    rows = {version: _row(world, version, wheels, family) for version, wheels in found.items()}
    defaults = {version: row["wheels"].get(AMD, {}) for version, row in rows.items()}
    for version, builds in index_builds(world, defaults, committed.get("releases", {})).items():
        rows[version]["indexes"] = builds
    return {"sources": used_sources(OWN, committed, rows), "releases": rows}


def _row(world: World, version: str, wheels: list[WheelName], family: dict[str, list[Sibling]]) -> Data:
    platforms = by_platform(wheels)
    read = chosen(next(iter(platforms.values())))
    torch = world.reader.ask(read.file, "metadata", "torch")["torch"]
    fits = {name: matching(found, version) for name, found in family.items()}
    rows = {platform: _wheel(world, found, platform) for platform, found in platforms.items()}
    pythons = rows.get(AMD, {}).get("python", [])
    lacks = {name: gone for name, found in family.items() if (gone := lacking(found, fits[name], pythons))}
    return {
        **release_row(world, wheels, read),
        **({"numpy": "<2"} if torch["cuda"] and not torch["numpy2"] else {}),
        "family": fits,
        **({"family_lacks": lacks} if lacks else {}),
        "wheels": rows,
    }


def _wheel(world: World, wheels: list[WheelName], platform: str) -> Data:
    read = chosen(wheels)
    answers = world.reader.ask(read.file, "metadata", "torch")
    torch, files = answers["torch"], files_row(world, wheels, platform)
    if not torch["cuda"]:
        return {"cuda": None, **files}
    found = resolved(world, answers["metadata"]["requires"], platform, read.pythons[0].rstrip("t"))
    architectures = split_architectures(torch["arch"])
    row: dict[str, Any] = {
        "cuda": versions.minor(torch["cuda"]),
        "cudnn": pins.part(found, "cudnn"),
        "nccl": pins.part(found, "nccl"),
        **files,
        "sass": architectures["sass"],
        "requires": pins.written(found),
    }
    row |= {"ptx": architectures["ptx"]} if architectures["ptx"] else {}
    return row | ({"build": tag} if (tag := build_tag(wheels)) else {})
