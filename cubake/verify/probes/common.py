"""What the probes share: where GPU libraries stand, and where a loaded one came from. Standard library only."""

import ctypes
import glob
import os
import sysconfig

SITE = sysconfig.get_paths()["purelib"]
PLACES = (
    f"{SITE}/nvidia/*/lib",
    "/usr/local/cuda/lib64",
    "/usr/lib/*-linux-gnu",
)
SYSTEM = ("libcudnn", "libnccl")  # the only GPU libraries of ours in the distribution's folder


def libraries() -> dict[str, str]:
    """Path of every GPU library by file name; a wheel's copy stands before the base's."""
    found: dict[str, str] = {}
    for place in PLACES:
        for path in sorted(glob.glob(f"{place}/lib*.so*")):
            name = os.path.basename(path)
            if place.startswith("/usr/lib/") and not name.startswith(SYSTEM):
                continue
            if not os.path.islink(path):
                found.setdefault(name, path)
    return found


def loaded() -> list[str]:
    """Paths of the shared objects mapped into this process."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if ".so" in line})


def open_first(prefix: str) -> tuple[ctypes.CDLL, str]:
    """Load the library whose name begins so (``libcudart.so.``); the handle and its path."""
    for name, path in libraries().items():
        if name.startswith(prefix):
            return ctypes.CDLL(path), path
    raise SystemExit(f"no {prefix}* in {', '.join(PLACES)}")
