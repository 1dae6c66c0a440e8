"""``facts:`` of a matrix: rows that a private build adds to the facts files, in the same form, sources included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from cubake.facts import FILES, Facts, load, read
from cubake.matrix.problems import Path, Problem, dotted, raise_all
from cubake.matrix.yamltree import Tree


def own_facts(tree: Tree) -> Facts:
    """The shipped facts, with the matrix's own rows where it has some. Raises InputError at the row that is wrong."""
    own = tree.at(("facts",))
    if not isinstance(own, dict) or not own.keys() <= FILES.keys():  # a name that is none is the model's to tell
        return load()
    raise_all(problem for name in own for problem in _problems(name, tree))
    return Facts(own)


def _problems(name: str, tree: Tree) -> Iterator[Problem]:
    place: Path = ("facts", name)
    try:
        file: Any = read(name, FILES[name], tree.at(place))
    except ValidationError as error:
        for detail in error.errors():
            yield _at((*place, *detail["loc"]), detail["msg"][:1].lower() + detail["msg"][1:], tree)
        return
    for path in tree.values:
        if path[:2] == place and path[-1] == "source" and tree.at(path) not in file.sources:
            yield _at(path, f"there is no such source: name one under {dotted(place)}.sources", tree)


def _at(path: Path, text: str, tree: Tree) -> Problem:
    """At the nearest part of the file that exists: what is missing stands nowhere."""
    said = f"{dotted(path)}: {text}"
    while path not in tree.values:
        path = path[:-1]
    return Problem(tree.keys.get(path, tree.values[path]), said, path)
