"""The rules about the host's GPU: whether there is code for it, the fourth verdict. What a rule is: ``rules``."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.specifiers import SpecifierSet

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Advisory
from cubake.resolve.bases import by_compat
from cubake.resolve.draft import Frameworks, wheel_of
from cubake.resolve.host import Gpu, driver_cuda
from cubake.resolve.rules import Example, Rule, build_fact
from cubake.resolve.types import DISTRIBUTION, Base, Evidence


class Kernels(Rule):
    """There must be code for the GPU in each framework's own wheel: machine code (SASS) of its major capability with no
    newer minor, else PTX no newer than the GPU, which the driver compiles at first use. Which toolkit or driver the
    host has changes nothing about it. Exact names need not match: sm_86 code runs on 8.9.

    Take a build with code for this generation: Blackwell from CUDA 12.8, Maxwell to Volta up to CUDA 12.6.
    """

    id = "R-025"
    verdict = "kernels"
    facts = ("pytorch.releases.*.wheels.*.sass", "pytorch.releases.*.indexes.*.sass",
             "tensorflow.releases.*.wheels.*.ptx", "cuda.toolkits.*.capabilities", "advisories.advisories")  # fmt: skip
    examples = (
        Example("pytorch=2.5 gpu=sm_89", True),
        Example("pytorch=2.8 cuda=12.8 gpu=sm_61", False),
        Example("pytorch=2.8 cuda=12.8 gpu=sm_70", True),
        Example("tensorflow=2.20 gpu=sm_120", False),
        Example("tensorflow=2.15.1 python=3.11 gpu=sm_90", True),
    )

    def check(
        self,
        facts: Facts,
        frameworks: Frameworks,
        torch_index: str | None,
        platform: str,
        cuda: str,
        driver: str | None,
        gpu: Gpu | None,
        base: Base | None,
    ) -> list[Evidence]:
        if gpu is None:
            return []
        if not frameworks:
            return self._toolkit(cuda, gpu, facts)
        found = []
        for name, version in frameworks:
            sass, ptx = code_of(name, version, torch_index, platform, facts)
            fact, source = build_fact(name, version, torch_index, facts)
            values = {"framework": f"{name} {version}", "gpu": called(gpu)}
            if broken := _advisory(name, version, gpu, facts):
                values["how"] = f"{broken.text}; {broken.remedy}"
                stated = facts.advisories.sources[broken.source]
                found.append(self.finds(False, "advisories.advisories", stated, values))
                continue
            binary, compiled = has_code(gpu.sm, sass, ()), has_code(gpu.sm, (), ptx)
            level = driver_cuda(driver, facts) if driver else None
            old = not binary and compiled and level is not None and _older(level, cuda)
            old = old and not by_compat(driver or "", gpu, base, cuda, facts)
            values["how"] = _how(gpu, sass, ptx, binary=binary, old=old)
            found.append(self.finds((binary or compiled) and not old, fact, source, values))
        return found

    def _toolkit(self, cuda: str, gpu: Gpu, facts: Facts) -> list[Evidence]:
        row = facts.cuda.toolkits.get(cuda)
        if row is None:
            return []
        has = [f"sm_{capability.replace('.', '')}" for capability in row.capabilities]
        values = {"framework": f"CUDA {cuda}", "gpu": called(gpu)}
        ok = has_code(gpu.sm, has, ())
        values["how"] = "its libraries know the generation" if ok else f"its libraries know {', '.join(has)}"
        return [self.finds(ok, f"cuda.toolkits.{cuda}.capabilities", facts.cuda.sources[row.source], values)]


def _how(gpu: Gpu, sass: Iterable[str], ptx: Iterable[str], *, binary: bool, old: bool) -> str:
    if binary:
        fits = [arch for arch in sass if has_code(gpu.sm, (arch,), ())]
        return f"machine code of {fits[-1]}"
    fits = [arch for arch in ptx if has_code(gpu.sm, (), (arch,))]
    if not fits:
        return f"it holds {', '.join((*sass, *ptx)) or 'no GPU code'}"
    if old:
        return f"only PTX ({fits[-1]}), which this driver is too old to compile"
    return f"PTX of {fits[-1]}, compiled at first use for up to half an hour; keep the cache (CUDA_CACHE_PATH)"


def _older(level: str, cuda: str) -> bool:
    return cuda != "none" and versions.key(level) < versions.key(cuda)  # a CPU build is R-011's


def _advisory(name: str, version: str, gpu: Gpu, facts: Facts) -> Advisory | None:
    for row in facts.advisories.advisories.values():
        on_gpu = row.capabilities and gpu.capability in SpecifierSet(row.capabilities)
        if on_gpu and row.package == DISTRIBUTION[name] and version in SpecifierSet(row.versions):
            return row
    return None


class CudnnKernels(Rule):
    """cuDNN drops old generations: from 9.11 (CUDA 12) there is nothing below compute capability 7.5, although a
    framework may still have code for it. A convolution then fails.

    Take a build that pins an older cuDNN (9.10.2 is the last for Maxwell, Pascal and Volta).
    """

    id = "R-019"
    verdict = "kernels"
    facts = ("cudnn.versions.*.min_capability",)
    examples = (
        Example("pytorch=2.8 cuda=12.6 gpu=sm_61", True),
        Example("cuda=12.9 cudnn=9.28 os=debian12 gpu=sm_61", False),
    )

    def check(self, facts: Facts, cudnn: str | None, gpu: Gpu | None) -> list[Evidence]:
        row = facts.cudnn.versions.get(cudnn or "")
        if row is None or gpu is None:
            return []
        ok = versions.key(gpu.capability) >= versions.key(row.min_capability)
        values = {"cudnn": cudnn or "", "least": row.min_capability, "gpu": called(gpu)}
        return [self.finds(ok, f"cudnn.versions.{cudnn}.min_capability", facts.cudnn.sources[row.source], values)]


def code_of(
    name: str, version: str, torch_index: str | None, platform: str, facts: Facts
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The GPU code of one framework's wheel: (machine code, PTX)."""
    row = facts.frameworks[name].releases[version].indexes.get(torch_index or "") if name == "pytorch" else None
    build = row or wheel_of(name, version, platform, facts)
    return build.sass, build.ptx


def has_code(gpu: str, sass: Iterable[str], ptx: Iterable[str]) -> bool:
    """Machine code runs on its own major capability from its minor on; PTX compiles for every later capability
    (CUDA programming guide, binary and PTX compatibility)."""
    device = _capability(gpu)
    binary = (_capability(arch) for arch in sass)
    return any(a[0] == device[0] and a <= device for a in binary) or any(_capability(arch) <= device for arch in ptx)


def _capability(arch: str) -> tuple[int, int]:
    digits = arch.partition("_")[2]
    return int(digits[:-1]), int(digits[-1])


def called(gpu: Gpu | None) -> str:
    if gpu is None:
        return "a GPU that was not named"
    return f"{gpu.name} ({gpu.sm})" if gpu.name else gpu.sm
