"""The records of a run on disk: what `build` and `verify` found, so that `report` and the next run can read it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from cubake import files
from cubake.build.types import BuildRecord, Outcome
from cubake.errors import InputError
from cubake.plan import Plan
from cubake.verify.types import Check, Status, VerifyRecord

_Record = TypeVar("_Record", BuildRecord, VerifyRecord)


def write_builds(out: Path, records: Iterable[BuildRecord]) -> None:
    for record in records:
        files.write(out / "build" / f"{record.name}.json", _text(asdict(record)))


def write_verdicts(out: Path, verdicts: Iterable[VerifyRecord]) -> None:
    for verdict in verdicts:
        files.write(out / "verify" / f"{verdict.name}.json", _text(verdict_document(verdict)))


def verdict_document(verdict: VerifyRecord) -> dict[str, Any]:
    """The document form of a verdict (design section 5)."""
    return asdict(verdict) | {"passed": verdict.passed}


def read_records(out: Path, plan: Plan) -> tuple[list[BuildRecord], list[VerifyRecord]]:
    """The records of a plan's images, as far as there are any. InputError naming a file that is no record."""
    builds = [one for image in plan.images if (one := _read(out / "build" / f"{image.name}.json", _build))]
    verdicts = [two for image in plan.images if (two := _read(out / "verify" / f"{image.name}.json", _verdict))]
    if not builds and not verdicts:
        raise InputError(f"{out}: holds no records of these images", "build or verify first")
    return builds, verdicts


def _build(row: dict[str, Any]) -> BuildRecord:
    return BuildRecord(**row | {"outcome": Outcome(row["outcome"]), "changed": tuple(row["changed"])})


def _verdict(row: dict[str, Any]) -> VerifyRecord:
    checks = tuple(Check(**check | {"status": Status(check["status"])}) for check in row["checks"])
    return VerifyRecord(**{name: value for name, value in row.items() if name != "passed"} | {"checks": checks})


def _read(path: Path, make: Callable[[dict[str, Any]], _Record]) -> _Record | None:
    text = files.read(path)
    if text is None:
        return None
    try:
        return make(dict(json.loads(text)))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a record of cubake: {error}", "delete it and run again") from error


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
