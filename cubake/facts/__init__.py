"""Room 1: what is true. ``load()`` gives the facts, read once and only as far as they are asked for."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel

from cubake.facts import model

FOLDER = Path(__file__).parent
_Model = TypeVar("_Model", bound=BaseModel)
# libyaml reads the facts ten times as fast; PyYAML falls back to Python where it was built without it.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read(name: str, kind: type[_Model]) -> _Model:
    """One facts file as its model. BaseLoader keeps every scalar as text, so that 12.10 stays 12.10."""
    with (FOLDER / f"{name}.yaml").open(encoding="utf-8") as file:
        return kind.model_validate(_nulls(yaml.load(file, Loader=_LOADER)))


def _nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nulls(item) for item in value]
    return None if value == "null" else value


class Facts:
    """The facts files, each loaded at first use."""

    @cached_property
    def frameworks(self) -> dict[str, model.Framework]:
        return {name: read(name, model.Framework) for name in ("pytorch", "tensorflow")}

    @cached_property
    def cuda(self) -> model.Cuda:
        return read("cuda", model.Cuda)

    @cached_property
    def components(self) -> model.Components:
        return read("components", model.Components)

    @cached_property
    def cudnn(self) -> model.Cudnn:
        return read("cudnn", model.Cudnn)

    @cached_property
    def gpus(self) -> model.Gpus:
        return read("gpus", model.Gpus)

    @cached_property
    def base_images(self) -> model.BaseImages:
        return read("base_images", model.BaseImages)

    @cached_property
    def advisories(self) -> model.Advisories:
        return read("advisories", model.Advisories)

    @cached_property
    def os(self) -> model.OsFile:
        return read("os", model.OsFile)


@cache
def load() -> Facts:
    """The facts shipped with this version of cubake."""
    return Facts()
