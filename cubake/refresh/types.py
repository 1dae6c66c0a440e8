"""What a refresh is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cubake.plan.lock import PYTORCH_INDEX

Data: TypeAlias = dict[str, Any]  # a facts file as plain mappings, lists and scalars; versions are text
Announce: TypeAlias = Callable[[str], None]
Status: TypeAlias = Literal["unchanged", "changed", "refused", "skipped", "kept"]

AMD, ARM = "linux/amd64", "linux/arm64"


@dataclass(frozen=True)
class Sources:
    """Where facts are read from. None means what the environment says, or the usual place.

    ``index_url`` is a Simple index (PEP 503, 691); ``registry`` a mirror of Docker Hub, ``host[:port][/path]``;
    ``pytorch_index`` holds the folder ``torch/``; ``cache`` is the folder of what was learned of wheels and images.
    """

    index_url: str | None = None
    ca_bundle: str | None = None
    registry: str | None = None
    pytorch_index: str = PYTORCH_INDEX
    cache: Path | None = None


@dataclass(frozen=True)
class Change:
    """One difference between the old and the new file: a row more (``+``), a row less (``-``), or a value (``~``).

    ``field`` is the path of the value within the row, with blanks; ``old`` and ``new`` are values as the file holds
    them. ``note`` says of a new row what people look for first.
    """

    kind: Literal["+", "-", "~"]
    file: str
    row: str
    field: str = ""
    old: Any = None
    new: Any = None
    note: str = ""


@dataclass(frozen=True)
class FileResult:
    """What became of one facts file. ``reason`` says why it is refused, skipped or kept; else it may add a remark."""

    name: str
    status: Status
    reason: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Missing:
    """A release that the index or the registry has and the facts lack; ``released`` is a date, or empty."""

    file: str
    row: str
    released: str = ""


@dataclass(frozen=True)
class Refreshed:
    """All of a refresh. ``missing`` is filled by a check; ``problems`` fail it, ``warnings`` do not."""

    check: bool
    files: tuple[FileResult, ...]
    missing: tuple[Missing, ...] = ()
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1: a file was refused, or a check found something missing; 4: a source did not answer. Of several files the
        registry's alone is no failure: many a network does not reach it, and its rows stay."""
        if self.missing or self.problems or any(file.status == "refused" for file in self.files):
            return 1
        online = [file for file in self.files if file.status != "kept"]
        silent = {file.name for file in online if file.status == "skipped"}
        return 4 if silent and (len(online) == 1 or silent != {"base_images"}) else 0
