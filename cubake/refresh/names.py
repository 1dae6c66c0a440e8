"""What the names of wheel files say: version, build tag, Python, platform and the oldest glibc. Pure.

Sources: PEP 427 (names, build tags), PEP 600 and its forerunners (manylinux tags).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from cubake import versions
from cubake.refresh.index import IndexFile
from cubake.refresh.types import AMD, ARM

MACHINES = {AMD: "x86_64", ARM: "aarch64"}
_OLD_TAGS = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)")


@dataclass(frozen=True)
class WheelName:
    """A wheel of the index with what its name says. ``build`` is 0 where there is no build tag; ``pythons`` are X.Y,
    with a ``t`` where free-threaded, in order."""

    file: IndexFile
    version: Version
    build: int
    tags: frozenset[Tag]

    @property
    def pythons(self) -> tuple[str, ...]:
        found = set()
        for tag in self.tags:
            if match := re.fullmatch(r"cp(\d)(\d+)", tag.interpreter):
                found.add(f"{match[1]}.{match[2]}{'t' if tag.abi.endswith('t') else ''}")
        return in_order(found)

    @property
    def stable(self) -> bool:
        """Neither a pre-release nor a build with a local version (2.10.0+cu126), which a mirror may mix in."""
        return not self.version.is_prerelease and self.version.local is None

    @property
    def on_linux(self) -> bool:
        return any(map(self.fits, MACHINES))

    def fits(self, platform: str) -> bool:
        """Whether it can be installed on Linux on the platform."""
        machine = MACHINES[platform]
        return any(
            tag.platform == "any" or re.fullmatch(rf"(many)?linux.*_{machine}", tag.platform) for tag in self.tags
        )

    def glibc(self, platform: str) -> str | None:
        """The oldest glibc that its tags allow on the platform; None where they name none."""
        found = []
        for tag in self.tags:
            start, _, rest = tag.platform.partition(f"_{MACHINES[platform]}")
            if rest or start == tag.platform:
                continue
            match = _MANYLINUX.fullmatch(start)
            found += [f"{match[1]}.{match[2]}"] if match else [_OLD_TAGS[start]] if start in _OLD_TAGS else []
        return min(found, key=versions.key, default=None)


def wheels(files: Iterable[IndexFile]) -> list[WheelName]:
    """The wheels among the files; anything whose name is not a wheel's is passed over."""
    found = []
    for file in files:
        try:
            _, version, build, tags = parse_wheel_filename(file.name)
        except (InvalidWheelFilename, InvalidVersion):
            continue
        found.append(WheelName(file, version, build[0] if build else 0, tags))
    return found


def releases(files: Iterable[IndexFile], floor: str) -> dict[str, list[WheelName]]:
    """The stable releases from ``floor`` on with their Linux wheels, newest first. A yanked file counts as none."""
    found: dict[str, list[WheelName]] = {}
    for wheel in wheels(files):
        if wheel.stable and wheel.version >= versions.key(floor) and not wheel.file.yanked and wheel.on_linux:
            found.setdefault(str(wheel.version), []).append(wheel)
    return {version: found[version] for version in versions.newest_first(found)}


def chosen(candidates: Iterable[WheelName]) -> WheelName:
    """The one wheel of a release and platform that is read: of the highest build, for Python 3.11 if there is one, else
    for the lowest. The choice is part of the facts: another wheel may be another build."""
    return min(
        candidates, key=lambda w: (-w.build, "3.11" not in w.pythons, [_order(p) for p in w.pythons], w.file.name)
    )


def in_order(pythons: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(pythons), key=_order))


def _order(python: str) -> tuple[Version, bool]:
    return versions.key(python.rstrip("t")), python.endswith("t")
