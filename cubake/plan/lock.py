"""The lock of one image: every wheel by version, hash and size, as a requirements file that is sealed.

Pure: text in, values out. ``fetch.resolve`` reaches the index; building never resolves. Each package stands on one
line with the hash of the one wheel that fits, so that a plain ``grep`` can take a layer's share of the file and an
installer can take no other file. The seal is the SHA-256 of the body: a lock edited by hand is found and named.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from cubake.errors import InputError

COMMAND = "python build.py lock"
PYTORCH_INDEX = "https://download.pytorch.org/whl"  # where the CUDA builds are that are not the default one
_LINE = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})  # (?P<bytes>\d+) bytes$"
)


@dataclass(frozen=True)
class LockInput:
    """What a lock answers: the requirements for one Python on one platform (``x86_64-manylinux_2_36``)."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    python: str
    platform: str
    index: str | None

    @property
    def header(self) -> str:
        lines = [f"# for: {'; '.join(self.requirements)}", f"# python {self.python}, {self.platform}"]
        if self.constraints:
            lines.append(f"# constrained: {'; '.join(self.constraints)}")
        if self.index:
            lines.append(f"# index: {self.index}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Package:
    """One wheel; ``bytes`` is the size of its file."""

    name: str
    version: str
    sha256: str
    bytes: int

    @property
    def line(self) -> str:
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}  # {self.bytes} bytes"


@dataclass(frozen=True)
class Lock:
    header: str
    packages: tuple[Package, ...]

    @property
    def bytes(self) -> int:
        return sum(package.bytes for package in self.packages)

    def answers(self, asked: LockInput) -> bool:
        return self.header == asked.header


def lock_text(asked: LockInput, packages: tuple[Package, ...]) -> str:
    """The file ``requirements.lock``; the same input and packages give the same bytes."""
    body = "".join(f"{package.line}\n" for package in sorted(packages, key=lambda package: package.name))
    return (
        f"# Written by `{COMMAND}`. Do not edit: the seal covers every line below it.\n"
        f"# seal: {_seal(asked.header, body)}\n{asked.header}\n{body}"
    )


def parse_lock(text: str, file: str) -> Lock:
    """A lock from its text; InputError naming ``file`` and the line where it is not one, or was edited."""
    header, packages, seal = [], [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# seal: "):
            seal = line.removeprefix("# seal: ")
        elif line.startswith("#"):
            header += [line] if number > 1 else []
        elif match := _LINE.match(line):
            packages.append(Package(match["name"], match["version"], match["sha256"], int(match["bytes"])))
        else:
            raise InputError(f"{file}:{number}:1: not a locked package: {line[:60]!r}", f"write it anew: {COMMAND}")
    lock = Lock("\n".join(header), tuple(packages))
    if seal != _seal(lock.header, "".join(f"{package.line}\n" for package in packages)):
        raise InputError(f"{file}:2:1: edited by hand: its seal does not match", f"write it anew: {COMMAND}")
    return lock


def _seal(header: str, body: str) -> str:
    return "sha256:" + hashlib.sha256(f"{header}\n{body}".encode()).hexdigest()
