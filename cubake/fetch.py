"""The door to package indexes: locks are resolved by uv, which reads metadata and downloads no large wheel.

``resolve`` asks for a ``pylock.toml``, which names the one wheel of each package for the platform, with hash and
size; addresses are dropped, so that a lock says nothing about the index it was made from.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename
from uv import find_uv_bin

from cubake.errors import Refused, Unavailable
from cubake.plan.lock import PYTORCH_INDEX, LockInput, Package

_BOX = " \u00d7\u251c\u2500\u25b6\u2570\u256f\u2502"  # what uv draws around an explanation
_UNREACHABLE = (
    "error sending request",
    "Failed to fetch",
    "Could not connect",
    "dns error",
    "client error (Connect)",
    "only be read from the cache",
)


@dataclass(frozen=True)
class Sources:
    """Where wheels come from; None and empty mean the installer's own defaults."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: str | None = None
    ca_bundle: str | None = None


def resolve(asked: LockInput, sources: Sources) -> tuple[Package, ...]:
    """The wheels that answer a lock's input. Refused where nothing fits, Unavailable where the index is silent."""
    with tempfile.TemporaryDirectory() as folder:
        requirements, constraints = Path(folder, "requirements.in"), Path(folder, "constraints.in")
        requirements.write_text("\n".join(asked.requirements) + "\n")
        constraints.write_text("\n".join(asked.constraints) + "\n")
        done = subprocess.run(
            [*_command(asked, sources), "--constraints", str(constraints), str(requirements)],
            capture_output=True,
            text=True,
            env=_environment(sources),
            check=False,
        )
    if done.returncode == 0:
        return tuple(_package(row, asked) for row in tomllib.loads(done.stdout).get("packages", []))
    what = f"cannot lock {'; '.join(asked.requirements)} for Python {asked.python} on {asked.platform}"
    reason = " ".join(line.strip(_BOX) for line in done.stderr.strip().splitlines()[-12:])
    if any(word in reason for word in _UNREACHABLE):
        where = _index_of(asked) or sources.index_url or "the package index"
        raise Unavailable(
            f"{what}: {where} does not answer: {reason}", "check the network, --index-url and --ca-bundle"
        )
    raise Refused(f"{what}: {reason}", "change the requirements, or explain the versions with `plan`")


def _command(asked: LockInput, sources: Sources) -> list[str]:
    command = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--format", "pylock.toml"]
    command += ["--only-binary", ":all:", "--no-config", "--no-progress"]
    command += ["--python-version", asked.python, "--python-platform", asked.platform]
    if sources.index_url:
        command += ["--default-index", sources.index_url]
    for url in (*([index] if (index := _index_of(asked)) else []), *sources.extra_index_urls):
        command += ["--index", url]
    if sources.find_links:
        command += ["--find-links", sources.find_links]
    return command


def _index_of(asked: LockInput) -> str | None:
    return f"{PYTORCH_INDEX}/{asked.index}" if asked.index else None


def _environment(sources: Sources) -> dict[str, str]:
    """The caller's environment, less what would make a lock depend on the machine it is made on."""
    dropped = ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_CONSTRAINT", "UV_FIND_LINKS", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    if sources.ca_bundle:
        kept["SSL_CERT_FILE"] = sources.ca_bundle
    return kept


def _package(row: dict[str, Any], asked: LockInput) -> Package:
    """The wheel an installer would take of those that fit: the most specific tag, then the highest build tag (a
    release that was uploaded again, such as torch 2.10.0, differs in that alone). Its size is 0 where the index tells
    none."""
    order = {tag: rank for rank, tag in enumerate(_tags(asked))}

    def rank(wheel: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
        _, _, build, tags = parse_wheel_filename(PurePosixPath(unquote(urlsplit(wheel["url"]).path)).name)
        return min(order.get(tag, len(order)) for tag in tags), (-build[0] if build else 0,)

    wheel = min(row["wheels"], key=rank)
    if "sha256" not in wheel.get("hashes", {}):
        raise Refused(f"{row['name']} {row['version']}: the index gives no SHA-256 of its wheel", "use one that does")
    return Package(row["name"], row["version"], wheel["hashes"]["sha256"], wheel.get("size", 0))


@cache
def _tags(asked: LockInput) -> tuple[Tag, ...]:
    """The tags that fit the lock's Python and platform, best first."""
    architecture, _, glibc = asked.platform.partition("-manylinux_2_")
    platforms = [f"manylinux_2_{minor}_{architecture}" for minor in range(int(glibc), 4, -1)]
    # The older spellings of the same promises (PEP 600).
    for old, minor in (("2014", 17), ("2010", 12), ("1", 5)):
        platforms.insert(platforms.index(f"manylinux_2_{minor}_{architecture}") + 1, f"manylinux{old}_{architecture}")
    platforms.append(f"linux_{architecture}")
    major, minor = (int(part) for part in asked.python.split("."))
    cpython = cpython_tags((major, minor), platforms=platforms)
    return (*cpython, *compatible_tags((major, minor), f"cp{major}{minor}", platforms))
