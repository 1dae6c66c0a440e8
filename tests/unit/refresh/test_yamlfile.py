"""The facts files as text: the shipped ones are what the writer writes, and what it writes is read as it was."""

from __future__ import annotations

import pytest

from cubake.facts import FOLDER
from cubake.refresh import yamlfile
from cubake.refresh.compare import changes
from cubake.refresh.types import Change
from cubake.refresh.world import used_sources


@pytest.mark.parametrize("name", yamlfile.ROWS)
def test_the_shipped_files_are_in_the_writers_style(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text()
    assert yamlfile.dump(name, yamlfile.parse(text), yamlfile.date_of(text)) == text


@pytest.mark.parametrize(
    "value", ["12.10", "3.10", "1", "9.26.0.51", "3.14t", "2026-11-30", "null", "true", "==1.0.*", "", "<2"]
)
def test_text_stays_text(value: str) -> None:
    data = {"sources": {}, "versions": {value: {"soname": 9, "none": None, "yes": True, "list": [value]}}}
    text = yamlfile.dump("cudnn", data, "2026-11-30")
    assert yamlfile.parse(text) == data


def test_the_date_is_that_of_the_head() -> None:
    assert yamlfile.date_of("# Facts, as of 2026-11-30, from the documents named.\n") == "2026-11-30"
    assert yamlfile.date_of("a: as of 2026-11-30\n") == ""


def test_differences_are_told_by_row_and_field() -> None:
    old = {
        "sources": {},
        "nccl": {"cu11": {"version": "1"}},
        "toolkits": {"1.0.0": {"packages": {"a": "1"}}, "0.9.0": {}},
    }
    new = {
        "sources": {"changed": {}},
        "nccl": {"cu11": {"version": "2"}},
        "toolkits": {"1.0.0": {"packages": {"b": "2"}}, "1.1.0": {"packages": {"a": "1"}}},
    }
    assert changes("components", old, new) == (
        Change("~", "components", "nccl cu11", "version", "1", "2"),
        Change("~", "components", "1.0.0", "packages b", None, "2"),
        Change("~", "components", "1.0.0", "packages a", "1", None),
        Change("+", "components", "1.1.0", note="1 wheel"),
        Change("-", "components", "0.9.0"),
    )


def test_sources_that_no_row_names_are_left_out() -> None:
    own, committed = {"new": 1, "idle": 1}, {"sources": {"old": 2, "new": 2, "gone": 2}}
    rows = {"a": {"source": "old", "b": {"c": {"source": "new"}}}}
    assert used_sources(own, committed, rows) == {"new": 1, "old": 2}
