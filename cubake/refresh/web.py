"""The door to the network: one session, sequential, patient with a busy server and quick with a silent one."""

from __future__ import annotations

import os
import re
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse
from urllib3.util.retry import Retry

from cubake import __version__
from cubake.errors import Unavailable

RETRIES = 3
BACKOFF = 0.5  # seconds, doubled at each attempt
LONGEST = 30.0  # seconds that a server's Retry-After may ask for; more than that is for another day
TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two packets
BUNDLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")  # as cubake.files looks for one
_CONNECTION = re.compile(r"^<?[\w.]*Connection\w*(\([^)]*\)| object at \w+>): ")
_HINT = "check the network, --index-url and --ca-bundle"


class _Retry(Retry):
    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        seconds = super().get_retry_after(response)
        return None if seconds is None else min(seconds, LONGEST)


class _Session(requests.Session):
    """Sets what every request needs, those too that a library makes. requests would let REQUESTS_CA_BUNDLE win over
    the session's own bundle; only what a request names itself comes before the environment."""

    def __init__(self, bundle: str | None, timeout: tuple[float, float]) -> None:
        super().__init__()
        self.bundle, self.timeout, self.count = bundle, timeout, 0

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        kwargs.setdefault("timeout", self.timeout)
        if self.bundle:
            kwargs.setdefault("verify", self.bundle)
        return super().request(*args, **kwargs)

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        self.count += 1
        return super().send(*args, **kwargs)


class Web:
    """HTTP with retries for lost connections, 429 and 5xx. ``patient=False``: one attempt, a few seconds."""

    def __init__(self, ca_bundle: str | None = None, *, patient: bool = True) -> None:
        bundle = ca_bundle or next((os.environ[name] for name in BUNDLES if os.environ.get(name)), None)
        self.session = _Session(bundle, TIMEOUT if patient else (5.0, 15.0))
        self.session.headers["User-Agent"] = f"cubake/{__version__}"
        retry = _Retry(
            total=RETRIES if patient else 0,
            backoff_factor=BACKOFF,
            status_forcelist=(429, 500, 502, 503, 504),
            raise_on_status=False,  # the answer itself says more than urllib3 would
        )
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=retry))

    @property
    def count(self) -> int:
        """Requests sent so far, retries within one not counted."""
        return self.session.count

    def get(self, url: str, *, headers: dict[str, str] | None = None, allow: tuple[int, ...] = ()) -> requests.Response:
        return self._ask("GET", url, headers, allow)

    def head(
        self, url: str, *, headers: dict[str, str] | None = None, allow: tuple[int, ...] = ()
    ) -> requests.Response:
        return self._ask("HEAD", url, headers, allow)

    def _ask(self, method: str, url: str, headers: dict[str, str] | None, allow: tuple[int, ...]) -> requests.Response:
        """Unavailable where no answer comes, or one that is an error and not in ``allow``."""
        try:
            answer = self.session.request(method, url, headers=headers, allow_redirects=True)
        except OSError as error:  # requests' own errors are, and that of a CA bundle that is not there
            raise Unavailable(f"{url} does not answer: {why(error)}", _HINT) from error
        if answer.status_code >= 400 and answer.status_code not in allow:
            raise Unavailable(f"{url} answers {answer.status_code} {answer.reason}", _HINT)
        return answer


def why(error: BaseException) -> str:
    """The reason in one line: of the errors that wrap each other, what the innermost says."""
    inner: Any = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    inner = getattr(inner, "reason", None) or inner
    line = (str(inner).splitlines() or [""])[0] or type(inner).__name__
    return _CONNECTION.sub("", line)
