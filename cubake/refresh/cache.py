"""What was learned of a wheel or an image, kept by its hash: what has that hash never changes. A broken or an older
entry counts as none, and a folder that cannot be written to only makes the next run slower.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubake import files
from cubake.errors import CubakeError

SCHEMA = 1  # raised when the same question is answered otherwise


def cache_folder(option: Path | None) -> Path:
    """The folder asked for, else cubake's in the user's cache (XDG base directory specification)."""
    home = os.environ.get("XDG_CACHE_HOME")
    return option or (Path(home) if home else Path.home() / ".cache") / "cubake"


@dataclass(frozen=True)
class Cache:
    """JSON values by hash and question, one file a hash. An empty hash is never kept."""

    folder: Path

    def read(self, digest: str) -> dict[str, Any]:
        """The answers by question."""
        if not digest:
            return {}
        with suppress(CubakeError, ValueError, TypeError, KeyError):
            document = json.loads(files.read(self._path(digest)) or "")
            if document["schema"] == SCHEMA:
                return dict(document["answers"])
        return {}

    def write(self, digest: str, name: str, answers: dict[str, Any]) -> None:
        """Keep the answers; ``name`` is for people who look."""
        document = {"schema": SCHEMA, "name": name, "answers": answers}
        if digest:
            with suppress(CubakeError):
                files.write(self._path(digest), json.dumps(document, indent=1, sort_keys=True) + "\n")

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest.removeprefix('sha256:')}.json"
