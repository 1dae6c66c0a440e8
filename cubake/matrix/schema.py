"""The JSON Schema of matrix.yaml, for editors; `python -m cubake.matrix.schema > matrix.schema.json` writes it."""

from __future__ import annotations

import json
import sys

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from cubake.matrix.model import MatrixFile


class _ForEditors(GenerateJsonSchema):
    """Only what a file may hold: absent is not null, and an empty default is not worth a line."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        default = schema.get("default")
        written = isinstance(default, str) and default != ""
        return super().default_schema(schema) if written else self.generate_inner(schema["schema"])

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        return {**super().dict_schema(schema), "additionalProperties": False}  # names must match a pattern

    def field_title_should_be_set(self, schema: object) -> bool:
        return False  # it would only repeat the key


def schema_text() -> str:
    """The schema, as committed at the root of the repository."""
    schema = MatrixFile.model_json_schema(schema_generator=_ForEditors)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "cubake matrix.yaml"}
    return json.dumps({**schema, **head}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
