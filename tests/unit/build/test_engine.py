"""The engine's address, and the life of a container, with a Docker SDK that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import docker
import pytest
import requests
from docker.errors import APIError, NotFound

from cubake.build.engine import Engine
from cubake.errors import Failed, Unavailable


class FakeContainer:
    id = "c1"

    def __init__(self, events: list[str], fail: dict[str, Exception], status: str) -> None:
        self._events, self._fail, self.status = events, fail, status

    def _do(self, what: str) -> None:
        self._events.append(what)
        if what in self._fail:
            raise self._fail[what]

    def start(self) -> None:
        self._do("start")

    def reload(self) -> None:
        self._do("reload")

    def remove(self, **_: object) -> None:
        self._do("remove")


class FakeDocker:
    """Stands for docker.DockerClient; ``fail`` says which call raises what."""

    def __init__(self, fail: dict[str, Exception], status: str = "running") -> None:
        self.events: list[str] = []
        self._container = FakeContainer(self.events, fail, status)
        self.containers = self.api = self

    def version(self) -> dict[str, str]:
        return {"Version": "28.1.0"}

    def create(self, *_: object, **__: object) -> FakeContainer:
        self._container._do("create")
        return self._container

    def put_archive(self, *_: object) -> None:
        self._container._do("put")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Engine, FakeDocker]]:
    def make(fail: dict[str, Exception] | None = None, status: str = "running") -> tuple[Engine, FakeDocker]:
        client = FakeDocker(fail or {}, status)
        monkeypatch.setattr(docker, "from_env", lambda **_: client)
        return Engine(), client

    return make


def test_a_container_that_lives_is_removed(fake: Any) -> None:
    engine, client = fake()
    with engine.container("i", None, None) as container:
        assert container == "c1"
    assert client.events == ["create", "start", "reload", "remove"]


@pytest.mark.parametrize("what", ["create", "start"])
def test_a_container_that_does_not_start_lies_with_the_image(what: str, fake: Any) -> None:
    engine, client = fake({what: APIError("no", explanation="exec: sleep: not found")})
    with pytest.raises(Failed, match="exec: sleep: not found"), engine.container("i", None, None):
        pytest.fail("it did not start")
    assert ("remove" in client.events) is (what == "start")


def test_files_that_the_image_has_no_place_for_lie_with_the_image(fake: Any) -> None:
    engine, _ = fake({"put": APIError("no", explanation="no folder /tmp")})
    with pytest.raises(Failed, match="no folder /tmp"), engine.container("i", None, None):
        engine.copy_into("c1", {}, "/tmp")


@pytest.mark.parametrize(
    ("fail", "status", "why"),
    [
        ({}, "exited", "it is exited"),
        ({"reload": NotFound("no", explanation="No such container: c1")}, "running", "No such container"),
        ({"reload": requests.ConnectionError("refused"), "remove": requests.ConnectionError("refused")}, "", "refused"),
        ({"start": requests.ConnectionError("refused"), "remove": requests.ConnectionError("refused")}, "", "refused"),
    ],
)
def test_a_container_that_goes_away_is_unavailable(
    fail: dict[str, Exception], status: str, why: str, fake: Any
) -> None:
    engine, client = fake(fail, status)
    with pytest.raises(Unavailable, match=why), engine.container("i", None, None):
        pass
    assert client.events[-1] == "remove"


@pytest.mark.parametrize(
    ("said", "host"),
    [
        (None, "unix:///var/run/docker.sock"),
        ("", "unix:///var/run/docker.sock"),
        ("unix:///run/user/1/docker.sock", "unix:///run/user/1/docker.sock"),
        ("tcp://h:2375", "tcp://h:2375"),
        ("http://h:2375", "tcp://h:2375"),
        ("http+unix:///run/d.sock", "unix:///run/d.sock"),
        ("ssh://u@h", "ssh://u@h"),
    ],
)
def test_the_address_as_the_client_spells_it(
    said: str | None, host: str, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    if said is not None:
        monkeypatch.setenv("DOCKER_HOST", said)
    engine, _ = fake()
    assert engine.host == host


@pytest.mark.parametrize("address", ["http://h:99999", "tcp://h:port", "http://u:secret@h:1", "ftp://h", "tcp://[::1"])
def test_an_address_that_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(Unavailable) as caught:
        Engine()
    assert "secret" not in caught.value.message
    assert len(caught.value.message.splitlines()) == 1
