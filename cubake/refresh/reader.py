"""The door to wheels on an index: members are read by range requests, so that of a gigabyte a few megabytes travel."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zipfile import BadZipFile, ZipFile

from remotezip import RangeNotSupported, RemoteZip, RemoteZipError  # type: ignore[import-untyped]  # it has no types
from urllib3.exceptions import HTTPError

from cubake.errors import Refused, Unavailable
from cubake.refresh import contents
from cubake.refresh.cache import Cache
from cubake.refresh.index import IndexFile
from cubake.refresh.types import Announce
from cubake.refresh.web import Web, why

ATTEMPTS = 3  # at a wheel that arrives damaged or in part
_CHUNK = 1024 * 1024
_DAMAGED = (RemoteZipError, HTTPError, BadZipFile, zlib.error, EOFError, OSError)
_UNKNOWN = (LookupError, ValueError, TypeError, SyntaxError)


@dataclass(frozen=True)
class Archive:
    """The members of a wheel, by the end of their path."""

    zip: ZipFile

    def has(self, end: str) -> bool:
        return any(name.endswith(end) for name in self.zip.namelist())

    def content(self, end: str) -> bytes:
        return self.zip.read(self._named(end))

    def chunks(self, end: str) -> Iterator[bytes]:
        """The member, 1 MiB at a time; who stops early leaves the rest on the server."""
        with self.zip.open(self._named(end)) as member:
            while chunk := member.read(_CHUNK):
                yield chunk

    def _named(self, end: str) -> str:
        """LookupError where the wheel has no such member."""
        found = min((name for name in self.zip.namelist() if name.endswith(end)), key=len, default=None)
        if found is None:
            raise LookupError(f"it holds no {end.lstrip('/')}")
        return found


def _torch(wheel: Archive) -> dict[str, Any]:
    """``{"cuda": X.Y or None, "arch": […], "numpy2": bool}``; the last two of CUDA builds alone."""
    cuda = contents.torch_cuda(wheel.content("torch/version.py"))
    if cuda is None:
        return {"cuda": None}
    module = contents.torch_module(wheel.chunks("torch/lib/libtorch_python.so"))
    if not module["arch"]:
        raise LookupError("libtorch_python.so holds no list of GPU architectures")
    return {"cuda": cuda, **module}


def _tensorflow(wheel: Archive) -> dict[str, Any]:
    """``{"cuda": X.Y[.Z] or None, "arch": […], "runpath": […]}``; the last two of CUDA builds alone. The thin wheels of
    2.12 to 2.15 on Arm hold no TensorFlow: they require another package, which is a CPU build."""
    name = "tensorflow/python/platform/build_info.py"
    build = contents.tensorflow_build(wheel.content(name)) if wheel.has(name) else {"cuda": None}
    if not build["cuda"]:
        return build
    library = wheel.chunks("tensorflow/libtensorflow_framework.so.2")
    return {**build, "runpath": contents.tensorflow_runpath(library)}


def _cudnn(wheel: Archive) -> list[int]:
    """The architectures (75 is sm_75) with machine code in one library, which stands for the others."""
    known = ("/libcudnn_cnn.so.9", "/libcudnn_ops_train.so.8")
    library = next((name for name in known if wheel.has(name)), "/libcudnn_cnn.so")
    found = contents.machine_code(wheel.chunks(library))
    if not found:
        raise LookupError(f"{library[1:]} holds no CUDA fat binary")
    return found


QUESTIONS: dict[str, Callable[[Archive], Any]] = {
    "metadata": lambda wheel: contents.metadata(wheel.content(".dist-info/METADATA")),
    "torch": _torch,
    "tensorflow": _tensorflow,
    "cudnn": _cudnn,
}


@dataclass(frozen=True)
class Reader:
    """Answers questions about wheels, each once for a hash."""

    web: Web
    cache: Cache
    announce: Announce

    def ask(self, file: IndexFile, *questions: str) -> dict[str, Any]:
        """JSON values by question. Unavailable where the file cannot be read, Refused where it is not what its name
        says it is."""
        answers = self.cache.read(file.sha256)
        unknown = [question for question in questions if question not in answers]
        if unknown:
            answers |= self._read(file, unknown)
            self.cache.write(file.sha256, file.name, answers)
        return {question: answers[question] for question in questions}

    def _read(self, file: IndexFile, questions: list[str]) -> dict[str, Any]:
        self.announce(f"reading {file.name}")
        error: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                # The session's own retries have passed by the time an error comes here.
                with RemoteZip(file.url, session=self.web.session, headers={"Accept-Encoding": "identity"}) as wheel:
                    return {question: QUESTIONS[question](Archive(wheel)) for question in questions}
            except RangeNotSupported as no_range:
                hint = "use an index that does: wheels are too large to be read whole"
                raise Unavailable(f"{file.name}: the index serves no parts of files", hint) from no_range
            except _DAMAGED as damaged:
                error = damaged
            except _UNKNOWN as unknown:
                what = f"{file.name}: {why(unknown)}: not a wheel of the kind known"
                raise Refused(what, "cubake/refresh/reader.py says what is read of which wheel") from unknown
        reason = why(error) if error else ""
        raise Unavailable(f"{file.name}: cannot be read: {reason}", "run it again: what was read is kept") from error
