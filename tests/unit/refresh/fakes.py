"""An index, wheels and a registry of a few kilobytes, served on loopback as the real ones serve theirs."""

from __future__ import annotations

import hashlib
import html
import io
import json
import re
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cubake.refresh import Refreshed, Sources, refresh, yamlfile

DAY = date(2026, 11, 30)
JSON = "application/vnd.pypi.simple.v1+json"
CHUNK = 1024 * 1024  # what the reader takes at a time: strings are laid across its edge


@dataclass
class File:
    """A file of the index. ``cut`` answers to a range carry half of what they announce."""

    name: str
    content: bytes
    uploaded: str = "2026-09-02"
    requires_python: str = ">=3.10"
    yanked: bool | str = False
    cut: int = 0

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass
class Answers:
    """What a server sends, and what it was asked: ``METHOD path``, with the range where there was one."""

    asked: list[str] = field(default_factory=list)
    busy: dict[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)  # path -> answers sent first


@dataclass
class FakeIndex(Answers):
    """``projects`` by normalised name. ``form`` is json or html; ``ranges`` whether parts of files are served."""

    projects: dict[str, list[File]] = field(default_factory=dict)
    form: str = "json"
    ranges: bool = True
    url: str = ""

    def add(self, project: str, *files: File) -> None:
        self.projects.setdefault(project, []).extend(files)

    def parts(self) -> list[str]:
        """The requests for files, rather than for lists of them."""
        return [asked for asked in self.asked if "/files/" in asked]

    def page(self, project: str) -> tuple[str, bytes]:
        """Content type and body; addresses are relative, as a mirror's often are."""
        files = self.projects[project]
        if self.form == "json":
            rows = [
                {
                    "filename": file.name,
                    "url": f"../../files/{file.name}",
                    "hashes": {"sha256": file.sha256},
                    "size": len(file.content),
                    "upload-time": f"{file.uploaded}T12:00:00.000000Z",
                    "requires-python": file.requires_python,
                    "yanked": file.yanked,
                }
                for file in files
            ]
            return JSON, json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": rows}).encode()
        rows = [
            f'<a href="../../files/{file.name}#sha256={file.sha256}" '
            f'data-requires-python="{html.escape(file.requires_python)}"'
            f"{' data-yanked' if file.yanked else ''}>{file.name}</a><br>"
            for file in files
        ]
        return "text/html", f"<!DOCTYPE html><html><body>{''.join(rows)}</body></html>".encode()

    def file(self, name: str) -> File:
        return next(file for files in self.projects.values() for file in files if file.name == name)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Who stops reading early is no error."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """``host:port`` of a server that answers with the handler."""
    server = _Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one packet: the kernel would hold the second one back for 40 ms

    def log_message(self, *args: object) -> None:
        pass

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def index_handler(index: FakeIndex) -> type[BaseHTTPRequestHandler]:
    class Handler(Quiet):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            index.asked.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
            if index.busy.get(self.path):
                status, headers = index.busy[self.path].pop(0)
                self.send(status, b"busy", **headers)
            elif match := re.fullmatch(r"/(?:simple|whl)/([^/]+)/", self.path):
                if match[1] in index.projects:
                    kind, body = index.page(match[1])
                    self.send(200, body, Content_Type=kind)
                else:
                    self.send(404)
            else:
                self.part(index.file(self.path.rpartition("/")[2]))

        def part(self, file: File) -> None:
            whole, asked = file.content, re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
            if not asked or not index.ranges:
                self.send(200, whole, Last_Modified="Wed, 02 Sep 2026 12:00:00 GMT")
                return
            first = int(asked[1]) if asked[1] else max(0, len(whole) - int(asked[2]))
            last = int(asked[2]) if asked[1] and asked[2] else len(whole) - 1
            body, length = whole[first : last + 1], str(last + 1 - first)
            if file.cut:
                file.cut -= 1
                body, self.close_connection = body[: len(body) // 2], True
            self.send(206, body, Content_Range=f"bytes {first}-{last}/{len(whole)}", Content_Length=length)

    return Handler


def wheel(members: dict[str, bytes | str]) -> bytes:
    """A zip with these members, the same bytes each time."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def metadata(name: str, version: str, *requires: str, extras: tuple[str, ...] = ()) -> dict[str, bytes | str]:
    """The METADATA member of a wheel."""
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Requires-Python: >=3.8"]
    lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {row}" for row in requires]
    return {f"{name.replace('-', '_')}-{version}.dist-info/METADATA": "\n".join(lines) + "\n\nText.\n"}


def torch_module(arch: str, *, numpy2: bool = True, before: bytes = b"\0") -> bytes:
    """A libtorch_python.so whose architecture list lies across the edge of two chunks."""
    start = b"\x7fELF numpy.core._multiarray_umath\0" + (b"numpy._core._multiarray_umath\0" if numpy2 else b"")
    return start.ljust(CHUNK - 8, b"x") + before + arch.encode() + b"\0" + b"y" * 64


@cache
def torch(version: str, cuda: str | None, *requires: str, **module: Any) -> bytes:
    """A torch wheel; ``cuda`` None is a CPU build."""
    text = f"from typing import Optional\n__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\nhip = None\n"
    return wheel(
        metadata("torch", version, *requires)
        | {"torch/version.py": text, "torch/lib/libtorch_python.so": torch_module(**module) if cuda else b""}
    )


@cache
def tensorflow(version: str, cuda: str | None, *requires: str, runpath: str = "$ORIGIN/", arch: str = "") -> bytes:
    """A tensorflow wheel; ``cuda`` None is a CPU build."""
    values = [("is_cuda_build", bool(cuda))]
    values += [("cuda_version", cuda), ("cuda_compute_capabilities", arch.split())] if cuda else []
    return wheel(
        metadata("tensorflow", version, *requires, extras=("and-cuda",))
        | {
            "tensorflow/python/platform/build_info.py": f"import a\nbuild_info = a.OrderedDict({values})\n",
            "tensorflow/libtensorflow_framework.so.2": b"\x7fELF\0$ORIGIN_IS_NO_PATH\0".ljust(CHUNK - 4, b"\0")
            + f"{runpath}\0_ZN10tensorflow\0".encode(),
        }
    )


def fat_binary(*arch: int, ptx: int | None = None) -> bytes:
    """A CUDA fat binary with an empty payload for each architecture."""
    entries = b"".join(
        struct.pack("<HHIQIIHHI", kind, 0, 64, 32, 0, 0, 0, 0, number).ljust(64, b"\0") + b"p" * 32
        for kind, number in [*((2, number) for number in arch), *([(1, ptx)] if ptx else [])]
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def cudnn(version: str, *fat: bytes) -> bytes:
    library = b"\x7fELF" + b"\x50\xed\x55\xba no fat binary" + b"".join(fat) + b"\0" * 64
    soname = "libcudnn_cnn.so.9" if version.startswith("9") else "libcudnn_ops_train.so.8"
    return wheel(metadata("nvidia-cudnn", version) | {f"nvidia/cudnn/lib/{soname}": library})


@dataclass
class FakeRegistry(Answers):
    """nvidia/cuda with an index of two platforms behind each tag; anonymous readers need a token.

    ``images`` is the environment by tag; ``limit`` the manifests that may be fetched until it answers 429.
    """

    images: dict[str, dict[str, str]] = field(default_factory=dict)
    limit: int = 1000
    page: int = 1000
    host: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)

    def store(self, document: Any) -> str:
        body = json.dumps(document).encode()
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        self.blobs[digest] = body
        return digest

    def manifest(self, tag: str) -> str:
        """The digest of a tag's index; what it leads to is stored."""
        env = [f"{name}={value}" for name, value in self.images[tag].items()]
        config = self.store({"architecture": "amd64", "config": {"Env": ["PATH=/usr/bin", *env]}})
        image = self.store({"schemaVersion": 2, "config": {"digest": config}, "layers": []})
        platforms = [("arm64", "sha256:" + "0" * 64), ("amd64", image)]
        rows = [{"digest": digest, "platform": {"os": "linux", "architecture": name}} for name, digest in platforms]
        return self.store({"schemaVersion": 2, "manifests": rows})


def registry_handler(registry: FakeRegistry, prefix: str = "/v2/nvidia/cuda") -> type[BaseHTTPRequestHandler]:
    class Handler(Quiet):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            registry.asked.append(f"{self.command} {self.path}")
            path, _, query = self.path.partition("?")
            if path == "/token":
                wanted = "service=fake&scope=repository%3Anvidia%2Fcuda%3Apull"
                self.send(200 if query == wanted else 400, b'{"token": "let-me-in"}')
            elif self.headers.get("Authorization") != "Bearer let-me-in":
                challenge = (
                    f'Bearer realm="http://{registry.host}/token",service="fake",scope="repository:nvidia/cuda:pull"'
                )
                self.send(401, WWW_Authenticate=challenge)
            elif path == f"{prefix}/tags/list":
                self.tags(query)
            elif path.startswith(f"{prefix}/manifests/"):
                self.manifest(path.rpartition("/")[2])
            else:
                self.send(200, registry.blobs[path.rpartition("/")[2]])

        def tags(self, query: str) -> None:
            start = int(query.partition("last=")[2] or 0)
            names = sorted(registry.images)[start : start + registry.page]
            more = {"Link": f'<{prefix}/tags/list?last={start + len(names)}>; rel="next"'}
            body = json.dumps({"name": "nvidia/cuda", "tags": names}).encode()
            self.send(200, body, **(more if start + len(names) < len(registry.images) else {}))

        def manifest(self, reference: str) -> None:
            if self.command == "GET":
                registry.limit -= 1
            if registry.limit < 0:
                self.send(429, b"toomanyrequests")
                return
            digest = reference if reference.startswith("sha256:") else registry.manifest(reference)
            self.send(200, registry.blobs[digest], Docker_Content_Digest=digest)

    return Handler


class Run:
    """``refresh`` on the test's folder and servers, with what it announced."""

    def __init__(self, folder: Path, sources: Sources) -> None:
        self.folder, self.sources, self.said = folder, sources, list[str]()

    def __call__(self, *only: str, check: bool = False, day: date = DAY) -> Refreshed:
        return refresh(self.folder, self.sources, self.said.append, only=only, check=check, today=day)

    def rows(self, name: str) -> dict[str, dict[str, object]]:
        data = yamlfile.parse(self.text(name))
        return dict(data[yamlfile.ROWS[name]])

    def text(self, name: str) -> str:
        return (self.folder / f"{name}.yaml").read_text()
