"""From what a cell asks to the stacks that might answer it, those first that are preferred. No judgement here: the
rules judge.

A framework wheel brings its own CUDA libraries and cuDNN, so those come from the wheel's facts; only a toolkit image
(no framework) takes them from its base. Each part is found once for the values it depends on: a matrix asks for the
same parts thousands of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Wheel
from cubake.matrix import Cell
from cubake.resolve.bases import base_for, known_toolkits
from cubake.resolve.host import Gpu, find_gpu
from cubake.resolve.types import FRAMEWORKS, Draft

Frameworks = tuple[tuple[str, str], ...]  # (name, full version), in the order of FRAMEWORKS
PTXAS = "nvidia-cuda-nvcc-cu12"  # the wheel that holds ptxas and libdevice
_cached = lru_cache(maxsize=65536)


class Build(NamedTuple):
    """One CUDA build of the leading framework; ``torch_index`` is None for the one on the package index."""

    torch_index: str | None
    cuda: str
    cudnn: str | None


def drafts(cell: Cell, facts: Facts) -> Iterator[Draft]:
    """Every stack the facts can form for the cell; empty where a version asked for does not exist."""
    wanted = [name for name in FRAMEWORKS if cell.get(name)]
    if not wanted:
        yield from _toolkits(cell, facts)
        return
    cuda, platform = cell.get("cuda"), axis(cell, "platform")
    choices = [_releases(name, axis(cell, name), facts) for name in wanted]
    for only in _passes(cell, wanted):
        for chosen in product(*choices):
            frameworks = tuple(zip(wanted, chosen, strict=True))
            for build in _builds(frameworks, cuda, platform, only, facts):
                yield _framework_draft(cell, frameworks, build, facts)


def _passes(cell: Cell, wanted: list[str]) -> tuple[str, ...]:
    """Which builds are tried. Without a reason to do otherwise the default ones; a host or a CUDA that was named may
    need another; two frameworks take another where no default one serves both."""
    if cell.get("cuda") or cell.get("driver") or cell.get("gpu"):
        return ("all",)
    return ("default", "others") if len(wanted) > 1 else ("default",)


@_cached
def _releases(name: str, want: str, facts: Facts) -> tuple[str, ...]:
    known = facts.frameworks[name].releases
    return tuple(versions.newest_first(version for version in known if versions.matches(want, version)))


@_cached
def _builds(frameworks: Frameworks, asked: str | None, platform: str, only: str, facts: Facts) -> tuple[Build, ...]:
    """The default build first, then those of PyTorch's own index, newest CUDA first. A CUDA that no build has gives the
    default one: the rules then say what there is."""
    name, version = frameworks[0]
    release = facts.frameworks[name].releases[version]
    wheel = wheel_of(name, version, platform, facts)
    default = Build(None, wheel.cuda or "none", wheel.cudnn)
    others = []
    if platform == "linux/amd64":  # what the facts say of those builds was read for x86-64
        named = [Build(index, row.cuda, row.cudnn) for index, row in release.indexes.items() if not row.default]
        others = sorted(named, key=lambda build: versions.key(build.cuda), reverse=True)
    found = {"default": [default], "others": others, "all": [default, *others]}[only]
    if asked is None:
        return tuple(found)
    return tuple(build for build in found if versions.matches(versions.minor(asked), build.cuda)) or (default,)


def _framework_draft(cell: Cell, frameworks: Frameworks, build: Build, facts: Facts) -> Draft:
    os, flavor, platform = axis(cell, "os"), axis(cell, "flavor"), axis(cell, "platform")
    base = base_for(build.cuda, "devel" if flavor == "devel" else "base", os, facts)
    extra = _takes_extra(frameworks, build, platform, facts)
    return Draft(
        frameworks=frameworks,
        cuda=build.cuda,
        toolkit=base.toolkit if base else None,
        cudnn=build.cudnn,
        python=_python(cell.get("python"), frameworks, os, platform, facts),
        os=os,
        flavor=flavor,
        platform=platform,
        torch_index=build.torch_index,
        base=base,
        extra=extra,
        pip=cell.pip,
        requirements=_requirements(frameworks, build.torch_index, cell.pip, extra, facts),
        constraints=_constraints(frameworks, build, platform, facts),
        asked_cuda=cell.get("cuda"),
        asked_cudnn=cell.get("cudnn"),
        driver=cell.get("driver"),
        gpu=_gpu_of(cell, facts),
    )


def _gpu_of(cell: Cell, facts: Facts) -> Gpu | None:
    gpu = cell.get("gpu")
    return _gpu(gpu, facts) if gpu else None


_gpu = _cached(find_gpu)


@_cached
def _python(asked: str | None, frameworks: Frameworks, os: str, platform: str, facts: Facts) -> str:
    """The Python asked for, else the distribution's where every wheel has it, else the newest that every wheel has and
    some distribution ships: of a newer one the packages beside the framework often have no wheels yet."""
    if asked and asked != versions.ANY:
        return asked
    common: set[str] | None = None
    for name, version in frameworks:
        has = {tag for tag in wheel_of(name, version, platform, facts).python if not tag.endswith("t")}
        common = has if common is None else common & has
    own = facts.os.releases[os].python if os in facts.os.releases else None
    if common is None or own in common:
        return own or "3.12"
    shipped = common & {row.python for row in facts.os.releases.values()}
    return versions.newest_first(shipped or common)[0] if common else own or "3.12"


@_cached
def _requirements(
    frameworks: Frameworks, index: str | None, pip: tuple[str, ...], extra: bool, facts: Facts
) -> tuple[str, ...]:
    """What the lock starts from; a sibling of torch takes the version that belongs to it."""
    chosen = dict(frameworks)
    torch = facts.frameworks["pytorch"].releases[chosen["pytorch"]] if "pytorch" in chosen else None
    result = []
    if "pytorch" in chosen:
        result.append(f"torch=={chosen['pytorch']}" + (f"+{index}" if index else ""))
    if "tensorflow" in chosen:
        result.append(f"tensorflow{'[and-cuda]' if extra else ''}=={chosen['tensorflow']}")
    if not extra:  # what the extra would have brought besides libraries: ptxas and libdevice, for XLA
        result.append(PTXAS)
    for text in pip:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        fits = [fit for fit in (torch.family.get(name, ()) if torch else ()) if requirement.specifier.contains(fit)]
        result.append(f"{name}=={versions.newest_first(fits)[0]}" if fits else text)
    return tuple(result)


@_cached
def _constraints(frameworks: Frameworks, build: Build, platform: str, facts: Facts) -> tuple[str, ...]:
    """What the lock may not go beyond. TensorFlow 2.20 and later ask for ranges of CUDA libraries, so that an install
    years later brings others than were tested: alone, the image pins their lower bounds, which are those it was built
    and tested with. Beside torch, torch's exact pins decide, and ptxas comes from the same toolkit. torch names no
    NumPy, so that one compiled for NumPy 1 would get NumPy 2."""
    chosen, pins = dict(frameworks), []
    if "tensorflow" in chosen:
        requires = wheel_of("tensorflow", chosen["tensorflow"], platform, facts).requires
        if "pytorch" not in chosen:
            pins += [f"{name}=={low}" for name, text in sorted(requires.items()) if (low := _range_from(text))]
        elif PTXAS in requires and PTXAS in components(build.cuda, facts):
            pins.append(f"{PTXAS}=={components(build.cuda, facts)[PTXAS]}")
    if "pytorch" in chosen and (numpy := facts.frameworks["pytorch"].releases[chosen["pytorch"]].numpy):
        pins.append(f"numpy{numpy}")
    return tuple(pins)


def _range_from(specifier: str) -> str | None:
    return next((spec.version for spec in SpecifierSet(specifier) if spec.operator == ">="), None)


@_cached
def components(cuda: str, facts: Facts) -> dict[str, str]:
    """The wheels of the newest update of a toolkit X.Y, by package; none where it has none."""
    toolkits = [version for version in facts.components.toolkits if versions.minor(version) == cuda]
    return facts.components.toolkits[versions.newest_first(toolkits)[0]].packages if toolkits else {}


@_cached
def pins_of(
    frameworks: Frameworks, cuda: str, cudnn: str | None, torch_index: str | None, platform: str, facts: Facts
) -> dict[str, str]:
    """The CUDA libraries that the leading framework pins, as specifiers. Of a build from PyTorch's own index as far as
    they are known: the components of its toolkit, its cuDNN, and NCCL."""
    if torch_index is None:
        return dict(wheel_of(*frameworks[0], platform, facts).requires)
    pins = {package: f"=={pin}" for package, pin in components(cuda, facts).items()}
    if cudnn:
        pins[f"nvidia-cudnn-cu{versions.major(cuda)}"] = f"=={cudnn}"
    default = wheel_of(*frameworks[0], platform, facts).requires  # NCCL is the same for builds of one CUDA major
    return pins | {name: pin for name, pin in default.items() if name == f"nvidia-nccl-cu{versions.major(cuda)}"}


@_cached
def _takes_extra(frameworks: Frameworks, build: Build, platform: str, facts: Facts) -> bool:
    """Whether TensorFlow's and-cuda extra can stand beside the other framework's pins. Where its own pins are others
    than those, it is installed without, and uses the libraries that are there (R-009 says whether it can)."""
    if len(frameworks) < 2:
        return True
    theirs = wheel_of(*frameworks[1], platform, facts).requires
    ours = pins_of(frameworks, build.cuda, build.cudnn, build.torch_index, platform, facts)
    return all(admits(theirs[name], pin) for name, pin in ours.items() if name in theirs)


def admits(specifier: str, exact: str) -> bool:
    """Whether what one side pins exactly (``==1.2`` or ``==1.2.*``) is within what the other asks for."""
    pins = [spec.version.removesuffix(".*") for spec in SpecifierSet(exact) if spec.operator == "=="]
    return all(pin in SpecifierSet(specifier) for pin in pins)


def _toolkits(cell: Cell, facts: Facts) -> Iterator[Draft]:
    asked, os = cell.get("cuda") or versions.ANY, axis(cell, "os")
    flavor, platform = axis(cell, "flavor"), axis(cell, "platform")
    for toolkit in known_toolkits(facts):
        if not versions.matches(asked, toolkit):
            continue
        base = base_for(toolkit, flavor, os, facts, cudnn=cell.get("cudnn"))
        yield Draft(
            frameworks=(),
            cuda=versions.minor(toolkit),
            toolkit=toolkit,
            cudnn=base.cudnn if base else None,
            python=_python(cell.get("python"), (), os, platform, facts),
            os=os,
            flavor=flavor,
            platform=platform,
            torch_index=None,
            base=base,
            extra=True,
            pip=cell.pip,
            requirements=cell.pip,
            constraints=(),
            asked_cuda=cell.get("cuda"),
            asked_cudnn=cell.get("cudnn"),
            driver=cell.get("driver"),
            gpu=_gpu_of(cell, facts),
        )


@_cached
def wheel_of(name: str, version: str, platform: str, facts: Facts) -> Wheel:
    """The release's default wheel for the platform; a CPU wheel without Pythons where it has none."""
    for where, wheel in facts.frameworks[name].releases[version].wheels.items():
        if where == platform:
            return wheel
    return Wheel(cuda=None, python=(), glibc="2.17", bytes=0)


@_cached
def known_pythons(facts: Facts) -> tuple[str, ...]:
    """Every Python that a framework has wheels for or a distribution ships, oldest first; no free-threaded ones."""
    releases = (row for file in facts.frameworks.values() for row in file.releases.values())
    tags = {tag for row in releases for wheel in row.wheels.values() for tag in wheel.python if not tag.endswith("t")}
    return tuple(sorted(tags | {row.python for row in facts.os.releases.values()}, key=versions.key))


def axis(cell: Cell, name: str) -> str:
    """An axis that the loader always fills (os, flavor, profile, platform)."""
    value = cell.get(name)
    assert value is not None, name
    return value
