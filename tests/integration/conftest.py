"""A real engine, build.py as people start it, and the images that the tests look at, built once.

Matrices are copied before they are used, so that nothing is written into the checkout; the images keep their names, so
that a machine that has them reuses them. What a test makes beyond that lies in a repository of its own and is removed.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
import requests
from docker.errors import DockerException

from cubake.build.engine import Engine
from tests.integration.support import ROOT, Cubake, Line, Own


@pytest.fixture(scope="session")
def client() -> docker.DockerClient:
    """The Docker SDK; the run fails where no engine answers, since a test that is skipped has shown nothing."""
    try:
        found = docker.from_env(timeout=120)
        found.ping()
    except (DockerException, requests.RequestException) as error:
        pytest.fail(f"these tests need a Docker Engine, and none answers: {error}", pytrace=False)
    return found


@pytest.fixture(scope="session")
def engine(client: docker.DockerClient) -> Engine:
    return Engine()


@pytest.fixture(scope="session")
def cubake(client: docker.DockerClient) -> Cubake:
    return Cubake()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A test's own --out."""
    return tmp_path / "out"


@pytest.fixture
def own(client: docker.DockerClient, tmp_path: Path) -> Iterator[Own]:
    folder = tmp_path / "own"
    folder.mkdir()
    repository = Own(f"cubake/test-{secrets.token_hex(4)}", folder, client)
    yield repository
    repository.remove()


@pytest.fixture(scope="session")
def line(cubake: Cubake, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Line]:
    """The whole line over a matrix of the checkout, run at the first call."""
    made: dict[str, Line] = {}

    def run(matrix: str) -> Line:
        if matrix not in made:
            folder = tmp_path_factory.mktemp("line")
            copy = folder / Path(matrix).name
            shutil.copy(ROOT / matrix, copy)
            shutil.copytree((ROOT / matrix).parent / "images", folder / "images")
            made[matrix] = Line(copy, folder / "out", cubake("--matrix", copy, "--out", folder / "out"))
        return made[matrix]

    return run


@pytest.fixture(scope="session")
def quickstart(line: Callable[[str], Line]) -> Line:
    return line("examples/quickstart.yaml")


@pytest.fixture(scope="session")
def small(line: Callable[[str], Line]) -> Line:
    return line("tests/integration/matrix.yaml")
