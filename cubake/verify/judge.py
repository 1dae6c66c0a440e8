"""From a suite's JUnit file to checks: every required id is there, or says why it is not. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree

from cubake.verify.types import Check, Status


def judge(junit: str | None, required: Iterable[str], trouble: str = "", away: str = "") -> tuple[Check, ...]:
    """The checks in the order required. One that did not report is NOT_RUN, with ``trouble`` as far as it is known.
    ``away`` is how the container or the engine went away: then a failure shows nothing, and is NOT_RUN too."""
    found: dict[str, Check] = {}
    try:
        cases = list(ElementTree.fromstring(junit or "<testsuites/>").iter("testcase"))
    except ElementTree.ParseError as error:
        cases, trouble = [], trouble or f"the suite's report is broken: {error}"
    for check in filter(None, map(_check, cases)):
        other = found.get(check.id)
        # A check may be several test cases: the worst counts.
        if other is None or _BADNESS[check.status] > _BADNESS[other.status]:
            found[check.id] = check
    why = away or trouble
    missing = f"did not report{': ' + why if why else ''}"
    checks = (found.get(id_, Check(id_, Status.NOT_RUN, missing)) for id_ in required)
    return tuple(replace(c, status=Status.NOT_RUN, reason=away) if away and c.status == "FAIL" else c for c in checks)


_BADNESS = {Status.PASS: 0, Status.NOT_RUN: 1, Status.FAIL: 2}


def _check(case: ElementTree.Element) -> Check | None:
    properties = {item.get("name"): item.get("value") or "" for item in case.iter("property")}
    if "check" not in properties:
        return None
    status, reason = Status.PASS, ""
    for child in case:
        if child.tag in ("failure", "error"):
            status, reason = Status.FAIL, _reason(child, properties.get("reason", ""))
        elif child.tag == "skipped" and status is Status.PASS:
            status, reason = Status.NOT_RUN, child.get("message") or "skipped"
    measured = json.loads(properties.get("measured") or "{}")
    return Check(properties["check"], status, reason, measured, float(case.get("time") or 0))


def _reason(failure: ElementTree.Element, said: str) -> str:
    """The assertion's own message, without pytest's introspection where there is anything else."""
    message = said or failure.get("message") or failure.text or ""
    own = message.removeprefix("AssertionError: ").partition("\nassert ")[0].strip()
    return (own or message.strip() or "failed without a message")[:2000]
