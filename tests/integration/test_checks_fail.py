"""Every contents check fails when what it checks is broken, and its reason names the culprit.

Each case derives an image with one thing broken and asks it as ``verify`` would. What cannot fail shows nothing.
"""

from __future__ import annotations

import io
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import docker
import pytest
from docker.errors import APIError

from cubake import verbs
from cubake.build.engine import Engine
from cubake.options import Options
from cubake.plan import Image
from cubake.verify import run as verify_run
from cubake.verify import runner
from cubake.verify.types import Check, Status, VerifyRecord
from tests.integration.support import SMALL, Cubake, Line

pytestmark = pytest.mark.engine
SITE = "/opt/venv/lib/python3.11/site-packages"
LIB = "/usr/lib/x86_64-linux-gnu"
CUDA = "/usr/local/cuda/lib64"
INTRUDER = f"{SITE}/intruder-1.0.dist-info"


@dataclass(frozen=True)
class Break:
    """``steps`` break the image that begins with ``image``; ``check`` must fail with a reason that matches."""

    id: str
    image: str
    check: str
    reason: str
    steps: str


TORCH, TENSORFLOW, DEVEL = "pytorch", "tensorflow", "cuda13.0"
BREAKS = (
    Break("other python first", SMALL, "python", "/usr, not to /opt/venv",
          "RUN ln -s /usr/bin/python3.11 /usr/local/bin/python\nENV PATH=/usr/local/bin:$PATH"),
    Break("python removed", SMALL, "python", "python", "RUN rm -f /opt/venv/bin/python*"),
    Break("package downgraded", TORCH, "packages", r"filelock 3\.0\.0 \(locked ",
          f"RUN sed -i 's/^Version: .*/Version: 3.0.0/' {SITE}/filelock-*.dist-info/METADATA"),
    Break("package upgraded", SMALL, "packages", r"pip 99\.0 \(locked ",
          f"RUN sed -i 's/^Version: .*/Version: 99.0/' {SITE}/pip-*.dist-info/METADATA"),
    Break("extra package", SMALL, "packages", "not locked: intruder",
          rf"RUN mkdir {INTRUDER} && printf 'Name: intruder\nVersion: 1.0\n' > {INTRUDER}/METADATA"),
    Break("package missing", TORCH, "packages", "not installed: filelock", f"RUN rm -r {SITE}/filelock*"),
    Break("dependency missing", TORCH, "pip_check", r"(torch|triton)[^\n]*filelock", f"RUN rm -r {SITE}/filelock*"),
    Break("dependency missing, second in the list", TORCH, "pip_check", "requires jinja2",
          f"RUN rm -r {SITE}/filelock* {SITE}/jinja2*"),
    Break("other runtime in the wheel", TORCH, "cuda", r"runtime is 13\.0 .*nvidia/cuda_runtime",
          f"COPY --from=cubake/cuda:13.0.3-devel-debian12 {CUDA}/libcudart.so.13"
          f" {SITE}/nvidia/cuda_runtime/lib/libcudart.so.12"),
    Break("other runtime in the base", SMALL, "cuda", r"runtime is 13\.0",
          f"COPY --from=cubake/cuda:13.0.3-devel-debian12 {CUDA}/libcudart.so.13 /tmp/other\n"
          f"RUN cp /tmp/other $(readlink -f {CUDA}/libcudart.so.12)"),
    Break("other base", SMALL, "cuda", r"CUDA_VERSION=12\.6\.0", "ENV CUDA_VERSION=12.6.0"),
    Break("runtime removed", SMALL, "cuda", "libcudart", f"RUN rm {CUDA}/libcudart.so*"),
    Break("other cudnn", TORCH, "cudnn", r"cuDNN is 9\.3\.0 .*nvidia/cudnn",
          f"COPY --from=@tensorflow {SITE}/nvidia/cudnn/lib/libcudnn_graph.so.9 {SITE}/nvidia/cudnn/lib/"),
    Break("library truncated", TORCH, "libraries", r"libcufft\.so\.11: ",
          f"RUN truncate -s 4096 {SITE}/nvidia/cufft/lib/libcufft.so.11"),
    Break("library's own need removed", TORCH, "libraries", r"libcublasLt\.so\.12: cannot open",
          f"RUN rm {SITE}/nvidia/cublas/lib/libcublasLt.so.12"),
    Break("library of the base truncated", SMALL, "libraries", "libcudart",
          f"RUN truncate -s 64 $(readlink -f {CUDA}/libcudart.so.12)"),
    Break("library that is none", SMALL, "libraries", r"libnone\.so\.1: .*too short",
          f"RUN echo > {CUDA}/libnone.so.1"),
    Break("library removed", TORCH, "libraries", r"libnvrtc\.so\.12",
          f"RUN rm {SITE}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
    Break("second cudnn", TORCH, "one_copy", f"libcudnn.so.9 stands at .*{LIB}/libcudnn.so.9",
          f"RUN cp {SITE}/nvidia/cudnn/lib/libcudnn.so.9 {LIB}/"),
    Break("second cudart", TORCH, "one_copy", "libcudart.so.12 stands at .*/usr/local/cuda",
          f"COPY --from=cubake/cuda:12.4.1-base-debian12 {CUDA}/ {CUDA}/"),
    Break("driver planted", SMALL, "driver_libraries", f"{LIB}/libcuda.so.1", f"RUN touch {LIB}/libcuda.so.1"),
    Break("driver linked", SMALL, "driver_libraries", "/opt/libcuda.so.1",
          f"RUN ln -s {LIB}/libc.so.6 /opt/libcuda.so.1"),
    Break("stubs on the path", DEVEL, "driver_libraries", "stub",
          f"RUN mkdir -p /opt/stubs && cp {LIB}/libz.so.1 /opt/stubs/ && echo /opt/stubs > /etc/ld.so.conf.d/a.conf"
          " && ldconfig"),
    Break("uv left", SMALL, "clean", "/usr/local/bin/uv", "RUN cp /bin/true /usr/local/bin/uv"),
    Break("apt lists left", SMALL, "clean", "/var/lib/apt/lists/deb", "RUN echo > /var/lib/apt/lists/deb.list"),
    Break("debs left", SMALL, "clean", "archives/some.deb", "RUN echo > /var/cache/apt/archives/some.deb"),
    Break("pip cache left", SMALL, "clean", "/root/.cache/pip", "RUN mkdir -p /root/.cache && > /root/.cache/pip"),
    Break("bundle left", SMALL, "clean", "/etc/ca.pem", "RUN echo > /etc/ca.pem"),
    Break("bundle named", SMALL, "clean", "SSL_CERT_FILE", "ENV SSL_CERT_FILE=/mnt/ca.pem"),
    *(Break(f"{name} left", SMALL, "clean", name, f"ENV {name}=http://proxy:3128")
      for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")),
    Break("label lies", TORCH, "labels", r"io\.cubake\.pytorch is '9\.9'", "LABEL io.cubake.pytorch=9.9"),
    Break("torch version lies", TORCH, "pytorch", r"torch is 2\.6\.1",
          f"RUN sed -i \"s/^__version__ = .*/__version__ = '2.6.1'/\" {SITE}/torch/version.py"),
    Break("torch CUDA lies", TORCH, "pytorch", r"built with CUDA 12\.1",
          f"RUN sed -i \"s/^cuda: .*/cuda = '12.1'/\" {SITE}/torch/version.py"),
    Break("torch does not import", TORCH, "pytorch", "No module named 'typing_extensions'",
          f"RUN rm {SITE}/typing_extensions.py"),
    Break("tensorflow for the CPU", TENSORFLOW, "tensorflow", "CPU build",
          f"RUN sed -i \"s/'is_cuda_build', True/'is_cuda_build', False/\""
          f" {SITE}/tensorflow/python/platform/build_info.py"),
    Break("tensorflow CUDA lies", TENSORFLOW, "tensorflow", r"built with CUDA 11\.2",
          f"RUN sed -i \"s/'12.5.1'/'11.2'/\" {SITE}/tensorflow/python/platform/build_info.py"),
    Break("nvcc missing", DEVEL, "nvcc", "nvcc", "RUN rm /usr/local/cuda/bin/nvcc"),
    Break("other nvcc", DEVEL, "nvcc", r"nvcc is 12\.0",
          "RUN printf '#!/bin/sh\\necho release 12.0, V12.0.1\\n' > /opt/venv/bin/nvcc && chmod +x /opt/venv/bin/nvcc"),
    Break("nvcc without ptxas", DEVEL, "nvcc", "ptxas", "RUN rm /usr/local/cuda/bin/ptxas"),
    Break("no compiler for the host", DEVEL, "nvcc", "gcc|g\\+\\+|cc1plus", "RUN rm /usr/bin/g++ /usr/bin/gcc"),
)  # fmt: skip


@pytest.fixture
def derive(client: docker.DockerClient, quickstart: Line, small: Line) -> Iterator[Callable[[str, str], str]]:
    """Makes images from ours by a few Dockerfile lines (``@name`` is the tag of one), and removes them."""
    made = []

    def make(source: str, steps: str) -> str:
        images = {which: _find(quickstart, small, which).tag for which in (TORCH, TENSORFLOW, DEVEL)}
        for which, tag in images.items():
            steps = steps.replace(f"--from=@{which}", f"--from={tag}")
        tag = f"cubake/test-broken:{secrets.token_hex(6)}"
        file = io.BytesIO(f'FROM {source}\nSHELL ["/bin/bash", "-euc"]\n{steps}\n'.encode())
        client.images.build(fileobj=file, tag=tag, rm=True, forcerm=True, network_mode="none")
        made.append(tag)
        return tag

    yield make
    for tag in made:
        with suppress(APIError):
            client.images.remove(tag, force=True)


def _find(quickstart: Line, small: Line, which: str) -> Image:
    return (quickstart if which == TORCH else small).image(which)


def ask(image: Image, tag: str, engine: Engine, checks: tuple[str, ...] = ()) -> VerifyRecord:
    """The verdict on an image that claims to be ``image``."""
    info = engine.image(tag)
    assert info is not None
    asked = replace(image, checks=checks or image.checks)
    gpu = verify_run.Gpu(None, "these tests ask for none")
    return verify_run._verify(asked, info, gpu, engine, Options(), lambda _: None)


@pytest.mark.parametrize("case", BREAKS, ids=lambda case: f"{case.check}-{case.id}".replace(" ", "_"))
def test_check_fails(
    case: Break, derive: Callable[[str, str], str], quickstart: Line, small: Line, engine: Engine
) -> None:
    image = _find(quickstart, small, case.image)
    name = f"contents.{case.check}"
    assert name in image.checks
    verdict = ask(image, derive(image.tag, case.steps), engine, (name,))
    [check] = verdict.checks
    assert check.status is Status.FAIL, "the check did not see it"
    assert re.search(case.reason, check.reason), check.reason
    assert not verdict.passed


def test_every_contents_check_is_broken_above(quickstart: Line, small: Line) -> None:
    ids = {check for line in (quickstart, small) for image in line.images for check in image.checks}
    assert {name for name in ids if name.startswith("contents.")} == {f"contents.{case.check}" for case in BREAKS}


def test_image_without_python_passes_nothing_it_cannot_show(
    derive: Callable[[str, str], str], small: Line, engine: Engine
) -> None:
    image = small.image(SMALL)
    verdict = ask(image, derive(image.tag, "RUN rm -f /opt/venv/bin/python* /usr/bin/python3*"), engine)
    passed = {check.id for check in verdict.checks if check.status is Status.PASS}
    assert passed <= {f"contents.{name}" for name in ("one_copy", "driver_libraries", "clean", "labels")}
    assert [check.id for check in verdict.checks] == list(image.checks)
    assert all(check.reason for check in verdict.checks if check.status is not Status.PASS)


def test_container_that_goes_away_passes_nothing(small: Line, engine: Engine) -> None:
    """All that is asked of a container that is not there fails, or did not run."""
    image = small.image(SMALL)
    info = engine.image(image.tag)
    assert info is not None
    promised = verify_run._promised(image, info)
    junit, trouble = runner.run_suite("cubake-test-none", promised, "no GPU asked for", engine.host)
    checks = verify_run.judge(junit, image.checks, trouble)
    assert {check.id for check in checks if check.status is Status.PASS} <= {"contents.labels"}


@pytest.mark.parametrize(
    ("steps", "told"), [("RUN rm /bin/sleep", "."), ("RUN rm -r /workspace && touch /workspace", "workspace")]
)
def test_image_that_does_not_start_is_a_verdict(
    derive: Callable[[str, str], str], small: Line, engine: Engine, steps: str, told: str
) -> None:
    """An image that cannot be asked costs only itself: its checks fail or did not run, and say why."""
    image = small.image(SMALL)
    verdict = ask(image, derive(image.tag, steps), engine)
    assert [check.id for check in verdict.checks] == list(image.checks)
    assert {check.id for check in verdict.checks if check.status is Status.PASS} <= {"contents.labels"}
    assert all(re.search(told, check.reason) for check in verdict.checks if check.id.startswith("contents.p"))
    assert not verdict.passed


def test_healthy_image_passes(small: Line, engine: Engine) -> None:
    image = small.image(SMALL)
    verdict = ask(image, image.tag, engine)
    assert verdict.passed
    assert {check.status for check in verdict.checks if check.id.startswith("contents.")} == {Status.PASS}


@pytest.mark.parametrize("trouble", ["check left out", "time over"])
def test_check_that_does_not_report_fails_the_run(
    small: Line, out: Path, tmp_path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if trouble == "time over":
        monkeypatch.setattr(runner, "LIMIT", 0.2)
    else:
        suite = tmp_path / "suite"
        shutil.copytree(runner.SUITE, suite, ignore=shutil.ignore_patterns("__pycache__"))
        text = (suite / "test_contents.py").read_text()
        assert '@pytest.mark.check("contents.labels")\n' in text
        (suite / "test_contents.py").write_text(text.replace('@pytest.mark.check("contents.labels")\n', ""))
        monkeypatch.setattr(runner, "SUITE", suite)
    options = Options(matrix=small.matrix, only=(SMALL,), out=out, gpu="none")
    assert verbs.verify(options) == 1
    told = capsys.readouterr().out
    assert "contents.labels NOT_RUN: did not report" in told
    assert ("was stopped after" in told) == (trouble == "time over")


def test_command_names_the_failure(
    derive: Callable[[str, str], str], cubake: Cubake, small: Line, client: docker.DockerClient, tmp_path: Path
) -> None:
    """From the command line: exit code 1, the check, the culprit, and the same in the documents."""
    image = small.image(SMALL)
    tag = derive(image.tag, "RUN cp /bin/true /usr/local/bin/uv")
    shutil.copytree(small.matrix.parent / "images", tmp_path / "images")
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(small.matrix.read_text().replace("repository: cubake/test\n", "repository: cubake/test-broken\n"))
    client.api.tag(tag, "cubake/test-broken", SMALL)
    try:
        args = ("--matrix", matrix, "--only", SMALL, "--out", tmp_path / "out")
        told, document = cubake("verify", *args), cubake("verify", *args, "--json")
    finally:
        client.images.remove(f"cubake/test-broken:{SMALL}")
    assert (told.code, document.code) == (1, 1)
    assert "contents.clean FAIL: left from the build: /usr/local/bin/uv" in told.out
    [failed] = [Check(**check) for check in document.document[0]["checks"] if check["status"] == "FAIL"]
    assert failed.id == "contents.clean" and failed.reason == "left from the build: /usr/local/bin/uv"
