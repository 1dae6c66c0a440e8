"""templates/layout.sh on small trees shaped like NVIDIA's wheels: CUDA 12 has a folder each, CUDA 13 a shared one
(NOTES, Redistributable wheels 3); the result is where nvidia/cuda images have things."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cubake.render.render import TEMPLATES

CU12 = {
    "cuda_runtime": ["lib/libcudart.so.12", "lib/libcudart_static.a", "include/cuda_runtime.h"],
    "cublas": ["lib/libcublas.so.12", "lib/libcublasLt.so.12", "include/cublas_v2.h"],
    "cuda_nvrtc": ["lib/libnvrtc.so.12", "lib/libnvrtc-builtins.so.12.4"],
    "cudnn": ["lib/libcudnn.so.9", "include/cudnn.h"],
    "nccl": ["lib/libnccl.so.2", "include/nccl.h"],
}
CU13 = {
    "cu13": [
        "lib/libcudart.so.13", "lib/libcublas.so.13", "lib/libcudadevrt.a", "lib/cmake/x.cmake", "bin/nvcc",
        "bin/ptxas", "nvvm/libdevice/libdevice.10.bc", "include/cuda_runtime.h",
    ],
    "cudnn": ["lib/libcudnn.so.9", "include/cudnn.h"],
}  # fmt: skip
LIB = "usr/local/cuda-{}/targets/x86_64-linux/lib"


def lay_out(tmp_path: Path, wheels: dict[str, list[str]], cuda: str, flavor: str) -> Path:
    for folder, names in wheels.items():
        for name in (*names, "__init__.py", "lib/__init__.py", "__pycache__/x.pyc"):
            path = tmp_path / "wheels" / "nvidia" / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{folder}/{name}")
    tree = tmp_path / "tree"
    command = ["bash", str(TEMPLATES / "layout.sh"), str(tmp_path / "wheels"), str(tree), cuda, "x86_64", flavor]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return tree


def libraries(tree: Path, cuda: str) -> set[str]:
    return {path.name for path in (tree / LIB.format(cuda)).iterdir()}


@pytest.mark.parametrize("flavor", ["base", "runtime", "devel"])
@pytest.mark.parametrize(("wheels", "cuda"), [(CU12, "12.4"), (CU13, "13.0")], ids=["cu12", "cu13"])
def test_every_flavor(tmp_path: Path, wheels: dict[str, list[str]], cuda: str, flavor: str) -> None:
    tree = lay_out(tmp_path, wheels, cuda, flavor)
    local, major = tree / "usr/local", cuda.split(".", maxsplit=1)[0]
    assert (local / "cuda").readlink() == Path(f"cuda-{cuda}")
    assert (local / "cuda/lib64" / f"libcudart.so.{major}").is_file(), "the links lead to it"
    assert (tree / "etc/ld.so.conf.d/000_cuda.conf").read_text() == "/usr/local/cuda/targets/x86_64-linux/lib\n"
    nvidia = (tree / "etc/ld.so.conf.d/nvidia.conf").read_text().splitlines()
    assert nvidia == ["/usr/local/nvidia/lib", "/usr/local/nvidia/lib64"]
    names = {path.name for path in tree.rglob("*")}
    assert not {"__init__.py", "__pycache__", "x.pyc"} & names
    assert not {name for name in names if name.startswith("libcuda.so")}, "the driver is the host's"
    for link in (path for path in tree.rglob("*") if path.is_symlink()):
        assert link.exists(), f"{link} leads nowhere"


def test_base_holds_cudart_alone(tmp_path: Path) -> None:
    """As nvidia/cuda:*-base-* images do."""
    assert libraries(lay_out(tmp_path, CU12, "12.4", "base"), "12.4") == {"libcudart.so.12"}


def test_base_of_a_shared_tree_holds_cudart_alone(tmp_path: Path) -> None:
    tree = lay_out(tmp_path, {"cu13": CU13["cu13"]}, "13.0", "base")
    assert libraries(tree, "13.0") == {"libcudart.so.13"}
    assert not (tree / "usr/local/cuda-13.0/nvvm").exists()


def test_runtime_holds_libraries_and_nothing_to_compile_with(tmp_path: Path) -> None:
    tree = lay_out(tmp_path, CU12, "12.4", "runtime")
    found = libraries(tree, "12.4")
    assert found == {
        "libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libnvrtc.so.12", "libnvrtc-builtins.so.12.4",
    }  # fmt: skip
    assert not list(tree.rglob("*.h"))
    assert not list(tree.rglob("*.a"))


def test_cudnn_and_nccl_stand_where_their_debian_packages_put_them(tmp_path: Path) -> None:
    tree = lay_out(tmp_path, CU12, "12.4", "devel")
    system = tree / "usr/lib/x86_64-linux-gnu"
    assert {path.name for path in system.iterdir()} == {"libcudnn.so.9", "libcudnn.so", "libnccl.so.2", "libnccl.so"}
    assert {path.name for path in (tree / "usr/include").iterdir()} == {"cudnn.h", "nccl.h"}


def test_devel_has_names_for_the_linker(tmp_path: Path) -> None:
    """No wheel ships unversioned names (NOTES, Redistributable wheels 3)."""
    tree = lay_out(tmp_path, CU12, "12.4", "devel")
    lib = tree / LIB.format("12.4")
    assert (lib / "libcublas.so").readlink() == Path("libcublas.so.12")
    assert (lib / "libcudart.so").readlink() == Path("libcudart.so.12")
    assert (lib / "libcudart_static.a").is_file()
    assert (tree / "usr/local/cuda/include/cublas_v2.h").is_file()


def test_devel_of_13_has_the_compiler(tmp_path: Path) -> None:
    tree = lay_out(tmp_path, CU13, "13.0", "devel")
    assert (tree / "usr/local/cuda/bin/nvcc").is_file()
    assert (tree / "usr/local/cuda/bin/ptxas").is_file()
    assert (tree / "usr/local/cuda/nvvm/libdevice/libdevice.10.bc").is_file()
    assert (tree / "usr/local/cuda/include/cuda_runtime.h").is_file()
    assert (tree / LIB.format("13.0") / "libcudadevrt.a").is_file()


def test_runtime_of_13_has_no_compiler(tmp_path: Path) -> None:
    tree = lay_out(tmp_path, CU13, "13.0", "runtime")
    names = {path.name for path in tree.rglob("*") if path.is_file()}
    assert names & {"nvcc", "ptxas", "libdevice.10.bc", "libcudadevrt.a", "x.cmake", "cuda_runtime.h"} == set()
    assert {"libcudart.so.13", "libcublas.so.13", "libcudnn.so.9"} <= names
