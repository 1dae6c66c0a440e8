"""The only door to Docker. Everything goes by the Engine API, so that a remote engine works as a local one does.

docker-py has no BuildKit call of its own; ``POST /build?version=2`` with the context as its body needs no session and
works from Engine 20.10 on.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import DeviceRequest

from cubake.build.buildkit import BuildEvent, Decoder, json_records
from cubake.errors import Failed, Interrupted, Unavailable

OLDEST = (20, 10)
SOCKET = "unix:///var/run/docker.sock"
FIRST_ANSWER = 15  # seconds: an engine that is there says so at once
TIMEOUT = 60
OWNER = {"io.cubake.owner": "cubake"}  # on every container of ours, so that `clean` finds what a kill left


@dataclass(frozen=True)
class ImageInfo:
    id: str
    labels: Mapping[str, str]
    bytes: int
    env: tuple[str, ...] = ()


class Engine:
    """One engine; raises Unavailable with what to do where it does not answer.

    ``host`` is its address as the docker client spells it: the client would ask its own current context.
    """

    def __init__(self) -> None:
        where = os.environ.get("DOCKER_HOST") or SOCKET
        self.host = re.sub(r"^https?://", "tcp://", where).replace("http+unix://", "unix://")
        try:
            version = docker.from_env(timeout=FIRST_ANSWER).version()
            self._docker = docker.from_env(timeout=TIMEOUT)
        except (DockerException, requests.RequestException, OSError, ValueError) as error:  # of an address that is none
            raise Unavailable(f"no Docker Engine answers at {where}: {_why(error)}", _HINT) from error
        self._builds: set[str] = set()
        self.cancelled = False
        self.version = str(version["Version"])
        numbers = tuple(int(part) for part in self.version.split("~", maxsplit=1)[0].split("+")[0].split(".")[:2])
        if numbers < OLDEST:
            raise Unavailable(f"Docker Engine {self.version} is too old: BuildKit needs 20.10", "update the engine")

    def image(self, reference: str) -> ImageInfo | None:
        """An image of the engine, or None."""
        with _answering():
            try:
                attributes = self._docker.images.get(reference).attrs
            except (ImageNotFound, NotFound):
                return None
        config = attributes.get("Config") or {}
        env = tuple(config.get("Env") or ())
        return ImageInfo(attributes["Id"], config.get("Labels") or {}, int(attributes.get("Size", 0)), env)

    def pull(self, reference: str) -> ImageInfo | None:
        """Pull an image; None where the registry does not answer or does not have it."""
        name, _, tag = reference.rpartition(":")
        try:
            self._docker.api.pull(name, tag=tag)
        except (APIError, requests.RequestException):
            return None
        return self.image(reference)

    def import_rootfs(self, tar: IO[bytes], reference: str, labels: Mapping[str, str]) -> None:
        """Make an image of one layer from a tar stream."""
        name, _, tag = reference.rpartition(":")
        changes = [f'LABEL {key}="{value}"' for key, value in labels.items()]
        with _answering():
            text = self._docker.api.import_image_from_stream(tar, repository=name, tag=tag, changes=changes)
        for record in json_records([text.encode() if isinstance(text, str) else text]):
            if "error" in record:
                raise Unavailable(f"{reference}: the engine did not take the root file system: {record['error']}")

    def build(self, context: Mapping[str, bytes], tag: str, options: BuildRequest) -> Iterator[BuildEvent]:
        """Build with BuildKit and yield its events as they come. Closing the iterator ends the build."""
        build_id = secrets.token_hex(8)
        params = {
            "version": "2",
            "buildid": build_id,
            "t": tag,
            "rm": "1",
            "buildargs": json.dumps(dict(options.args)),
            "labels": json.dumps(dict(options.labels)),
            "networkmode": options.network or "default",
            "nocache": "1" if options.no_cache else "0",
        }
        headers = {"Content-Type": "application/x-tar", "X-Registry-Config": "e30="}
        if self.cancelled:
            raise Interrupted("interrupted before it was built")
        self._builds.add(build_id)
        with _answering():
            response = self._post(
                "/build", data=pack(context), params=params, headers=headers, stream=True, timeout=None
            )
            _check(response)
            try:
                yield from Decoder().events(json_records(response.iter_content(chunk_size=None)))
            finally:
                self._builds.discard(build_id)
                response.close()

    def cancel_builds(self) -> None:
        """Stop every build of this process, and start no more; each then ends with an error event."""
        self.cancelled = True
        for build_id in tuple(self._builds):
            with suppress(DockerException, requests.RequestException):
                self._post("/build/cancel", params={"id": build_id}, timeout=10)

    def _post(self, path: str, **options: Any) -> Any:
        """An API call that docker-py has no method for: its own methods all end in these two, which its types hide."""
        api: Any = self._docker.api
        return api._post(api._url(path), **options)

    def drop(self, image_id: str) -> None:
        """Remove an image that lost its tag, unless something still stands on it."""
        with suppress(DockerException, requests.RequestException):
            if not (self._docker.images.get(image_id).attrs.get("RepoTags") or []):
                self._docker.api.remove_image(image_id)

    @contextmanager
    def container(self, image: str, gpu: str | None, network: str | None) -> Iterator[str]:
        """A container of the image that waits, by its id; it is removed whatever happens inside the block.

        Failed where the engine does not start it, Unavailable where it did not live to the end of the block.
        ``gpu`` is None, ``nvidia`` (all GPUs by the runtime) or a CDI device such as nvidia.com/gpu=all.
        """
        requests_ = []
        if gpu == "nvidia":
            requests_ = [DeviceRequest(count=-1, capabilities=[["gpu", "compute", "utility"]])]
        elif gpu:
            requests_ = [DeviceRequest(driver="cdi", device_ids=[gpu])]
        created: Container | None = None
        with _answering():
            try:
                with _taking():
                    created = self._docker.containers.create(
                        image,
                        ["sleep", "infinity"],
                        entrypoint=[],
                        labels=OWNER,
                        device_requests=requests_,
                        network_mode=network or "none",
                    )
                    created.start()
                yield str(created.id)
                created.reload()
                if created.status != "running":
                    raise Unavailable(f"the container went away: it is {created.status}", "run again")
            finally:
                if created is not None:
                    created.remove(force=True, v=True)

    def copy_into(self, container: str, contents: Mapping[str, bytes], folder: str) -> None:
        """Put files into a folder of a container, by the API: a remote engine sees none of our disk."""
        with _answering(), _taking():
            self._docker.api.put_archive(container, folder, pack(contents))

    def leftovers(self) -> list[str]:
        """Containers that a killed run left behind, by id."""
        with _answering():
            found = self._docker.containers.list(all=True, filters={"label": "io.cubake.owner=cubake"})
        return [str(container.id) for container in found]

    def remove_container(self, container: str) -> None:
        with _answering():
            self._docker.api.remove_container(container, force=True, v=True)

    def prune_build_cache(self) -> int:
        """Drop BuildKit's unused cache; the bytes freed."""
        with _answering():
            return int(self._docker.api.prune_builds().get("SpaceReclaimed", 0))


@dataclass(frozen=True)
class BuildRequest:
    args: Mapping[str, str]
    labels: Mapping[str, str]
    network: str | None = None
    no_cache: bool = False


_HINT = "start it (`sudo systemctl start docker`, or `bin/quickstart` installs one), or set DOCKER_HOST"


def pack(context: Mapping[str, bytes]) -> bytes:
    """A build context as a tar; times and owners are fixed, so that equal files give equal bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in sorted(context.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o755 if name == "uv" else 0o644
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


@contextmanager
def _answering() -> Iterator[None]:
    """Faults of the engine or of the way to it, as Unavailable."""
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise Unavailable(f"the Docker Engine did not do it: {_first_line(error)}", "see the engine's log") from error


@contextmanager
def _taking() -> Iterator[None]:
    """What an engine that answers does not take, as Failed: that lies with the image, or with the GPU asked for."""
    try:
        yield
    except APIError as error:
        raise Failed(f"the Docker Engine did not do it: {_first_line(error)}", "see the engine's log") from error


def _check(response: Any) -> None:
    if response.status_code >= 400:
        raise Unavailable(f"the Docker Engine refused the build: {response.text.strip()[:300]}", _HINT)


def _why(error: BaseException) -> str:
    """The operating system's words out of the layers of a connection error."""
    text = str(error)
    if "timed out" in text:
        return f"no word in {FIRST_ANSWER} s"
    found = re.search(r"\[Errno \d+\] ([^'\")]+)", text) or re.search(r"\(\d+, '([^']+)'\)", text)
    return found[1] if found else _first_line(error)


def _first_line(error: BaseException) -> str:
    """The engine's own words where it answered, without the HTTP around them."""
    said = str(getattr(error, "explanation", None) or error)
    return (said.strip().splitlines() or [type(error).__name__])[0]
