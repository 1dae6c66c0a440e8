"""The rules about the host's driver. They give three of the four verdicts (design section 3): whether a container
starts, its CUDA libraries run, and new PTX is compiled. What a rule is: ``rules``."""

from __future__ import annotations

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Gate
from cubake.resolve import gate
from cubake.resolve.bases import by_compat, compat_image, forward, gate_of
from cubake.resolve.host import Gpu, at_least, driver_branch, driver_cuda
from cubake.resolve.rules import Example, Rule
from cubake.resolve.rules_gpu import called
from cubake.resolve.types import Base, Evidence


class LibraryFloor(Rule):
    """CUDA libraries run on any driver from the floor of their major on (11.x: 450.80.02, 12.x: 525.60.13, 13.x: 580;
    minor-version compatibility). The toolkit's own driver is not the floor. Below it there is forward compatibility
    (R-021).

    Take an image of an older CUDA major, or a newer driver.
    """

    id = "R-020"
    verdict = "runs"
    facts = ("cuda.toolkits.*.library_floor", "gpus.branches.*.cuda")
    examples = (
        Example("pytorch=2.5 cuda=12.4 driver=535.104.05", True),
        Example("pytorch=2.1.0 cuda=12.1 driver=470.182.03", False),
        Example("pytorch=2.1.0 cuda=11.8 driver=470.182.03", True),
    )

    def check(self, facts: Facts, cuda: str, driver: str | None, gpu: Gpu | None, base: Base | None) -> list[Evidence]:
        row = facts.cuda.toolkits.get(cuda)
        if driver is None or row is None:
            return []
        ok = at_least(driver, row.library_floor)
        if not ok and forward(driver, gpu, base, facts):
            return []  # R-021 says how it runs
        values = {"major": versions.major(cuda), "cuda": cuda, "floor": row.library_floor, "driver": driver}
        values["level"] = driver_cuda(driver, facts) or "older than any known"
        return [self.finds(ok, f"cuda.toolkits.{cuda}.library_floor", facts.cuda.sources[row.source], values)]


class ForwardCompatibility(Rule):
    """The cuda-compat libraries of nvidia/cuda images let some older driver branches run a newer CUDA, on data-center
    GPUs only: a GeForce or TITAN refuses them (error 804). Which branches is what the image's start gate lists.

    Take an image of an older CUDA, or a newer driver.
    """

    id = "R-021"
    verdict = "runs"
    facts = ("base_images.images.*.gate", "gpus.models")
    examples = (
        Example("pytorch=2.5 cuda=12.4 driver=470.82 gpu=T4", True),
        Example("pytorch=2.5 cuda=12.4 driver=470.82 gpu='RTX 3090'", None),
    )

    def check(self, facts: Facts, cuda: str, driver: str | None, gpu: Gpu | None, base: Base | None) -> list[Evidence]:
        row = facts.cuda.toolkits.get(cuda)
        if driver is None or row is None or at_least(driver, row.library_floor):
            return []
        image = compat_image(base, facts)
        if base is None or image is None or not image.gate or driver_branch(driver) not in image.gate.branches:
            return []
        ok = forward(driver, gpu, base, facts)
        values = {"base": base.reference, "branch": str(driver_branch(driver)), "cuda": cuda, "gpu": called(gpu)}
        source = facts.base_images.sources[image.source]
        return [self.finds(ok, f"base_images.images.{base.toolkit}.gate", source, values, warns=not ok)]


class GpuDriver(Rule):
    """A GPU needs a driver that knows it: the branch that came with its CUDA, whatever the image holds; and the oldest
    generations end with R580.

    Change the driver; no image can make up for it.
    """

    id = "R-022"
    verdict = "runs"
    facts = ("gpus.capabilities.*.branch_min", "gpus.capabilities.*.branch_last")
    examples = (
        Example("pytorch=2.7 cuda=12.8 driver=570.144 gpu=sm_120", True),
        Example("pytorch=2.7 cuda=12.8 driver=550.144.03 gpu=sm_120", False),
        Example("pytorch=2.7 cuda=12.6 driver=590.48.01 gpu=V100", False),
    )

    def check(self, facts: Facts, driver: str | None, gpu: Gpu | None) -> list[Evidence]:
        row = facts.gpus.capabilities.get(gpu.capability) if gpu else None
        if driver is None or gpu is None or row is None:
            return []
        branch = driver_branch(driver)
        early = row.branch_min is not None and branch < row.branch_min
        late = row.branch_last is not None and branch > row.branch_last
        needs = f"R{row.branch_last} or older" if late else f"R{row.branch_min} or newer" if row.branch_min else "any"
        values = {"gpu": called(gpu), "arch": row.arch, "needs": needs, "driver": driver}
        fact = f"gpus.capabilities.{gpu.capability}.branch_{'last' if late else 'min'}"
        return [self.finds(not (early or late), fact, facts.gpus.sources[row.source], values)]


class StartGate(Rule):
    """Before a container starts, NVIDIA's container runtime evaluates NVIDIA_REQUIRE_CUDA of the image: the driver's
    CUDA must be as new as the image's, or brand and driver branch must be among those listed (spaces mean OR, commas
    AND; several variables must all hold). The gate is stricter than the libraries, and passing it is no promise that
    they run. Where a GPU is handed over by CDI, current runtimes do not look at it.

    Take an image whose gate the driver satisfies. NVIDIA_DISABLE_REQUIRE=1 lets it start all the same: the libraries
    then run from their floor on, but no newer PTX and no newer GPU.
    """

    id = "R-023"
    verdict = "starts"
    facts = ("base_images.images.*.gate", "gpus.branches.*.cuda", "gpus.models")
    examples = (
        Example("pytorch=2.5 cuda=12.4 driver=535.104 gpu='RTX 3090'", True),
        Example("pytorch=2.5 cuda=12.4 driver=545.23 gpu='RTX 3090'", False),
        Example("pytorch=2.7 cuda=12.8 driver=550.144.03 gpu='RTX 3090'", False),
    )

    def check(self, facts: Facts, driver: str | None, gpu: Gpu | None, base: Base | None) -> list[Evidence]:
        if driver is None or base is None:
            return []
        read = gate_of(base.toolkit, facts)  # a local base carries the same gate
        level = driver_cuda(driver, facts)
        asked = versions.minor(base.toolkit)
        brands = gpu.brands if gpu else frozenset()
        row = read[1] if read else None
        text = gate.expression(asked, row.branches if row else (), row.brands if row else ())
        arch = gpu.capability if gpu else None
        answer = gate.evaluate({"NVIDIA_REQUIRE_CUDA": text}, gate.GateHost(driver, level, arch, brands))
        # A gate that was not read asks for its own CUDA at least; which branches it lets in besides is not known.
        ok = answer.ok if row or answer.ok or base.kind == "local" else None
        values = {
            "base": base.reference,
            "driver": driver,
            "level": level or "older than any known",
            "gpu": called(gpu),
        }
        values["wants"] = _wants(asked, row, local=base.kind == "local")
        where = read[0] if read else base.toolkit
        image = facts.base_images.images.get(where)
        source = facts.base_images.sources[image.source if image else "dockerfiles"]
        fact = f"base_images.images.{where}.gate" if row else "base_images.images"
        return [self.finds(ok, fact, source, values)]


class PtxFloor(Rule):
    """PTX is compiled on the host by the driver, which knows PTX up to its own CUDA: code that brings PTX from a newer
    toolkit fails with "the provided PTX was compiled with an unsupported toolchain". Minor-version compatibility does
    not cover it; machine code is not affected.

    Take an image of the driver's own CUDA or older, or a driver of the toolkit's CUDA, where PTX is made in the image.
    """

    id = "R-024"
    verdict = "jits"
    facts = ("gpus.branches.*.cuda",)
    examples = (
        Example("pytorch=2.5 cuda=12.4 driver=550.54.14", True),
        Example("cuda=13.0 flavor=devel driver=580.126.09 os=ubuntu24.04", True),
        Example("pytorch=2.15 cuda=13.2 driver=580.126.09 python=3.12", None),
    )

    def check(self, facts: Facts, driver: str | None, gpu: Gpu | None, base: Base | None, cuda: str) -> list[Evidence]:
        level = driver_cuda(driver, facts) if driver else None
        if driver is None or level is None or cuda not in facts.cuda.toolkits:
            return []
        ok = versions.key(level) >= versions.key(cuda)
        values = {"driver": driver, "level": level, "cuda": cuda, "who": f"driver {driver} (CUDA {level})"}
        if not ok and base and by_compat(driver, gpu, base, cuda, facts):  # its libcuda is of the toolkit's own CUDA
            ok, values["who"] = True, f"cuda-compat of {base.reference}"
        row = next(row for row in facts.gpus.branches.values() if row.cuda == level)
        wanted = next((branch for branch, one in facts.gpus.branches.items() if one.cuda == cuda), None)
        values["wanted"] = f"R{wanted}" if wanted else "a newer driver"
        return [self.finds(ok, "gpus.branches.*.cuda", facts.gpus.sources[row.source], values, warns=not ok)]


def _wants(cuda: str, row: Gate | None, *, local: bool) -> str:
    """The gate in words."""
    if row is None:
        return f"cuda>={cuda}" + ("" if local else ", or what else it names, which was not read")
    brands = "GeForce and others" if "geforce" in row.brands else "data-center and workstation brands"
    branches = ", ".join(map(str, row.branches))
    return f"cuda>={cuda}" + (f", or driver branch {branches} on {brands}" if branches else "")
