"""What differs between two versions of a facts file, row by row. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cubake.errors import Refused
from cubake.refresh.types import AMD, Change, Data
from cubake.refresh.yamlfile import ROWS
from cubake.words import count

FLOOR = 0.9  # of the committed rows: a source that suddenly has fewer is broken more often than it is right


def changes(name: str, old: Data, new: Data) -> tuple[Change, ...]:
    """Rows more, rows less and values that differ, in the order of the new file; last the rows that are gone."""
    before, after = _rows(name, old), _rows(name, new)
    found: list[Change] = []
    for row, value in after.items():
        if row not in before:
            found.append(Change("+", name, row, note=_note(name, value)))
        else:
            found += [Change("~", name, row, *difference) for difference in _differences(before[row], value)]
    found += [Change("-", name, row) for row in before if row not in after]
    return tuple(found)


def hold_floor(name: str, old: Data, new: Data, source: str) -> None:
    """Refused where the new file has fewer than nine tenths of the old one's rows, or of the values in them."""
    for word, before, now in (
        ("rows", len(_rows(name, old)), len(_rows(name, new))),
        ("values", _leaves(old), _leaves(new)),
    ):
        if now < FLOOR * before:
            what = f"{source} gives {now} of the {before} {word} there were"
            hint = "run it again later; if the source is right, lower FLOOR in cubake/refresh/compare.py for that run"
            raise Refused(f"{name}: {what}; nothing is written", hint)


def _rows(name: str, data: Data) -> Data:
    """The rows by their key, those of the small table beside the main one with its name before it."""
    side = {
        f"{table} {key}": row
        for table, rows in data.items()
        if table not in ("sources", ROWS[name])
        for key, row in rows.items()
    }
    return {**side, **data.get(ROWS[name], {})}


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_leaves, value.values()))
    return sum(map(_leaves, value)) if isinstance(value, list) else 1


def _differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Path, old and new of every value that differs; None stands for one that is not there."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        if old != new:
            yield path, old, new
        return
    for key in (*new, *(key for key in old if key not in new)):
        yield from _differences(old.get(key), new.get(key), f"{path} {key}".lstrip())


def _note(name: str, row: Data) -> str:
    """What people look for first in a new row."""
    if name in ("pytorch", "tensorflow"):
        wheel = row["wheels"].get(AMD, {})
        parts = [
            f"CUDA {wheel.get('cuda') or 'none'}",
            f"cuDNN {wheel.get('cudnn') or 'none'}",
            f"released {row['released']}",
        ]
    elif name == "components":
        parts = [count(len(row.get("packages", {})), "wheel")]
    elif name == "cudnn":
        parts = [", ".join(row["wheels"]), f"from compute capability {row['min_capability']}"]
    else:
        parts = [", ".join(row["os"])]
    return ", ".join(parts)
