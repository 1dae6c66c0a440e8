"""The rules about the image: its distribution and the base it starts from. For what a rule is, see ``rules``."""

from __future__ import annotations

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Source
from cubake.matrix import Cell
from cubake.resolve.draft import base_for
from cubake.resolve.rules import Rule, cuda_releases, releases
from cubake.resolve.types import Evidence, Stack


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


class BaseTag(Rule):
    """The image to start from must exist: NVIDIA publishes some toolkits, flavours and distributions only, and
    deletes tags past their end of life; a base made from wheels has nvcc from CUDA 13 on.

    Take one of the toolkits or the flavour named.
    """

    id = "R-006"

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        if stack.os not in facts.os.releases or len(cuda_releases(stack, facts)) < len(stack.frameworks):
            return []
        asked = cell.get("flavor") or "runtime"
        flavor = asked if not stack.frameworks or asked == "devel" else "base"
        cudnn = None if stack.frameworks else cell.get("cudnn")
        values = {"cuda": stack.cuda if stack.frameworks else stack.toolkit or stack.cuda, "os": stack.os}
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
        source, os = facts.base_images.sources["dockerfiles"], facts.os.releases[stack.os]
        return [self.finds(False, "base_images.images", source, values, absent=os.nvidia_cuda)]


def _base_source(stack: Stack, facts: Facts) -> tuple[str, Source]:
    assert stack.base is not None
    if stack.base.kind == "nvidia":
        row = facts.base_images.images[stack.base.toolkit]
        return "base_images.images", facts.base_images.sources[row.source]
    parts = facts.components.toolkits[stack.base.toolkit]
    return "components.toolkits", facts.components.sources[parts.source]


def _why_no_base(stack: Stack, flavor: str, facts: Facts) -> str:
    if facts.os.releases[stack.os].nvidia_cuda:
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
