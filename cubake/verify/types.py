"""What a verification gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """NOT_RUN always has a reason, and is never a pass."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_RUN = "NOT_RUN"


@dataclass(frozen=True)
class Check:
    id: str
    status: Status
    reason: str = ""
    measured: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class VerifyRecord:
    """One image's verdict, bound to the image's id. ``gpu`` is how the device was handed over, or None; ``away`` why
    the container or the engine was gone before all was asked."""

    name: str
    tag: str
    image_id: str
    gpu: Mapping[str, Any] | None
    checks: tuple[Check, ...]
    seconds: float
    require_gpu: bool = False
    away: str = ""

    @property
    def failures(self) -> tuple[Check, ...]:
        """What keeps the image from passing: a failure, and a check that had to run and did not."""
        needs_gpu = self.require_gpu or bool(self.away)
        return tuple(
            check
            for check in self.checks
            if check.status is Status.FAIL
            or (check.status is Status.NOT_RUN and (needs_gpu or not check.id.startswith("gpu.")))
        )

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def code(self) -> int:
        """The exit code: an image that could not be asked to the end has not failed."""
        return 0 if self.passed else 4 if self.away else 1

    def count(self, status: Status) -> int:
        return sum(check.status is status for check in self.checks)
