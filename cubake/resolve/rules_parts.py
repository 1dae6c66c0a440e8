"""The rules about parts that must fit each other inside one image: two frameworks' libraries, NumPy, run paths, and
what is known of single releases. What a rule is: ``rules``."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name

from cubake import versions
from cubake.facts import Facts
from cubake.resolve.draft import Frameworks, admits, pins_of, wheel_of
from cubake.resolve.rules import Example, Rule, cuda_releases, releases
from cubake.resolve.types import DISTRIBUTION, Base, Evidence

SHOWN = 3  # pins that a sentence names


class OneSetOfLibraries(Rule):
    """Two frameworks in one image share one copy of each CUDA library: that which torch pins exactly. TensorFlow's
    ranges must admit it. Its exact pins (2.14 to 2.19) only say what it was tested with: it needs the same major
    and nothing older, since libraries of one CUDA major stay compatible upwards; it is then installed without its
    and-cuda extra. cuDNN is R-018's.

    Take the nearest pair of releases named, or two images.
    """

    id = "R-009"
    facts = ("pytorch.releases.*.wheels.*.requires", "tensorflow.releases.*.wheels.*.requires", "components.toolkits")
    examples = (
        Example("pytorch=2.7 tensorflow=2.20 python=3.12", True),
        Example("pytorch=2.7.1 tensorflow=2.19.1 python=3.11", True),
        Example("pytorch=2.6 cuda=12.6 tensorflow=2.20 python=3.12", False),
    )

    def check(
        self,
        facts: Facts,
        frameworks: Frameworks,
        cuda: str,
        cudnn: str | None,
        torch_index: str | None,
        platform: str,
        extra: bool,
    ) -> list[Evidence]:
        found = cuda_releases(frameworks, platform, facts)
        if len(found) < 2:
            return []
        (_, torch, _, source), (_, flow, _, _) = found
        ours = pins_of(frameworks, cuda, cudnn, torch_index, platform, facts)
        theirs = wheel_of("tensorflow", flow, platform, facts).requires
        both = [name for name in sorted(ours) if name in theirs and "cudnn" not in name]
        unmet = [name for name in both if not admits(need(theirs[name]), ours[name])]
        differ = [name for name in both if not admits(theirs[name], ours[name])]
        values = {"torch": torch, "tensorflow": flow, "cuda": cuda, "cudnn": cudnn or "none"}
        values["clash"] = "; ".join(f"{name} {ours[name]} against {theirs[name]}" for name in unmet[:SHOWN])
        values["clash"] += f" and {len(unmet) - SHOWN} more" if len(unmet) > SHOWN else ""
        values["how"] = "" if extra else f", tensorflow without its and-cuda extra (which pins {len(differ)} others)"
        return [self.finds(not unmet, f"pytorch.releases.{torch}.wheels", source, values)]


def need(specifier: str) -> str:
    """What a specifier asks for at least: an exact pin means that version or a newer one of its major."""
    pins = [spec for spec in SpecifierSet(specifier) if spec.operator == "=="]
    if not pins:
        return specifier
    exact = pins[0].version.removesuffix(".*")
    return f">={exact},<{int(versions.major(exact)) + 1}"


class CudnnOfTensorFlow(Rule):
    """TensorFlow compares the cuDNN it loads with the one it was compiled against: the major must be the same and the
    minor not older, else it stops with "Loaded runtime CuDNN library: … but source was compiled with: …".

    Take a torch that pins a cuDNN new enough, or two images.
    """

    id = "R-018"
    facts = ("tensorflow.releases.*.wheels.*.cudnn", "pytorch.releases.*.wheels.*.cudnn")
    examples = (
        Example("pytorch=2.7 tensorflow=2.19 python=3.12", True),
        Example("pytorch=2.6 cuda=12.4 tensorflow=2.19 python=3.12", False),
    )

    def check(self, facts: Facts, frameworks: Frameworks, cudnn: str | None, platform: str) -> list[Evidence]:
        found = cuda_releases(frameworks, platform, facts)
        if len(found) < 2 or cudnn is None:
            return []
        (_, torch, _, _), (_, flow, _, source) = found
        built = wheel_of("tensorflow", flow, platform, facts).cudnn
        if built is None:
            return []
        same = versions.major(cudnn) == versions.major(built)
        ok = same and versions.key(versions.minor(cudnn)) >= versions.key(versions.minor(built))
        values = {"tensorflow": flow, "built": built, "torch": torch, "cudnn": cudnn}
        values["why"] = "which is older" if same else "which is of another major, with other library names"
        return [self.finds(ok, f"tensorflow.releases.{flow}.wheels.{platform}.cudnn", source, values)]


class NumpyAbi(Rule):
    """A framework compiled for NumPy 1 cannot pass arrays to NumPy 2 ("module compiled using NumPy 1.x cannot be run in
    NumPy 2"), and TensorFlow names the NumPy it takes.

    Ask for a NumPy within what is named, or take a newer framework (PyTorch from 2.3, TensorFlow from 2.18).
    """

    id = "R-014"
    facts = ("pytorch.releases.*.numpy", "tensorflow.releases.*.numpy")
    examples = (
        Example("pytorch=2.2 python=3.11 pip=numpy", True),
        Example("pytorch=2.2 python=3.11 pip=numpy>=2", False),
    )

    def check(self, facts: Facts, frameworks: Frameworks, pip: tuple[str, ...]) -> list[Evidence]:
        asked = [one for one in map(Requirement, pip) if canonicalize_name(one.name) == "numpy"]
        found = []
        for name, version, row, source in releases(frameworks, facts):
            if not row.numpy or (not asked and name != "pytorch"):
                continue
            both = SpecifierSet(row.numpy)
            for one in asked:
                both &= one.specifier
            values = {"framework": f"{name} {version}", "takes": row.numpy, "asked": ", ".join(map(str, asked))}
            found.append(self.finds(_possible(both), f"{name}.releases.{version}.numpy", source, values))
        return found


def _possible(specifiers: SpecifierSet) -> bool:
    """Whether some version is within all: a bound itself, a little above or below one, or far up."""
    tried = {"1.0", "999"}
    for spec in specifiers:
        tried |= _around(spec)
    return any(specifiers.contains(version) for version in tried)


def _around(spec: Specifier) -> set[str]:
    exact = spec.version.removesuffix(".*")
    release = versions.key(exact).release
    below = [f"{'.'.join(map(str, (*release[:n], release[n] - 1)))}.999" for n in range(len(release)) if release[n]]
    return {exact, f"{exact}.0.1", *below}


class RunPath(Rule):
    """TensorFlow opens CUDA libraries by name, and looks where its run path (DT_RUNPATH) says: 2.16.1 names one folder
    of seven, 2.21 leaves out cuSOLVER's. The images tell the loader of every folder of the wheels (ld.so.conf).

    Nothing to mend: the rendered image does it.
    """

    id = "R-015"
    facts = ("tensorflow.releases.*.wheels.*.runpath",)
    examples = (Example("tensorflow=2.16.1 python=3.11", True), Example("tensorflow=2.21 python=3.12", True))
    OPENED = ("cublas", "cuda_runtime", "cudnn", "cufft", "cusolver", "cusparse")

    def check(self, facts: Facts, frameworks: Frameworks, platform: str) -> list[Evidence]:
        found = []
        for name, version, _, source in cuda_releases(frameworks, platform, facts):
            path = wheel_of(name, version, platform, facts).runpath
            missing = [part for part in self.OPENED if f"nvidia/{part}/lib" not in path]
            if path and missing:
                values = {"framework": f"{name} {version}", "missing": ", ".join(missing)}
                found.append(self.finds(True, f"{name}.releases.{version}.wheels.{platform}.runpath", source, values))
        return found


class LibraryPath(Rule):
    """What LD_LIBRARY_PATH names is searched before a wheel's run path: a base that puts its own toolkit there (12.8.1,
    12.9, 13.0) would have its libraries loaded instead of those that the framework pins. The images set it anew.

    Nothing to mend: the rendered image does it.
    """

    id = "R-016"
    facts = ("base_images.images.*.library_path",)
    examples = (Example("pytorch=2.11 python=3.12", True),)

    def check(self, facts: Facts, frameworks: Frameworks, base: Base | None) -> list[Evidence]:
        row = facts.base_images.images.get(base.toolkit) if base and base.kind == "nvidia" else None
        if not frameworks or base is None or row is None or "/usr/local/cuda/lib64" not in row.library_path:
            return []
        source = facts.base_images.sources[row.source]
        values = {"base": base.reference, "path": row.library_path}
        return [self.finds(True, f"base_images.images.{base.toolkit}.library_path", source, values)]


class Advisories(Rule):
    """What is known of single releases and stands in no other fact: uploaded twice, broken as published, withdrawn.
    Some of it stops a release; the rest is said, and the image is made so that it does not hurt.

    Take the release that is named instead.
    """

    id = "R-017"
    facts = ("advisories.advisories",)
    examples = (Example("tensorflow=2.16.1 python=3.11", None), Example("pytorch=2.10.0", None))

    def check(self, facts: Facts, frameworks: Frameworks, platform: str, python: str) -> list[Evidence]:
        found = []
        for name, version, _, _ in cuda_releases(frameworks, platform, facts):
            for key, row in facts.advisories.advisories.items():
                meant = row.package == DISTRIBUTION[name] and version in SpecifierSet(row.versions)
                if not meant or row.capabilities or python not in SpecifierSet(row.python):
                    continue
                values = {"framework": f"{name} {version}", "text": row.text, "remedy": row.remedy}
                source = facts.advisories.sources[row.source]
                found.append(self.finds(False, f"advisories.advisories.{key}", source, values, warns=not row.stops))
        return found
