"""The command line as one frozen value. Nothing beyond the command line knows how options are spelled."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """What was asked. Paths are as given; None means not given, so that the matrix file or a default decides."""

    matrix: Path = Path("matrix.yaml")
    only: tuple[str, ...] = ()
    out: Path = Path("out")
    json: bool = False
    verbose: bool = False
    quiet: bool = False
    check: bool = False
    upgrade: bool = False
    jobs: int = 2
    fail_fast: bool = False
    no_cache: bool = False
    verify: bool = True
    dry_run: bool = False
    base: str = "auto"
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: str | None = None
    ca_bundle: str | None = None
    network: str | None = None
    gpu: str = "auto"
    require_gpu: bool = False

    @property
    def images(self) -> Path:
        """The folder of rendered files: beside the matrix file."""
        return self.matrix.parent / "images"

    def command(self, verb: str) -> str:
        """What to type for another verb on the same matrix file."""
        matrix = "" if self.matrix == Path("matrix.yaml") else f" --matrix {shlex.quote(str(self.matrix))}"
        return f"python build.py {verb}{matrix}"
