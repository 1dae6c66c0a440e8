"""Room 4's door: cells become images with names, layers, floors and checks; the same image asked twice is one.

Pure: locks come in as values, by image name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cubake import versions
from cubake.errors import InputError
from cubake.facts import Facts
from cubake.matrix import Matrix
from cubake.plan.checks import checks_for
from cubake.plan.lock import Lock, LockInput, Package
from cubake.plan.types import Floors, GpuCode, Image, Layer, Plan
from cubake.resolve import RefusedCell, Solved, Stack, solve
from cubake.resolve.rules_gpu import code_of, has_code

NEWEST_GLIBC = "2.40"  # that uv can resolve for; no wheel asks for as new a one
ARCHITECTURE = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
FRAMEWORK_WHEELS = ("torch", "torchaudio", "torchvision", "triton", "tensorflow")


def make_plan(matrix: Matrix, facts: Facts, locks: Mapping[str, Lock]) -> Plan:
    """The plan of a whole matrix, in the order in which its images are best built."""
    outcomes = [solve(cell, facts) for cell in matrix.cells]
    images: dict[str, Image] = {}
    for solved in (one for one in outcomes if isinstance(one, Solved)):
        image = _image(solved, matrix, facts, locks)
        twin = images.setdefault(image.name, image)
        if (twin.stack, twin.profile) != (image.stack, image.profile):
            raise InputError(
                f"{image.position}: {image.name} is asked for twice with different contents, also at {twin.position}",
                "give one of them another profile, or drop it",
            )
    refused = tuple(one for one in outcomes if isinstance(one, RefusedCell))
    return Plan(matrix, tuple(sorted(images.values(), key=_order)), refused)


def image_name(stack: Stack) -> str:
    """``<stack>-cuda<X.Y>-[cudnn<X.Y>-]py<X.Y>-<os>-<flavor>[-<profile>][-arm64]``: folder, tag, label."""
    parts = [f"{name}{version}" for name, version in stack.frameworks]
    parts.append(f"cuda{stack.cuda}")
    if stack.cudnn:
        parts.append(f"cudnn{versions.minor(stack.cudnn)}")
    parts += [f"py{stack.python}", stack.os, stack.flavor]
    if stack.profile != "prod":
        parts.append(stack.profile)
    if stack.platform != "linux/amd64":
        parts.append(stack.platform.rpartition("/")[2])
    return "-".join(parts)


def lock_input(stack: Stack, facts: Facts) -> LockInput:
    """What has to be locked for a stack. pip comes along: people expect to add packages of their own."""
    glibc = min(facts.os.releases[stack.os].glibc, NEWEST_GLIBC, key=versions.key).replace(".", "_")
    platform = f"{ARCHITECTURE[stack.platform]}-manylinux_{glibc}"
    return LockInput((*stack.requirements, "pip"), stack.constraints, stack.python, platform, stack.index)


def layers_of(lock: Lock) -> tuple[Layer, ...]:
    """The CUDA libraries first, which many images share; then the packages; then the framework itself."""
    titles: dict[str, list[Package]] = {"CUDA libraries": [], "packages": [], "framework": []}
    for package in lock.packages:
        if package.name in FRAMEWORK_WHEELS:
            titles["framework"].append(package)
        else:
            titles["CUDA libraries" if package.name.startswith("nvidia-") else "packages"].append(package)
    return tuple(Layer(title, tuple(packages)) for title, packages in titles.items() if packages)


def served(images: Iterable[Image], drivers: Iterable[str]) -> dict[str, int]:
    """How many of the images each driver of the fleet is new enough for, by the floor of its CUDA libraries."""
    floors = [versions.key(image.floors.library) for image in images]
    return {driver: sum(floor <= versions.key(driver) for floor in floors) for driver in drivers}


def covered(images: Iterable[Image], gpus: Iterable[str]) -> dict[str, int]:
    """How many of the framework images have code for each GPU of the fleet (``sm_86``), in each framework."""
    framework = [image for image in images if image.stack.frameworks]
    return {
        gpu: sum(all(has_code(gpu, code.sass, code.ptx) for code in image.codes) for image in framework) for gpu in gpus
    }


def _image(solved: Solved, matrix: Matrix, facts: Facts, locks: Mapping[str, Lock]) -> Image:
    stack, name = solved.stack, image_name(solved.stack)
    asked, lock = lock_input(stack, facts), locks.get(name)
    toolkit = facts.cuda.toolkits[stack.cuda]
    return Image(
        name=name,
        tag=f"{matrix.repository}:{name}",
        stack=stack,
        because=solved.because,
        position=solved.cell.position,
        profile=matrix.profiles[stack.profile],
        lock_input=asked,
        lock=lock,
        stale=lock is not None and not lock.answers(asked),
        layers=layers_of(lock) if lock else (),
        floors=Floors(toolkit.library_floor, _ptx_floor(toolkit.drivers, stack.toolkit)),
        codes=_codes(stack, facts),
        checks=checks_for(stack),
    )


def _ptx_floor(drivers: Mapping[str, str | None], toolkit: str | None) -> str | None:
    """The driver bundled with the toolkit; of an update without one (12.8.2: cuBLAS alone), its predecessor's."""
    for version in versions.newest_first(drivers):
        if toolkit and drivers[version] and versions.key(version) <= versions.key(toolkit):
            return drivers[version]
    return None


def _codes(stack: Stack, facts: Facts) -> tuple[GpuCode, ...]:
    return tuple(
        GpuCode(name, *code_of(name, version, stack.index, stack.platform, facts)) for name, version in stack.frameworks
    )


def _order(image: Image) -> tuple[object, ...]:
    """Images that share layers stand together, newest framework first; profiles last, since they share everything."""
    stack = image.stack
    newest = tuple(-part for _, version in stack.frameworks for part in versions.key(version).release)
    names = tuple(name for name, _ in stack.frameworks)
    python = versions.key(stack.python).release
    return (not names, names, newest, stack.cuda, stack.os, python, stack.flavor, stack.profile != "prod", image.name)
