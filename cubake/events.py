"""What the edges announce while they work. Values only: the console decides how they look."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """Something the user should know that belongs to no image."""

    text: str


@dataclass(frozen=True)
class Began:
    """Work on an image began; ``stage`` is base, build or verify."""

    image: str
    stage: str


@dataclass(frozen=True)
class Step:
    """A build step: ``state`` is started, done, cached or failed."""

    image: str
    name: str
    state: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Progress:
    """Bytes moved in the current step; ``total`` is 0 where it is not known."""

    image: str
    current: int
    total: int


@dataclass(frozen=True)
class Line:
    """A line that a build step printed."""

    image: str
    text: str


@dataclass(frozen=True)
class Ended:
    """Work on an image ended with ``result`` (BUILT, REUSED, FAILED, BLOCKED, PASS, FAIL ...)."""

    image: str
    stage: str
    result: str
    seconds: float
    detail: str = ""


def step_title(step: str) -> str:
    """What a build step is called: the title its command begins with (``: "title";``), else the command itself."""
    named = re.search(r': "([^"]+)";', step)
    return named[1] if named else re.sub(r"--mount=\S+\s+", "", step)[:80]


Event = Note | Began | Step | Progress | Line | Ended
Announce = Callable[[Event], None]
