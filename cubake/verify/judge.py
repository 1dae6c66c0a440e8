"""From a suite's JUnit file to checks: every required id is there, or says why it is not. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from xml.etree import ElementTree

from cubake.verify.types import Check, Status


def judge(junit: str | None, required: Iterable[str], trouble: str = "") -> tuple[Check, ...]:
    """The checks in the order required. One that did not report is NOT_RUN, with ``trouble`` as far as it is known."""
    found = {check.id: check for check in _checks(junit)} if junit else {}
    missing = f"did not report{': ' + trouble if trouble else ''}"
    return tuple(found.get(id_, Check(id_, Status.NOT_RUN, missing)) for id_ in required)


def _checks(junit: str) -> Iterable[Check]:
    for case in ElementTree.fromstring(junit).iter("testcase"):
        properties = {item.get("name"): item.get("value") or "" for item in case.iter("property")}
        if "check" not in properties:
            continue
        status, reason = Status.PASS, ""
        for child in case:
            if child.tag in ("failure", "error"):
                status, reason = Status.FAIL, _reason(child)
            elif child.tag == "skipped" and status is Status.PASS:
                status, reason = Status.NOT_RUN, child.get("message") or "skipped"
        measured = json.loads(properties.get("measured") or "{}")
        yield Check(properties["check"], status, reason, measured, float(case.get("time") or 0))


def _reason(failure: ElementTree.Element) -> str:
    """The assertion's own message, without pytest's introspection."""
    message = failure.get("message") or failure.text or "failed"
    message = message.removeprefix("AssertionError: ").partition("\nassert ")[0]
    return message.strip()[:2000]
