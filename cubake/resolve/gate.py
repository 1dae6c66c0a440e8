"""The start gate: the `NVIDIA_REQUIRE_*` variables that NVIDIA's container runtime holds against the host's driver and
GPU before it lets a container start.

Spaces part alternatives, commas part what an alternative asks for, and every variable must hold:
``cuda>=12.4 brand=tesla,driver>=470,driver<471``. ``cuda`` is the CUDA version the driver reports (X.Y), ``driver`` the
driver's version, ``arch`` the compute capability, ``brand`` the product line that NVML tells, in any case of letters.

Sources: github.com/NVIDIA/libnvidia-container, src/cli/dsl.c (language), src/cli/configure.c (what each name compares
to) and src/driver.c (brands); github.com/NVIDIA/nvidia-container-toolkit, internal/config/image/cuda_image.go (which
variables count). Two things are stricter here, so that what nobody meant is named: the runtime finds a malformed
constraint only when it comes to it, and takes ``!`` for ``!=`` and stray dots in a version.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cubake import versions

PREFIX = "NVIDIA_REQUIRE_"
JETPACK = "NVIDIA_REQUIRE_JETPACK"  # names mounts for Tegra, in a language of its own
DISABLE = "NVIDIA_DISABLE_REQUIRE"
_TRUE = ("1", "t", "T", "true", "True", "TRUE")  # Go's strconv.ParseBool; anything else leaves the gate on

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_VERSIONED = ("cuda", "driver", "arch")
# The value starts with none of the operators' characters, else `cuda>=` would read as `>` and the value `=`.
_CONSTRAINT = re.compile(r"([^<>=!]+)([<>=!]+)([^<>=!].*)")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")
_LEGACY = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.[0-9]+)?(?:[-+].*)?")


class GateError(ValueError):
    """An expression that the runtime would refuse as invalid; the message names the constraint."""


@dataclass(frozen=True)
class GateHost:
    """What is known of a host, for one GPU of it: the runtime asks once for each GPU that the container is given.

    ``driver`` (535.104.05), ``cuda`` (X.Y that the driver reports) and ``arch`` (compute capability, 8.9) are versions,
    None where not known. ``brands``: the GPU has exactly one of these; empty where nothing is known. A MIG device has
    the ``arch`` and the brand of its parent.
    """

    driver: str | None
    cuda: str | None
    arch: str | None
    brands: frozenset[str]


@dataclass(frozen=True)
class GateAnswer:
    """``ok`` None: what is known of the host does not decide. ``unsatisfied`` is what the runtime prints behind
    "unsatisfied condition: " where ``ok`` is False (the first alternative alone, ``cuda>=12.4``), else empty."""

    ok: bool | None
    unsatisfied: str


@dataclass(frozen=True)
class _Constraint:
    name: str
    operator: str
    value: str


_Alternatives: TypeAlias = tuple[tuple[_Constraint, ...], ...]


def evaluate(requirements: Mapping[str, str], host: GateHost) -> GateAnswer:
    """Whether the runtime lets a container with this environment start on the host.

    Of the environment, ``NVIDIA_REQUIRE_*`` and ``NVIDIA_DISABLE_REQUIRE`` count, and ``CUDA_VERSION`` where
    ``NVIDIA_REQUIRE_CUDA`` is missing or empty: then the runtime asks for that CUDA (X.Y) instead.

    Raises GateError for a malformed expression, be it reached or not.
    """
    if requirements.get(DISABLE, "") in _TRUE:
        return GateAnswer(True, "")
    predicates = [(text, _parse(text, variable)) for variable, text in _predicates(requirements)]
    # Asked for each brand it may have, not constraint by constraint: (brand=geforce or brand=geforcertx) holds for a
    # card that is one of the two, though neither half is certain.
    brands: list[str | None] = [*sorted(host.brands)] or [None]
    answers = [_answer(predicates, host, brand) for brand in brands]
    return answers[0] if len({answer.ok for answer in answers}) == 1 else GateAnswer(None, "")


def branches_of(expression: str) -> tuple[int, ...]:
    """The driver branches that pairs ``driver>=N,driver<N+1`` let in, sorted. Raises GateError if malformed."""
    found = set()
    for alternative in _parse(expression, ""):
        bounds = [(c.operator, c.value) for c in alternative if c.name == "driver"]
        lowest = [int(value) for sign, value in bounds if sign == ">=" and value.isdigit()]
        found |= {branch for branch in lowest if ("<", str(branch + 1)) in bounds}
    return tuple(sorted(found))


def expression(cuda: str, branches: Iterable[int], brands: Iterable[str]) -> str:
    """The expression as nvidia/cuda images carry it: drivers of CUDA ``cuda`` (X.Y) and newer, or one of the branches
    on one of the brands, in the order given, branch by branch."""
    names = tuple(brands)
    pairs = [(branch, brand) for branch in branches for brand in names]
    return " ".join(
        [f"cuda>={cuda}", *(f"brand={brand},driver>={branch},driver<{branch + 1}" for branch, brand in pairs)]
    )


def _predicates(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """The variables that count, with their expressions, by name: the runtime has no order."""
    found = [
        (name, text)
        for name, text in sorted(environment.items())
        if name.startswith(PREFIX) and not name.startswith(JETPACK)
    ]
    if environment.get("CUDA_VERSION") and not environment.get(f"{PREFIX}CUDA"):
        found.append(("CUDA_VERSION", _legacy(environment["CUDA_VERSION"])))
    return found


def _legacy(version: str) -> str:
    """What images from before NVIDIA_REQUIRE_CUDA ask for."""
    match = _LEGACY.fullmatch(version)
    if not match:
        raise GateError(f"CUDA_VERSION: {version!r} is no version")
    return f"cuda>={match[1]}.{match[2] or 0}"


def _parse(text: str, variable: str) -> _Alternatives:
    """The alternatives of an expression. Empty ones, and empty constraints in them, are passed over."""
    where = f"{variable}: " if variable else ""
    parted = [[part for part in alternative.split(",") if part] for alternative in text.split(" ")]
    return tuple(tuple(_constraint(part, where) for part in parts) for parts in parted if parts)


def _constraint(text: str, where: str) -> _Constraint:
    match = _CONSTRAINT.fullmatch(text)
    if not match:
        raise GateError(f"{where}{text!r} is not of the form NAME OPERATOR VALUE, such as cuda>=12.4")
    name, sign, value = match[1].lower(), match[2], match[3]
    if sign not in _OPERATORS:
        raise GateError(f"{where}{text!r}: there is no operator {sign!r}, but {' '.join(_OPERATORS)}")
    if name not in (*_VERSIONED, "brand"):
        raise GateError(f"{where}{text!r}: the runtime knows cuda, driver, arch and brand, not {match[1]!r}")
    if name == "brand" and sign not in ("=", "!="):
        raise GateError(f"{where}{text!r}: brands have no order")
    if name != "brand" and not _VERSION.fullmatch(value):
        raise GateError(f"{where}{text!r}: {value!r} is no version")
    return _Constraint(name, sign, value)


def _answer(predicates: list[tuple[str, _Alternatives]], host: GateHost, brand: str | None) -> GateAnswer:
    held = [(text, _holds(alternatives, host, brand)) for text, alternatives in predicates]
    refused = [text for text, ok in held if ok is False]
    if refused:
        return GateAnswer(False, refused[0].split()[0])
    return GateAnswer(_all(ok for _, ok in held), "")


def _holds(alternatives: _Alternatives, host: GateHost, brand: str | None) -> bool | None:
    if not alternatives:
        return True  # an empty variable asks for nothing
    return _any(_all(_satisfied(constraint, host, brand) for constraint in parts) for parts in alternatives)


def _satisfied(constraint: _Constraint, host: GateHost, brand: str | None) -> bool | None:
    compare = _OPERATORS[constraint.operator]
    if constraint.name == "brand":
        return None if brand is None else compare(brand.lower(), constraint.value.lower())
    known = {"cuda": host.cuda, "driver": host.driver, "arch": host.arch}[constraint.name]
    # Number by number, missing ones as 0 and without leading zeros, which is also the order of PEP 440.
    return None if known is None else compare(versions.key(known), versions.key(constraint.value))


def _all(values: Iterable[bool | None]) -> bool | None:
    """Kleene's AND: False outweighs what is not known."""
    found = set(values)
    return False if False in found else None if None in found else True


def _any(values: Iterable[bool | None]) -> bool | None:
    """Kleene's OR: True outweighs what is not known."""
    found = set(values)
    return True if True in found else None if None in found else False
