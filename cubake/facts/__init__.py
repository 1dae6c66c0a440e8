"""Room 1: what is true. ``load()`` gives the facts, read once and only as far as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel

from cubake.facts import model

FOLDER = Path(__file__).parent
FILES: dict[str, type[BaseModel]] = {
    "pytorch": model.Framework,
    "tensorflow": model.Framework,
    "cuda": model.Cuda,
    "components": model.Components,
    "cudnn": model.Cudnn,
    "gpus": model.Gpus,
    "base_images": model.BaseImages,
    "advisories": model.Advisories,
    "os": model.OsFile,
}
_Model = TypeVar("_Model", bound=BaseModel)
# libyaml reads the facts ten times as fast; PyYAML falls back to Python where it was built without it.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read(name: str, kind: type[_Model], own: object = None) -> _Model:
    """One facts file as its model, with rows of one's own put in. BaseLoader keeps every scalar as text, so that 12.10
    stays 12.10. Raises pydantic's ValidationError; of the files shipped nothing is wrong."""
    with (FOLDER / f"{name}.yaml").open(encoding="utf-8") as file:
        return kind.model_validate(_nulls(_merged(yaml.load(file, Loader=_LOADER), own)))


def _merged(shipped: object, own: object) -> object:
    """Keys go together down to the rows; anything else of one's own stands in the place of what was shipped."""
    if isinstance(shipped, dict) and isinstance(own, dict):
        return {**shipped, **{key: _merged(shipped.get(key), value) for key, value in own.items()}}
    return shipped if own is None else own


def _nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nulls(item) for item in value]
    return None if value == "null" else value


class Facts:
    """The facts files, each loaded at first use. ``own`` holds rows to add to them, by file, as ``facts:`` of a matrix
    gives them."""

    def __init__(self, own: Mapping[str, object] | None = None) -> None:
        self.own = own or {}

    def _read(self, name: str, kind: type[_Model]) -> _Model:
        return read(name, kind, self.own.get(name))

    @cached_property
    def frameworks(self) -> dict[str, model.Framework]:
        return {name: self._read(name, model.Framework) for name in ("pytorch", "tensorflow")}

    @cached_property
    def cuda(self) -> model.Cuda:
        return self._read("cuda", model.Cuda)

    @cached_property
    def components(self) -> model.Components:
        return self._read("components", model.Components)

    @cached_property
    def cudnn(self) -> model.Cudnn:
        return self._read("cudnn", model.Cudnn)

    @cached_property
    def gpus(self) -> model.Gpus:
        return self._read("gpus", model.Gpus)

    @cached_property
    def base_images(self) -> model.BaseImages:
        return self._read("base_images", model.BaseImages)

    @cached_property
    def advisories(self) -> model.Advisories:
        return self._read("advisories", model.Advisories)

    @cached_property
    def os(self) -> model.OsFile:
        return self._read("os", model.OsFile)


@cache
def load() -> Facts:
    """The facts shipped with this version of cubake."""
    return Facts()
