"""Verification with an engine that does nothing: what is missing, what goes away, and which engine is asked."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cubake.build.engine import ImageInfo
from cubake.errors import CubakeError, Failed, InputError, Unavailable
from cubake.events import Ended, Event, Note
from cubake.options import Options
from cubake.plan import Plan
from cubake.verify import run as verify_run
from cubake.verify import runner
from cubake.verify.run import verify_images
from cubake.verify.types import Status, VerifyRecord

FAILURE = (
    "<testsuites><testsuite><testcase name='t'><properties><property name='check' value='contents.python'/>"
    "</properties><failure message='No such container'/></testcase></testsuite></testsuites>"
)


class FakeEngine:
    host = "tcp://engine:2375"

    def __init__(self, there: set[str], before: CubakeError | None, after: CubakeError | None) -> None:
        self._there, self._before, self._after = there, before, after

    def image(self, tag: str) -> ImageInfo | None:
        return ImageInfo("sha256:1", {}, 1) if tag.rpartition(":")[2] in self._there else None

    @contextmanager
    def container(self, *_: object) -> Iterator[str]:
        if self._before:
            raise self._before
        yield "c1"
        if self._after:
            raise self._after

    def copy_into(self, *_: object) -> None:
        pass


@pytest.fixture
def plan(planned: Callable[[str], Plan]) -> Plan:
    return planned("images:\n  a: {cuda: ['12.6', '12.8']}\n")


@pytest.fixture
def verified(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[VerifyRecord], list[Event]]]:
    """The verdicts on the images that are there, and what was announced; the suite reports one failure."""
    monkeypatch.setattr(verify_run, "need_client", lambda: None)
    monkeypatch.setattr(verify_run, "run_suite", lambda *_: (FAILURE, ""))

    def run(
        there: int = 2,
        before: CubakeError | None = None,
        after: CubakeError | None = None,
        options: Options = Options(gpu="none"),  # noqa: B008  it is frozen
    ) -> tuple[list[VerifyRecord], list[Event]]:
        told: list[Event] = []
        engine: Any = FakeEngine({image.name for image in plan.images[:there]}, before, after)
        return verify_images(plan, None, engine, options, told.append), told

    return run


def test_a_failure_is_a_failure(verified: Any) -> None:
    (record, _), told = verified()
    assert record.code == 1
    assert [event.result for event in told if isinstance(event, Ended)] == ["FAIL", "FAIL"]


def test_a_container_that_does_not_start_has_failed(verified: Any) -> None:
    (record, _), _ = verified(before=Failed("exec: sleep: not found"))
    assert record.code == 1
    assert "exec: sleep: not found" in record.checks[0].reason


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_goes_away_has_not_run(when: str, verified: Any) -> None:
    (record, _), told = verified(**{when: Unavailable("no engine answers")})
    assert {check.status for check in record.checks} == {Status.NOT_RUN}
    assert all("no engine answers" in check.reason for check in record.checks)
    assert (record.code, record.passed, record.away) == (4, False, "no engine answers")
    assert [event.result for event in told if isinstance(event, Ended)] == ["NOT_RUN", "NOT_RUN"]


def test_images_that_were_not_built(verified: Any, plan: Plan) -> None:
    with pytest.raises(InputError) as caught:
        verified(there=0, options=Options(matrix=Path("other.yaml")))
    assert caught.value.message == f"{plan.images[0].name} and 1 other: not built"
    assert caught.value.hint == "build it first: python build.py build --matrix other.yaml"


def test_an_image_that_was_named_and_not_built(verified: Any, plan: Plan) -> None:
    with pytest.raises(InputError, match=f"^{plan.images[1].name}: not built$"):
        verified(there=1, options=Options(gpu="none", only=tuple(image.name for image in plan.images)))


def test_an_image_that_nobody_named_and_that_was_not_built_is_told(verified: Any, plan: Plan) -> None:
    records, told = verified(there=1)
    assert [record.name for record in records] == [plan.images[0].name]
    assert Note(f"{plan.images[1].name}: not built, so not verified") in told


def test_the_suite_asks_the_engine_that_has_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """The docker client has a context of its own, which need not be that engine."""
    asked: list[dict[str, str]] = []

    def fake(command: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(env)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", fake)
    monkeypatch.setenv("KEPT", "yes")
    runner.run_suite("c1", {}, None, "tcp://engine:2375")
    assert (asked[0]["DOCKER_HOST"], asked[0]["KEPT"]) == ("tcp://engine:2375", "yes")
