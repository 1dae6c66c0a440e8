"""The rules about framework wheels: what they were built with, pin, need and go with. What a rule is: ``rules``."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Release
from cubake.resolve.draft import Frameworks, known_pythons, wheel_of
from cubake.resolve.rules import Example, Rule, build_fact, cuda_releases, releases
from cubake.resolve.types import Evidence


class CudaBuild(Rule):
    """A framework wheel is compiled against one CUDA; the CUDA asked for must be one it was published for.

    Leave ``cuda`` out to take the default build, or ask for one of the builds named.
    """

    id = "R-002"
    facts = ("pytorch.releases.*.wheels.*.cuda", "pytorch.releases.*.indexes", "tensorflow.releases.*.wheels.*.cuda")
    examples = (
        Example("pytorch=2.6 cuda=12.4", True),
        Example("pytorch=2.6 cuda=12.1", False),
        Example("tensorflow=2.20 cuda=13.0 python=3.12", False),
    )

    def check(
        self,
        facts: Facts,
        frameworks: Frameworks,
        cuda: str,
        platform: str,
        torch_index: str | None,
        asked_cuda: str | None,
    ) -> list[Evidence]:
        found = []
        for name, version, row, _ in cuda_releases(frameworks, platform, facts):
            default = wheel_of(name, version, platform, facts).cuda
            fact, source = build_fact(name, version, torch_index, facts)
            values = {"framework": f"{name} {version}", "cuda": cuda}
            values |= {
                "platform": platform,
                "builds": _builds(row, default, platform),
                "asked": asked_cuda or cuda,
            }
            ok = versions.matches(asked_cuda and versions.minor(asked_cuda), cuda)
            if name != frameworks[0][0]:  # beside another framework: the same major is enough, R-009 looks closer
                values["cuda"] = default or "none"
                ok = default is not None and versions.major(default) == versions.major(cuda)
            found.append(self.finds(ok, fact, source, values))
        return found


def _builds(row: Release, default: str | None, platform: str) -> str:
    """In words; those of the indexes are known for x86-64 only."""
    found = {build.cuda for build in row.indexes.values()} if platform == "linux/amd64" else set()
    builds = versions.newest_first(found | ({default} if default else set()))
    return f"{', '.join(builds)} (default {default})" if builds[1:] else f"{default} alone"


class CudnnOfWheel(Rule):
    """The wheel pins its cuDNN: another one asked for would not be the one that is loaded. Guides often name the cuDNN
    of the CUDA image instead; the wheel does not look there.

    Leave ``cudnn`` out, or ask for the pinned one (a prefix such as 9.1 is enough).
    """

    id = "R-003"
    facts = ("pytorch.releases.*.wheels.*.cudnn", "pytorch.releases.*.indexes.*.cudnn",
             "tensorflow.releases.*.wheels.*.cudnn", "base_images.images.*.os.*.cudnn")  # fmt: skip
    examples = (Example("pytorch=2.6 cudnn=9.1", True), Example("pytorch=2.6 cudnn=9.5", False))

    def check(
        self,
        facts: Facts,
        frameworks: Frameworks,
        cuda: str,
        cudnn: str | None,
        platform: str,
        torch_index: str | None,
        asked_cudnn: str | None,
    ) -> list[Evidence]:
        found = cuda_releases(frameworks, platform, facts)
        if not found or (asked_cudnn is None and cudnn is None):
            return []
        name, version, _, _ = found[0]
        fact, source = build_fact(name, version, torch_index, facts)
        values = {
            "framework": f"{name} {version}",
            "cudnn": cudnn or "of an unknown version",
            "asked": asked_cudnn or "any",
        }
        values["images"] = _cudnn_of_images(cuda, cudnn, facts)
        pin = wheel_of(name, version, platform, facts).requires.get(f"nvidia-cudnn-cu{versions.major(cuda)}", "==")
        values["pins"] = "pins" if pin.startswith("==") else "was built with"
        return [self.finds(versions.matches(asked_cudnn, cudnn), fact, source, values)]


def _cudnn_of_images(cuda: str, cudnn: str | None, facts: Facts) -> str:
    """Another cuDNN that the newest nvidia/cuda image of this CUDA carries, empty where it is the same or not known."""
    images = [version for version in facts.base_images.images if versions.minor(version) == cuda]
    for version in versions.newest_first(images):
        for tags in facts.base_images.images[version].os.values():
            if tags.cudnn:
                other = (
                    f"; guides name {tags.cudnn}, that of nvidia/cuda:{version} images, where the wheel does not look"
                )
                return other if tags.cudnn != cudnn else ""
    return ""


class PythonTag(Rule):
    """There must be a wheel for the Python asked for; without a framework it must be a Python that some framework has
    wheels for. Free-threaded builds (3.13t) are not used.

    Ask for one of the Pythons named.
    """

    id = "R-004"
    facts = ("pytorch.releases.*.wheels.*.python", "tensorflow.releases.*.wheels.*.python",
             "pytorch.releases.*.family_lacks")  # fmt: skip
    examples = (
        Example("pytorch=2.6 python=3.12", True),
        Example("tensorflow=2.17 python=3.13", False),
        Example("pytorch=2.5 python=3.13 pip=torchvision", False),
        Example("cuda=12.6 flavor=runtime python=3.99", False),
    )

    def check(
        self, facts: Facts, frameworks: Frameworks, platform: str, python: str, pip: tuple[str, ...]
    ) -> list[Evidence]:
        if not frameworks:
            return self._of_any(python, facts)
        found = []
        for name, version, row, source in releases(frameworks, facts):
            has = [tag for tag in wheel_of(name, version, platform, facts).python if not tag.endswith("t")]
            values = {"framework": f"{name} {version}", "python": python, "has": ", ".join(has) or "none"}
            found.append(
                self.finds(python in has, _wheel_fact(name, version, platform, "python", facts), source, values)
            )
            for sibling in (canonicalize_name(Requirement(one).name) for one in pip):
                if python in (lacks := row.family_lacks.get(sibling, ())):
                    left = [tag for tag in has if tag not in lacks]
                    values = {"framework": f"{sibling} of torch {version}", "python": python, "has": ", ".join(left)}
                    found.append(self.finds(False, f"{name}.releases.{version}.family_lacks", source, values))
        return found

    def _of_any(self, python: str, facts: Facts) -> list[Evidence]:
        known = known_pythons(facts)
        if python in known:
            return []
        values = {"framework": "every framework", "python": python, "has": ", ".join(known)}
        source = facts.frameworks["pytorch"].sources["wheel"]
        return [self.finds(False, "pytorch.releases", source, values, absent=True)]


class Glibc(Rule):
    """A manylinux wheel needs a glibc at least as new as its platform tag says (PEP 600).

    Take a newer distribution or an older framework.
    """

    id = "R-005"
    facts = ("pytorch.releases.*.wheels.*.glibc", "tensorflow.releases.*.wheels.*.glibc", "os.releases.*.glibc")
    examples = (Example("pytorch=2.7", True),)  # every distribution in the facts is new enough for every wheel

    def check(self, facts: Facts, frameworks: Frameworks, platform: str, os: str) -> list[Evidence]:
        row = facts.os.releases.get(os)
        if row is None:
            return []
        found = []
        for name, version, _, source in releases(frameworks, facts):
            needs = wheel_of(name, version, platform, facts).glibc
            values = {"framework": f"{name} {version}", "needs": needs, "os": os, "has": row.glibc}
            ok = versions.key(row.glibc) >= versions.key(needs)
            found.append(self.finds(ok, _wheel_fact(name, version, platform, "glibc", facts), source, values))
        return found


def _wheel_fact(name: str, version: str, platform: str, field: str, facts: Facts) -> str:
    """The place of a fact about a platform's wheel; where the release has none, that of its wheels."""
    there = platform in facts.frameworks[name].releases[version].wheels
    return f"{name}.releases.{version}.wheels" + (f".{platform}.{field}" if there else "")


class Family(Rule):
    """torchvision and torchaudio are compiled against one torch; another one fails at import or calls garbage. And
    torch itself is the cell's: what is asked of pip must admit it.

    Name the package without a version, or with one of those that match.
    """

    id = "R-010"
    facts = ("pytorch.releases.*.family",)
    examples = (Example("pytorch=2.6 pip=torchvision", True), Example("pytorch=2.6 pip=torchvision==0.20.1", False))

    def check(self, facts: Facts, frameworks: Frameworks, requirements: tuple[str, ...]) -> list[Evidence]:
        torch = next((row for row in releases(frameworks, facts) if row[0] == "pytorch"), None)
        if torch is None:
            return []
        _, version, row, source = torch
        found = []
        family = {**row.family, "torch": (version,)}
        for requirement in map(Requirement, requirements[1:]):  # the first is torch as the cell has it
            fits = family.get(canonicalize_name(requirement.name))
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
    facts = ("pytorch.releases.*.wheels.*.cuda", "tensorflow.releases.*.wheels.*.cuda")
    examples = (
        Example("tensorflow=2.19 platform=linux/arm64", False),
        Example("pytorch=2.10 platform=linux/arm64", False),
    )

    def check(self, facts: Facts, frameworks: Frameworks, platform: str) -> list[Evidence]:
        return [
            self.finds(
                False,
                f"{name}.releases.{version}.wheels",
                source,
                {"framework": f"{name} {version}", "platform": platform},
            )
            for name, version, _, source in releases(frameworks, facts)
            if wheel_of(name, version, platform, facts).cuda is None
        ]


class BringsLibraries(Rule):
    """A framework whose wheels bring no CUDA libraries would load whatever it finds, or nothing.

    Take a release whose `and-cuda` extra names them (TensorFlow from 2.14 on).
    """

    id = "R-012"
    facts = ("pytorch.releases.*.wheels.*.requires", "tensorflow.releases.*.wheels.*.requires")
    examples = (Example("tensorflow=2.13", False),)

    def check(self, facts: Facts, frameworks: Frameworks, platform: str) -> list[Evidence]:
        return [
            self.finds(
                False,
                f"{name}.releases.{version}.wheels.{platform}.requires",
                source,
                {"framework": f"{name} {version}"},
            )
            for name, version, _, source in cuda_releases(frameworks, platform, facts)
            if not wheel_of(name, version, platform, facts).requires
        ]
