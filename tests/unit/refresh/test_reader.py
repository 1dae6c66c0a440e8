"""Wheels in parts: what damage is survived, and what is kept."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from cubake.errors import Refused, Unavailable
from cubake.refresh.cache import Cache, cache_folder
from cubake.refresh.index import Index, IndexFile
from cubake.refresh.reader import Reader
from cubake.refresh.web import Web
from tests.unit.refresh.fakes import FakeIndex, File, torch, wheel

NAME = "torch-2.10.0-3-cp311-cp311-manylinux_2_28_x86_64.whl"


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(Web(), Cache(tmp_path / "cache"), lambda line: None)


def listed(index: FakeIndex, name: str = NAME) -> IndexFile:
    return next(file for file in Index(Web(), index.url).files("torch") if file.name == name)


def test_only_parts_of_a_wheel_travel(index: FakeIndex, reader: Reader) -> None:
    name, noise = "torch-9.0-cp311-cp311-linux_x86_64.whl", random.Random(0).randbytes(1_000_000)
    index.add("torch", File(name, wheel({"torch/version.py": "cuda = None\n", "big": noise})))
    assert reader.ask(listed(index, name), "torch") == {"torch": {"cuda": None}}
    ranges = [asked.rpartition("bytes=")[2].split("-") for asked in index.parts()]
    assert sum(int(last) - int(first or 0) for first, last in ranges) < 100_000


def test_the_second_reader_asks_the_index_nothing(index: FakeIndex, reader: Reader, tmp_path: Path) -> None:
    file = listed(index)
    first = reader.ask(file, "metadata", "torch")
    before = len(index.parts())
    again = Reader(Web(), Cache(tmp_path / "cache"), lambda line: None)
    assert again.ask(file, "torch", "metadata") == first
    assert len(index.parts()) == before


def test_the_hash_is_the_key_and_not_the_name(index: FakeIndex, reader: Reader) -> None:
    file = listed(index)
    assert reader.ask(file, "torch")["torch"]["cuda"] == "12.8"
    index.file(NAME).content = torch("2.10.0", "12.9", arch="sm_90 sm_100")
    assert reader.ask(listed(index), "torch")["torch"]["cuda"] == "12.9"
    assert reader.ask(file, "torch")["torch"]["cuda"] == "12.8"


@pytest.mark.parametrize("content", ["", "no json", '{"schema": 0, "answers": {"torch": 1}}', "[]", '{"schema": 1}'])
def test_a_broken_or_old_entry_is_read_anew(index: FakeIndex, reader: Reader, content: str) -> None:
    file = listed(index)
    reader.ask(file, "torch")
    path = reader.cache.folder / f"{file.sha256}.json"
    path.write_text(content)
    assert reader.ask(file, "torch")["torch"]["cuda"] == "12.8"
    assert json.loads(path.read_text())["name"] == NAME


def test_without_a_hash_nothing_is_kept(index: FakeIndex, reader: Reader) -> None:
    file = IndexFile(NAME, listed(index).url)
    assert reader.ask(file, "torch") == reader.ask(file, "torch")
    assert not reader.cache.folder.exists()


def test_a_cache_that_cannot_be_written_is_no_failure(index: FakeIndex, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = Reader(Web(), Cache(tmp_path / "file" / "cache"), lambda line: None)
    assert blocked.ask(listed(index), "torch")


def test_a_part_that_ends_early_is_asked_for_again(index: FakeIndex, reader: Reader) -> None:
    index.file(NAME).cut = 2
    assert reader.ask(listed(index), "torch")["torch"]["arch"] == ["sm_70", "sm_90", "compute_90"]


def test_a_part_that_always_ends_early_is_named(index: FakeIndex, reader: Reader) -> None:
    index.file(NAME).cut = 99
    with pytest.raises(Unavailable, match=rf"{NAME}: cannot be read: .+"):
        reader.ask(listed(index), "torch")


def test_an_index_without_ranges_is_told_so(index: FakeIndex, reader: Reader) -> None:
    index.ranges = False
    with pytest.raises(Unavailable, match="serves no parts"):
        reader.ask(listed(index), "torch")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"other": ""}, "it holds no torch/version.py"),
        ({"torch/version.py": "x = 1\n"}, "no line sets cuda"),
        ({"torch/version.py": "cuda = (\n"}, "not a wheel of the kind known"),
        ({"torch/version.py": "cuda = '13.0'\n", "torch/lib/libtorch_python.so": "no list"}, "no list of GPU"),
    ],
)
def test_a_wheel_of_another_kind_is_refused(
    index: FakeIndex, reader: Reader, members: dict[str, bytes | str], said: str
) -> None:
    index.file(NAME).content = wheel(members)
    with pytest.raises(Refused, match=said):
        reader.ask(listed(index), "torch")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(None) == tmp_path / "cubake"
    assert cache_folder(tmp_path / "own") == tmp_path / "own"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder(None) == tmp_path / ".cache" / "cubake"
