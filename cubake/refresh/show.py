"""A refresh for people and for programs. Pure."""

from __future__ import annotations

from typing import Any

from cubake.refresh.types import Change, FileResult, Missing, Refreshed
from cubake.words import count


def text(done: Refreshed) -> str:
    """What changed, then a line for each file, then what is wrong."""
    lines = [line(change) for file in done.files for change in file.changes]
    lines += [_missing(row) for row in done.missing]
    lines += [""] if lines else []
    lines += [_file(file, done.check) for file in done.files]
    lines += [f"warning: {warning}" for warning in done.warnings]
    lines += [f"error: {problem}" for problem in done.problems]
    return "\n".join(lines) + "\n"


def line(change: Change) -> str:
    """``+ pytorch 2.16.0 (CUDA 13.2, …)``, ``- …``, ``~ tensorflow 2.21.0 numpy: '>=1.26.0' -> '>=1.26.4'``."""
    start = f"{change.kind} {change.file} {change.row}"
    if change.kind == "~":
        return f"{start} {change.field}: {_value(change.old)} -> {_value(change.new)}"
    return f"{start} ({change.note})" if change.note else start


def document(done: Refreshed) -> dict[str, Any]:
    """The refresh as one JSON document."""
    return {
        "check": done.check,
        "files": [
            {
                "name": file.name,
                "status": file.status,
                "reason": file.reason,
                "changes": [{**_change(change), "text": line(change)} for change in file.changes],
            }
            for file in done.files
        ],
        "missing": [{"file": row.file, "row": row.row, "released": row.released} for row in done.missing],
        "problems": list(done.problems),
        "warnings": list(done.warnings),
    }


def _change(change: Change) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": change.kind, "row": change.row}
    return found | ({"field": change.field, "old": change.old, "new": change.new} if change.kind == "~" else {})


def _missing(row: Missing) -> str:
    return f"missing {row.file} {row.row}" + (f" (released {row.released})" if row.released else "")


def _file(file: FileResult, check: bool) -> str:
    said = file.reason
    if file.status == "changed" and file.changes:
        said = count(len(file.changes), "change")
    elif file.status == "unchanged" and check:
        said = said or "nothing is missing"
    return f"{file.name:<12} {file.status:<9} {said}".rstrip()


def _value(value: Any) -> str:
    """Long mappings and lists would hide the rest: their beginning is enough to know which."""
    shown = "nothing" if value is None else repr(value)
    return shown if len(shown) <= 100 else f"{shown[:99]}…"
