"""Fixtures of the checks. Each check is one test marked ``check(id)``; what it found goes into its JUnit properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--promised", type=Path, required=True, help="JSON of what the image promises")
    parser.addoption("--no-gpu", help="why GPU checks cannot run")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "check(id): the check that a test answers")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only what the plan names; without a GPU its checks are skipped with the reason."""
    promised = json.loads(config.getoption("promised").read_text())
    items[:] = [item for item in items if _id(item) in promised["checks"]]
    if reason := config.getoption("no_gpu"):
        for item in items:
            if _id(item).startswith("gpu."):
                item.add_marker(pytest.mark.skip(reason=reason))
    for item in items:
        item.user_properties.append(("check", _id(item)))


def _id(item: pytest.Item) -> str:
    marker = item.get_closest_marker("check")
    return str(marker.args[0]) if marker else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """The whole reason of a failure, which JUnit's message attribute cuts to its first line."""
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        item.user_properties.append(("reason", str(call.excinfo.value)))
    return (yield)


@pytest.fixture(scope="session")
def promised(pytestconfig: pytest.Config) -> dict[str, Any]:
    return dict(json.loads(pytestconfig.getoption("promised").read_text()))


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Any:
    """A dict for what a check measured; recorded whether it passes or fails."""
    found: dict[str, Any] = {}
    yield found
    request.node.user_properties.append(("measured", json.dumps(found)))


@pytest.fixture
def ask(host: Any) -> Any:
    """Run a probe with the image's own Python; its last line is JSON. A crash fails the check with its output."""

    def run(probe: str, *args: str) -> Any:
        done = host.run("python /tmp/" + probe + " %s" * len(args), *args)
        assert done.rc == 0, f"{probe} {' '.join(args)} ended with {done.rc}: {done.stderr.strip()[-800:]}"
        return json.loads(done.stdout.strip().splitlines()[-1])

    return run
