"""The closed set of failures that reach a user, one exit code each.

Each message says what happened, why, and (as ``hint``) what to do. Only ``cli.main`` turns them into exit codes.
"""

from __future__ import annotations

from dataclasses import dataclass

from cubake.words import masked


class CubakeError(Exception):
    """Base of every failure that is reported without a traceback. No message holds a password of an address."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.message, self.hint = masked(message), masked(hint)
        super().__init__(self.message)


class Failed(CubakeError):
    """An image failed to build, or a check failed."""

    exit_code = 1


class InputError(CubakeError):
    """The command line or a file is wrong."""

    exit_code = 2


class Refused(CubakeError):
    """What was asked for cannot work, by a rule."""

    exit_code = 3


class Unavailable(CubakeError):
    """The engine, an index or a registry does not answer."""

    exit_code = 4


class Interrupted(CubakeError):
    """The user pressed Ctrl-C."""

    exit_code = 130


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
