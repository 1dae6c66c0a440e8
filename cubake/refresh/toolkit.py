"""``components.yaml``: the wheels of each CUDA toolkit release, as NVIDIA's metapackage cuda-toolkit names them."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from cubake.errors import Refused
from cubake.refresh import pins
from cubake.refresh.names import MACHINES, WheelName, chosen, releases
from cubake.refresh.types import AMD, Data
from cubake.refresh.world import World, ascending, source, used_sources

FLOOR = "11.8"
PYTHON = "3.11"  # the metapackage is the same for every Python
OWN = {
    "metapackage": source(
        'METADATA of every cuda-toolkit release, extra "all"; nvjitlink, a range from 12.8.2 on, at its lower bound',
        "verified",
    ),
    "tensorflow-2.18": source(
        "metapackage 12.5.1 wrongly pins the 12.5.0 wheels; these are the pins of tensorflow 2.18.0 [and-cuda], equal "
        "to the 12.5.1 base image for cudart and cublas",
        "high",
    ),
}


def listed(world: World) -> dict[str, list[WheelName]]:
    """The stable toolkit releases X.Y.Z on the index with their metapackage, newest first. A fourth part of a version,
    which some have (13.0.3.0), numbers the metapackage alone."""
    found: dict[str, list[WheelName]] = {}
    for version, wheels in releases(world.index.files(pins.TOOLKIT), FLOOR).items():
        found.setdefault(".".join(version.split(".")[:3]), wheels)
    return found


def build(world: World) -> Data:
    """The file. The row ``nccl`` is kept: no metapackage names it."""
    committed = world.committed["components"]
    rows = {version: _row(world, wheels) for version, wheels in listed(world).items()}
    _correct(world, rows)
    data = {"nccl": committed.get("nccl", {}), "toolkits": ascending(rows)}
    return {"sources": used_sources(OWN, committed, data), **data}


def _row(world: World, wheels: list[WheelName]) -> Data:
    requires = world.reader.ask(chosen(wheels).file, "metadata")["metadata"]["requires"]
    found = {name: pin for platform in MACHINES for name, pin in _all(requires, platform, "all").items()}
    return {"packages": {name: pins.lowest(found[name]) for name in sorted(found)}, "source": "metapackage"}


def _all(requires: list[str], platform: str, extra: str) -> pins.Pins:
    return pins.nvidia(pins.applying(requires, platform, PYTHON, [extra]))


def _correct(world: World, rows: Data) -> None:
    """12.5.1 pins the wheels of 12.5.0. TensorFlow 2.18.0, built with 12.5.1, pins the right ones of those it needs."""
    wrong, before = rows.get("12.5.1"), rows.get("12.5.0")
    if not wrong or not before or wrong["packages"] != before["packages"]:
        return
    wheels = [wheel for wheel in releases(world.index.files("tensorflow"), "2.18").get("2.18.0", []) if wheel.fits(AMD)]
    if not wheels:
        raise Refused(
            "cuda-toolkit 12.5.1 pins the wheels of 12.5.0, and tensorflow 2.18.0, which corrects it, is gone"
        )
    requires = world.reader.ask(chosen(wheels).file, "metadata")["metadata"]["requires"]
    right = _all(requires, AMD, "and-cuda")
    packages = {name: pins.lowest(right.get(name)) or version for name, version in wrong["packages"].items()}
    rows["12.5.1"] = {"packages": packages, "source": "tensorflow-2.18"}


def resolved(world: World, requires: list[str], platform: str, python: str) -> pins.Pins:
    """NVIDIA's wheels that a wheel with this Requires-Dist needs, those behind extras of cuda-toolkit among them."""
    required = pins.applying(requires, platform, python)
    found = pins.nvidia(required)
    if metapackage := required.get(pins.TOOLKIT):
        brought = _behind(world, metapackage.specifier, metapackage.extras, platform, python)
        return pins.both(found, brought)
    return found


def _behind(world: World, specifier: SpecifierSet, extras: set[str], platform: str, python: str) -> pins.Pins:
    """What ``cuda-toolkit[extras]`` brings: the newest metapackage within the specifier says it."""
    every = releases(world.index.files(pins.TOOLKIT), FLOOR)
    fitting = next((version for version in every if specifier.contains(version)), None)
    if fitting is None:
        raise Refused(f"no cuda-toolkit{specifier} is on the index, and a torch wheel requires it")
    requires = world.reader.ask(chosen(every[fitting]).file, "metadata")["metadata"]["requires"]
    return pins.nvidia(pins.applying(requires, platform, python, sorted(extras)))
