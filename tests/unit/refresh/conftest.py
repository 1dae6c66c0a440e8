"""A folder of empty facts files, an index with a little of everything, and a refresh of the one from the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubake.facts import FOLDER
from cubake.refresh import FileResult, Refreshed, Sources, web, yamlfile
from cubake.refresh.make import BY_HAND
from tests.unit.refresh.fakes import FakeIndex, FakeRegistry, Run, index_handler, registry_handler, served
from tests.unit.refresh.stock import fill


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own network settings, and no waiting between attempts."""
    for name in (*web.BUNDLES, "HTTP_PROXY", "http_proxy", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(web, "BACKOFF", 0.0)


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    found = FakeIndex()
    fill(found)
    with served(index_handler(found)) as host:
        found.url = f"http://{host}/simple"
        yield found


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    found = FakeRegistry()
    with served(registry_handler(found)) as host:
        found.host = host
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The shipped tables that are kept by hand, and beside them facts files without rows."""
    found = tmp_path / "facts"
    found.mkdir()
    for name in BY_HAND:
        shutil.copy(FOLDER / f"{name}.yaml", found)
    for name, rows in yamlfile.ROWS.items():
        (found / f"{name}.yaml").write_text(yamlfile.dump(name, {"sources": {}, rows: {}}, "2026-01-01"))
    return found


@pytest.fixture
def run(folder: Path, index: FakeIndex, registry: FakeRegistry, tmp_path: Path) -> Run:
    away = index.url.replace("/simple", "/whl-of-nobody")
    return Run(folder, Sources(index.url, registry=registry.host, pytorch_index=away, cache=tmp_path / "cache"))


@pytest.fixture
def result() -> Callable[[Refreshed, str], FileResult]:
    return lambda done, name: next(file for file in done.files if file.name == name)
