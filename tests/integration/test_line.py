"""The whole line over real images: what it says, what it writes, and what is in the images."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docker
import pytest
import requests

from cubake import files
from cubake.render.context import UV, labels
from tests.integration.support import HEAD, SMALL, Cubake, Line, Own

pytestmark = pytest.mark.engine
MATRICES = ("examples/quickstart.yaml", "tests/integration/matrix.yaml")
PROD = "profiles: {prod: {env: {GREETING: %s}}}\nimages: {small: {cuda: 12.4, flavor: base}}\n"


def docker_run(reference: str, *args: str, options: tuple[str, ...] = ()) -> str:
    """Stdout of a command in a container of the image, without a network."""
    command = ["docker", "run", "--rm", "--network", "none", *options, reference, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{' '.join(args)}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("matrix", MATRICES)
def test_every_image_is_built_and_passes(line: Callable[[str], Line], matrix: str) -> None:
    run = line(matrix)
    assert run.done.code == 0, run.done.out + run.done.err
    report = run.report
    assert [row["name"] for row in report["images"]] == [image.name for image in run.images]
    for row in report["images"]:
        assert row["build"]["outcome"] in ("BUILT", "REUSED")
        assert row["verify"]["image_id"] == row["build"]["image_id"]
        for check in row["verify"]["checks"]:
            if check["id"].startswith("gpu."):
                assert check["status"] == ("PASS" if row["verify"]["gpu"] else "NOT_RUN")
                assert check["reason"] or check["status"] == "PASS"
            else:
                assert check["status"] == "PASS", f"{row['name']} {check['id']}: {check['reason']}"


@pytest.mark.parametrize("matrix", MATRICES)
def test_every_promised_check_reports(line: Callable[[str], Line], matrix: str) -> None:
    run = line(matrix)
    found = {row["name"]: [check["id"] for check in row["verify"]["checks"]] for row in run.report["images"]}
    assert found == {image.name: list(image.checks) for image in run.images}


@pytest.mark.parametrize("matrix", MATRICES)
def test_reports_agree(line: Callable[[str], Line], matrix: str) -> None:
    run = line(matrix)
    report, summary = run.report, (run.out / "summary.md").read_text()
    suites = ElementTree.parse(run.out / "junit.xml").getroot().findall("testsuite")
    assert [suite.get("name") for suite in suites] == [row["name"] for row in report["images"]]
    for row, suite in zip(report["images"], suites, strict=True):
        checks = {check["id"]: check["status"] for check in row["verify"]["checks"]}
        cases = {case.get("name"): {child.tag for child in case} for case in suite.findall("testcase")}
        tags = {"PASS": set(), "FAIL": {"failure"}, "NOT_RUN": {"skipped"}}
        assert cases == {"build": set()} | {name: tags[status] for name, status in checks.items()}
        contents = [status for name, status in checks.items() if name.startswith("contents.")]
        [shown] = [text for text in summary.splitlines() if text.startswith(f"| `{row['name']}` |")]
        assert f"| {row['build']['outcome']} | {contents.count('PASS')}/{len(contents)} |" in shown
        assert json.loads((run.out / "verify" / f"{row['name']}.json").read_text()) == row["verify"]
    good = sum(row["ok"] for row in report["images"])
    assert f"{good} of {len(suites)} images good" in summary
    assert f"{good} of {len(suites)} images good" in run.done.out


def test_progress_goes_to_stderr_and_results_to_stdout(quickstart: Line) -> None:
    assert "verify" in quickstart.done.err
    assert "verify" not in quickstart.done.out
    assert "\x1b" not in quickstart.done.out + quickstart.done.err


def test_second_run_reuses_everything(cubake: Cubake, quickstart: Line, out: Path) -> None:
    done = cubake("--matrix", quickstart.matrix, "--out", out, "--json", "--no-verify")
    assert done.code == 0, done.err
    rows = done.document["images"]
    assert [row["build"]["outcome"] for row in rows] == ["REUSED"] * len(rows)
    first = [row["build"]["image_id"] for row in quickstart.report["images"]]
    assert [row["build"]["image_id"] for row in rows] == first
    assert not list(out.glob("logs/*.log")), "something was built"


def test_json_is_one_document(cubake: Cubake, small: Line, out: Path) -> None:
    args = ("--matrix", small.matrix, "--only", SMALL, "--json", "--out", out)
    whole, built, judged = cubake(*args), cubake("build", *args), cubake("verify", *args, "--gpu", "none")
    assert (whole.code, built.code, judged.code) == (0, 0, 0), whole.err + built.err + judged.err
    assert whole.document == json.loads((out / "report.json").read_text()) | {"ok": True}
    assert [row["name"] for row in built.document["images"]] == [SMALL]
    assert [row["name"] for row in judged.document] == [SMALL]
    reported = cubake("report", *args)
    assert reported.document["images"][0]["verify"] == judged.document[0]


def test_which_reads_the_gate_from_the_image(cubake: Cubake, small: Line) -> None:
    """The base of CUDA 12.4 lets in R535 but not R545 (case RW05); the image that was built carries that gate."""
    for driver, starts in (("535.104.05", True), ("545.23.08", False), ("550.54.14", True)):
        done = cubake("which", "--matrix", small.matrix, "--driver", driver, "--gpu", "RTX 3090", "--json")
        (image,) = (one for one in done.document["images"] if one["name"] == SMALL)
        assert image["verdicts"]["starts"]["ok"] is starts, image
        assert image["verdicts"]["starts"]["source"].startswith("the environment of the image")


def test_what_cannot_run_is_never_a_pass(cubake: Cubake, small: Line, out: Path) -> None:
    args = ("verify", "--matrix", small.matrix, "--only", SMALL, "--out", out, "--json")
    assert cubake(*args, "--gpu", "none").code == 0
    needed = cubake(*args, "--gpu", "none", "--require-gpu")
    assert needed.code == 1
    [check] = [check for check in needed.document[0]["checks"] if check["id"] == "gpu.device"]
    assert check["status"] == "NOT_RUN" and "--gpu none" in check["reason"]
    absent = cubake(*args, "--gpu", "vendor.invalid/gpu=0")
    assert absent.code == 4, "a device asked for by name that is not there"
    assert "vendor.invalid/gpu=0" in absent.err and "->" in absent.err


def test_verbose_names_what_changed(cubake: Cubake, small: Line, own: Own, out: Path) -> None:
    def build(greeting: str, more: str = "") -> Any:
        matrix = own.matrix(HEAD + PROD % greeting + more)
        done = cubake("--matrix", matrix, "--out", out, "--no-verify", "-v")
        assert done.code == 0, done.err
        own.tags()
        [ended] = [text for text in done.err.splitlines() if text.startswith(f"build  {SMALL} BUILT")] or [""]
        return ended, done.err.partition(ended + "\n")[2].splitlines()[:1]

    assert build("hello")[0], "the first build"
    assert build("hello")[0] == "", "nothing changed, and yet it was built"
    ended, detail = build("bye")
    assert ended and detail == ["       dockerfile"]
    _, detail = build("bye", "build: {python_mirror: https://mirror.invalid/}\n")  # not reached: Python is Debian's
    assert detail == ["       sources"]
    assert own.client.images.get(f"{own.name}:{SMALL}").attrs["Config"]["Env"][-1] == "GREETING=bye"


@pytest.mark.parametrize("matrix", MATRICES)
def test_labels(line: Callable[[str], Line], client: docker.DockerClient, matrix: str) -> None:
    for image in line(matrix).images:
        found = client.images.get(image.tag).labels
        assert dict(labels(image)).items() <= found.items()
        assert found["io.cubake.name"] == image.name
        assert len(found["io.cubake.fingerprint"]) == 64
        parts = set(json.loads(found["io.cubake.fingerprint.parts"]))
        assert {"base", "dockerfile", "lock"} <= parts


def test_torch_is_what_it_says(quickstart: Line) -> None:
    tag = quickstart.image("pytorch").tag
    assert docker_run(tag, "python", "-c", "import torch; print(torch.version.cuda)") == "12.4\n"


@pytest.mark.parametrize("module", ["torch", "tensorflow"])
def test_runs_read_only_as_anyone(quickstart: Line, small: Line, module: str) -> None:
    """TensorFlow asks for a temporary folder when it is imported, so it gets one; torch needs nothing to write to."""
    image = quickstart.image("pytorch") if module == "torch" else small.image("tensorflow")
    options = ("--read-only", "--user", "12345:12345", "--cap-drop", "ALL")
    options += ("--tmpfs", "/tmp") if module == "tensorflow" else ()
    code = f"import {module}; print({module}.__version__)"
    assert docker_run(image.tag, "python", "-c", code, options=options).startswith("2.")


def test_torch_compile_finds_its_caches_as_anyone(quickstart: Line) -> None:
    """Case RW73: torch looks for the user's name when its compiler is imported, and a bare user id has none."""
    code = "import torch._inductor.codecache; from torch._inductor.runtime.cache_dir_utils import cache_dir; "
    done = docker_run(
        quickstart.image("pytorch").tag, "python", "-c", code + "print(cache_dir())", options=("--user", "12345:12345")
    )
    assert done.strip() == "/tmp/torchinductor"


@pytest.mark.parametrize("which", ["pytorch", "tensorflow", "cuda12.4-py3.11-debian12-base", "cuda13.0"])
def test_nothing_of_the_build_is_left(quickstart: Line, small: Line, client: docker.DockerClient, which: str) -> None:
    image = (quickstart if which == "pytorch" else small).image(which)
    places = "/root/.cache /var/lib/apt/lists /var/cache/apt/archives /mnt /media /locks /tmp"
    left = docker_run(
        image.tag,
        "sh",
        "-c",
        f"find {places} -type f ! -name lock 2> /dev/null;"
        r" find / -xdev -type f \( -name ca.pem -o -name uv -o -name uvx -o -name requirements.lock \)",
    )
    assert left == ""
    names = {entry.partition("=")[0].upper() for entry in client.images.get(image.tag).attrs["Config"]["Env"]}
    assert not {name for name in names if "PROXY" in name or "SSL" in name or name.startswith(("UV_", "PIP_"))}


@pytest.mark.parametrize("which", ["pytorch", "cuda12.4-py3.11-debian12-base"])
def test_no_certificate_of_the_build_is_left(quickstart: Line, small: Line, which: str) -> None:
    """What the build trusted beyond the distribution's own certificates stands in no file of the image."""
    image = (quickstart if which == "pytorch" else small).image(which)
    own = set(docker_run(image.tag, "cat", "/etc/ssl/certs/ca-certificates.crt").splitlines())
    bundle = (files.bundle_from_environment(None) or b"").decode("utf-8", "replace")
    certificates = [block.splitlines() for block in bundle.split("-----BEGIN CERTIFICATE-----\n")[1:]]
    foreign = [lines[len(lines) // 2] for lines in certificates if not set(lines[1:5]) & own]
    if foreign:
        patterns = " ".join(f"-e {text}" for text in foreign)
        script = f"find / -xdev -type f -size -2M -exec grep -lF {patterns} {{}} + || true"
        assert docker_run(image.tag, "sh", "-c", script) == ""


def test_secrets_of_the_build_are_nowhere(
    cubake: Cubake, small: Line, own: Own, out: Path, tmp_path: Path, client: docker.DockerClient
) -> None:
    """A bundle with a mark in it and a proxy with a password: neither is in the image, its history, or our files."""
    matrix = own.matrix(HEAD + PROD % "secretive")
    bundle = tmp_path / "bundle.pem"
    trusted = files.bundle_from_environment(None) or Path(requests.certs.where()).read_bytes()
    bundle.write_bytes(trusted + f"\n# mark-{own.name}\n".encode())
    own.ids.add("cubake/tools:" + hashlib.sha256(UV.encode() + bundle.read_bytes()).hexdigest()[:12])
    direct = ".org"  # the package index and the archive: both answer without the proxy
    secret = f"pass-{own.name[-8:]}-{own.name[-8:]}"
    proxy = f"http://someone:{secret}@proxy.invalid:3128"
    env = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), proxy) | {"NO_PROXY": direct}
    env |= {name.lower(): value for name, value in env.items()}
    args = ("--no-cache", "--no-verify", "-v", "--ca-bundle", str(bundle))
    done = cubake("--matrix", matrix, "--out", out, *args, env=env)
    assert done.code == 0, done.err
    tag = f"{own.name}:{SMALL}"
    told = json.dumps([client.api.inspect_image(tag), client.api.history(tag)])
    texts = [told, done.out, done.err, *(path.read_text() for path in out.rglob("*") if path.is_file())]
    assert not [text for text in texts if secret in text or f"mark-{own.name}" in text]
    pattern = f"-e mark-{own.name} -e {secret}"
    assert docker_run(tag, "sh", "-c", f"grep -rlsF {pattern} /etc /opt /root /usr /var /tmp /mnt || true") == ""


def test_dry_run_does_nothing(cubake: Cubake, own: Own, out: Path) -> None:
    matrix = own.matrix(HEAD + PROD % "dry")
    done = cubake("--matrix", matrix, "--out", out, "--dry-run")
    assert done.code == 0 and SMALL in done.out
    assert not out.exists() and own.tags() == []
    assert [path.name for path in (own.folder / "images" / SMALL).iterdir()] == [files.LOCK]
