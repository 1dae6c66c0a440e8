"""The records of a run on disk: what `build` and `verify` found, so that `report` and the next run can read it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cubake import files
from cubake.build.types import BuildRecord, Outcome
from cubake.errors import InputError
from cubake.plan import Plan
from cubake.verify.types import Check, Status, VerifyRecord


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
    """The records of a plan's images, as far as there are any."""
    builds, verdicts = [], []
    for image in plan.images:
        if (row := _read(out / "build" / f"{image.name}.json")) is not None:
            builds.append(BuildRecord(**row | {"outcome": Outcome(row["outcome"]), "changed": tuple(row["changed"])}))
        if (row := _read(out / "verify" / f"{image.name}.json")) is not None:
            row.pop("passed")
            checks = tuple(Check(**check | {"status": Status(check["status"])}) for check in row.pop("checks"))
            verdicts.append(VerifyRecord(**row, checks=checks))
    if not builds and not verdicts:
        raise InputError(f"{out}: holds no records of these images", "build or verify first")
    return builds, verdicts


def _read(path: Path) -> dict[str, Any] | None:
    text = files.read(path)
    if text is None:
        return None
    try:
        return dict(json.loads(text))
    except ValueError as error:
        raise InputError(f"{path}: not a record of cubake: {error}", "delete it and run again") from error


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
