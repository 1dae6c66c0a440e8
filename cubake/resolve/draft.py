"""From what a cell asks to the stacks that might answer it, newest first. No judgement here: the rules judge.

A framework wheel brings its own CUDA libraries and cuDNN, so those come from the wheel's facts; only a toolkit image
(no framework) takes them from its base.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import IndexBuild, Release, Wheel
from cubake.matrix import Cell
from cubake.resolve.types import Base, Stack

FRAMEWORKS = ("pytorch", "tensorflow")
DISTRIBUTION = {"pytorch": "torch", "tensorflow": "tensorflow"}
LOCAL_CUDA = "cubake/cuda"  # repository of the bases that cubake makes itself


def drafts(cell: Cell, facts: Facts) -> Iterator[Stack]:
    """Every stack the facts can form for the cell; empty where a version asked for does not exist."""
    wanted = [name for name in FRAMEWORKS if cell.get(name)]
    if not wanted:
        yield from _toolkits(cell, facts)
        return
    choices = [_releases(name, cell, facts) for name in wanted]
    for chosen in product(*choices):
        yield _framework_stack(cell, dict(zip(wanted, chosen, strict=True)), facts)


def _releases(name: str, cell: Cell, facts: Facts) -> list[str]:
    known = facts.frameworks[name].releases
    return versions.newest_first(version for version in known if versions.matches(cell.get(name), version))


def _framework_stack(cell: Cell, chosen: dict[str, str], facts: Facts) -> Stack:
    platform = axis(cell, "platform")
    releases = {name: facts.frameworks[name].releases[version] for name, version in chosen.items()}
    lead = wheel_of(next(iter(releases.values())), platform)
    asked_cuda = cell.get("cuda")
    index, build = _index(releases, asked_cuda, platform)
    cuda = (build.cuda if build else lead.cuda) or "none"
    flavor = axis(cell, "flavor")
    base = base_for(cuda, "devel" if flavor == "devel" else "base", axis(cell, "os"), facts)
    return Stack(
        pytorch=chosen.get("pytorch"),
        tensorflow=chosen.get("tensorflow"),
        cuda=cuda,
        toolkit=base.toolkit if base else None,
        cudnn=build.cudnn if build else lead.cudnn,
        python=_python(cell, releases, facts),
        os=axis(cell, "os"),
        flavor=flavor,
        profile=axis(cell, "profile"),
        platform=platform,
        index=index,
        base=base,
        requirements=_requirements(cell, chosen, index, facts),
        constraints=_constraints(releases, platform),
    )


def _index(releases: dict[str, Release], asked: str | None, platform: str) -> tuple[str | None, IndexBuild | None]:
    """PyTorch's own index where the CUDA asked for is not the default wheel's."""
    torch = releases.get("pytorch")
    if platform != "linux/amd64":  # what the facts say of those builds was read for x86-64
        return None, None
    if torch is None or asked is None or versions.matches(versions.minor(asked), wheel_of(torch, platform).cuda):
        return None, None
    for name, build in torch.indexes.items():
        if build.cuda == versions.minor(asked) and not build.default:
            return name, build
    return None, None


def _python(cell: Cell, releases: dict[str, Release], facts: Facts) -> str:
    """The Python asked for, else the distribution's where every wheel has it, else the newest that every wheel has."""
    asked = cell.get("python")
    if asked and asked != versions.ANY:
        return asked
    common: set[str] | None = None
    for release in releases.values():
        has = {tag for tag in wheel_of(release, axis(cell, "platform")).python if not tag.endswith("t")}
        common = has if common is None else common & has
    own = facts.os.releases[axis(cell, "os")].python if axis(cell, "os") in facts.os.releases else None
    if common is None or own in common:
        return own or "3.12"
    return versions.newest_first(common)[0] if common else own or "3.12"


def _requirements(cell: Cell, chosen: dict[str, str], index: str | None, facts: Facts) -> tuple[str, ...]:
    """What the lock starts from; a sibling of torch takes the version that belongs to it."""
    torch = facts.frameworks["pytorch"].releases[chosen["pytorch"]] if "pytorch" in chosen else None
    result = []
    if "pytorch" in chosen:
        result.append(f"torch=={chosen['pytorch']}" + (f"+{index}" if index else ""))
    if "tensorflow" in chosen:
        result.append(f"tensorflow[and-cuda]=={chosen['tensorflow']}")
    for text in cell.pip:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        fits = [fit for fit in (torch.family.get(name, ()) if torch else ()) if requirement.specifier.contains(fit)]
        result.append(f"{name}=={versions.newest_first(fits)[0]}" if fits else text)
    return tuple(result)


def _constraints(releases: dict[str, Release], platform: str) -> tuple[str, ...]:
    """TensorFlow 2.20 and later ask for ranges of CUDA libraries, so that an install years later brings others than
    were tested. Their lower bounds are the versions it was built and tested with: the image pins those."""
    tensorflow = releases.get("tensorflow")
    if tensorflow is None or "pytorch" in releases:  # beside torch, torch's exact pins decide
        return ()
    pins = []
    for package, specifier in sorted(wheel_of(tensorflow, platform).requires.items()):
        lower = [spec.version for spec in SpecifierSet(specifier) if spec.operator == ">="]
        pins += [f"{package}=={version}" for version in lower]
    return tuple(pins)


def _toolkits(cell: Cell, facts: Facts) -> Iterator[Stack]:
    asked, os = cell.get("cuda") or versions.ANY, axis(cell, "os")
    for toolkit in versions.newest_first(known_toolkits(facts)):
        if not versions.matches(asked, toolkit):
            continue
        base = base_for(toolkit, axis(cell, "flavor"), os, facts, cudnn=cell.get("cudnn"))
        yield Stack(
            pytorch=None,
            tensorflow=None,
            cuda=versions.minor(toolkit),
            toolkit=toolkit,
            cudnn=base.cudnn if base else None,
            python=_python(cell, {}, facts),
            os=os,
            flavor=axis(cell, "flavor"),
            profile=axis(cell, "profile"),
            platform=axis(cell, "platform"),
            base=base,
            requirements=cell.pip,
        )


def known_toolkits(facts: Facts) -> set[str]:
    """Every toolkit release X.Y.Z that is an nvidia/cuda image or a set of wheels."""
    return set(facts.base_images.images) | set(facts.components.toolkits)


def base_for(cuda: str, flavor: str, os: str, facts: Facts, *, cudnn: str | None = None) -> Base | None:
    """The newest base of a toolkit (X.Y or X.Y.Z) with the flavour, on the distribution; None where there is none."""
    release = facts.os.releases.get(os)
    if release is None:
        return None
    for toolkit in versions.newest_first(known_toolkits(facts)):
        if not versions.matches(cuda, toolkit):
            continue
        make = _published if release.nvidia_cuda else _local
        base = make(toolkit, flavor, os, cudnn, facts)
        if base:
            return base
    return None


def _published(toolkit: str, flavor: str, os: str, cudnn: str | None, facts: Facts) -> Base | None:
    image = facts.base_images.images.get(toolkit)
    tags = image.os.get(os) if image else None
    if tags is None or tags.end_of_life:
        return None
    for tag in tags.flavors:
        has_cudnn = tag.startswith("cudnn")
        if tag.split("-")[-1] != flavor or has_cudnn != bool(cudnn) or tag.startswith("tensorrt"):
            continue
        if cudnn and not versions.matches(cudnn, tags.cudnn):
            continue
        return Base(f"nvidia/cuda:{toolkit}-{tag}-{os}", "nvidia", toolkit, tag, os, tags.cudnn if cudnn else None)
    return None


def _local(toolkit: str, flavor: str, os: str, cudnn: str | None, facts: Facts) -> Base | None:
    """A base made from NVIDIA's wheels, which hold nvcc from CUDA 13 on only."""
    if toolkit not in facts.components.toolkits or (flavor == "devel" and int(versions.major(toolkit)) < 13):
        return None
    full, tag = None, flavor
    if cudnn:
        full = _local_cudnn(toolkit, cudnn, facts)
        if full is None:
            return None
        tag = f"cudnn-{flavor}"
    return Base(f"{LOCAL_CUDA}:{toolkit}-{tag}-{os}", "local", toolkit, tag, os, full)


def _local_cudnn(toolkit: str, want: str, facts: Facts) -> str | None:
    """The cuDNN of NVIDIA's own image of that toolkit where it has one, else the newest wheel for its CUDA major."""
    image = facts.base_images.images.get(toolkit)
    known = {tags.cudnn for tags in image.os.values() if tags.cudnn} if image else set()
    cuda = f"cu{versions.major(toolkit)}"
    wheels = {v for v, row in facts.cudnn.versions.items() if cuda in row.wheels and not row.wheels[cuda].yanked}
    for version in versions.newest_first(known & wheels) + versions.newest_first(wheels):
        if versions.matches(want, version):
            return version
    return None


def wheel_of(release: Release, platform: str) -> Wheel:
    """The release's default wheel for the platform; a CPU wheel without Pythons where it has none."""
    for name, wheel in release.wheels.items():
        if name == platform:
            return wheel
    return Wheel(cuda=None, python=(), glibc="2.17", bytes=0)


def axis(cell: Cell, name: str) -> str:
    """An axis that the loader always fills (os, flavor, profile, platform)."""
    value = cell.get(name)
    assert value is not None, name
    return value
