"""The shipped facts against their sources: the package index as it is, and a registry with an image pushed to it.

The newest releases of each project are read, the rest is compared by name: reading every wheel takes minutes where no
cache holds what was learned of them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from cubake import versions
from cubake.facts import FOLDER
from cubake.refresh import Sources, cudnn, pytorch, refresh, tensorflow, toolkit, torch_family, yamlfile
from cubake.refresh.types import Data
from cubake.refresh.world import World, open_world
from cubake.resolve.gate import expression

NEWEST = 3
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
LIST = "application/vnd.oci.image.index.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


def shipped(name: str) -> Data:
    return yamlfile.parse((FOLDER / f"{name}.yaml").read_text())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The index of this machine and the shipped facts, with a cache of the tests' own."""
    committed = {path.stem: yamlfile.parse(path.read_text()) for path in FOLDER.glob("*.yaml")}
    return open_world(Sources(cache=tmp_path_factory.mktemp("cache")), committed, lambda line: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped facts."""
    return Path(shutil.copytree(FOLDER, tmp_path / "facts", ignore=shutil.ignore_patterns("*.py", "__pycache__")))


class TestIndex:
    @pytest.mark.parametrize(("name", "module"), [("pytorch", pytorch), ("tensorflow", tensorflow)])
    def test_the_newest_releases_of_a_framework(
        self, name: str, module: Any, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = shipped(name)["releases"]
        newest = versions.newest_first(rows)[:NEWEST]
        monkeypatch.setattr(module, "FLOOR", newest[-1])
        for sibling in torch_family.FLOORS:
            belonging = [version for row in newest for version in rows[row].get("family", {}).get(sibling, [])]
            monkeypatch.setitem(torch_family.FLOORS, sibling, min(belonging, key=versions.key, default="0"))
        # What appeared since, a release or a sibling of one, is no error here: `refresh --check` tells of it.
        found = module.build(world)["releases"]
        for version in newest:
            family = rows[version].pop("family", {})
            assert all(set(known) <= set(found[version]["family"][name]) for name, known in family.items())
            found[version].pop("family", None)
            assert found[version] == rows[version], version

    def test_every_toolkit(self, world: World) -> None:
        rows = shipped("components")["toolkits"]
        found = toolkit.build(world)
        assert {version: found["toolkits"].get(version) for version in rows} == rows
        assert found["sources"] == shipped("components")["sources"]

    def test_the_newest_cudnn(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        rows, every = shipped("cudnn")["versions"], cudnn.listed(world)
        assert set(rows) <= set(every)
        newest = versions.newest_first(rows)[:NEWEST]
        monkeypatch.setattr(cudnn, "listed", lambda world: {version: every[version] for version in newest})
        assert cudnn.build(world)["versions"] == {version: rows[version] for version in newest}

    @pytest.mark.parametrize(
        ("name", "row"),
        [("pytorch", "2.6.0"), ("tensorflow", "2.16.2"), ("components", "12.4.1"), ("cudnn", "9.1.0.70")],
    )
    def test_a_row_removed_by_hand_is_found(self, folder: Path, tmp_path: Path, name: str, row: str) -> None:
        data, path = shipped(name), folder / f"{name}.yaml"
        del data[yamlfile.ROWS[name]][row]
        path.write_text(yamlfile.dump(name, data, "2026-11-30"))
        before = path.read_text()
        done = refresh(folder, Sources(cache=tmp_path / "cache"), lambda line: None, only=(name,), check=True)
        assert row in [missing.row for missing in done.missing]
        assert done.exit_code == 1
        assert path.read_text() == before
        assert not (tmp_path / "cache").exists()  # no wheel was read

    def test_every_row_is_on_the_index(self, world: World) -> None:
        listed = {
            "pytorch": pytorch.listed(world),
            "tensorflow": tensorflow.listed(world),
            "components": toolkit.listed(world),
            "cudnn": cudnn.listed(world),
        }
        gone = {name: set(shipped(name)[yamlfile.ROWS[name]]) - set(known) for name, known in listed.items()}
        assert not any(gone.values()), gone


class Registry:
    """A registry of Debian's package docker-registry, and a client that pushes what no engine has to build."""

    def __init__(self, host: str) -> None:
        self.host, self.url = host, f"http://{host}/v2/nvidia/cuda"

    def push(self, tag: str, environment: dict[str, str]) -> None:
        """An image of two platforms; that for Arm sets nothing."""
        rows = [
            {"mediaType": MANIFEST, **self.image(name, env), "platform": {"os": "linux", "architecture": name}}
            for name, env in (("arm64", {}), ("amd64", environment))
        ]
        self.put(tag, LIST, {"schemaVersion": 2, "mediaType": LIST, "manifests": rows})

    def image(self, architecture: str, environment: dict[str, str]) -> dict[str, Any]:
        env = [f"{name}={value}" for name, value in environment.items()]
        config = {"architecture": architecture, "os": "linux", "config": {"Env": env}, "rootfs": {"type": "layers"}}
        document = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, **self.blob(json.dumps(config).encode())},
            "layers": [{"mediaType": LAYER, **self.blob(b"no layer, but nobody unpacks it")}],
        }
        return self.put(described(json.dumps(document).encode())["digest"], MANIFEST, document)

    def blob(self, content: bytes) -> dict[str, Any]:
        found = described(content)
        start = requests.post(f"{self.url}/blobs/uploads/", timeout=30)
        headers = {"Content-Type": "application/octet-stream"}
        done = requests.put(
            start.headers["Location"], params={"digest": found["digest"]}, data=content, headers=headers, timeout=30
        )
        assert done.status_code == 201, done.text
        return found

    def put(self, reference: str, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        content = json.dumps(document).encode()
        url = f"{self.url}/manifests/{reference}"
        done = requests.put(url, data=content, headers={"Content-Type": kind}, timeout=30)
        assert done.status_code == 201, done.text
        return described(content)


def described(content: bytes) -> dict[str, Any]:
    return {"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("there is no docker-registry; Debian and Ubuntu have it as a package of that name")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(tmp_path / "registry")}},
        "http": {"addr": host},
    }
    (tmp_path / "config.yml").write_text(json.dumps(config))
    with (tmp_path / "registry.log").open("w") as log:
        process = subprocess.Popen([program, "serve", str(tmp_path / "config.yml")], stdout=log, stderr=log)
        try:
            wait_for(f"http://{host}/v2/", process, tmp_path / "registry.log")
            yield Registry(host)
        finally:
            process.terminate()
            process.wait(30)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(150):
        try:
            requests.get(url, timeout=5).raise_for_status()
        except requests.RequestException:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"the registry does not answer: {log.read_text()}")


def test_a_registry_tells_of_base_images(registry: Registry, folder: Path, tmp_path: Path) -> None:
    brands, path = ("tesla", "unknown"), folder / "base_images.yaml"
    base = {"NVIDIA_REQUIRE_CUDA": expression("13.5", (570, 580), brands), "LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}
    for flavor in ("base", "devel"):
        registry.push(f"13.5.0-{flavor}-ubuntu24.04", base)
    registry.push("13.5.0-cudnn-runtime-ubuntu24.04", base | {"NV_CUDNN_VERSION": "9.28.0.42-1"})
    gone = {"os": {"ubuntu22.04": {"flavors": ["base"]}}, "source": "old"}
    here = {"os": {"ubuntu24.04": {"flavors": ["base"]}}, "source": "old"}
    old = {"sources": {"old": {"text": "t", "confidence": "high"}}, "images": {"13.3.0": gone, "13.5.0": here}}
    path.write_text(yamlfile.dump("base_images", old, "2026-11-30"))

    sources = Sources(registry=registry.host, cache=tmp_path / "cache")
    for status in ("changed", "unchanged"):
        done = refresh(folder, sources, lambda line: None, only=("base_images",))
        assert [file.status for file in done.files] == [status], done
    assert yamlfile.parse(path.read_text())["images"] == {
        "13.3.0": {"os": {"ubuntu22.04": {"flavors": ["base"], "end_of_life": True}}, "source": "old"},
        "13.5.0": {
            "gate": {"cuda": "13.5", "branches": [570, 580], "brands": ["tesla", "unknown"]},
            "library_path": "/usr/local/cuda/lib64",
            "os": {"ubuntu24.04": {"flavors": ["base", "cudnn-runtime", "devel"], "cudnn": "9.28.0.42"}},
            "source": "registry",
        },
    }
