"""The fingerprint: equal parts are equal, and what changed is named."""

from __future__ import annotations

import json

import pytest

from cubake.build import fingerprint

PARTS = {"dockerfile": "FROM x", "lock": "torch==2.6.0", "base": "sha256:1"}


def test_equal_parts_have_equal_labels_in_any_order() -> None:
    assert fingerprint.labels(PARTS) == fingerprint.labels(dict(reversed(PARTS.items())))
    assert fingerprint.changed(fingerprint.labels(PARTS), fingerprint.labels(PARTS)) == ()


@pytest.mark.parametrize("part", PARTS)
def test_a_changed_part_is_named(part: str) -> None:
    wanted = fingerprint.labels(PARTS | {part: PARTS[part] + " "})
    assert wanted != fingerprint.labels(PARTS)
    assert fingerprint.changed(wanted, fingerprint.labels(PARTS)) == (part,)


def test_all_changed_parts_are_named() -> None:
    wanted = fingerprint.labels({"dockerfile": "y", "lock": "z", "base": "sha256:1"})
    assert set(fingerprint.changed(wanted, fingerprint.labels(PARTS))) == {"dockerfile", "lock"}


def test_a_part_that_came_or_went_is_a_change() -> None:
    more, less = fingerprint.labels(PARTS | {"probes": "1"}), fingerprint.labels(PARTS)
    assert fingerprint.changed(more, less) == ("probes",)
    assert fingerprint.changed(less, more) != ()


@pytest.mark.parametrize("parts", [None, "", "not json", "[]", "null", "7"])
def test_an_image_of_somebody_else_is_all_changed(parts: str | None) -> None:
    """Its labels may hold anything."""
    found = {"maintainer": "x"} | ({fingerprint.PARTS: parts} if parts is not None else {})
    assert set(fingerprint.changed(fingerprint.labels(PARTS), found)) == set(PARTS)


def test_values_do_not_run_into_each_other() -> None:
    assert fingerprint.labels({"a": "bc", "d": ""}) != fingerprint.labels({"a": "b", "d": "c"})


def test_no_part_stands_in_the_labels() -> None:
    """Labels are public: a lock or an index address is only there as a digest."""
    text = json.dumps(fingerprint.labels({"sources": "https://index.internal/simple"}))
    assert "internal" not in text
