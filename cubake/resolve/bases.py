"""Which image a stack starts from: a tag of nvidia/cuda, or a base that cubake makes from NVIDIA's wheels."""

from __future__ import annotations

from functools import lru_cache

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import BaseImage, Gate
from cubake.resolve.host import Gpu, at_least, driver_branch
from cubake.resolve.types import Base

LOCAL_CUDA = "cubake/cuda"  # repository of the bases that cubake makes itself


@lru_cache(maxsize=64)
def known_toolkits(facts: Facts) -> tuple[str, ...]:
    """Every toolkit release X.Y.Z that is an nvidia/cuda image or a set of wheels, newest first."""
    return tuple(versions.newest_first(set(facts.base_images.images) | set(facts.components.toolkits)))


@lru_cache(maxsize=65536)
def base_for(cuda: str, flavor: str, os: str, facts: Facts, *, cudnn: str | None = None) -> Base | None:
    """The newest base of a toolkit (X.Y or X.Y.Z) with the flavour, on the distribution; None where there is none."""
    release = facts.os.releases.get(os)
    if release is None:
        return None
    make = _published if release.nvidia_cuda else _local
    for toolkit in known_toolkits(facts):
        if versions.matches(cuda, toolkit) and (base := make(toolkit, flavor, os, cudnn, facts)):
            return base
    return None


@lru_cache(maxsize=256)
def gate_of(toolkit: str, facts: Facts) -> tuple[str, Gate] | None:
    """The start gate of a toolkit's images and the toolkit whose image it was read from: of one that was not read, the
    newest of its minor that was, since updates of one minor share it. None where none was read."""
    images = facts.base_images.images
    minor = [version for version in images if versions.minor(version) == versions.minor(toolkit)]
    for version in [toolkit, *versions.newest_first(minor)]:
        if version in images and (row := images[version].gate):
            return version, row
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


def compat_image(base: Base | None, facts: Facts) -> BaseImage | None:
    """The row of a base that brings cuda-compat: nvidia/cuda images do, local bases do not."""
    return facts.base_images.images.get(base.toolkit) if base and base.kind == "nvidia" else None


def forward(driver: str, gpu: Gpu | None, base: Base | None, facts: Facts) -> bool:
    """Whether the base's cuda-compat runs on a driver: of a branch that its gate lists, on a data-center GPU."""
    image = compat_image(base, facts)
    if image is None or image.gate is None or gpu is None or gpu.kind != "data center":
        return False
    return driver_branch(driver) in image.gate.branches


def by_compat(driver: str, gpu: Gpu | None, base: Base | None, cuda: str, facts: Facts) -> bool:
    """Whether libraries of that CUDA can only run there by the base's cuda-compat: below their floor. Its own libcuda
    then compiles PTX. On a driver that runs them anyway it depends on the host's container toolkit which one does."""
    row = facts.cuda.toolkits.get(cuda)
    below = row is not None and not at_least(driver, row.library_floor)
    return below and forward(driver, gpu, base, facts)
