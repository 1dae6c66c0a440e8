"""The door to a package index: the files of a project, by the JSON form of the Simple API or by its HTML form.

Sources: PEP 503 (HTML), PEP 592 (yanked files), PEP 691 and 700 (JSON, sizes, upload times).
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from packaging.utils import canonicalize_name
from uv import find_uv_bin

from cubake.errors import Unavailable
from cubake.refresh.web import Web
from cubake.words import masked

VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True)
class IndexFile:
    """A file as the index lists it. ``sha256`` is empty, ``size`` (bytes) and ``uploaded`` (YYYY-MM-DD) are None where
    the index does not tell."""

    name: str
    url: str
    sha256: str = ""
    size: int | None = None
    uploaded: str | None = None
    requires_python: str = ""
    yanked: bool = False


def index_url(option: str | None) -> str:
    """The index asked for: the option, the environment, else what uv would take, which knows its own configuration.
    uv is asked with nothing to resolve, so that it reaches no network."""
    if found := option or next((os.environ[name] for name in VARIABLES if os.environ.get(name)), None):
        return found
    command = [find_uv_bin(), "pip", "compile", "--quiet", "--offline", "--no-deps", "--emit-index-url", "-"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("--index-url "):
            return line.partition(" ")[2].strip()
    raise Unavailable("no package index is known: uv names none", "name one with --index-url")


@dataclass
class Index:
    """The files of projects, each asked for once. ``option`` is the address that was asked for, if any."""

    web: Web
    option: str | None
    _files: dict[str, tuple[IndexFile, ...]] = field(default_factory=dict)

    @cached_property
    def url(self) -> str:
        return index_url(self.option)

    def files(self, project: str) -> tuple[IndexFile, ...]:
        """Every file of a project, as listed. Unavailable where the index does not answer or has no such project."""
        if project not in self._files:
            self._files[project] = listing(self.web, f"{self.url.rstrip('/')}/{canonicalize_name(project)}/")
        return self._files[project]

    def completed(self, file: IndexFile) -> IndexFile:
        """The file with size and date, asked of the file itself where the index, a mirror in HTML, tells neither."""
        if file.size is not None and file.uploaded is not None:
            return file
        headers = self.web.head(file.url, headers={"Accept-Encoding": "identity"}).headers
        try:
            date = parsedate_to_datetime(headers["Last-Modified"]).date().isoformat()
            return replace(file, size=file.size or int(headers["Content-Length"]), uploaded=file.uploaded or date)
        except (KeyError, ValueError) as error:
            what = f"{masked(self.url)} tells neither size nor date of {file.name}"
            raise Unavailable(what, "use an index that serves the JSON form of the Simple API") from error


def listing(web: Web, url: str) -> tuple[IndexFile, ...]:
    """The files that one page of a Simple index lists."""
    answer = web.get(url, headers={"Accept": _ACCEPT})
    try:
        if _JSON in answer.headers.get("Content-Type", ""):
            return tuple(_of_json(row, answer.url) for row in answer.json()["files"])
        return of_html(answer.text, answer.url)
    except (KeyError, TypeError, ValueError) as error:
        raise Unavailable(f"{url} is no page of a package index: {error!r}", "check --index-url") from error


def _of_json(row: dict[str, Any], base: str) -> IndexFile:
    return IndexFile(
        name=row["filename"],
        url=urljoin(base, row["url"]),
        sha256=row.get("hashes", {}).get("sha256", ""),
        size=row.get("size"),
        uploaded=(row.get("upload-time") or "")[:10] or None,
        requires_python=row.get("requires-python") or "",
        yanked=bool(row.get("yanked")),
    )


def of_html(page: str, base: str) -> tuple[IndexFile, ...]:
    """The files of a page in the HTML form, whose address is ``base``."""
    parser = _Anchors()
    parser.feed(page)
    return tuple(_of_anchor(anchor, base) for anchor in parser.found)


def _of_anchor(anchor: dict[str, str], base: str) -> IndexFile:
    url, fragment = urldefrag(urljoin(base, anchor["href"]))
    return IndexFile(
        name=unquote(PurePosixPath(urlsplit(url).path).name),
        url=url,
        sha256=fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else "",
        requires_python=anchor.get("data-requires-python", ""),
        yanked="data-yanked" in anchor,
    )


class _Anchors(HTMLParser):
    """Collects the attributes of every link."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "a" and values.get("href"):
            self.found.append(values)
