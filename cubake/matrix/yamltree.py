"""YAML text -> plain data in which every scalar is still text, with the position of each key and value. Whatever YAML
offers beyond keys, lists and text (tags, merge keys, several documents, recursion) is refused here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import yaml

from cubake.errors import InputError, Position
from cubake.matrix import characters
from cubake.matrix.problems import Path, Problem, dotted, printable, raise_all, shown

Data: TypeAlias = "str | list[Data] | dict[str, Data]"

MAX_NODES = 100_000  # aliases count each time they are used, so a "billion laughs" file stops here
MAX_DEPTH = 20

_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}
_NOTHING = {"", "~", "null", "Null", "NULL"}
_SMALLEST = (
    'the smallest matrix: {version: 1, repository: ghcr.io/acme/gpu, images: {torch: {pytorch: "2.6", python: "3.12"}}}'
)

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TextLoader(_Loader):  # type: ignore[misc]  # which of the two loaders it is shows at run time only
    # Without resolvers a plain 3.10 is text like any other, and any tag but str, seq and map was written out.
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


@dataclass(frozen=True)
class Tree:
    """The data, where each part of it stands, and what was wrong with it."""

    data: Data
    keys: dict[Path, Position]
    values: dict[Path, Position]
    problems: list[Problem]

    def at(self, path: Path) -> Data | None:
        here: Data | None = self.data
        for step in path:
            if isinstance(here, dict) and isinstance(step, str):
                here = here.get(step)
            elif isinstance(here, list) and isinstance(step, int) and step < len(here):
                here = here[step]
            else:
                return None
        return here


def read_tree(file: str, text: str) -> Tree:
    """Read the text; problems that leave data to look at are collected, the others raised."""
    text = text.removeprefix("\ufeff")
    raise_all(Problem(_position_of(file, text, at), why) for at, why in characters.control_characters(text))
    root = _compose(file, text)
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        raise InputError(f"{Position(file, 1, 1)}: the file is empty", hint=_SMALLEST)
    walk = _Walk(file)
    data = walk.visit(root, ())
    return Tree(data, walk.keys, walk.values, walk.problems)


def _compose(file: str, text: str) -> yaml.Node | None:
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=_TextLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file, 1, 1)
        if error.problem == "but found another document":
            raise InputError(
                f"{position}: a second document: the file holds one, so no '---' after the start"
            ) from None
        raise InputError(f"{position}: not YAML: {printable(error.problem or 'it cannot be read')}") from None
    except RecursionError:  # only the loader written in Python; libyaml has a limit of its own
        raise InputError(f"{Position(file, 1, 1)}: not YAML: nested too deeply") from None
    return root


def _position_of(file: str, text: str, offset: int) -> Position:
    lines = re.split("\r\n|\r|\n", text[:offset])
    return Position(file, len(lines), len(lines[-1]) + 1)


@dataclass
class _Walk:
    file: str
    keys: dict[Path, Position] = field(default_factory=dict)
    values: dict[Path, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    count: int = 0
    open_nodes: list[yaml.Node] = field(default_factory=list)

    def visit(self, node: yaml.Node, path: Path) -> Data:
        self._count(node, path)
        self.values[path] = self._at(node)
        self._check_tag(node, path)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self.open_nodes.append(node)
        data = self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)
        self.open_nodes.pop()
        return data

    def _count(self, node: yaml.Node, path: Path) -> None:
        """Guard against files that would never end; nothing can be collected from those."""
        self.count += 1
        if any(node is outer for outer in self.open_nodes):
            raise InputError(f"{self._at(node)}: {dotted(path)} is an alias of something that holds it: it never ends")
        if self.count > MAX_NODES:
            raise InputError(f"{self._at(node)}: the file is too large: more than {MAX_NODES} values, aliases included")
        if len(self.open_nodes) > MAX_DEPTH:
            raise InputError(f"{self._at(node)}: nested too deeply: more than {MAX_DEPTH} levels")

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> str:
        text: str = node.value
        if not node.style and text in _NOTHING:
            self._refuse(node, path, f"{dotted(path)} has no value: give one, or leave it out")
        elif why := characters.refusal(path, text):
            self._refuse(node, path, f"{dotted(path)} {why}")
        return text

    def _sequence(self, node: yaml.Node, path: Path) -> list[Data]:
        if not node.value:
            self._refuse(node, path, f"{dotted(path)} is an empty list: give a value, or leave it out")
        items: list[Data] = []
        first_at: dict[str, int] = {}
        for index, child in enumerate(node.value):
            here = (*path, index)
            items.append(self.visit(child, here))
            first = first_at.setdefault(repr(items[-1]), index)
            if first != index:
                line = self.values[*path, first].line
                self._refuse(child, here, f"{dotted(here)} repeats a value: first on line {line}")
        return items

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Data]:
        data: dict[str, Data] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            here = (*path, key)
            if key in data:
                first = self.keys[here].line
                self._refuse(key_node, here, f"duplicate key '{shown(key)}' in {dotted(path)}: first on line {first}")
                continue
            self.keys[here] = self._at(key_node)
            data[key] = self.visit(value_node, here)
        return data

    def _key(self, node: yaml.Node, path: Path) -> str | None:
        """The key as text; None, with the problem noted, when it can be no key."""
        self._check_tag(node, path)
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, path, f"a key of {dotted(path)} is no plain text")
            return None
        key: str = node.value
        if key == "<<":
            self._refuse(node, path, f"merge key '<<' in {dotted(path)}: write the keys out, or use defaults")
            return None
        if why := characters.refusal((*path, key), key, is_key=True):
            self._refuse(node, (*path, key), f"the key '{shown(key)}' in {dotted(path)} {why}")
        return key

    def _check_tag(self, node: yaml.Node, path: Path) -> None:
        if node.tag not in _CORE_TAGS and node.tag != "!":
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            self._refuse(node, path, f"tag '{shown(tag)}' on {dotted(path)}: tags are not allowed, values are text")

    def _refuse(self, node: yaml.Node, path: Path, text: str) -> None:
        self.problems.append(Problem(self._at(node), text, path))

    def _at(self, node: yaml.Node) -> Position:
        return Position(self.file, node.start_mark.line + 1, node.start_mark.column + 1)
