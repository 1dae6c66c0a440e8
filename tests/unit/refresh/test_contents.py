"""What is read inside wheels, from bytes alone."""

from __future__ import annotations

import pytest

from cubake.refresh import contents
from tests.unit.refresh.fakes import fat_binary, torch_module


def chunks(data: bytes, size: int = 1024 * 1024) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("before", [b"\0", b"string ipc_h"], ids=["after a zero", "after another string"])
@pytest.mark.parametrize("numpy2", [True, False])
def test_the_architectures_of_torch_across_two_chunks(before: bytes, numpy2: bool) -> None:
    data = torch_module("sm_70 sm_90 compute_90", numpy2=numpy2, before=before)
    assert contents.torch_module(chunks(data)) == {"arch": ["sm_70", "sm_90", "compute_90"], "numpy2": numpy2}


def test_a_single_architecture_is_taken_where_it_stands_alone() -> None:
    assert contents.torch_module([b"no sm_50\0 \0sm_90\0"])["arch"] == ["sm_90"]


def test_reading_ends_where_all_is_found() -> None:
    def endless() -> object:
        yield torch_module("sm_70 sm_90")
        raise AssertionError("read on")

    assert contents.torch_module(endless())["numpy2"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "cuda"),
    [
        ("cuda = '12.1'", "12.1"),
        ("cuda: Optional[str] = '13.2'", "13.2"),
        ("cuda = None", None),
        ("cuda: Optional[str] = None", None),
    ],
)
def test_the_cuda_of_torch(line: str, cuda: str | None) -> None:
    assert contents.torch_cuda(f"__version__ = '2.1.0'\n{line}\nhip = None\n".encode()) == cuda


def test_a_version_file_without_cuda_is_an_error() -> None:
    with pytest.raises(ValueError, match="no line sets cuda"):
        contents.torch_cuda(b"__version__ = '3.0'\n")


@pytest.mark.parametrize("call", ["collections.OrderedDict([%s])", "{%s}"])
def test_the_build_of_tensorflow(call: str) -> None:
    pairs = {"is_cuda_build": True, "cuda_version": "12.5.1", "cuda_compute_capabilities": ["sm_60", "compute_90"]}
    form = "(%r, %r)" if "(" in call else "%r: %r"
    text = "import collections\nbuild_info = " + call % ", ".join(form % pair for pair in pairs.items())
    assert contents.tensorflow_build(text.encode()) == {"cuda": "12.5.1", "arch": ["sm_60", "compute_90"]}


def test_what_build_info_may_lack() -> None:
    assert contents.tensorflow_build(b"build_info = {'is_cuda_build': False}")["cuda"] is None
    with pytest.raises(LookupError):
        contents.tensorflow_build(b"build_info = {'is_cuda_build': True}")
    with pytest.raises(ValueError, match="build_info"):
        contents.tensorflow_build(b"other = 1")


def test_a_run_path_names_folders_of_site_packages_once_each() -> None:
    entries = ("$ORIGIN/", "$ORIGIN/../../nvidia/x", *["$ORIGIN/../nvidia/nccl/lib"] * 2, "$ORIGIN/../tensorrt")
    path = ":".join(entries).encode()
    assert contents.tensorflow_runpath([b"\x7fELF\0$ORIGINAL\0", b"\0" + path + b"\0"]) == ["nvidia/nccl/lib"]
    assert contents.tensorflow_runpath([b"\x7fELF\0$ORIGIN\0 later \0$ORIGIN/../nvidia/nccl/lib\0"]) == []
    assert contents.tensorflow_runpath([b"nothing"]) == []


def test_fat_binaries_tell_machine_code_from_ptx() -> None:
    data = b"x" * 99 + fat_binary(70, 75) + b"\x50\xed\x55\xba" + fat_binary(50, 100, ptx=35) + b"y" * 99
    assert contents.machine_code([data]) == [50, 70, 75, 100]


@pytest.mark.parametrize("cut", range(4, 60, 7))
def test_a_fat_binary_that_is_cut_off_is_no_error(cut: int) -> None:
    assert contents.machine_code([fat_binary(75)[:cut]]) in ([], [75])
