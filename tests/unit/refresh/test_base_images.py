"""nvidia/cuda as a registry tells it: tags, configurations, tokens and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cubake.refresh import base_images, text, yamlfile
from cubake.refresh.base_images import gate_of
from cubake.refresh.registry import DOCKER_HUB, Registry
from cubake.refresh.web import Web
from cubake.resolve.gate import expression
from tests.unit.refresh.fakes import FakeRegistry, Run, registry_handler, served

BRANDS = ("tesla", "geforce")
GATE = {"cuda": "12.4", "branches": [470, 535], "brands": ["geforce", "tesla"]}


def base(cuda: str = "12.4", path: str = "/usr/local/nvidia/lib", **more: str) -> dict[str, str]:
    return {"NVIDIA_REQUIRE_CUDA": expression(cuda, (470, 535), BRANDS), "LD_LIBRARY_PATH": path, **more}


@pytest.fixture(autouse=True)
def _images(registry: FakeRegistry) -> None:
    for os in ("ubuntu22.04", "ubuntu24.04"):
        for flavor in ("base", "runtime", "devel"):
            registry.images[f"12.4.1-{flavor}-{os}"] = base(path=f"/of/{os}")
            registry.images[f"12.4.1-cudnn-{flavor}-{os}"] = base(path=f"/of/{os}", NV_CUDNN_VERSION="9.1.0.70-1")
    registry.images["13.0.0-base-ubuntu24.04"] = base("13.0")
    for other in ("12.4.1-base-ubi9", "11.2.0-base-ubuntu22.04", "12.4.1-base-ubuntu18.04", "latest"):
        registry.images[other] = {}


def keep(run: Run, images: dict[str, Any]) -> None:
    """Committed rows, all from one source."""
    data = {"sources": {"old": {"text": "t", "confidence": "high"}}, "images": images}
    (run.folder / "base_images.yaml").write_text(yamlfile.dump("base_images", data, "2026-01-01"))


def row(**os: Any) -> dict[str, Any]:
    return {"os": {name.replace("_", "."): value for name, value in os.items()}, "source": "old"}


def test_rows_are_read_from_configurations(run: Run, registry: FakeRegistry) -> None:
    done = run("base_images")
    assert run.rows("base_images") == {
        "12.4.1": {
            "gate": GATE,
            "library_path": "/of/ubuntu24.04",
            "os": {
                name: {
                    "flavors": ["base", "cudnn-base", "cudnn-devel", "cudnn-runtime", "devel", "runtime"],
                    "cudnn": "9.1.0.70",
                }
                for name in ("ubuntu22.04", "ubuntu24.04")
            },
            "source": "registry",
        },
        "13.0.0": {
            "gate": GATE | {"cuda": "13.0"},
            "library_path": "/usr/local/nvidia/lib",
            "os": {"ubuntu24.04": {"flavors": ["base"]}},
            "source": "registry",
        },
    }
    assert "+ base_images 13.0.0 (ubuntu24.04)" in text(done)
    assert len([asked for asked in registry.asked if "/blobs/" in asked]) == 3  # one a toolkit and distribution


def test_the_second_run_asks_for_digests_alone(run: Run, registry: FakeRegistry) -> None:
    run("base_images")
    before, registry.asked = run.text("base_images"), []
    assert run("base_images").files[0].status == "unchanged"
    assert run.text("base_images") == before
    kinds = {asked.split()[0] for asked in registry.asked if "/manifests/" in asked or "/blobs/" in asked}
    assert kinds == {"HEAD"}


def test_tags_come_in_pages(run: Run, registry: FakeRegistry) -> None:
    run("base_images")
    whole = run.rows("base_images")
    registry.page = 3
    assert run("base_images").files[0].status == "unchanged"
    assert run.rows("base_images") == whole
    assert len([asked for asked in registry.asked if "tags/list" in asked]) > 5


def test_a_tag_that_is_gone_has_ended_and_stays(run: Run) -> None:
    old = {"flavors": ["base"], "cudnn": "8.9.6.50"}
    one = {"flavors": ["base"]}
    keep(run, {"12.2.2": row(ubuntu22_04=old), "12.4.1": row(ubuntu20_04=one, ubuntu22_04=one, ubuntu24_04=one)})
    run("base_images")
    rows = run.rows("base_images")
    assert rows["12.2.2"] == row(ubuntu22_04=old | {"end_of_life": True})
    assert rows["12.4.1"]["os"]["ubuntu20.04"] == {"flavors": ["base"], "end_of_life": True}
    assert "end_of_life" not in rows["12.4.1"]["os"]["ubuntu22.04"]
    assert list(yamlfile.parse(run.text("base_images"))["sources"]) == ["registry", "old"]


def test_what_has_ended_does_not_come_back(run: Run) -> None:
    ended = {"flavors": ["base"], "end_of_life": True}
    keep(run, {"12.4.1": row(ubuntu22_04=ended)})
    run("base_images")
    assert run.rows("base_images")["12.4.1"]["os"]["ubuntu22.04"]["end_of_life"] is True


def test_a_list_of_a_few_tags_is_not_believed(run: Run) -> None:
    keep(run, {f"12.{n}.0": row(ubuntu22_04={"flavors": ["base"]}) for n in range(5)})
    before = run.text("base_images")
    (file,) = run("base_images").files
    assert (file.status, file.reason.split(";")[0]) == (
        "refused", "base_images: the registry lists 0 of the 5 nvidia/cuda images known",
    )  # fmt: skip
    assert run.text("base_images") == before


def test_where_the_pulls_of_a_day_end_the_rest_stays(run: Run, registry: FakeRegistry) -> None:
    """Newest first; a new row that was not read is left for the next run, which goes on."""
    keep(run, {"12.4.1": row(ubuntu22_04={"flavors": ["base"], "cudnn": "9.0.0.1"})})
    registry.limit = 2
    done = run("base_images")
    rows = run.rows("base_images")
    assert (rows["13.0.0"]["source"], rows["12.4.1"]["source"]) == ("registry", "old")
    assert rows["12.4.1"]["os"]["ubuntu22.04"]["cudnn"] == "9.0.0.1"
    assert "cudnn-runtime" in rows["12.4.1"]["os"]["ubuntu22.04"]["flavors"]
    assert any("12.4.1 and older are left as before" in line for line in run.said)
    assert done.exit_code == 0
    registry.limit = 1000
    run("base_images")
    assert run.rows("base_images")["12.4.1"]["source"] == "registry"


def test_an_unknown_gate_is_left_open_and_said(run: Run, registry: FakeRegistry) -> None:
    registry.images["13.0.0-base-ubuntu24.04"] = {"NVIDIA_REQUIRE_CUDA": "arch>=9.0"}
    run("base_images")
    assert run.rows("base_images")["13.0.0"]["gate"] is None
    assert any("13.0.0: NVIDIA_REQUIRE_CUDA is not of the form known" in line for line in run.said)


def test_check_reads_the_tags_alone(run: Run, registry: FakeRegistry) -> None:
    keep(run, {"12.4.1": row(ubuntu22_04={"flavors": ["base"]})})
    done = run("base_images", check=True)
    assert [missing.row for missing in done.missing] == ["13.0.0"]
    assert not any("/manifests/" in asked for asked in registry.asked)


def test_a_registry_that_is_down(run: Run) -> None:
    silent = Run(run.folder, replace(run.sources, registry="127.0.0.1:1"))
    (file,) = silent("base_images").files
    assert (file.status, "does not answer" in file.reason) == ("skipped", True)


def test_a_registry_that_wants_a_login(run: Run, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "_new_token", lambda *_: "wrong")
    assert "answers 401" in run("base_images").files[0].reason


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"[1]", b"{}", b'{"manifests": [{"digest": "sha256:1"}]}'])
def test_an_image_of_another_kind_costs_its_own_row(
    run: Run, registry: FakeRegistry, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    real = FakeRegistry.manifest

    def broken(self: FakeRegistry, tag: str) -> str:
        digest = real(self, tag)
        if tag.startswith("13.0.0"):
            self.blobs[digest] = answer
        return digest

    monkeypatch.setattr(FakeRegistry, "manifest", broken)
    run("base_images")
    assert list(run.rows("base_images")) == ["12.4.1"]
    assert any("13.0.0 is left as before: " in line for line in run.said)


@pytest.mark.parametrize(
    ("mirror", "url"),
    [
        (None, f"https://{DOCKER_HUB}/v2/nvidia/cuda"),
        ("mirror.example", "https://mirror.example/v2/nvidia/cuda"),
        ("mirror.example:5000/hub/", "https://mirror.example:5000/v2/hub/nvidia/cuda"),
        ("localhost:5000", "http://localhost:5000/v2/nvidia/cuda"),
        ("127.0.0.9/hub", "http://127.0.0.9/v2/hub/nvidia/cuda"),
        ("[::1]:5000", "http://[::1]:5000/v2/nvidia/cuda"),
        ("192.168.1.1:5000", "https://192.168.1.1:5000/v2/nvidia/cuda"),
    ],
)
def test_where_the_registry_is(run: Run, mirror: str | None, url: str) -> None:
    assert Registry(Web(), None, base_images.REPOSITORY, mirror)._base == url  # type: ignore[arg-type]


@pytest.fixture
def under_a_path(registry: FakeRegistry) -> Iterator[str]:
    with served(registry_handler(registry, "/v2/hub/nvidia/cuda")) as host:
        registry.host = host
        yield f"{host}/hub"


def test_a_mirror_under_a_path(run: Run, under_a_path: str) -> None:
    mirrored = Run(run.folder, replace(run.sources, registry=under_a_path))
    assert mirrored("base_images").files[0].status == "changed"
    assert set(run.rows("base_images")) == {"12.4.1", "13.0.0"}


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        (expression("12.4", (535, 470), BRANDS), GATE),
        ("cuda>=12.4", {"cuda": "12.4", "branches": [], "brands": []}),
        ("cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=geforce,driver>=535,driver<536", None),
        ("cuda>=12.4 brand=tesla,driver>=470,driver<472", None),
        ("cuda>=12.4 driver>=470,driver<471", None),
        ("brand=tesla,driver>=470,driver<471", None),
        ("", None),
    ],
)
def test_gates(text: str, gate: dict[str, Any] | None) -> None:
    assert gate_of(text) == gate
