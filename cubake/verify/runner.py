"""The door to pytest: runs the suite against one container and gives its JUnit text."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from cubake.errors import Unavailable

SUITE = Path(__file__).parent / "suite"
PROBES = Path(__file__).parent / "probes"
LIMIT = 900  # seconds for one image's suite


def need_client() -> None:
    """testinfra reaches a container through the docker client; Unavailable where there is none."""
    if shutil.which("docker") is None:
        raise Unavailable("verification needs the docker client on PATH", "apt-get install docker-cli (or docker.io)")


def run_suite(container: str, document: dict[str, Any], no_gpu: str | None, host: str) -> tuple[str | None, str]:
    """Run every check in the container. The JUnit text (None where pytest wrote none) and what went wrong.

    ``document`` is what the checks compare with; ``no_gpu`` is why GPU checks cannot run, or None where they can;
    ``host`` is the engine that has the container.
    """
    with tempfile.TemporaryDirectory(prefix="cubake-verify-") as folder:
        promised, junit = Path(folder, "promised.json"), Path(folder, "junit.xml")
        promised.write_text(json.dumps(document))
        command = [sys.executable, "-m", "pytest", str(SUITE), "-q", "-p", "no:cacheprovider", "--rootdir", str(SUITE)]
        command += ["-c", os.devnull, f"--hosts=docker://{container}", f"--promised={promised}", f"--junitxml={junit}"]
        command += [f"--no-gpu={no_gpu}"] if no_gpu else []
        env = os.environ | {"DOCKER_HOST": host}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False, env=env
            )
            trouble = "" if done.returncode in (0, 1) else (done.stdout + done.stderr).strip()[-500:]
        except subprocess.TimeoutExpired:
            trouble = f"the suite was stopped after {LIMIT} s"
        return (junit.read_text() if junit.exists() else None), trouble


def probes() -> dict[str, bytes]:
    """The programs that run inside the image, by file name."""
    return {path.name: path.read_bytes() for path in sorted(PROBES.glob("*.py"))}
