"""``base_images.yaml``: the tags of nvidia/cuda, and what the configurations of the images behind them say."""

from __future__ import annotations

import re
from typing import Any

from cubake import versions
from cubake.errors import Refused, Unavailable
from cubake.refresh.registry import Registry
from cubake.refresh.types import Data
from cubake.refresh.world import World, ascending, source, used_sources

REPOSITORY = "nvidia/cuda"
FLOOR = "11.8.0"
SHARE = 0.5  # NVIDIA deletes old tags by the dozen, but a list with fewer than this of the known ones is not believed
OWN = {"registry": source("image configuration read from the registry", "verified")}
_TAG = re.compile(r"(\d+\.\d+\.\d+)-((?:cudnn\d*-|tensorrt-)?(?:base|runtime|devel))-(ubuntu\d\d\.\d\d)")
_CUDA = re.compile(r"cuda>=(\d+\.\d+)")
_BRAND = re.compile(r"brand=(\w+),driver>=(\d+),driver<(\d+)")
_READ_FIRST = ("cudnn-runtime", "cudnn9-runtime", "cudnn8-runtime", "base", "runtime", "devel")
Tags = dict[str, dict[str, list[str]]]  # toolkit -> distribution -> flavours


def listed(world: World) -> Tags:
    """The tags from CUDA 11.8 on for the distributions that cubake knows or that the file has already."""
    wanted = {name for name, row in world.committed["os"]["releases"].items() if row["nvidia_cuda"]}
    wanted |= {name for image in _rows(world).values() for name in image["os"]}
    found: Tags = {}
    for tag in _registry(world).tags():
        match = _TAG.fullmatch(tag)
        if match and match[3] in wanted and versions.key(match[1]) >= versions.key(FLOOR):
            found.setdefault(match[1], {}).setdefault(match[3], []).append(match[2])
    return found


def build(world: World) -> Data:
    """The file. A row whose images cannot be read stays as it was; where the registry answers no more, which it may
    after so many a day, so do all older ones."""
    tags, committed = listed(world), _rows(world)
    _believe(tags, committed)
    registry, rows, silent = _registry(world), dict[str, Data](), False
    for toolkit in versions.newest_first({*tags, *committed}):
        before, present = committed.get(toolkit), tags.get(toolkit, {})
        row = _with_tags(before, present) if before else None
        if present and not silent:
            try:
                row = _read(world, registry, toolkit, present, before)
            except (Unavailable, Refused) as error:
                silent = isinstance(error, Unavailable)
                which = f"{toolkit} and older are" if silent else f"{toolkit} is"
                world.announce(f"base_images: {which} left as before: {error.message}")
        if row:
            rows[toolkit] = row
    images = ascending(rows)
    return {"sources": used_sources(OWN, world.committed["base_images"], images), "images": images}


def _registry(world: World) -> Registry:
    return Registry(world.web, world.images, REPOSITORY, world.sources.registry)


def _rows(world: World) -> dict[str, Data]:
    return dict(world.committed["base_images"].get("images", {}))


def _believe(tags: Tags, committed: dict[str, Data]) -> None:
    """Refused where the registry suddenly lists far fewer. Rows are never deleted, so their count would not tell."""
    known = [(toolkit, name, os) for toolkit, row in committed.items() for name, os in row["os"].items()]
    alive = [(toolkit, name) for toolkit, name, os in known if not os.get("end_of_life")]
    still = [name for toolkit, name in alive if name in tags.get(toolkit, {})]
    if len(still) < SHARE * len(alive):
        what = f"the registry lists {len(still)} of the {len(alive)} {REPOSITORY} images known"
        raise Refused(f"base_images: {what}; nothing is written", "is it a whole mirror?")


def _with_tags(before: Data, present: dict[str, list[str]]) -> Data:
    """A committed row with the flavours that are there now; what is gone is at its end of life."""
    os: Data = {}
    for name in sorted({*before["os"], *present}):
        old = dict(before["os"].get(name, {}))
        if name in present:
            os[name] = old | {"flavors": sorted(present[name])}
        else:
            os[name] = old | {"end_of_life": True}
    return before | {"os": os}


def _read(world: World, registry: Registry, toolkit: str, present: dict[str, list[str]], before: Data | None) -> Data:
    """A row from the configuration of one image for each distribution: a cuDNN image where there is one, for it has the
    environment of the base image too. Gate and library path are those of the newest distribution."""
    environments = {name: registry.environment(_first(toolkit, present[name], name)) for name in sorted(present)}
    newest = environments[max(environments)]
    gate = gate_of(newest.get("NVIDIA_REQUIRE_CUDA", ""))
    if gate is None:
        world.announce(f"base_images: {toolkit}: NVIDIA_REQUIRE_CUDA is not of the form known, its gate is left open")
    os = _with_tags(before or {"os": {}}, present)["os"]
    for name, environment in environments.items():
        cudnn = environment.get("NV_CUDNN_VERSION", "").partition("-")[0]
        ends = {"end_of_life": True} if os[name].get("end_of_life") else {}  # nothing that has ended comes back
        os[name] = {"flavors": os[name]["flavors"], **({"cudnn": cudnn} if cudnn else {}), **ends}
    return {"gate": gate, "library_path": newest.get("LD_LIBRARY_PATH", ""), "os": os, "source": "registry"}


def _first(toolkit: str, flavors: list[str], os: str) -> str:
    flavor = next(flavor for flavor in (*_READ_FIRST, *sorted(flavors)) if flavor in flavors)
    return f"{toolkit}-{flavor}-{os}"


def gate_of(expression: str) -> dict[str, Any] | None:
    """What NVIDIA_REQUIRE_CUDA lets in, ``{"cuda", "branches", "brands"}``: ``cuda>=X.Y``, then each of the branches on
    each of the brands, ``brand=B,driver>=N,driver<N+1``. None for an expression of any other form."""
    first, *others = expression.split() or [""]
    cuda, terms = _CUDA.fullmatch(first), [_BRAND.fullmatch(term) for term in others]
    pairs = {(match[1], int(match[2])) for match in terms if match and int(match[3]) == int(match[2]) + 1}
    brands, branches = sorted({brand for brand, _ in pairs}), sorted({branch for _, branch in pairs})
    if cuda is None or len(pairs) != len(set(others)) or len(pairs) != len(brands) * len(branches):
        return None
    return {"cuda": cuda[1], "branches": branches, "brands": brands}
