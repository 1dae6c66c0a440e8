"""Data -> the file model, with every error of pydantic put in our words at the place in the file that it is about."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from cubake.errors import Position
from cubake.matrix.model import MatrixFile, model_at
from cubake.matrix.problems import Path, Problem, dotted, shown, suggest
from cubake.matrix.yamltree import Tree

_WANTS = {
    "string_type": "wants one value",
    "tuple_type": "wants a list",
    "dict_type": "wants keys and values",
    "model_type": "wants keys and values",
}
_GOT: dict[type[Any], str] = {str: "text", list: "a list", dict: "keys and values"}


def validate(tree: Tree) -> tuple[MatrixFile | None, list[Problem]]:
    """The model, when the data has its form; and all problems known so far."""
    model: MatrixFile | None = None
    found: list[Problem] = []
    try:
        model = MatrixFile.model_validate(tree.data)
    except ValidationError as error:
        found = [_problem(dict(detail), tree) for detail in error.errors()]
    return model, _without_echoes(tree.problems, found)


def _without_echoes(structural: list[Problem], found: list[Problem]) -> list[Problem]:
    """What stands under an unknown key was judged by rules that may not be meant for it."""
    unknown = {problem.path for problem in found if problem.text.startswith("unknown key")}
    below = [p for p in structural if any(p.path[:end] in unknown for end in range(len(p.path)))]
    return [p for p in structural if p not in below] + found


def _problem(detail: dict[str, Any], tree: Tree) -> Problem:
    location: Path = detail["loc"]
    kind: str = detail["type"]
    if kind == "extra_forbidden":
        return _unknown_key(location, tree)
    if kind == "missing":
        parent = location[:-1]
        text = f"'{location[-1]}' is missing in {dotted(parent)}"
        return Problem(_place(parent, tree), text, parent)
    if location[-1:] == ("[key]",) and location not in tree.values:
        path = location[:-1]
        text = f"the key '{shown(str(path[-1]))}' in {dotted(path[:-1])}: {detail['msg']}"
        return Problem(tree.keys[path], text, path)
    path = _known(location, tree)
    return Problem(_place(path, tree), _about_value(kind, detail, path, tree), path)


def _unknown_key(path: Path, tree: Tree) -> Problem:
    model = model_at(path[:-1])
    key = str(path[-1])
    near = suggest(key, model.model_fields if model else ())
    return Problem(tree.keys[path], f"unknown key '{shown(key)}' in {dotted(path[:-1])}: {near}", path)


def _about_value(kind: str, detail: dict[str, Any], path: Path, tree: Tree) -> str:
    value = tree.at(path)
    if kind == "rule":
        return f"{dotted(path)} {detail['msg']}"
    if kind == "too_short":
        return f"{dotted(path)} is empty: wants at least one entry"
    if kind == "literal_error":
        what = f"'{shown(value)}'" if isinstance(value, str) else _GOT[type(value)]
        return f"{dotted(path)} is {what}: wants {detail['ctx']['expected']}"
    if kind in _WANTS:
        return f"{dotted(path)} {_WANTS[kind]}, not {_GOT[type(value)]}"
    return f"{dotted(path)} is '{shown(str(value))}': {detail['msg']}"


def _known(location: Path, tree: Tree) -> Path:
    """The path as the file has it: pydantic counts a single value as item 0 of a list."""
    while location not in tree.values:
        location = location[:-1]
    return location


def _place(path: Path, tree: Tree) -> Position:
    """A mapping is best found by its key; anything else by itself."""
    if isinstance(tree.at(path), dict) and path in tree.keys:
        return tree.keys[path]
    return tree.values[path]
