"""A cell as people write it when they ask: ``pytorch=2.6 cuda=12.1 python=3.12 driver=535.104 gpu='RTX 4090'``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import ValidationError

from cubake.errors import InputError, Position
from cubake.facts import Facts
from cubake.matrix import Cell
from cubake.matrix.model import DefaultsRow, EntryRow
from cubake.matrix.problems import shown, suggest
from cubake.matrix.types import AXES, HOST_AXES
from cubake.resolve.host import check_driver, find_gpu

EXAMPLE = "write axis=value, such as: pytorch=2.6 cuda=12.4 python=3.12 driver=550.54 gpu=sm_89"
_PLACE = Position("the question", 1, 1)


def parse_cell(words: Iterable[str], facts: Facts) -> Cell:
    """The cell that was asked about; what it leaves out has matrix.yaml's defaults. ``pip=`` may stand several times.
    Raises InputError naming the word that is wrong."""
    values: dict[str, str] = {}
    pip: list[str] = []
    for axis, value in _pairs(words):
        if axis == "pip":
            pip.append(value)
        elif axis in values:
            raise InputError(f"{axis} is given twice: {shown(values[axis])} and {shown(value)}", EXAMPLE)
        else:
            values[axis] = value
    _check(values, pip, facts)
    defaults = DefaultsRow().model_dump(exclude_none=True)
    values = {**defaults, **values}
    axes = tuple((axis, values[axis]) for axis in (*AXES, *HOST_AXES) if axis in values)
    return Cell("question", axes, tuple(pip), _PLACE, single=True, on_conflict="fail")


def _pairs(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Each word is axis=value; a word may hold several, and a value blanks (gpu=RTX 4090)."""
    for word in words:
        for part in re.split(r"\s+(?=[a-z_]+=)", word.strip()):
            axis, equals, value = part.partition("=")
            if not equals or not value.strip():
                raise InputError(f"'{shown(part)}' is no axis=value", EXAMPLE)
            if axis not in (*AXES, *HOST_AXES, "pip"):
                raise InputError(f"unknown axis '{shown(axis)}': {suggest(axis, (*AXES, *HOST_AXES, 'pip'))}", EXAMPLE)
            yield axis, value.strip().strip("'\"")


def _check(values: dict[str, str], pip: list[str], facts: Facts) -> None:
    row = {axis: value for axis, value in values.items() if axis not in HOST_AXES}
    try:
        EntryRow.model_validate(row | ({"pip": pip} if pip else {}))
    except ValidationError as error:
        detail = error.errors()[0]
        axis = str(detail["loc"][0]) if detail["loc"] else ""
        text = f"{axis}={shown(str(detail['input']))}: " if axis else "the question "
        wants = detail.get("ctx", {}).get("expected")
        raise InputError(text + (f"wants {wants}" if wants else detail["msg"]), EXAMPLE) from None
    if "driver" in values:
        check_driver(values["driver"])
    if "gpu" in values:
        find_gpu(values["gpu"], facts)
