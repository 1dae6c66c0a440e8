"""What a wheel's METADATA requires, on one platform. Pure.

Sources: PEP 508 (requirements and markers), core metadata (Requires-Dist, Provides-Extra).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from cubake.errors import Refused
from cubake.refresh.names import MACHINES

Pins = dict[str, SpecifierSet]  # by normalised name
TOOLKIT = "cuda-toolkit"  # the metapackage whose extras name the wheels of one toolkit release


def applying(
    requires: Iterable[str], platform: str, python: str, extras: Iterable[str] = ("",)
) -> dict[str, Requirement]:
    """The requirements that hold on Linux on the platform, for CPython ``python`` (X.Y), with one of the extras (the
    empty one is none). Two of the same name become one that asks for both."""
    environments = [_environment(platform, python) | {"extra": extra} for extra in extras]
    found: dict[str, Requirement] = {}
    for requirement in map(_requirement, requires):
        if requirement.marker and not any(requirement.marker.evaluate(one) for one in environments):
            continue
        name = canonicalize_name(requirement.name)
        if name in found:
            requirement.specifier &= found[name].specifier
            requirement.extras |= found[name].extras
        found[name] = requirement
    return found


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise Refused(f"{text!r} in a wheel's METADATA is no requirement: {str(error).splitlines()[0]}") from error


def _environment(platform: str, python: str) -> dict[str, str]:
    """Every variable a marker may name, so that none of this machine's own values is asked."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": MACHINES[platform],
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def nvidia(requirements: Mapping[str, Requirement]) -> Pins:
    """NVIDIA's wheels among them."""
    return {name: row.specifier for name, row in requirements.items() if name.startswith("nvidia-")}


def both(one: Mapping[str, SpecifierSet], other: Mapping[str, SpecifierSet]) -> Pins:
    """What the two ask for together."""
    return {name: one.get(name, SpecifierSet()) & other.get(name, SpecifierSet()) for name in {**one, **other}}


def written(pins: Mapping[str, SpecifierSet]) -> dict[str, str]:
    """As the facts hold them, by name."""
    return {name: str(pins[name]) for name in sorted(pins)}


def lowest(specifier: SpecifierSet | None) -> str | None:
    """The version that is pinned, or the lower bound; None where there is neither."""
    for operator in ("===", "==", "~=", ">="):
        for one in specifier or ():
            if one.operator == operator:
                return one.version.removesuffix(".*")
    return None


def part(pins: Mapping[str, SpecifierSet], name: str) -> str | None:
    """The version of a library outside the toolkit, ``cudnn`` or ``nccl``, whose wheels end in the CUDA major."""
    return next((lowest(pins[full]) for full in sorted(pins) if full.startswith(f"nvidia-{name}-cu")), None)
