"""``tensorflow.yaml``: every stable release, from the wheels' METADATA, build_info and run path."""

from __future__ import annotations

from cubake import versions
from cubake.refresh import pins
from cubake.refresh.frameworks import by_platform, files_row, release_row, split_architectures
from cubake.refresh.names import WheelName, chosen, releases
from cubake.refresh.types import Data
from cubake.refresh.world import World, source, used_sources

FLOOR = "2.12"
EXTRA = "and-cuda"
OWN = {
    "wheel": source(
        "tensorflow wheel METADATA (extra and-cuda), tensorflow/python/platform/build_info.py and the RUNPATH of "
        "libtensorflow_framework.so.2",
        "verified",
    )
}


def listed(world: World) -> dict[str, list[WheelName]]:
    """The stable releases on the index with their Linux wheels, newest first."""
    return releases(world.index.files("tensorflow"), FLOOR)


def build(world: World) -> Data:
    committed = world.committed["tensorflow"]
    before = committed.get("releases", {})
    rows = {version: _row(world, wheels, before.get(version, {})) for version, wheels in listed(world).items()}
    return {"sources": used_sources(OWN, committed, rows), "releases": rows}


def _row(world: World, wheels: list[WheelName], before: Data) -> Data:
    platforms = by_platform(wheels)
    read = chosen(next(iter(platforms.values())))
    old = before.get("wheels", {})
    return {
        **release_row(world, wheels, read),
        "numpy": _numpy(world, wheels, read),
        "wheels": {name: _wheel(world, found, name, old.get(name, {})) for name, found in platforms.items()},
    }


def _numpy(world: World, wheels: list[WheelName], read: WheelName) -> str:
    """The NumPy that METADATA asks for with the newest Python of the release: for older ones it allows older NumPys."""
    platform = next(iter(by_platform([read])))
    newest = max(
        (python for wheel in wheels for python in wheel.pythons), key=lambda name: versions.key(name.rstrip("t"))
    )
    requires = world.reader.ask(read.file, "metadata")["metadata"]["requires"]
    row = pins.applying(requires, platform, newest.rstrip("t")).get("numpy")
    return str(row.specifier) if row else ""


def _wheel(world: World, wheels: list[WheelName], platform: str, before: Data) -> Data:
    """One platform's row. Without the extra no METADATA names a cuDNN: the committed one, from TensorFlow's table of
    tested configurations, is kept."""
    read = chosen(wheels)
    answers = world.reader.ask(read.file, "metadata", "tensorflow")
    build, files = answers["tensorflow"], files_row(world, wheels, platform)
    if not build["cuda"]:
        return {"cuda": None, **files}
    required = pins.applying(answers["metadata"]["requires"], platform, read.pythons[0].rstrip("t"), [EXTRA])
    found = pins.nvidia(required)
    return {
        "cuda": versions.minor(build["cuda"]),
        "cudnn": pins.part(found, "cudnn") or before.get("cudnn"),
        "nccl": pins.part(found, "nccl"),
        **files,
        **split_architectures(build["arch"]),
        "requires": pins.written(found),
        "runpath": build["runpath"],
    }
