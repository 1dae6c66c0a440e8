"""The door to an image registry: tags, digests and image configurations, by the HTTP API v2.

Sources: OCI distribution specification; docs.docker.com, registry token authentication. A HEAD request costs nothing
of the pulls that Docker Hub grants a day: a digest is asked for first, and a configuration only where it is not known.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin

from cubake.errors import Refused, Unavailable
from cubake.refresh.cache import Cache
from cubake.refresh.web import Web

if TYPE_CHECKING:
    import requests

DOCKER_HUB = "registry-1.docker.io"
_MANIFESTS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_ACCEPT = {"Accept": ", ".join(_MANIFESTS)}
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class Registry:
    """One repository of a registry. ``mirror`` is ``host[:port][/path]``; http is spoken with this machine alone."""

    web: Web
    cache: Cache
    repository: str
    mirror: str | None = None
    _token: str = field(default="", repr=False)

    def tags(self) -> list[str]:
        """Every tag, as the registry pages through them. Unavailable where it does not answer."""
        found: list[str] = []
        url = f"{self._base}/tags/list?n=1000"
        while url:
            answer = self._get(url)
            found += _document(answer).get("tags") or []
            url = urljoin(answer.url, answer.links["next"]["url"]) if "next" in answer.links else ""
        return found

    def environment(self, tag: str) -> dict[str, str]:
        """The environment that the image for linux/amd64 sets, by name; the cache knows it by the tag's digest.
        Refused where the tag is no such image, Unavailable where the registry does not answer, or not any more today.
        """
        url = f"{self._base}/manifests/{tag}"
        digest = self._get(url, method="HEAD").headers.get("Docker-Content-Digest", "")
        answers = self.cache.read(digest)
        if "environment" not in answers:
            try:
                answers = {"environment": self._read(url)}
            except (LookupError, TypeError, AttributeError) as error:
                raise Refused(f"{url}: no image manifest of a kind known: {error!r}") from error
            self.cache.write(digest, f"{self.repository}:{tag}", answers)
        return dict(answers["environment"])

    def _read(self, url: str) -> dict[str, str]:
        manifest = _document(self._get(url))
        if "manifests" in manifest:
            digest = next((row["digest"] for row in manifest["manifests"] if _is_amd(row.get("platform", {}))), None)
            if digest is None:
                raise Refused(f"{url}: it has no image for linux/amd64")
            manifest = _document(self._get(f"{self._base}/manifests/{digest}"))
        config = _document(self._get(f"{self._base}/blobs/{manifest['config']['digest']}"))
        pairs = (entry.partition("=") for entry in config.get("config", {}).get("Env") or [])
        return {name: value for name, _, value in pairs}

    @property
    def _base(self) -> str:
        host, _, path = (self.mirror or DOCKER_HUB).rstrip("/").partition("/")
        scheme = "http" if _is_loopback(host) else "https"
        return f"{scheme}://{host}/v2/{path + '/' if path else ''}{self.repository}"

    def _get(self, url: str, method: str = "GET") -> requests.Response:
        """An answer, with a token where the registry wants one."""
        ask = self.web.head if method == "HEAD" else self.web.get
        answer = ask(url, headers=self._headers(), allow=(401,))
        if answer.status_code == 401:
            self._token = self._new_token(answer)
            answer = ask(url, headers=self._headers())
        return answer

    def _headers(self) -> dict[str, str]:
        return _ACCEPT | ({"Authorization": f"Bearer {self._token}"} if self._token else {})

    def _new_token(self, answer: requests.Response) -> str:
        scheme, _, rest = answer.headers.get("WWW-Authenticate", "").partition(" ")
        asked = dict(_PARAMETER.findall(rest))
        if scheme.lower() != "bearer" or "realm" not in asked:
            raise Unavailable(f"{answer.url} wants a login", "name a mirror that lets anyone read")
        query = urlencode({name: asked[name] for name in ("service", "scope") if name in asked})
        document = _document(self.web.get(f"{asked['realm']}?{query}"))
        return str(document.get("token") or document.get("access_token") or "")


def _document(answer: requests.Response) -> dict[str, Any]:
    try:
        return dict(answer.json())
    except (ValueError, TypeError) as error:
        raise Refused(f"{answer.url} answers with something that is no JSON object", "is it a registry?") from error


def _is_amd(platform: dict[str, Any]) -> bool:
    return platform.get("os") == "linux" and platform.get("architecture") == "amd64"


def _is_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name == "localhost"
