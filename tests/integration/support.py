"""What the integration tests share: build.py as a process, a finished line, and a repository of a test's own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError

from cubake import files
from cubake.facts import load as load_facts
from cubake.matrix import load_matrix
from cubake.plan import Image, make_plan

ROOT = Path(__file__).resolve().parents[2]
SMALL = "cuda12.4-py3.11-debian12-base"  # the smallest image there is; its lock is also that of its other profiles
HEAD = "version: 1\ndefaults: {os: debian12, python: 3.11}\n"


@dataclass(frozen=True)
class Done:
    """A finished run of build.py."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Stdout as the one JSON document that --json promises; anything else there is an error."""
        return json.loads(self.out)


class Cubake:
    """``python build.py`` with arguments, as a process of its own."""

    @staticmethod
    def command(*args: str | Path) -> list[str]:
        return [sys.executable, str(ROOT / "build.py"), *map(str, args)]

    def __call__(self, *args: str | Path, env: dict[str, str] | None = None) -> Done:
        done = subprocess.run(
            self.command(*args), capture_output=True, text=True, env=os.environ | (env or {}), timeout=600, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *args: str | Path) -> subprocess.Popen[str]:
        """The process in a group of its own, with stderr to read while it runs. It takes SIGINT even where the tests
        run in the background of a shell, which makes its children ignore it."""
        return subprocess.Popen(
            self.command(*args),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  the tests have no threads
        )


@dataclass(frozen=True)
class Line:
    """The whole line, run once over a copy of a matrix."""

    matrix: Path
    out: Path
    done: Done

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads((self.out / "report.json").read_text()))

    @property
    def images(self) -> tuple[Image, ...]:
        return make_plan(load_matrix(self.matrix), load_facts(), files.read_locks(self.matrix.parent / "images")).images

    def image(self, start: str) -> Image:
        """The image whose name begins so."""
        return next(image for image in self.images if image.name.startswith(start))


@dataclass
class Own:
    """A repository of one test, with a folder for its matrix. ``ids`` are further images to remove at the end."""

    name: str
    folder: Path
    client: docker.DockerClient
    ids: set[str] = field(default_factory=set)

    def matrix(self, text: str, locks: Sequence[str] = (SMALL,)) -> Path:
        """Write the matrix, and the small image's lock under each of the names."""
        path = self.folder / "matrix.yaml"
        path.write_text(f"repository: {self.name}\n{text}")
        source = ROOT / "tests/integration/images" / SMALL / files.LOCK
        for name in locks:
            target = self.folder / "images" / name / files.LOCK
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        return path

    def tags(self) -> list[str]:
        found = [tag for image in self.client.images.list(name=self.name) for tag in image.tags]
        self.ids |= {str(image.id) for image in self.client.images.list(name=self.name)}
        return sorted(tag for tag in found if tag.startswith(f"{self.name}:"))

    def remove(self) -> None:
        """The tags, then what has no other tag: an equal image of someone else's has the same id."""
        for tag in self.tags():
            self.client.images.remove(tag)
        for image in self.ids:
            with suppress(APIError):
                if not self.client.images.get(image).tags or not image.startswith("sha256:"):
                    self.client.images.remove(image)
