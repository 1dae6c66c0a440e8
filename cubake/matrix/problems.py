"""What is wrong with a file, one line per problem, and the wording that the rest of the room shares."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from cubake.errors import InputError, Position

Path: TypeAlias = tuple[str | int, ...]

_LONGEST = 60


@dataclass(frozen=True, order=True)
class Problem:
    """One refusal; `path` says which value it is about."""

    position: Position
    text: str
    path: Path = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.position}: {self.text}"


def printable(text: str) -> str:
    """The text on one line and harmless to a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def shown(text: str) -> str:
    """A value as it may appear in a message: printable, and short."""
    return printable(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def dotted(path: Path) -> str:
    """("images", "torch", "cuda", 1) -> images.torch.cuda[1]"""
    steps = (f"[{step}]" if isinstance(step, int) else f".{shown(step)}" for step in path)
    return "".join(steps).removeprefix(".") or "the file"


def suggest(word: str, known: Iterable[str]) -> str:
    """The nearest known word, or all of them when none is near."""
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1)
    return f"did you mean '{near[0]}'?" if near else f"valid here: {', '.join(words)}"


def raise_all(problems: Iterable[Problem]) -> None:
    """Raise the problems, if any, as one error with a line for each, in the order of the file."""
    first_at: dict[Position, Problem] = {}
    for problem in problems:  # a later check at the same place only repeats the first in other words
        first_at.setdefault(problem.position, problem)
    if first_at:
        raise InputError("\n".join(str(problem) for problem in sorted(first_at.values())))
