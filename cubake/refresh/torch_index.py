"""The CUDA builds on PyTorch's own index (cu118, cu126 …), beside the one on the package index."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cubake import versions
from cubake.errors import CubakeError, Refused, Unavailable
from cubake.refresh import pins
from cubake.refresh.frameworks import split_architectures
from cubake.refresh.index import listing
from cubake.refresh.names import WheelName, chosen, wheels
from cubake.refresh.toolkit import resolved
from cubake.refresh.types import AMD, Data
from cubake.refresh.web import Web
from cubake.refresh.world import World

_BUILD = re.compile(r"cu\d+")  # local version of a CUDA build: cu126 is CUDA 12.6


Builds = dict[str, list[WheelName]]  # by local version


def index_builds(world: World, defaults: Mapping[str, Data], committed: Mapping[str, Data]) -> dict[str, Data]:
    """The row ``indexes`` of each release. ``defaults`` are the wheels on the package index for linux/amd64.

    Where PyTorch's index does not answer, or no longer has a release, the committed rows are kept; a release that is
    new then has the default build alone.
    """
    found, rows = _listed(world, defaults), {}
    for version, default in defaults.items():
        before = committed.get(version, {}).get("indexes", {})
        rows[version] = _kept(default, before)
        try:
            if builds := sorted(found.get(version, {}).items()):
                rows[version] = {name: _build(world, some, default, before.get(name, {})) for name, some in builds}
        except CubakeError as error:
            silent = isinstance(error, Unavailable)
            which = f"{version} and older" if silent else version
            world.announce(f"pytorch: {error.message}; the index builds of {which} are left as they were")
            found = {} if silent else found
    return rows


def _listed(world: World, defaults: Mapping[str, Data]) -> dict[str, Builds]:
    """The CUDA builds for linux/amd64 of the releases known, by release."""
    try:
        # One quick attempt: many a network does not reach it, and nothing else waits for it.
        files = listing(Web(world.sources.ca_bundle, patient=False), f"{world.sources.pytorch_index}/torch/")
    except Unavailable as error:
        world.announce(f"pytorch: {error.message}; the builds of its own index are left as they were")
        return {}
    found: dict[str, Builds] = {}
    for wheel in wheels(files):
        release, build = wheel.version.public, wheel.version.local or ""
        if release in defaults and _BUILD.fullmatch(build) and wheel.fits(AMD):
            found.setdefault(release, {}).setdefault(build, []).append(wheel)
    return found


def _kept(default: Data, before: Data) -> Data:
    """The committed rows, or that of the default build, which is the same as on the package index."""
    if before or not default.get("cuda"):
        return before
    row = {name: default[name] for name in ("cuda", "cudnn", "sass")} | {"default": True, "source": "wheel"}
    return {f"cu{default['cuda'].replace('.', '')}": row | ({"ptx": default["ptx"]} if default.get("ptx") else {})}


def _build(world: World, found: list[WheelName], default: Data, before: Data) -> Data:
    """One build. The wheels of 2.1 and 2.2 for CUDA 11.8 hold cuDNN themselves and do not tell its version: the one
    committed is kept."""
    read = chosen(found)
    answers = world.reader.ask(read.file, "metadata", "torch")
    cuda = answers["torch"]["cuda"]
    if cuda is None:
        raise Refused(f"{read.file.name} is a CPU build")
    pinned = resolved(world, answers["metadata"]["requires"], AMD, read.pythons[0].rstrip("t"))
    architectures = split_architectures(answers["torch"]["arch"])
    row: dict[str, Any] = {
        "cuda": versions.minor(cuda),
        "cudnn": pins.part(pinned, "cudnn") or before.get("cudnn"),
        "sass": architectures["sass"],
        "default": versions.minor(cuda) == default.get("cuda"),
        "source": "index-wheel",
    }
    return row | ({"ptx": architectures["ptx"]} if architectures["ptx"] else {})
