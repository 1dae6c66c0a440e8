"""The schedule with a ten-line fake build: jobs, shared prefixes, order, fail-fast, Ctrl-C; and a build's input."""

from __future__ import annotations

import io
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cubake.build.bases import build_args
from cubake.build.engine import pack
from cubake.build.run import build_images, prefix, schedule
from cubake.build.types import BuildOptions, BuildRecord, Outcome
from cubake.errors import InputError, Interrupted
from cubake.events import Began, Ended, Event
from cubake.matrix import Matrix
from cubake.options import Options
from cubake.plan import Image, Plan
from cubake.sources import build_options


@pytest.fixture(scope="module")
def images(planned: Callable[[str], Plan]) -> tuple[Image, ...]:
    """Two PyTorch releases, each in two profiles, on one shared prefix; and two toolkit images, each on its own."""
    plan = planned(
        "images:\n"
        "  torch: {pytorch: ['2.5', '2.6'], python: '3.11', profile: [prod, test]}\n"
        "  kit: {cuda: ['12.6', '12.8'], python: '3.10'}\n"
    )
    assert len(plan.images) == 6
    assert len({prefix(image) for image in plan.images}) == 3
    return plan.images


class Builder:
    """Builds nothing, and remembers when."""

    def __init__(self, outcomes: dict[str, Outcome] | None = None, seconds: float = 0.03) -> None:
        self.outcomes, self.seconds = outcomes or {}, seconds
        self.lock, self.running, self.most = threading.Lock(), list[Image](), 0
        self.began: list[str] = []
        self.together: list[set[str]] = []

    def __call__(self, image: Image) -> BuildRecord:
        with self.lock:
            self.running.append(image)
            self.began.append(image.name)
            self.most = max(self.most, len(self.running))
            self.together.append({other.name for other in self.running})
        time.sleep(self.seconds)
        with self.lock:
            self.running.remove(image)
        return BuildRecord(image.name, image.tag, self.outcomes.get(image.name, Outcome.BUILT), self.seconds)


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
def test_no_more_than_jobs_at_once(jobs: int, images: tuple[Image, ...]) -> None:
    build = Builder()
    records = schedule(images, build, BuildOptions(jobs=jobs), None)
    assert build.most <= jobs
    assert [record.name for record in records] == [image.name for image in images], "plan order"
    assert sorted(build.began) == sorted(image.name for image in images), "each once"


def test_builds_do_run_side_by_side(images: tuple[Image, ...]) -> None:
    build = Builder()
    schedule(images, build, BuildOptions(jobs=3), None)
    assert build.most > 1


def test_the_first_of_a_shared_prefix_runs_alone(images: tuple[Image, ...]) -> None:
    """Design section 10: started together on an uncached prefix, each would make it again."""
    build = Builder()
    schedule(images, build, BuildOptions(jobs=8), None)
    shared = [image.name for image in images if image.stack.pytorch]
    leader = next(name for name in build.began if name in shared)
    for running in build.together:
        if leader in running:
            assert running & set(shared) == {leader}
    assert any(len(running & set(shared)) > 1 for running in build.together), "its children side by side"


def test_a_failure_stops_nobody_else(images: tuple[Image, ...]) -> None:
    build = Builder({images[0].name: Outcome.FAILED})
    outcomes = [record.outcome for record in schedule(images, build, BuildOptions(jobs=2), None)]
    assert outcomes == [Outcome.FAILED] + [Outcome.BUILT] * 5


def test_fail_fast_blocks_what_has_not_begun(images: tuple[Image, ...]) -> None:
    build = Builder({images[0].name: Outcome.FAILED})
    records = schedule(images, build, BuildOptions(jobs=1, fail_fast=True), None)
    assert build.began == [images[0].name]
    assert [record.outcome for record in records] == [Outcome.FAILED] + [Outcome.BLOCKED] * 5
    assert all("--fail-fast" in record.error and record.code for record in records[1:])


def test_nothing_to_do_is_done() -> None:
    assert schedule((), Builder(), BuildOptions(), None) == []


def test_an_interrupt_stops_the_builds(images: tuple[Image, ...]) -> None:
    class Engine:
        cancelled = 0

        def cancel_builds(self) -> None:
            self.cancelled += 1

    def build(image: Image) -> BuildRecord:
        raise KeyboardInterrupt

    engine: Any = Engine()
    with pytest.raises(Interrupted) as caught:
        schedule(images, build, BuildOptions(jobs=1), engine)
    assert caught.value.exit_code == 130
    assert engine.cancelled == 1


def test_an_image_without_lock_is_blocked_as_refused(unlocked: Callable[[str], Plan]) -> None:
    """Building never resolves (design section 6)."""
    plan = unlocked("images:\n  a: {pytorch: '2.6', python: '3.11'}\n")
    told: list[Event] = []

    class Bases:
        options, engine = BuildOptions(), None

    bases: Any = Bases()
    (record,) = build_images(plan.images, {}, bases, told.append)
    assert (record.outcome, record.code) == (Outcome.BLOCKED, 3)
    assert "it has no lock" in record.error
    assert "build.py lock" in record.error
    assert [type(event) for event in told] == [Began, Ended]


def test_equal_contexts_are_equal_bytes() -> None:
    files = {"Dockerfile": b"FROM x\n", "requirements.lock": b"pip==1\n", "uv": b"\x7fELF"}
    assert pack(files) == pack(dict(reversed(files.items())))
    time.sleep(0.01)
    assert pack(files) == pack(files)


def test_a_context_holds_its_files_and_nothing_of_this_host() -> None:
    with tarfile.open(fileobj=io.BytesIO(pack({"b": b"2", "uv": b"1", "empty": b""}))) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == ["b", "empty", "uv"]
        assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {(0, 0, 0, "")}
        assert {member.name: member.mode for member in members} == {"b": 0o644, "empty": 0o644, "uv": 0o755}
        file = tar.extractfile("b")
        assert file is not None
        assert file.read() == b"2"


def test_build_arguments() -> None:
    """Proxies are BuildKit's predefined arguments; what is not given is not named."""
    assert build_args(BuildOptions()) == {}
    options = BuildOptions(
        index_url="https://i/simple",
        extra_index_urls=("https://a", "https://b"),
        proxies=(("HTTPS_PROXY", "http://p"),),
    )
    assert build_args(options) == {
        "INDEX_URL": "https://i/simple", "EXTRA_INDEX_URLS": "https://a https://b", "HTTPS_PROXY": "http://p",
    }  # fmt: skip


@pytest.fixture
def matrix(planned: Callable[[str], Plan]) -> Matrix:
    return planned("images:\n  a: {cuda: '12.6'}\n").matrix


SECRETS = [
    "https://user:hunter2@index.example/simple",
    "https://hunter2@index.example/",
    "https://u:x@hunter2@i.example/",
]


@pytest.mark.parametrize("url", SECRETS)
@pytest.mark.parametrize("option", ["index_url", "extra_index_urls"])
def test_passwords_in_addresses_are_refused_and_not_shown(option: str, url: str, matrix: Matrix) -> None:
    values: dict[str, Any] = {option: url if option == "index_url" else (url,)}
    with pytest.raises(InputError) as caught:
        build_options(matrix, Options(**values))
    assert "hunter2" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("name", ["index_url", "extra_index_urls", "python_mirror", "mirrors"])
def test_passwords_in_the_matrix_are_refused(name: str, matrix: Matrix) -> None:
    """Each of them becomes a build argument, and those stand in the image's history; a mirror stands in the image."""
    value: Any = {"extra_index_urls": (SECRETS[0],), "mirrors": (("debian", SECRETS[0]),)}.get(name, SECRETS[0])
    with pytest.raises(InputError):
        build_options(replace(matrix, build=replace(matrix.build, **{name: value})), Options())


@pytest.mark.parametrize("url", ["https://index.example/simple", "https://index.example/a@b", "file:///srv/wheels@1"])
def test_an_at_sign_in_a_path_is_no_password(url: str, matrix: Matrix) -> None:
    assert build_options(matrix, Options(index_url=url)).index_url == url


def test_the_command_line_wins_over_the_matrix(matrix: Matrix) -> None:
    said = replace(matrix, build=replace(matrix.build, index_url="https://a", network="host"))
    assert build_options(said, Options(index_url="https://b")).index_url == "https://b"
    assert build_options(said, Options()).index_url == "https://a"
    assert build_options(said, Options()).network == "host"
