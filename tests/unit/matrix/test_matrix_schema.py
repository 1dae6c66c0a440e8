"""The schema for editors: committed as it is made, and no stricter than cubake on unquoted versions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cubake.matrix.schema import schema_text

ROOT = Path(__file__).parents[3]
SCHEMA: dict[str, Any] = json.loads(schema_text())
ENTRY = SCHEMA["$defs"]["EntryRow"]["properties"]


def test_the_committed_schema_is_the_one_made_now() -> None:
    committed = (ROOT / "matrix.schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "run: python -m cubake.matrix.schema > matrix.schema.json"


def test_head() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "cubake matrix.yaml"


@pytest.mark.parametrize("axis", ["pytorch", "tensorflow", "cuda", "cudnn", "python"])
def test_versions_may_be_unquoted_and_listed(axis: str) -> None:
    one, many = ENTRY[axis]["anyOf"]
    assert one["type"] == ["string", "number"]
    assert many["items"] == one
    assert many["minItems"] == 1
    assert re.search(one["pattern"], "3.10")
    assert not re.search(one["pattern"], "3.10.x")


def test_every_object_is_closed_and_every_key_described() -> None:
    objects = [SCHEMA, *SCHEMA["$defs"].values()]
    assert len(objects) == 6
    for each in objects:
        assert each["additionalProperties"] is False
        assert each["description"]
        assert all(row.keys() & {"description", "$ref"} for row in each["properties"].values())


def test_names_are_held_to_their_pattern() -> None:
    for row in (SCHEMA["properties"]["images"], SCHEMA["properties"]["profiles"]):
        assert row["additionalProperties"] is False
        assert list(row["patternProperties"]) == ["^(?:[a-z0-9][a-z0-9-]{0,40})$"]


def test_null_is_no_value() -> None:
    assert '"null"' not in schema_text()
    assert ": null" not in schema_text()
