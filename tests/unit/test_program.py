"""build.py with a Python that lacks what cubake needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def program(root: Path, tmp_path: Path) -> Path:
    shutil.copytree(root / "cubake", tmp_path / "cubake", ignore=shutil.ignore_patterns("__pycache__"))
    return Path(shutil.copy(root / "build.py", tmp_path))


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=60)


def venv(program: Path, script: str) -> Path:
    python = program.parent / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    return python


MISSING = "cubake needs its dependencies (missing: click): run bin/quickstart, or use .venv/bin/python\n"


def test_it_says_what_to_do(program: Path) -> None:
    done = run(sys.executable, "-S", program, "plan")  # -S: without site-packages
    assert (done.returncode, done.stdout, done.stderr) == (2, "", MISSING)


def test_the_environment_beside_it_takes_over(program: Path) -> None:
    venv(program, 'echo "$@"; exit 3')
    done = run(sys.executable, "-S", program, "plan", "--only", "a b")
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{program} plan --only a b\n", "")


def test_an_environment_that_lacks_it_too_is_tried_once(program: Path) -> None:
    python = venv(program, f'exec -a "$0" {sys.executable} -S "$@"')
    python.write_text(python.read_text().replace("/bin/sh", "/bin/bash"))
    done = run(sys.executable, "-S", program, "plan")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", MISSING)


@pytest.mark.parametrize("module", ["yaml", "pydantic"])
def test_what_a_verb_needs_is_missed_as_well(module: str, program: Path) -> None:
    """--help needs click alone; the rest is imported when a verb runs."""
    code = (
        f"import runpy, sys; sys.modules[{module!r}] = None; sys.argv = ['build.py', 'plan'];"
        f"sys.path.insert(0, {str(program.parent)!r}); runpy.run_path({str(program)!r}, run_name='__main__')"
    )
    done = run(sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == MISSING.replace("click", module)
