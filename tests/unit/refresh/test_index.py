"""The package index: both forms of its pages, where it is, and how it may be slow, busy or silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubake.errors import Unavailable
from cubake.refresh import index as module
from cubake.refresh import web
from cubake.refresh.index import Index, index_url, of_html
from cubake.refresh.names import chosen, releases, wheels
from cubake.refresh.types import AMD, ARM
from cubake.refresh.web import Web
from tests.unit.refresh.fakes import FakeIndex

TORCH = "/simple/torch/"


@pytest.mark.parametrize("form", ["json", "html"])
def test_both_forms_tell_the_same(index: FakeIndex, form: str) -> None:
    index.form = form
    found = Index(Web(), index.url)
    files = {file.name: found.completed(file) for file in found.files("torchvision")}
    file = files["torchvision-0.25.0-cp311-cp311-manylinux_2_28_x86_64.whl"]
    content = index.file(file.name)
    assert (file.sha256, file.size, file.requires_python) == (content.sha256, len(content.content), ">=3.10")
    assert file.uploaded == "2026-09-02"
    assert [name for name, file in files.items() if file.yanked] == [
        "torchvision-0.25.1-cp311-cp311-manylinux_2_28_x86_64.whl"
    ]


def test_a_project_is_asked_for_once_by_its_normalised_name(index: FakeIndex) -> None:
    found = Index(Web(), index.url + "/")
    assert found.files("Cuda_Toolkit") == found.files("Cuda_Toolkit")
    assert index.asked == ["GET /simple/cuda-toolkit/"]


def test_html_with_escapes_and_absolute_addresses() -> None:
    page = '<a href="https://h.example/x/torch-2.6.0%2Bcu124-cp311-cp311-linux_x86_64.whl#sha256=ab" data-yanked>t</a>'
    (file,) = of_html(page + "<a name='x'>no link</a>", "https://h.example/whl/torch/")
    assert file.name == "torch-2.6.0+cu124-cp311-cp311-linux_x86_64.whl"
    assert (file.sha256, file.yanked, file.size) == ("ab", True, None)


def test_a_busy_index_is_asked_again_when_it_says(index: FakeIndex) -> None:
    index.busy[TORCH] = [(429, {"Retry-After": "0"}), (503, {})]
    assert Index(Web(), index.url).files("torch")
    assert index.asked == [f"GET {TORCH}"] * 3


def test_a_server_may_not_ask_for_an_hour(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "LONGEST", 0.01)
    index.busy[TORCH] = [(429, {"Retry-After": "3600"})]
    assert Index(Web(), index.url).files("torch")


@pytest.mark.parametrize(("patient", "times"), [(True, 4), (False, 1)])
def test_patience_has_an_end(index: FakeIndex, patient: bool, times: int) -> None:
    index.busy[TORCH] = [(500, {})] * 9
    with pytest.raises(Unavailable, match="answers 500"):
        Index(Web(patient=patient), index.url).files("torch")
    assert len(index.asked) == times


def test_a_page_that_is_none(index: FakeIndex) -> None:
    index.busy[TORCH] = [(200, {"Content-Type": module._JSON})]
    with pytest.raises(Unavailable, match="no page of a package index"):
        Index(Web(), index.url).files("torch")


def test_a_silent_index_is_told_in_one_line() -> None:
    with pytest.raises(Unavailable) as error:
        Index(Web(), "http://127.0.0.1:1/simple").files("torch")
    assert "does not answer: " in error.value.message
    assert "refused" in error.value.message
    assert "HTTPConnection" not in error.value.message


def test_a_bundle_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"CA certificate bundle, invalid path: .*/none\.pem"):
        Index(Web(str(tmp_path / "none.pem")), "https://127.0.0.1:1/simple").files("torch")


def test_the_bundle_asked_for_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("environment", "option"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "environment"))
    for option, used in ((None, "environment"), (str(tmp_path / "option"), "option")):
        seen = []
        session = Web(option).session
        monkeypatch.setattr(session, "send", lambda request, seen=seen, **kwargs: seen.append(kwargs["verify"]))
        session.get("https://h.example/")
        assert seen == [str(tmp_path / used)]


class TestWhereTheIndexIs:
    def test_the_option_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other.example/simple")
        assert index_url("https://asked.example/simple") == "https://asked.example/simple"

    @pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"])
    def test_then_the_environment(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv(name, "https://mirror.example/simple")
        assert index_url(None) == "https://mirror.example/simple"

    def test_then_what_uv_takes(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "uv.toml").write_text('[[index]]\nurl = "https://uv.example/simple"\ndefault = true\n')
        monkeypatch.setenv("UV_CONFIG_FILE", str(tmp_path / "uv.toml"))
        assert index_url(None) == "https://uv.example/simple"

    def test_uv_without_an_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "find_uv_bin", lambda: "true")
        with pytest.raises(Unavailable, match="no package index is known"):
            index_url(None)


class TestNames:
    def test_of_a_release(self, index: FakeIndex) -> None:
        found = releases(Index(Web(), index.url).files("torch"), "2.1")
        assert list(found) == ["2.10.0.post1", "2.10.0", "2.2.0"]
        names = {wheel.file.name: wheel for wheel in found["2.10.0"]}
        assert not any("macosx" in name for name in names)
        threaded = names["torch-2.10.0-cp313-cp313t-manylinux_2_28_x86_64.whl"]
        assert (threaded.pythons, threaded.glibc(AMD), threaded.glibc(ARM)) == (("3.13t",), "2.28", None)

    def test_the_one_that_is_read(self, index: FakeIndex) -> None:
        x86 = [wheel for wheel in wheels(Index(Web(), index.url).files("torch")) if str(wheel.version) == "2.10.0"]
        x86 = [wheel for wheel in x86 if wheel.fits(AMD)]
        assert chosen(x86).file.name == "torch-2.10.0-3-cp311-cp311-manylinux_2_28_x86_64.whl"
        first = [wheel for wheel in x86 if not wheel.build and "3.11" not in wheel.pythons]
        assert chosen(first).pythons == ("3.10",)
