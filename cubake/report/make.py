"""Room 8's door: one report of a run, as JSON, JUnit and Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cubake import files
from cubake.build.types import BuildRecord, Outcome
from cubake.plan import Plan
from cubake.plan.document import refused_document
from cubake.report.records import verdict_document
from cubake.verify.types import Status, VerifyRecord
from cubake.words import count

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Row:
    """One image in the report; either half may be missing."""

    name: str
    tag: str
    build: BuildRecord | None
    verdict: VerifyRecord | None

    @property
    def ok(self) -> bool:
        if self.build is None and self.verdict is None:
            return False
        return (self.build is None or _built(self.build)) and (self.verdict is None or self.verdict.passed)


@dataclass(frozen=True)
class Report:
    rows: tuple[Row, ...]
    refused: tuple[dict[str, Any], ...]

    @property
    def code(self) -> int:
        """The exit code of the run: the worst that happened to an image, a failure before what could not be had."""
        codes = [row.build.code for row in self.rows if row.build and not _built(row.build)]
        codes += [row.verdict.code for row in self.rows if row.verdict and not row.verdict.passed]
        return min(codes, default=0)


def _built(record: BuildRecord) -> bool:
    return record.outcome in (Outcome.BUILT, Outcome.REUSED)


def make_report(plan: Plan, builds: Sequence[BuildRecord], verdicts: Sequence[VerifyRecord]) -> Report:
    built = {record.name: record for record in builds}
    judged = {verdict.name: verdict for verdict in verdicts}
    rows = (Row(image.name, image.tag, built.get(image.name), judged.get(image.name)) for image in plan.images)
    return Report(tuple(map(_joined, rows)), tuple(refused_document(refused) for refused in plan.refused))


def _joined(row: Row) -> Row:
    """The row without a verdict on another image than the build gave: one from before."""
    same = row.build and row.verdict and _built(row.build) and row.build.image_id == row.verdict.image_id
    return row if row.build is None or same else replace(row, verdict=None)


def document(report: Report) -> dict[str, Any]:
    images = [
        {
            "name": row.name,
            "tag": row.tag,
            "ok": row.ok,
            "build": asdict(row.build) if row.build else None,
            "verify": verdict_document(row.verdict) if row.verdict else None,
        }
        for row in report.rows
    ]
    return {"ok": report.code == 0, "images": images, "refused": list(report.refused)}


def write_report(out: Path, report: Report) -> None:
    """``report.json``, ``junit.xml`` and ``summary.md`` in the output folder."""
    files.write(out / "report.json", json.dumps(document(report), indent=1, ensure_ascii=False) + "\n")
    files.write(out / "junit.xml", junit(report))
    files.write(out / "summary.md", summary(report))


def junit(report: Report) -> str:
    """One suite per image: its build and each of its checks. What did not run is skipped, with the reason."""
    root = ElementTree.Element("testsuites", name="cubake")
    for row in report.rows:
        suite = ElementTree.SubElement(root, "testsuite", name=row.name)
        if row.build:
            case = _case(suite, row.name, "build", row.build.seconds)
            if not _built(row.build):
                _outcome(case, "failure", f"{row.build.outcome}: {row.build.error}")
        for check in row.verdict.checks if row.verdict else ():
            case = _case(suite, row.name, check.id, check.seconds)
            if row.verdict and check in row.verdict.failures:
                _outcome(case, "failure", check.reason)
            elif check.status is Status.NOT_RUN:
                _outcome(case, "skipped", check.reason)
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(suite.findall("*/failure"))))
        suite.set("skipped", str(len(suite.findall("*/skipped"))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, image: str, name: str, seconds: float) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=image, name=name, time=f"{seconds:.3f}")


def _outcome(case: ElementTree.Element, kind: str, message: str) -> None:
    """Text goes in without the characters that XML 1.0 cannot hold."""
    ElementTree.SubElement(case, kind, message=_NOT_XML.sub("\ufffd", message))


def summary(report: Report) -> str:
    """The report for a pull request or a job page."""
    done = sum(row.ok for row in report.rows)
    lines = [f"## cubake: {done} of {count(len(report.rows), 'image')} good", ""]
    lines += ["| image | build | checks | GPU | size | time |", "|---|---|---|---|---:|---:|"]
    for row in report.rows:
        lines.append(f"| `{row.name}` | {' | '.join(cells(row))} |")
    problems = [f"- `{row.name}`: {problem}" for row in report.rows for problem in troubles(row)]
    if problems:
        lines += ["", "### What is wrong", "", *[problem.replace("\n", "\n  ") for problem in problems]]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> tuple[str, str, str, str, str]:
    """Build, checks, GPU, size and time of a row, as people read them."""
    build, verdict = row.build, row.verdict
    seconds = (build.seconds if build else 0) + (verdict.seconds if verdict else 0)
    size = f"{build.bytes / 1e9:.2f} GB" if build and build.bytes else ""
    if verdict is None:
        return (build.outcome if build else "", "not verified", "", size, f"{seconds:.0f} s")
    contents = [check for check in verdict.checks if check.id.startswith("contents.")]
    passed = sum(check.status is Status.PASS for check in contents)
    gpu = [check for check in verdict.checks if check.id.startswith("gpu.")]
    ran = [check for check in gpu if check.status is not Status.NOT_RUN]
    right = sum(check.status is Status.PASS for check in gpu)
    on_gpu = f"{right}/{len(gpu)} on {(verdict.gpu or {}).get('name', 'GPU')}" if ran else "NOT_RUN"
    return (build.outcome if build else "", f"{passed}/{len(contents)}", on_gpu, size, f"{seconds:.0f} s")


def troubles(row: Row) -> list[str]:
    found = []
    if row.build and not _built(row.build):
        found.append(f"{row.build.outcome}: {row.build.error}")
    if row.verdict:
        found += [f"{check.id} {check.status}: {check.reason}" for check in row.verdict.failures]
    return found
