"""One report of a run: exit code, JUnit, Markdown, and the records on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cubake.build.types import BuildRecord, Outcome
from cubake.errors import InputError
from cubake.plan import Plan
from cubake.report.make import Report, Row, cells, document, junit, make_report, summary, write_report
from cubake.report.records import read_records, write_builds, write_verdicts
from cubake.verify.types import Check, Status, VerifyRecord


def built(name: str = "a", outcome: Outcome = Outcome.BUILT, error: str = "", code: int = 0) -> BuildRecord:
    return BuildRecord(
        name, f"r/{name}", outcome, 10.0, "sha256:1", 5_900_000_000, "base (local)", error, code, ("lock",)
    )


def verdict(name: str = "a", *checks: Check, require_gpu: bool = False) -> VerifyRecord:
    found = checks or (Check("contents.python", Status.PASS), Check("gpu.device", Status.NOT_RUN, "no GPU"))
    return VerifyRecord(name, f"r/{name}", "sha256:1", None, found, 2.0, require_gpu)


def report(*rows: Row) -> Report:
    return Report(rows, ())


GOOD = Row("a", "r/a", built(), verdict())
FAILED = Row("b", "r/b", built("b", Outcome.FAILED, "RUN false failed", 1), None)
REFUSED = Row("c", "r/c", built("c", Outcome.BLOCKED, "no lock", 3), None)
AWAY = Row("d", "r/d", built("d", Outcome.BLOCKED, "the registry does not answer", 4), None)
WRONG = Row("e", "r/e", built("e"), verdict("e", Check("contents.python", Status.FAIL, "is 3.10")))
GONE = Row(
    "g",
    "r/g",
    built("g"),
    replace(verdict("g", Check("contents.python", Status.NOT_RUN, "went away")), away="went away"),
)
MISSING = Row("f", "r/f", built("f"), verdict("f", Check("contents.python", Status.NOT_RUN, "did not report")))


@pytest.mark.parametrize(
    ("rows", "code"),
    # design section 5: 0 all done, 1 a build or a check failed, 3 refused, 4 unavailable; a failure goes first
    [
        ((GOOD,), 0), ((), 0), ((GOOD, FAILED), 1), ((GOOD, REFUSED), 3), ((GOOD, AWAY), 4), ((AWAY, FAILED), 1),
        ((REFUSED, AWAY), 3), ((GOOD, WRONG), 1), ((WRONG, AWAY), 1), ((MISSING,), 1),
        ((GOOD, GONE), 4), ((WRONG, GONE), 1),
        ((Row("a", "t", built(), None),), 0),
        ((Row("a", "t", built("a", Outcome.REUSED), None),), 0),
    ],
)  # fmt: skip
def test_exit_code(rows: tuple[Row, ...], code: int) -> None:
    assert report(*rows).code == code


def test_one_image_is_one_image() -> None:
    assert summary(report(GOOD)).startswith("## cubake: 1 of 1 image good\n")


def test_ok() -> None:
    assert [row.ok for row in (GOOD, FAILED, REFUSED, AWAY, WRONG, MISSING)] == [True] + [False] * 5


def test_an_image_of_which_nothing_is_known_is_not_good() -> None:
    assert not Row("a", "r/a", None, None).ok


def suite_of(text: str, name: str) -> ElementTree.Element:
    return next(suite for suite in ElementTree.fromstring(text).iter("testsuite") if suite.get("name") == name)


def test_junit_counts() -> None:
    text = junit(report(GOOD, FAILED, WRONG))
    good, failed, wrong = (suite_of(text, name) for name in "abe")
    assert (good.get("tests"), good.get("failures"), good.get("skipped")) == ("3", "0", "1")
    assert (failed.get("tests"), failed.get("failures"), failed.get("skipped")) == ("1", "1", "0")
    assert (wrong.get("tests"), wrong.get("failures"), wrong.get("skipped")) == ("2", "1", "0")
    assert [case.get("name") for case in good.iter("testcase")] == ["build", "contents.python", "gpu.device"]
    skipped = good.find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "no GPU"


def test_junit_a_check_that_had_to_run_is_a_failure() -> None:
    needed = Row("a", "r/a", None, verdict("a", Check("gpu.device", Status.NOT_RUN, "no GPU"), require_gpu=True))
    suite = suite_of(junit(report(needed, MISSING)), "a")
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")


def test_junit_a_failure_without_words_is_a_failure() -> None:
    row = Row("a", "r/a", None, verdict("a", Check("contents.python", Status.FAIL, "")))
    assert suite_of(junit(report(row)), "a").get("failures") == "1"


def test_junit_a_skip_without_words_is_a_skip() -> None:
    row = Row("a", "r/a", None, verdict("a", Check("gpu.device", Status.NOT_RUN, "")))
    assert suite_of(junit(report(row)), "a").get("skipped") == "1"


@pytest.mark.parametrize("error", ['escape \x1b[31m <tag> & "quotes" \x00 ünïcode', "no characters: \ufffe \uffff"])
def test_junit_holds_any_text(error: str) -> None:
    text = junit(report(Row("a", "r/a", built("a", Outcome.FAILED, error, 1), None)))
    assert suite_of(text.encode("utf-8", "strict").decode(), "a").get("failures") == "1"


def test_summary_golden() -> None:
    measured = Check("gpu.device", Status.PASS, "", {"name": "NVIDIA A100"})
    gpu = VerifyRecord(
        "g", "r/g", "sha256:1", {"name": "NVIDIA A100"}, (Check("contents.python", Status.PASS), measured), 2.0
    )
    assert summary(report(GOOD, FAILED, WRONG, Row("g", "r/g", built("g", Outcome.REUSED), gpu))) == (
        "## cubake: 2 of 4 images good\n"
        "\n"
        "| image | build | checks | GPU | size | time |\n"
        "|---|---|---|---|---:|---:|\n"
        "| `a` | BUILT | 1/1 | NOT_RUN | 5.90 GB | 12 s |\n"
        "| `b` | FAILED | not verified |  | 5.90 GB | 10 s |\n"
        "| `e` | BUILT | 0/1 | NOT_RUN | 5.90 GB | 12 s |\n"
        "| `g` | REUSED | 1/1 | 1/1 on NVIDIA A100 | 5.90 GB | 12 s |\n"
        "\n"
        "### What is wrong\n"
        "\n"
        "- `b`: FAILED: RUN false failed\n"
        "- `e`: contents.python FAIL: is 3.10\n"
    )


def test_document() -> None:
    """The keys of `verify` (design section 5) stand in it."""
    found = document(report(GOOD, WRONG))
    assert found["ok"] is False
    assert [image["ok"] for image in found["images"]] == [True, False]
    assert found["images"][0]["verify"].keys() >= {"name", "image_id", "gpu", "checks"}
    assert found["images"][0]["verify"]["checks"][0].keys() >= {"id", "status", "reason", "measured", "seconds"}
    json.dumps(found)


def test_written_files(tmp_path: Path) -> None:
    write_report(tmp_path / "new" / "out", report(GOOD, FAILED))
    out = tmp_path / "new" / "out"
    assert {path.name for path in out.iterdir()} == {"report.json", "junit.xml", "summary.md"}
    assert json.loads((out / "report.json").read_text())["ok"] is False
    ElementTree.parse(out / "junit.xml")


@pytest.fixture
def plan(planned: Callable[[str], Plan]) -> Plan:
    return planned("images:\n  a: {cuda: ['12.6', '12.8']}\n  b: {pytorch: ['2.99'], python: '3.11'}\n")


def test_report_rows_are_the_plans(plan: Plan) -> None:
    first, second = (image.name for image in plan.images)
    made = make_report(plan, [built(second)], [verdict(second)])
    assert [(row.name, row.build is None) for row in made.rows] == [(first, True), (second, False)]
    assert [refused["line"] for refused in made.refused] == [5]


@pytest.mark.parametrize(
    ("build", "shown"),
    [
        (built(), "PASS"),
        (replace(built(), outcome=Outcome.REUSED), "PASS"),
        (replace(built(), image_id="sha256:2"), None),
        (built(outcome=Outcome.FAILED, error="RUN false failed", code=1), None),
        (replace(built(outcome=Outcome.BLOCKED, error="no lock", code=3), image_id=None), None),
        (None, "PASS"),
    ],
)
def test_a_verdict_on_another_image_than_the_one_built_is_none(
    build: BuildRecord | None, shown: str | None, plan: Plan
) -> None:
    """`build --no-verify`, or a build that fails, leaves the verdict on the image before it on the disk."""
    name = plan.images[0].name
    made = make_report(plan, [replace(build, name=name)] if build else [], [verdict(name)])
    row = made.rows[0]
    assert (row.verdict is not None) is (shown == "PASS")
    if shown is None:
        assert cells(row)[1:3] == ("not verified", "")
        assert document(made)["images"][0]["verify"] is None
        assert [case.get("name") for case in suite_of(junit(made), name)] == ["build"]


def test_records_come_back_as_they_were(tmp_path: Path, plan: Plan) -> None:
    first, second = (image.name for image in plan.images)
    builds = [built(first), built(second, Outcome.FAILED, "no\nspace ü", 1)]
    checks = (Check("contents.python", Status.PASS, "", {"version": "3.10", "list": [1, 2]}, 0.5),)
    verdicts = [VerifyRecord(first, "r/x", "sha256:1", {"name": "A100", "access": "nvidia"}, checks, 2.5, True)]
    write_builds(tmp_path, builds)
    write_verdicts(tmp_path, verdicts)
    assert read_records(tmp_path, plan) == (builds, verdicts)


def test_no_records_is_an_input_error(tmp_path: Path, plan: Plan) -> None:
    with pytest.raises(InputError, match="holds no records"):
        read_records(tmp_path, plan)


@pytest.mark.parametrize("kind", ["build", "verify"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"outcome": "SPLENDID"}', '{"name": "x", "new": 1}'])
def test_a_record_that_is_none_is_named(kind: str, text: str, tmp_path: Path, plan: Plan) -> None:
    """A killed run, another version, or a person may have written it."""
    path = tmp_path / kind / f"{plan.images[0].name}.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_records(tmp_path, plan)
    assert str(path) in caught.value.message
