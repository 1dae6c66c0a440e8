"""From JUnit to verdicts: what did not run is never a pass."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import pytest

from cubake.verify.judge import judge
from cubake.verify.types import Check, Status, VerifyRecord


def case(check: str | None, inside: str = "", measured: str = "", seconds: float = 1.5) -> str:
    properties = f"<property name='check' value={quoteattr(check)}/>" if check else ""
    properties += f"<property name='measured' value={quoteattr(measured)}/>" if measured else ""
    return f"<testcase name='t' time='{seconds}'><properties>{properties}</properties>{inside}</testcase>"


def junit(*cases: str) -> str:
    return f"<?xml version='1.0'?><testsuites><testsuite name='pytest'>{''.join(cases)}</testsuite></testsuites>"


def only(text: str | None, trouble: str = "") -> Check:
    (check,) = judge(text, ["contents.a"], trouble)
    return check


def test_a_check_that_ran() -> None:
    check = only(junit(case("contents.a", measured='{"version": "12.4"}')))
    assert check == Check("contents.a", Status.PASS, "", {"version": "12.4"}, 1.5)


@pytest.mark.parametrize("text", [None, junit(), junit(case("contents.b")), junit(case(None))])
def test_a_check_that_did_not_report_has_not_run(text: str | None) -> None:
    check = only(text, "exit status 137")
    assert check.status is Status.NOT_RUN
    assert check.reason == "did not report: exit status 137"


def test_a_missing_check_has_a_reason_even_where_none_is_known() -> None:
    assert only(None).reason


def test_the_order_is_the_plans() -> None:
    found = judge(junit(case("b"), case("a")), ["a", "missing", "b"])
    assert [(check.id, check.status) for check in found] == [
        ("a", Status.PASS), ("missing", Status.NOT_RUN), ("b", Status.PASS),
    ]  # fmt: skip


def test_what_nobody_asked_for_is_left_out() -> None:
    assert [check.id for check in judge(junit(case("a"), case("b")), ["a"])] == ["a"]


def test_a_skip_is_no_pass() -> None:
    check = only(junit(case("contents.a", "<skipped type='pytest.skip' message='no GPU here'>at x:1</skipped>")))
    assert (check.status, check.reason) == (Status.NOT_RUN, "no GPU here")
    assert only(junit(case("contents.a", "<skipped/>"))).reason


@pytest.mark.parametrize("tag", ["failure", "error"])
def test_a_failure_says_why_without_pytests_introspection(tag: str) -> None:
    inside = f"<{tag} message=\"AssertionError: torch is 2.5.1&#10;assert '2.5.1' == '2.6.0'\">trace</{tag}>"
    check = only(junit(case("contents.a", inside)))
    assert (check.status, check.reason) == (Status.FAIL, "torch is 2.5.1")


@pytest.mark.parametrize(
    "inside",
    [
        "<failure/>", "<failure message=''>trace</failure>", "<failure message='AssertionError: &#10;assert False'/>",
        "<failure message='AssertionError'/>", "<failure message='assert 1 == 2'/>",
    ],
)  # fmt: skip
def test_a_failure_always_has_a_reason(inside: str) -> None:
    check = only(junit(case("contents.a", inside)))
    assert check.status is Status.FAIL
    assert check.reason


def test_a_failure_before_a_skip_is_a_failure() -> None:
    inside = "<failure message='broken'/><skipped message='later'/>"
    assert only(junit(case("contents.a", inside))).status is Status.FAIL
    turned = "<skipped message='later'/><failure message='broken'/>"
    assert only(junit(case("contents.a", turned))).status is Status.FAIL


@pytest.mark.parametrize("order", [1, -1])
def test_one_bad_part_of_a_check_is_not_covered_by_a_good_one(order: int) -> None:
    """A check may be several test cases (parameters, or an error when it is torn down): the worst counts."""
    cases = [case("contents.a", "<failure message='broken'/>"), case("contents.a")]
    assert only(junit(*cases[::order])).status is Status.FAIL
    skipped = [case("contents.a", "<skipped message='half'/>"), case("contents.a")]
    assert only(junit(*skipped[::order])).status is Status.NOT_RUN


@pytest.mark.parametrize("text", ["", "<testsuites><testsuite>", "no xml"])
def test_a_broken_file_is_no_report(text: str) -> None:
    """pytest may be killed while it writes; other images must still be judged."""
    check = only(text, "killed")
    assert check.status is Status.NOT_RUN
    assert "killed" in check.reason


def test_a_container_that_went_away_fails_nothing() -> None:
    """What passed has passed; what failed was perhaps not asked; the rest was not."""
    text = junit(case("a"), case("b", "<failure message='no such container'/>"))
    found = judge(text, ["a", "b", "c"], "", "it is exited")
    assert [(check.status, check.reason) for check in found] == [
        (PASS, ""), (NOT_RUN, "it is exited"), (NOT_RUN, "did not report: it is exited"),
    ]  # fmt: skip


def record(*checks: Check, require_gpu: bool = False, away: str = "") -> VerifyRecord:
    return VerifyRecord("a", "r/a", "sha256:1", None, checks, 1.0, require_gpu, away)


PASS, FAIL, NOT_RUN = Status.PASS, Status.FAIL, Status.NOT_RUN


@pytest.mark.parametrize(
    ("contents", "gpu", "require_gpu", "passed"),
    # design section 7: NOT_RUN is never a pass; of GPU checks it is a failure with --require-gpu
    [
        (PASS, PASS, False, True), (PASS, PASS, True, True), (PASS, NOT_RUN, False, True), (PASS, NOT_RUN, True, False),
        (PASS, FAIL, False, False), (FAIL, PASS, False, False), (NOT_RUN, PASS, False, False),
        (NOT_RUN, NOT_RUN, False, False), (FAIL, FAIL, True, False),
    ],
)  # fmt: skip
def test_what_passes(contents: Status, gpu: Status, require_gpu: bool, passed: bool) -> None:
    verdict = record(Check("contents.a", contents), Check("gpu.b", gpu), require_gpu=require_gpu)
    assert verdict.passed is passed
    assert bool(verdict.failures) is not passed


@pytest.mark.parametrize(
    ("contents", "gpu", "away", "code"),
    [
        (PASS, NOT_RUN, "", 0), (FAIL, NOT_RUN, "", 1), (NOT_RUN, NOT_RUN, "", 1),
        (NOT_RUN, NOT_RUN, "gone", 4), (PASS, NOT_RUN, "gone", 4), (PASS, PASS, "gone", 0),
    ],
)  # fmt: skip
def test_exit_code(contents: Status, gpu: Status, away: str, code: int) -> None:
    assert record(Check("contents.a", contents), Check("gpu.b", gpu), away=away).code == code


def test_counts() -> None:
    verdict = record(Check("contents.a", PASS), Check("contents.b", PASS), Check("gpu.c", NOT_RUN, "none"))
    assert [verdict.count(status) for status in Status] == [2, 0, 1]
