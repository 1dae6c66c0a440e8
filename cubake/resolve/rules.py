"""The rules: each says of one stack whether one thing holds, and by which fact.

A rule's docstring says what it asks, why, and how to mend a refusal; its sentences stand in ``explain``. Adding a
rule is adding a class here and its two sentences there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from packaging.specifiers import SpecifierSet

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import IndexBuild, Release, Source
from cubake.matrix import Cell
from cubake.resolve.draft import DISTRIBUTION, base_for, wheel_of
from cubake.resolve.types import Evidence, Stack

RULES: dict[str, Rule] = {}


class Rule:
    """Base of the rules; a subclass with an ``id`` registers itself."""

    id: ClassVar[str]

    def __init_subclass__(cls) -> None:
        RULES[cls.id] = cls()

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        raise NotImplementedError

    def finds(self, ok: bool, fact: str, source: Source, values: dict[str, str], *, absent: bool = False) -> Evidence:
        said = f"{source.text} ({source.confidence})"
        return Evidence(self.id, ok, tuple(values.items()), fact, said, absent)


def releases(stack: Stack, facts: Facts) -> list[tuple[str, str, Release, Source]]:
    """(framework, version, row, source) of each framework in the stack."""
    found = []
    for name, version in stack.frameworks:
        file = facts.frameworks[name]
        row = file.releases[version]
        found.append((name, version, row, file.sources[row.source]))
    return found


class KnownOs(Rule):
    """The distribution must be known: its glibc, Python and packages decide what can be installed.

    Name one of those in ``facts/os.yaml``.
    """

    id = "R-001"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        source = facts.os.sources["distribution"]
        known = stack.os in facts.os.releases
        values = {"os": stack.os, "known": ", ".join(facts.os.releases)}
        return [] if known else [self.finds(False, "os.releases", source, values, absent=True)]


class CudaBuild(Rule):
    """A framework wheel is compiled against one CUDA; the CUDA asked for must be one it was published for.

    Leave ``cuda`` out to take the default build, or ask for one of the builds named.
    """

    id = "R-002"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        asked = cell.get("cuda")
        return [self._one(asked, stack, *row) for row in releases(stack, facts)]

    def _one(self, asked: str | None, stack: Stack, name: str, version: str, row: Release, source: Source) -> Evidence:
        default = wheel_of(row, stack.platform).cuda
        fact = f"{name}.releases.{version}"
        values = {"framework": f"{name} {version}", "cuda": stack.cuda, "default": default or "none (CPU only)"}
        values |= {"platform": stack.platform, "builds": _builds(row, default), "asked": asked or stack.cuda}
        if default is None:
            return self.finds(False, f"{fact}.wheels", source, values)
        ok = versions.matches(asked and versions.minor(asked), stack.cuda) if name == "pytorch" or asked else True
        if name == "tensorflow" and stack.pytorch:
            ok = versions.major(default) == versions.major(stack.cuda)
        return self.finds(ok, f"{fact}.indexes.{stack.index}" if stack.index else f"{fact}.wheels", source, values)


def _builds(row: Release, default: str | None) -> str:
    found: Mapping[str, IndexBuild] = row.indexes
    return ", ".join(
        versions.newest_first({build.cuda for build in found.values()} | ({default} if default else set()))
    )


class CudnnOfWheel(Rule):
    """The wheel pins its cuDNN: another one asked for would not be the one that is loaded.

    Leave ``cudnn`` out, or ask for the pinned one (a prefix such as 9.1 is enough).
    """

    id = "R-003"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        if not stack.frameworks:
            return []
        name, version, _, source = releases(stack, facts)[0]
        asked = cell.get("cudnn")
        values = {"framework": f"{name} {version}", "cudnn": stack.cudnn or "none", "asked": asked or "any"}
        ok = versions.matches(asked, stack.cudnn) and stack.cudnn is not None
        return [self.finds(ok, f"{name}.releases.{version}.wheels", source, values)]


class PythonTag(Rule):
    """There must be a wheel for the Python asked for. Free-threaded builds (3.13t) are not used.

    Ask for one of the Pythons named.
    """

    id = "R-004"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        found = []
        for name, version, row, source in releases(stack, facts):
            has = [tag for tag in wheel_of(row, stack.platform).python if not tag.endswith("t")]
            values = {"framework": f"{name} {version}", "python": stack.python, "has": ", ".join(has) or "none"}
            fact = f"{name}.releases.{version}.wheels.{stack.platform}.python"
            found.append(self.finds(stack.python in has, fact, source, values))
        return found


class Glibc(Rule):
    """A manylinux wheel needs a glibc at least as new as its platform tag says (PEP 600).

    Take a newer distribution or an older framework.
    """

    id = "R-005"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        os = facts.os.releases.get(stack.os)
        if os is None:
            return []
        found = []
        for name, version, row, source in releases(stack, facts):
            needs = wheel_of(row, stack.platform).glibc
            values = {"framework": f"{name} {version}", "needs": needs, "os": stack.os, "has": os.glibc}
            ok = versions.key(os.glibc) >= versions.key(needs)
            found.append(self.finds(ok, f"{name}.releases.{version}.wheels.{stack.platform}.glibc", source, values))
        return found


class BaseTag(Rule):
    """The image to start from must exist: NVIDIA publishes some toolkits, flavours and distributions only, and
    deletes tags past their end of life; a base made from wheels has nvcc from CUDA 13 on.

    Take one of the toolkits or the flavour named.
    """

    id = "R-006"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        asked = cell.get("flavor") or "runtime"
        flavor = asked if not stack.frameworks or asked == "devel" else "base"
        cudnn = None if stack.frameworks else cell.get("cudnn")
        values = {"cuda": stack.toolkit if not stack.frameworks and stack.toolkit else stack.cuda, "os": stack.os}
        values |= {"flavor": f"cudnn-{flavor}" if cudnn else flavor, "cudnn": cudnn or ""}
        if stack.base:
            kind, source = _base_source(stack, facts)
            values |= {"base": stack.base.reference, "cudnn": stack.base.cudnn or "none"}
            return [self.finds(True, f"{kind}.{stack.base.toolkit}", source, values)]
        others = [
            v for v in versions.newest_first(facts.cuda.toolkits) if base_for(v, flavor, stack.os, facts, cudnn=cudnn)
        ]
        values["others"] = ", ".join(others) or "none"
        values["why"] = _why_no_base(stack, flavor, facts)
        source, os = facts.base_images.sources["dockerfiles"], facts.os.releases.get(stack.os)
        return [self.finds(False, "base_images.images", source, values, absent=os is not None and os.nvidia_cuda)]


def _base_source(stack: Stack, facts: Facts) -> tuple[str, Source]:
    assert stack.base is not None
    if stack.base.kind == "nvidia":
        row = facts.base_images.images[stack.base.toolkit]
        return "base_images.images", facts.base_images.sources[row.source]
    parts = facts.components.toolkits[stack.base.toolkit]
    return "components.toolkits", facts.components.sources[parts.source]


def _why_no_base(stack: Stack, flavor: str, facts: Facts) -> str:
    os = facts.os.releases.get(stack.os)
    if os is None:
        return f"{stack.os} is not a known distribution"
    if os.nvidia_cuda:
        return f"no nvidia/cuda tag of CUDA {stack.cuda} with that flavour is in service on {stack.os}"
    if flavor == "devel":
        return f"NVIDIA publishes no {stack.os} image, and its wheels hold nvcc from CUDA 13 on only"
    return f"NVIDIA publishes no {stack.os} image, and there are no wheels of that toolkit"


class NoSecondCudnn(Rule):
    """A framework wheel loads its own cuDNN; a second copy in the base can mix with it and break it.

    Nothing to mend: framework images start from a base without cuDNN.
    """

    id = "R-007"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        if not stack.frameworks or stack.base is None:
            return []
        name, version, _, source = releases(stack, facts)[0]
        values = {"base": stack.base.reference, "framework": f"{name} {version}", "cudnn": stack.cudnn or "none"}
        ok = not stack.base.flavor.startswith("cudnn")
        return [self.finds(ok, f"{name}.releases.{version}.wheels", source, values)]


class DevelToolkit(Rule):
    """Code that nvcc compiles against a framework must be compiled by the CUDA that the framework was built with.

    Nothing to mend: the devel base follows the framework.
    """

    id = "R-008"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        if not stack.frameworks or stack.flavor != "devel" or stack.base is None:
            return []
        name, version, _, source = releases(stack, facts)[0]
        ok = versions.minor(stack.base.toolkit) == stack.cuda
        values = {"framework": f"{name} {version}", "cuda": stack.cuda, "toolkit": stack.base.toolkit}
        return [self.finds(ok, f"{name}.releases.{version}.wheels", source, values)]


class OneSetOfLibraries(Rule):
    """Two frameworks in one image share one copy of each CUDA library, so their pins must overlap.

    Take the nearest pair of releases named, or two images.
    """

    id = "R-009"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        found = releases(stack, facts)
        if len(found) < 2 or stack.index:
            return []
        (_, torch, row, source), (_, flow, other, _) = found
        ours, theirs = (wheel_of(r, stack.platform).requires for r in (row, other))
        clash = [
            f"{p} {ours[p]} against {theirs[p]}" for p in sorted(ours) if p in theirs and _clash(ours[p], theirs[p])
        ]
        values = {"torch": torch, "tensorflow": flow, "clash": "; ".join(clash), "cudnn": stack.cudnn or "none"}
        return [self.finds(not clash, f"pytorch.releases.{torch}.wheels", source, values)]


def _clash(exact: str, other: str) -> bool:
    pins = [spec.version.removesuffix(".*") for spec in SpecifierSet(exact) if spec.operator == "=="]
    return any(pin not in SpecifierSet(other) for pin in pins)


class Family(Rule):
    """torchvision and torchaudio are compiled against one torch; another one fails at import or calls garbage.

    Name the package without a version, or with one of those that match.
    """

    id = "R-010"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        torch = next((row for row in releases(stack, facts) if row[0] == "pytorch"), None)
        if torch is None:
            return []
        _, version, row, source = torch
        found = []
        for requirement in stack.requirements:
            name, _, pinned = requirement.partition("==")
            fits = row.family.get(name)
            if fits is None or not pinned:
                continue
            values = {"package": name, "version": pinned, "torch": version, "fits": ", ".join(fits) or "none"}
            found.append(self.finds(pinned in fits, f"pytorch.releases.{version}.family", source, values))
        return found


def unknown(cell: Cell, facts: Facts) -> Evidence:
    """Evidence for a cell of which no stack can be drafted: it names a version that does not exist."""
    for name in DISTRIBUTION:
        file = facts.frameworks[name]
        want = cell.get(name)
        if want and not any(versions.matches(want, version) for version in file.releases):
            near = ", ".join(versions.newest_first({versions.minor(version) for version in file.releases})[:8])
            values = (("what", name), ("want", want), ("near", near))
            return Evidence("R-000", False, values, f"{name}.releases", file.sources["wheel"].text, absent=True)
    near = ", ".join(versions.newest_first(facts.cuda.toolkits))
    values = (("what", "CUDA"), ("want", cell.get("cuda") or "any"), ("near", near))
    return Evidence("R-000", False, values, "cuda.toolkits", next(iter(facts.cuda.sources.values())).text, absent=True)
