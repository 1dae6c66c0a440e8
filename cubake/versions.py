"""Versions are text; this is the only place that orders and matches them, component by component."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from packaging.version import Version

ANY = "any"


@lru_cache(maxsize=4096)
def key(version: str) -> Version:
    """The PEP 440 order of a version: 2.10 is newer than 2.9."""
    return Version(version)


def matches(want: str | None, version: str | None) -> bool:
    """Whether ``version`` is what was asked for: nothing, ``any``, the version itself or a prefix (2.6 takes 2.6.1)."""
    if want is None:
        return True
    if version is None:
        return False
    return want in (ANY, version) or version.startswith(f"{want}.")


def newest_first(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=key, reverse=True)


def minor(version: str) -> str:
    """X.Y of X.Y.Z."""
    return ".".join(version.split(".")[:2])


def major(version: str) -> str:
    return version.split(".", maxsplit=1)[0]
