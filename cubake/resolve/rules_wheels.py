"""The rules about framework wheels: what they were built with, pin, need and go with. What a rule is: ``rules``."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import IndexBuild, Release, Source
from cubake.matrix import Cell
from cubake.resolve.draft import wheel_of
from cubake.resolve.rules import Rule, cuda_releases, releases
from cubake.resolve.types import Evidence, Stack


class CudaBuild(Rule):
    """A framework wheel is compiled against one CUDA; the CUDA asked for must be one it was published for.

    Leave ``cuda`` out to take the default build, or ask for one of the builds named.
    """

    id = "R-002"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        asked = cell.get("cuda")
        return [self._one(asked, stack, *row) for row in cuda_releases(stack, facts)]

    def _one(self, asked: str | None, stack: Stack, name: str, version: str, row: Release, source: Source) -> Evidence:
        default = wheel_of(row, stack.platform).cuda
        fact = f"{name}.releases.{version}"
        values = {"framework": f"{name} {version}", "cuda": stack.cuda, "default": default or "none"}
        values |= {"platform": stack.platform, "builds": _builds(row, default), "asked": asked or stack.cuda}
        ok = versions.matches(asked and versions.minor(asked), stack.cuda) if name == "pytorch" or asked else True
        if name == "tensorflow" and stack.pytorch:
            ok = default is not None and versions.major(default) == versions.major(stack.cuda)
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
        asked = cell.get("cudnn")
        if not cuda_releases(stack, facts) or (asked is None and stack.cudnn is None):
            return []
        name, version, _, source = cuda_releases(stack, facts)[0]
        values = {"framework": f"{name} {version}", "cudnn": stack.cudnn or "one not known", "asked": asked or "any"}
        ok = versions.matches(asked, stack.cudnn)
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


class OneSetOfLibraries(Rule):
    """Two frameworks in one image share one copy of each CUDA library, so their pins must overlap.

    Take the nearest pair of releases named, or two images.
    """

    id = "R-009"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        found = cuda_releases(stack, facts)
        if len(found) < 2:
            return []
        (_, torch, row, source), (_, flow, other, _) = found
        ours, theirs = (wheel_of(r, stack.platform).requires for r in (row, other))
        if stack.index:
            ours = _index_pins(stack, facts)
        clash = [
            f"{p} {ours[p]} against {theirs[p]}" for p in sorted(ours) if p in theirs and _clash(ours[p], theirs[p])
        ]
        values = {"torch": torch, "tensorflow": flow, "clash": "; ".join(clash), "cudnn": stack.cudnn or "none"}
        return [self.finds(not clash, f"pytorch.releases.{torch}.wheels", source, values)]


def _index_pins(stack: Stack, facts: Facts) -> dict[str, str]:
    """What a build from PyTorch's own index pins, as far as it is known: its toolkit's components and its cuDNN."""
    toolkits = [version for version in facts.components.toolkits if versions.minor(version) == stack.cuda]
    packages = facts.components.toolkits[versions.newest_first(toolkits)[0]].packages if toolkits else {}
    pins = {name: f"=={version}" for name, version in packages.items()}
    if stack.cudnn:
        pins[f"nvidia-cudnn-cu{versions.major(stack.cuda)}"] = f"=={stack.cudnn}"
    return pins


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
        for requirement in map(Requirement, stack.requirements):
            fits = row.family.get(canonicalize_name(requirement.name))
            if not fits:
                continue
            ok = any(requirement.specifier.contains(fit) for fit in fits)
            asked = str(requirement.specifier).removeprefix("==")
            values = {"package": requirement.name, "version": asked, "torch": version, "fits": ", ".join(fits)}
            found.append(self.finds(ok, f"pytorch.releases.{version}.family", source, values))
        return found


class CpuBuild(Rule):
    """On some platforms a framework publishes CPU builds only: an image of them would be green and slow.

    Take a release that has a CUDA build for the platform, or the other platform.
    """

    id = "R-011"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        found = []
        for name, version, row, source in releases(stack, facts):
            wheel = wheel_of(row, stack.platform)
            if wheel.cuda is None:
                values = {"framework": f"{name} {version}", "platform": stack.platform}
                found.append(self.finds(False, f"{name}.releases.{version}.wheels.{stack.platform}", source, values))
        return found


class BringsLibraries(Rule):
    """A framework whose wheels bring no CUDA libraries would load whatever it finds, or nothing.

    Take a release whose `and-cuda` extra names them (TensorFlow from 2.14 on).
    """

    id = "R-012"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        found = []
        for name, version, row, source in cuda_releases(stack, facts):
            if not wheel_of(row, stack.platform).requires:
                fact = f"{name}.releases.{version}.wheels.{stack.platform}.requires"
                found.append(self.finds(False, fact, source, {"framework": f"{name} {version}"}))
        return found
