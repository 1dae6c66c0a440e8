"""What goes wrong: each failure ends with its exit code, says why and what to do, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import docker
import pytest
import requests
from docker.errors import APIError

from cubake import files
from cubake.plan import Package, lock_text
from tests.integration.support import HEAD, SMALL, Cubake, Line, Own

pytestmark = pytest.mark.engine
TEST = f"{SMALL}-test"  # the same image under the test profile
ONE = HEAD + "images: {small: {cuda: 12.4, flavor: base}}\n"
TWO = HEAD + "images: {small: {cuda: 12.4, flavor: base, profile: [prod, test]}}\n"
NOWHERE = "127.0.0.1:1"  # a registry that answers nobody


def spoil(own: Own, small: Line, name: str) -> None:
    """A lock whose seal is right and whose hash is not."""
    image = small.image(SMALL)
    assert image.lock is not None
    packages = tuple(Package(p.name, p.version, "0" * 64, p.bytes) for p in image.lock.packages)
    (own.folder / "images" / name / files.LOCK).write_text(lock_text(image.lock_input, packages))


def test_a_failing_step_is_told_and_the_rest_is_built(cubake: Cubake, small: Line, own: Own, out: Path) -> None:
    matrix = own.matrix(TWO, (SMALL, TEST))
    spoil(own, small, SMALL)
    done = cubake("--matrix", matrix, "--out", out, "--gpu", "none")
    assert done.code == 1, done.err
    assert own.tags() == [f"{own.name}:{TEST}"]
    log = out / "logs" / f"{SMALL}.log"
    for text in (done.out, done.err):
        assert "FAILED" in text, text
        assert re.search(r"packages: [\d.,]+ MB of wheels failed: the command failed", text), text
        assert "Hash mismatch" in text and "0" * 64 in text
        assert f"(whole log: {log})" in text
    written = log.read_text()
    assert "Hash mismatch" in written and "0" * 64 in written
    assert re.search(r"uv pip install.*: failed", written)
    assert f"{TEST} BUILT" in done.err and f"{TEST} PASS" in done.err
    assert "1 of 2 images good" in done.out


def test_fail_fast_starts_nothing_more(cubake: Cubake, small: Line, own: Own, out: Path) -> None:
    matrix = own.matrix(TWO, (SMALL, TEST))
    spoil(own, small, SMALL)
    done = cubake("--matrix", matrix, "--out", out, "--no-verify", "--fail-fast", "--jobs", "1", "--json")
    assert done.code == 1
    assert [row["build"]["outcome"] for row in done.document["images"]] == ["FAILED", "BLOCKED"]
    assert own.tags() == []


def test_a_failure_is_retried_by_the_next_run(cubake: Cubake, small: Line, own: Own, out: Path) -> None:
    matrix = own.matrix(ONE)
    spoil(own, small, SMALL)
    args = ("--matrix", matrix, "--out", out, "--no-verify")
    assert cubake(*args).code == 1
    own.matrix(ONE)
    done = cubake(*args)
    assert done.code == 0 and f"{SMALL} BUILT" in done.err


def test_unlocked_image_names_the_command(cubake: Cubake, own: Own, out: Path) -> None:
    """The command that is told does it: run as printed, the image is locked."""
    matrix = own.matrix(TWO, (TEST,))
    done = cubake("--matrix", matrix, "--out", out, "--no-verify")
    assert done.code == 3, done.err
    assert f"{SMALL}: it has no lock" in done.out
    assert own.tags() == [f"{own.name}:{TEST}"], "the locked one is built all the same"
    [command] = set(re.findall(r"lock it: python build\.py ([^)\n]*)", done.out))
    locked = cubake(*(word.strip("'\"") for word in command.split()))
    assert locked.code == 0, f"`{command}`: {locked.err}"
    assert (own.folder / "images" / SMALL / files.LOCK).exists()


def test_verbose_keeps_the_exit_code(cubake: Cubake, own: Own) -> None:
    """-v adds the traceback; what a script reads stays."""
    matrix = own.matrix(ONE)
    absent = ("plan", "--matrix", str(own.folder / "none.yaml"))
    unmatched = ("plan", "--matrix", str(matrix), "--only", "no-such-image")
    for args in (absent, unmatched):
        for more in ((), ("-v",)):
            done = subprocess.run(cubake.command(*args, *more), capture_output=True, check=False)
            assert done.returncode == 2, (*args, *more)


UBUNTU = (
    "version: 1\ndefaults: {os: ubuntu22.04}\nimages: {one: {cuda: 12.4, flavor: %s}}\nbuild: {registry_mirror: %s}\n"
)


def test_registry_that_does_not_answer(cubake: Cubake, own: Own, out: Path) -> None:
    matrix = own.matrix(UBUNTU % ("base", f"'{NOWHERE}'"), ())
    done = cubake("base", "--matrix", matrix, "--out", out, "--base", "registry")
    assert done.code == 4
    assert re.search(r"nvidia/cuda:12\.4\.\d-base-ubuntu22\.04: the registry does not give it", done.err)
    hint = done.err.partition("  -> ")[2]
    assert hint
    options = cubake("base", "--help").out
    assert [word for word in re.findall(r"--[a-z-]+", hint) if word not in options] == [], "no such option"


def test_base_that_cannot_be_made(cubake: Cubake, own: Own, out: Path) -> None:
    matrix = own.matrix(UBUNTU % ("devel", f"'{NOWHERE}'"), ())
    done = cubake("base", "--matrix", matrix, "--out", out, "--base", "local")
    assert done.code == 3
    assert "nvcc" in done.err and "CUDA 13" in done.err and "  -> " in done.err


def test_no_engine(cubake: Cubake, small: Line, out: Path) -> None:
    for verb in ((), ("build",), ("verify",), ("base",)):
        env = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
        done = cubake(*verb, "--matrix", small.matrix, "--out", out, env=env)
        assert done.code == 4, done.err
        assert "no Docker Engine answers" in done.err and "DOCKER_HOST" in done.err


def test_no_docker_client(cubake: Cubake, small: Line, out: Path, tmp_path: Path) -> None:
    args = ("--matrix", small.matrix, "--only", SMALL, "--out", out)
    env = {"PATH": str(tmp_path)}
    done = cubake("verify", *args, env=env)
    assert done.code == 4
    assert "docker client" in done.err and "apt-get install docker" in done.err
    assert cubake(*args, "--no-verify", env=env).code == 0, "building needs no client"


def test_two_runs_at_once(cubake: Cubake, own: Own, tmp_path: Path) -> None:
    matrix = own.matrix(TWO, (SMALL, TEST))
    runs = [cubake.start("--matrix", matrix, "--out", tmp_path / name, "--gpu", "none") for name in ("a", "b")]
    told = [run.communicate(timeout=300) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], told
    assert all("2 of 2 images good" in out for out, _ in told)
    assert len(own.tags()) == 2


def until(process: subprocess.Popen[str], text: str) -> str:
    """Read stderr until a line holds the text."""
    assert process.stderr is not None
    read = ""
    for row in process.stderr:
        read += row
        if text in row:
            return read
    pytest.fail(f"ended before {text!r}: {read}")


def until_apt_runs(log: Path) -> None:
    """Wait until the log of a build shows that apt is downloading."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if log.exists() and "  Get:" in log.read_text():
            return
        time.sleep(0.05)
    pytest.fail(f"apt does not run: {log.read_text() if log.exists() else 'there is no log'}")


def interrupt(process: subprocess.Popen[str], whom: str) -> tuple[float, str]:
    """SIGINT as a terminal sends it (to the group), to the process, or SIGTERM; seconds until the end, stderr."""
    start = time.monotonic()
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT if whom == "process" else signal.SIGTERM)
    try:
        _, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        pytest.fail("still there a minute after SIGINT")
    return time.monotonic() - start, err


def containers_of(client: docker.DockerClient, image_id: str) -> list[str]:
    """Our containers of an image."""
    found = client.api.containers(all=True, filters={"label": "io.cubake.owner"})
    return [row["Id"] for row in found if row["ImageID"] == image_id]


@pytest.mark.parametrize("whom", ["group", "process", "terminated"])
def test_interrupted_build(cubake: Cubake, own: Own, out: Path, whom: str) -> None:
    matrix = own.matrix(TWO, (SMALL, TEST))
    args = ("--matrix", matrix, "--out", out, "--no-verify")
    process = cubake.start(*args, "--no-cache")
    until_apt_runs(out / "logs" / f"{SMALL}.log")
    seconds, err = interrupt(process, whom)
    assert process.returncode == 130, err
    assert seconds < 15
    assert "interrupted" in err and "run again" in err
    assert "Traceback" not in err and "internal error" not in err
    time.sleep(3)  # a build that went on would end by now
    assert own.tags() == []
    again = cubake(*args)
    assert again.code == 0, again.err
    assert own.tags() == [f"{own.name}:{SMALL}", f"{own.name}:{TEST}"]


@pytest.mark.parametrize("whom", ["group", "process"])
def test_interrupted_while_a_base_is_made(cubake: Cubake, own: Own, out: Path, whom: str) -> None:
    """Nothing is started after the interruption: neither the image nor what its base still needs."""
    matrix = own.matrix(ONE)
    process = cubake.start("--matrix", matrix, "--out", out, "--no-verify", "--no-cache")
    until(process, "base   base ")  # the base is looked for; the image's build has not begun
    seconds, err = interrupt(process, whom)
    assert process.returncode == 130, err
    assert seconds < 15
    time.sleep(3)
    assert own.tags() == []


@pytest.mark.parametrize("whom", ["group", "process"])
def test_interrupted_verification(cubake: Cubake, own: Own, out: Path, whom: str, client: docker.DockerClient) -> None:
    profile = f"profiles: {{prod: {{env: {{WHOM: {whom}}}}}}}\n"  # an image that no one else has a container of
    matrix = own.matrix(profile + ONE)
    args = ("--matrix", matrix, "--out", out, "--gpu", "none")
    assert cubake(*args, "--no-verify").code == 0
    [image] = {str(client.images.get(tag).id) for tag in own.tags()}
    process = cubake.start(*args)
    until(process, "verify ")
    deadline = time.monotonic() + 20
    while not containers_of(client, image) and time.monotonic() < deadline:
        time.sleep(0.05)
    seconds, err = interrupt(process, whom)
    assert process.returncode == 130, err
    assert seconds < 15
    assert containers_of(client, image) == []
    again = cubake(*args)
    assert again.code == 0, again.err


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a registry of our own: Debian's docker-registry, unpacked, not installed."""
    folder = tmp_path_factory.mktemp("registry")
    program = shutil.which("docker-registry") or shutil.which("registry")
    if program is None:
        got = subprocess.run(
            ["apt-get", "download", "docker-registry"], cwd=folder, capture_output=True, text=True, check=False
        )
        packages = list(folder.glob("*.deb"))
        assert packages, f"no docker-registry on PATH, and apt-get does not download it: {got.stderr}"
        subprocess.run(["dpkg", "-x", str(packages[0]), str(folder)], check=True)
        program = str(folder / "usr/bin/docker-registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = folder / "config.yml"
    config.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
        f"http: {{addr: '{address}'}}\n"
    )
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([program, "serve", str(config)], stdout=log, stderr=log)
        try:
            _wait_for(f"http://{address}/v2/", folder / "log")
            yield address
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(url: str, log: Path) -> None:
    for _ in range(100):
        with suppress(requests.RequestException):
            if requests.get(url, timeout=2).ok:
                return
        time.sleep(0.1)
    pytest.fail(f"the registry does not answer: {log.read_text()}")


@pytest.fixture
def published(registry: str, client: docker.DockerClient, small: Line) -> Iterator[Callable[[str], str]]:
    """Publishes the small local base under another name, and forgets it here; what is pulled is removed at the end."""
    made = []

    def publish(reference: str) -> str:
        name, _, tag = f"{registry}/{reference}".rpartition(":")
        client.api.tag("cubake/cuda:12.4.1-base-debian12", name, tag)
        told = client.api.push(name, tag)
        client.images.remove(f"{name}:{tag}")
        assert "error" not in told, told
        made.append(f"{name}:{tag}")
        return f"{name}:{tag}"

    yield publish
    for reference in made:
        with suppress(APIError):
            client.images.remove(reference)


@pytest.mark.parametrize("how", ["registry", "auto"])
def test_base_comes_from_a_mirror(
    cubake: Cubake, own: Own, out: Path, registry: str, published: Callable[[str], str], how: str,
    client: docker.DockerClient,
) -> None:  # fmt: skip
    matrix = own.matrix(UBUNTU % ("base", f"'{registry}'"), ())
    wanted = cubake("plan", "--matrix", matrix, "--json").document["images"][0]["base"]
    assert wanted.startswith("nvidia/cuda:12.4")
    reference = published(wanted)
    done = cubake("base", "--matrix", matrix, "--out", out, "--base", how, "--json")
    assert done.code == 0, done.err
    assert f"pulling {reference}" in done.err
    [found] = done.document
    assert found == {
        "wanted": wanted,
        "reference": reference,
        "id": client.images.get(reference).id,
        "how": "registry",
    }


def test_image_is_built_on_a_pulled_base(
    cubake: Cubake, own: Own, out: Path, registry: str, published: Callable[[str], str]
) -> None:
    """The pulled base is Debian under Ubuntu's name: it has the Python asked for, so apt finds what the build needs."""
    text = UBUNTU % ("base", f"'{registry}'")
    matrix = own.matrix(text, ())
    planned = cubake("plan", "--matrix", matrix, "--json").document["images"][0]
    published(planned["base"])
    assert cubake("lock", "--matrix", matrix).code == 0
    done = cubake("--matrix", matrix, "--out", out, "--base", "registry", "--no-verify", "--json")
    [row] = done.document["images"]
    assert row["build"]["outcome"] == "FAILED", "python3.10 is not in Debian 12: the pulled base was not used"
    log = (out / "logs" / f"{planned['name']}.log").read_text()
    assert f"FROM {registry}/{planned['base']}" in log
    assert "python3.10" in row["build"]["error"]
