"""Fixtures that several rooms share: the shipped facts, plans of small matrices, and locks without a network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cubake.facts import Facts
from cubake.facts import load as load_facts
from cubake.matrix import load_matrix
from cubake.plan import Image, Lock, Package, Plan, lock_text, make_plan, parse_lock

HEAD = "version: 1\nrepository: registry.example/gpu\n"
COMMON = {"numpy": "2.2.6", "pip": "25.3", "filelock": "3.20.0"}
CUDA_12_4 = {"nvidia-cublas-cu12": "12.4.5.8", "nvidia-cudnn-cu12": "9.1.0.70", "nvidia-nccl-cu12": "2.21.5"}
CUDA_12_5 = {"nvidia-cublas-cu12": "12.5.3.2", "nvidia-cudnn-cu12": "9.3.0.75", "nvidia-nccl-cu12": "2.21.5"}


@pytest.hookimpl(tryfirst=True)
def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """pytest passes over folders called `build` unless told otherwise; here that is a room with tests."""
    return False if collection_path == Path(__file__).parent / "build" else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def facts() -> Facts:
    return load_facts()


def package(name: str, version: str) -> Package:
    """A wheel whose hash and size follow from its name, so that the same wheel is the same everywhere."""
    digest = hashlib.sha256(f"{name}=={version}".encode()).hexdigest()
    return Package(name, version, digest, 1000 * len(name))


def wheels(image: Image) -> tuple[Package, ...]:
    """A small closure of the image's stack; not what an index would give, and not asked of one."""
    stack, found = image.stack, {"pip": "25.3"}
    if stack.pytorch:
        found |= COMMON | CUDA_12_4 | {"torch": stack.pytorch, "triton": "3.2.0"}
    if stack.tensorflow:
        found |= COMMON | CUDA_12_5 | {"tensorflow": stack.tensorflow}
    return tuple(package(name, version) for name, version in found.items())


def lock_of(image: Image) -> Lock:
    return parse_lock(lock_text(image.lock_input, wheels(image)), "requirements.lock")


@pytest.fixture(scope="session")
def unlocked(facts: Facts) -> Callable[[str], Plan]:
    """The plan of a matrix (without its two first lines), with no image locked."""
    return lambda text: make_plan(load_matrix(Path("matrix.yaml"), HEAD + text), facts, {})


@pytest.fixture(scope="session")
def planned(facts: Facts, unlocked: Callable[[str], Plan]) -> Callable[[str], Plan]:
    """The plan of a matrix with every image locked."""

    def make(text: str) -> Plan:
        first = unlocked(text)
        return make_plan(first.matrix, facts, {image.name: lock_of(image) for image in first.images})

    return make


@pytest.fixture(scope="session")
def make_lock() -> Callable[[Image], str]:
    """The text of an image's requirements.lock."""
    return lambda image: lock_text(image.lock_input, wheels(image))


@pytest.fixture
def make_package() -> Callable[[str, str], Package]:
    return package
