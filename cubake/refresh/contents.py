"""What the insides of wheels say. Pure: bytes in, values out; what is large comes in chunks and is read no further than
needed.
"""

from __future__ import annotations

import ast
import posixpath
import re
import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from packaging.metadata import parse_email

# CUDA_ARCH_FLAGS, which torch.cuda.get_arch_list() returns, stands as a C string in libtorch_python.so. What is before
# it need not end in a zero (2.8, 2.9): a single name is only taken where it does.
_ARCH = rb"(?:sm|compute)_\d+[a-z]?"
_ARCH_FLAGS = re.compile(rb"(%b(?: %b)+)\0|\0(%b)\0" % (_ARCH, _ARCH, _ARCH))
# The module that code compiled with the headers of NumPy 2 imports; with those of NumPy 1 it is numpy.core alone.
_NUMPY_2 = b"numpy._core._multiarray_umath"
_RUNPATH = re.compile(rb"\0(\$ORIGIN(?:/[^\0]*)?)\0")
_OVERLAP = 16384  # bytes of the former chunk that are looked at again: more than any string sought is long
_FAT_MAGIC = b"\x50\xed\x55\xba"
_FAT_CHUNKS = 8  # of 1 MiB: a library of cuDNN 9 to its end, the first fat binary of cuDNN 8's, which are all alike
_ELF = 2  # kind of an entry of a fat binary that is machine code; 1 is PTX


def metadata(content: bytes) -> dict[str, Any]:
    """``{"requires": [Requires-Dist…], "python": Requires-Python}`` of a METADATA file."""
    raw, _ = parse_email(content)
    return {"requires": raw.get("requires_dist", []), "python": raw.get("requires_python", "")}


def torch_cuda(content: bytes) -> str | None:
    """The CUDA version in torch/version.py; None in a CPU build. ValueError where the file names none."""
    match = re.search(r"^cuda(?:: [^=]+)? = (.+)$", content.decode(), re.MULTILINE)
    if not match:
        raise ValueError("no line sets cuda")
    found = ast.literal_eval(match[1])
    return None if found is None else str(found)


def torch_module(chunks: Iterable[bytes]) -> dict[str, Any]:
    """``{"arch": [sm_XX, compute_XX…], "numpy2": bool}`` of libtorch_python.so: the GPU architectures, and whether it
    was compiled with NumPy 2's headers (then it works with both; else with NumPy 1 alone)."""
    arch: list[str] = []
    numpy2 = False
    for window in _windows(chunks):
        if not arch and (match := _ARCH_FLAGS.search(window)):
            arch = (match[1] or match[2]).decode().split()
        numpy2 = numpy2 or _NUMPY_2 in window
        if arch and numpy2:
            break
    return {"arch": arch, "numpy2": numpy2}


def tensorflow_build(content: bytes) -> dict[str, Any]:
    """``{"cuda": X.Y[.Z], "arch": [sm_XX, compute_XX…]}`` of tensorflow/python/platform/build_info.py; cuda is None in
    a CPU build. ValueError where the file sets no build_info, LookupError where that of a CUDA build lacks one of both.
    """
    for node in ast.parse(content.decode()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "build_info":
            value = node.value.args[0] if isinstance(node.value, ast.Call) else node.value
            found = dict(ast.literal_eval(value))
            if not found.get("is_cuda_build"):
                return {"cuda": None, "arch": []}
            return {"cuda": found["cuda_version"], "arch": found["cuda_compute_capabilities"]}
    raise ValueError("no line sets build_info")


def tensorflow_runpath(chunks: Iterable[bytes]) -> list[str]:
    """The folders of site-packages/nvidia in the run path of a library that lies in ``tensorflow/``, in order.

    The run path is the first string that begins with $ORIGIN: it stands in the dynamic string table, near the start.
    """
    for window in _windows(chunks):
        if match := _RUNPATH.search(window):
            folders = [_in_site_packages(entry) for entry in match[1].decode().split(":")]
            return list(dict.fromkeys(folder for folder in folders if folder.startswith("nvidia/")))
    return []


def _in_site_packages(entry: str) -> str:
    return posixpath.normpath(entry.replace("$ORIGIN", "tensorflow"))


def machine_code(chunks: Iterable[bytes]) -> list[int]:
    """The GPU architectures (75 is sm_75) for which a library's CUDA fat binaries hold machine code, sorted.

    Layout, little-endian: a header (magic, version u16, header size u16, size of the rest u64), then entries (kind u16,
    u16, header size u32, payload size u64, 12 bytes, …, architecture u32 at 28). Source: fatbinary_section.h of the
    toolkit for the first, the output of cuobjdump for the second.
    """
    data, found, at = b"".join(islice(chunks, _FAT_CHUNKS)), set(), -1
    while (at := data.find(_FAT_MAGIC, at + 1)) >= 0:
        found |= {arch for kind, arch in _entries(data, at) if kind == _ELF}
    return sorted(found)


def _entries(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Kind and architecture of each entry of the fat binary at ``start``; none where the bytes only look like one."""
    if start + 16 > len(data):
        return
    version, header, size = struct.unpack_from("<HHQ", data, start + 4)
    at, end = start + header, min(start + header + size, len(data) - 32)
    while version == 1 and header == 16 and at < end:
        kind, _, header_size, payload = struct.unpack_from("<HHIQ", data, at)
        if kind not in (1, _ELF) or header_size < 32:
            return
        yield kind, struct.unpack_from("<I", data, at + 28)[0]
        at += header_size + payload


def _windows(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Each chunk behind the end of the former, so that what lies across two is found."""
    tail = b""
    for chunk in chunks:
        window = tail + chunk
        yield window
        tail = window[-_OVERLAP:]
