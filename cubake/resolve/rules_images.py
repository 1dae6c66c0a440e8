"""The rules about the image: its distribution, the base it starts from, and its compilers. For what a rule is, see
``rules``."""

from __future__ import annotations

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Source
from cubake.resolve.bases import base_for
from cubake.resolve.draft import Frameworks
from cubake.resolve.rules import Example, Rule, cuda_releases, releases
from cubake.resolve.types import Base, Evidence


class KnownOs(Rule):
    """The distribution must be known: its glibc, Python and packages decide what can be installed.

    Name one of those in ``facts/os.yaml``.
    """

    id = "R-001"
    facts = ("os.releases",)
    examples = (Example("pytorch=2.6 os=ubuntu14.04", False),)

    def check(self, facts: Facts, os: str) -> list[Evidence]:
        source = facts.os.sources["distribution"]
        values = {"os": os, "known": ", ".join(facts.os.releases)}
        known = os in facts.os.releases
        return [] if known else [self.finds(False, "os.releases", source, values, absent=True)]


class BaseTag(Rule):
    """The image to start from must exist. NVIDIA publishes some toolkits, flavours and distributions only; spells the
    cuDNN flavour cudnn8 up to 12.2, cudnn9 for 12.3 and cudnn from 12.4.1 on; and deletes tags past their end of life.
    A base made from wheels has nvcc from CUDA 13 on.

    Take one of the toolkits or the flavour named.
    """

    id = "R-006"
    facts = ("base_images.images.*.os", "components.toolkits")
    examples = (
        Example("cuda=12.2 cudnn=8 flavor=runtime", True),
        Example("cuda=12.4.1 cudnn=9 flavor=runtime", True),
        Example("cuda=12.4.0 cudnn=any flavor=runtime", False),
        Example("cuda=12.4.1 cudnn=8 flavor=runtime", False),
    )

    def check(
        self,
        facts: Facts,
        frameworks: Frameworks,
        base: Base | None,
        cuda: str,
        toolkit: str | None,
        os: str,
        flavor: str,
        platform: str,
        asked_cudnn: str | None,
    ) -> list[Evidence]:
        if os not in facts.os.releases or len(cuda_releases(frameworks, platform, facts)) < len(frameworks):
            return []
        wanted = "base" if frameworks and flavor != "devel" else flavor
        cudnn = None if frameworks else asked_cudnn
        values = {"cuda": cuda if frameworks else toolkit or cuda, "os": os}
        values |= {"flavor": f"cudnn-{wanted}" if cudnn else wanted, "cudnn": cudnn or ""}
        if base:
            kind, source = _base_source(base, facts)
            values |= {"base": base.reference, "cudnn": base.cudnn or "none"}
            return [self.finds(True, f"{kind}.{base.toolkit}", source, values)]
        others = [v for v in versions.newest_first(facts.cuda.toolkits) if base_for(v, wanted, os, facts, cudnn=cudnn)]
        values["others"] = ", ".join(others) or "none"
        values["why"] = _why_no_base(values["cuda"], wanted, os, cudnn, facts)
        source = facts.base_images.sources["dockerfiles"]
        absent = facts.os.releases[os].nvidia_cuda
        return [self.finds(False, "base_images.images", source, values, absent=absent)]


def _base_source(base: Base, facts: Facts) -> tuple[str, Source]:
    if base.kind == "nvidia":
        row = facts.base_images.images[base.toolkit]
        return "base_images.images", facts.base_images.sources[row.source]
    parts = facts.components.toolkits[base.toolkit]
    return "components.toolkits", facts.components.sources[parts.source]


def _why_no_base(cuda: str, flavor: str, os: str, cudnn: str | None, facts: Facts) -> str:
    if not facts.os.releases[os].nvidia_cuda:
        if flavor == "devel":
            return f"NVIDIA publishes no {os} image, and its wheels hold nvcc from CUDA 13 on only"
        if cudnn and any(versions.matches(cudnn, version) for version in facts.cudnn.versions):
            return f"no cuDNN {cudnn} wheel for its CUDA major is on the package index, or it was withdrawn (yanked)"
        return f"NVIDIA publishes no {os} image, and there are no wheels of that toolkit"
    tags = [
        row.os[os]
        for version, row in facts.base_images.images.items()
        if versions.matches(cuda, version) and os in row.os
    ]
    if tags and all(tag.end_of_life for tag in tags):
        return f"the {os} tags of CUDA {cuda} are past their end of life, and NVIDIA deletes such tags"
    carried = sorted({tag.cudnn for tag in tags if tag.cudnn and not tag.end_of_life})
    if cudnn and carried:
        return f"the {os} images of CUDA {cuda} carry cuDNN {', '.join(carried)}"
    return f"no nvidia/cuda tag of CUDA {cuda} with that flavour is in service on {os}"


class NoSecondCudnn(Rule):
    """A framework wheel loads its own cuDNN; a second copy in the base can mix with it and break it.

    Nothing to mend: framework images start from a base without cuDNN.
    """

    id = "R-007"
    facts = ("pytorch.releases.*.wheels.*.cudnn", "tensorflow.releases.*.wheels.*.cudnn")
    examples = (Example("pytorch=2.12 python=3.12 os=ubuntu24.04", True),)

    def check(self, facts: Facts, frameworks: Frameworks, base: Base | None, cudnn: str | None) -> list[Evidence]:
        if not frameworks or base is None:
            return []
        name, version, _, source = releases(frameworks, facts)[0]
        values = {"base": base.reference, "framework": f"{name} {version}", "cudnn": cudnn or "none"}
        ok = not base.flavor.startswith("cudnn")
        return [self.finds(ok, f"{name}.releases.{version}.wheels", source, values)]


class DevelToolkit(Rule):
    """Code that nvcc compiles against a framework must be compiled by the CUDA that the framework was built with:
    another major is an error of torch's extension builder, another minor a warning.

    Nothing to mend: the devel base follows the framework. A CUDA asked for that is not the framework's is R-002's.
    """

    id = "R-008"
    facts = ("pytorch.releases.*.wheels.*.cuda", "tensorflow.releases.*.wheels.*.cuda")
    examples = (Example("pytorch=2.7 flavor=devel", True),)

    def check(self, facts: Facts, frameworks: Frameworks, base: Base | None, cuda: str, flavor: str) -> list[Evidence]:
        if not frameworks or flavor != "devel" or base is None:
            return []
        name, version, _, source = releases(frameworks, facts)[0]
        ok = versions.minor(base.toolkit) == cuda
        values = {"framework": f"{name} {version}", "cuda": cuda, "toolkit": base.toolkit}
        return [self.finds(ok, f"{name}.releases.{version}.wheels", source, values)]


class HostCompiler(Rule):
    """nvcc drives the distribution's gcc, and each CUDA refuses one newer than it knows ("unsupported GNU version").

    Take a newer CUDA, or a distribution with an older gcc.
    """

    id = "R-013"
    facts = ("cuda.toolkits.*.max_gcc", "os.releases.*.gcc")
    examples = (Example("cuda=12.6 flavor=devel os=ubuntu24.04", True),)

    def check(self, facts: Facts, base: Base | None, flavor: str, os: str, cuda: str) -> list[Evidence]:
        row, release = facts.cuda.toolkits.get(cuda), facts.os.releases.get(os)
        if flavor != "devel" or base is None or row is None or release is None or row.max_gcc is None:
            return []
        values = {"cuda": cuda, "most": str(row.max_gcc), "os": os, "gcc": str(release.gcc)}
        source = facts.cuda.sources[row.source]
        return [self.finds(release.gcc <= row.max_gcc, f"cuda.toolkits.{cuda}.max_gcc", source, values)]
