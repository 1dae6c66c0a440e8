"""What a build takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """REUSED: an image of the same fingerprint was there. BLOCKED: something it needs failed or was not to be had."""

    BUILT = "BUILT"
    REUSED = "REUSED"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"


@dataclass(frozen=True)
class BuildOptions:
    """How to build. ``base`` is auto, registry or local; ``ca_bundle`` holds PEM text."""

    jobs: int = 2
    fail_fast: bool = False
    no_cache: bool = False
    base: str = "auto"
    network: str | None = None
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    python_mirror: str | None = None
    registry_mirror: str | None = None
    archive_mirrors: tuple[tuple[str, str], ...] = ()
    ca_bundle: bytes | None = None
    proxies: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class BuildRecord:
    """One image's build; ``changed`` names the fingerprint parts that differ from the image that was there,
    ``code`` the exit code of the error."""

    name: str
    tag: str
    outcome: Outcome
    seconds: float
    image_id: str | None = None
    bytes: int | None = None
    base: str | None = None
    error: str = ""
    code: int = 0
    changed: tuple[str, ...] = field(default=())
    log: str | None = None
