"""The door to debootstrap: a distribution's own root file system as an image, for hosts that reach no registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cubake.build.engine import Engine
from cubake.errors import Failed, Unavailable
from cubake.facts.model import Os
from cubake.files import LogFile

REPOSITORY = "cubake/rootfs"


def make_rootfs(name: str, os_: Os, engine: Engine, mirror: str | None, log: str) -> str:
    """Make (or find) the image of a distribution's minimal root file system; its reference."""
    reference = f"{REPOSITORY}:{name}"
    if engine.image(reference):
        return reference
    _check_host(os_)
    with tempfile.TemporaryDirectory(prefix="cubake-rootfs-") as folder:
        root = Path(folder, "root")
        _debootstrap(os_, root, mirror, log, engine)
        _slim(root)
        tar = subprocess.Popen(
            ["tar", "--numeric-owner", "-C", str(root), "-cf", "-", "."],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert tar.stdout is not None
        with tar.stdout:
            engine.import_rootfs(tar.stdout, reference, {"io.cubake.rootfs": name})
        if tar.wait() != 0:
            raise Failed(f"{reference}: packing the root file system failed", "is the disk full?")
    return reference


def _check_host(os_: Os) -> None:
    if shutil.which("debootstrap", path=_PATH) is None:
        raise Unavailable("a local base needs debootstrap, which is not installed", "apt-get install debootstrap")
    if os.geteuid() != 0:
        raise Unavailable("a local base needs root: debootstrap makes device nodes and owners", "run it with sudo -E")
    if not Path(os_.keyring).exists():
        package = Path(os_.keyring).stem
        raise Unavailable(f"a local base of {os_.suite} needs {os_.keyring}", f"apt-get install {package}")


_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _debootstrap(os_: Os, root: Path, mirror: str | None, log: str, engine: Engine) -> None:
    command = ["debootstrap", "--variant=minbase", f"--components={os_.components}", f"--keyring={os_.keyring}"]
    command += ["--include=ca-certificates", os_.suite, str(root), *([mirror] if mirror else [])]
    with LogFile(log) as file:
        environment = os.environ | {"PATH": _PATH, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
        )
        assert done.stdout is not None
        lines = []
        for line in done.stdout:
            file.line(line.rstrip())
            lines.append(line.rstrip())
            if engine.cancelled:
                done.terminate()
    if done.wait() != 0:
        tail = "\n".join(f"    {line}" for line in lines[-8:])
        raise Failed(
            f"debootstrap of {os_.suite} failed:\n{tail}\n    (whole log: {log})", "check the network and the mirror"
        )


def _slim(root: Path) -> None:
    """Drop what an image never needs and what differs from run to run."""
    for folder in ("var/cache/apt/archives", "var/lib/apt/lists", "var/log"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and path.name != "lock":
                path.unlink()
    for name in ("etc/hostname", "etc/resolv.conf", "var/cache/ldconfig/aux-cache", "etc/machine-id"):
        (root / name).unlink(missing_ok=True)
