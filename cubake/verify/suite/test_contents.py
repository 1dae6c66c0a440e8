"""Contents: is the image what its plan says? Asked of the image itself; no GPU is needed."""

from __future__ import annotations

import re
from typing import Any

import pytest

# Not for plain loading: plug-ins that want the software of a fabric, and what compute-sanitizer injects.
OPTIONAL = re.compile(r"^lib(cufile_rdma|nvshmem_(transport|bootstrap)_|sanitizer-collection)")
# One copy of each: the libraries that break when two versions meet in one process.
SINGLE = re.compile(
    r"^lib(cudart|cublas|cublasLt|cudnn\w*|cufft|curand|cusolver|cusparse|nvJitLink|nvrtc|nccl)\.so\.\d+$"
)
NEEDS_DRIVER = re.compile(r"lib(cuda|nvidia-ml)\.so\.1: cannot open")
BUILD_ONLY = re.compile(
    r"^(SSL_CERT_FILE|PIP_CERT|PIP_INDEX.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|DEBIAN_FRONTEND|UV_.*|\w+_PROXY)$",
    re.IGNORECASE,
)


def listing(host: Any, command: str) -> list[str]:
    """The lines a command printed. A container that no longer answers prints nothing either: the last line tells."""
    done = host.run(f"{command}; echo ::end")
    *lines, last = done.stdout.splitlines() or [""]
    assert last == "::end", f"the image did not answer: {done.stderr.strip()[-300:]}"
    return [line for line in lines if line.strip()]


@pytest.mark.check("contents.python")
def test_python(host: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    done = host.run("python -c 'import sys; print(sys.prefix, sys.version.split()[0])'")
    assert done.rc == 0, done.stderr
    prefix, version = done.stdout.split()
    measured.update(prefix=prefix, version=version)
    want = promised["stack"]["python"]
    assert prefix == "/opt/venv", f"the first python on PATH belongs to {prefix}, not to /opt/venv"
    assert version.startswith(f"{want}."), f"Python is {version}, the plan says {want}"


@pytest.mark.check("contents.packages")
def test_packages(ask: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    found, locked = ask("packages.py"), promised["packages"]
    measured.update(packages=len(found))
    wrong = {name: version for name, version in found.items() if locked.get(name, version) != version}
    assert not wrong, "versions differ from the lock: " + _pairs(wrong, locked)
    missing, extra = sorted(locked.keys() - found.keys()), sorted(found.keys() - locked.keys())
    assert not missing, f"locked but not installed: {', '.join(missing)}"
    assert not extra, f"installed but not locked: {', '.join(extra)}"


def _pairs(found: dict[str, str], locked: dict[str, str]) -> str:
    return ", ".join(f"{name} {version} (locked {locked[name]})" for name, version in sorted(found.items()))


@pytest.mark.check("contents.pip_check")
def test_pip_check(host: Any) -> None:
    done = host.run("python -m pip check")
    assert done.rc == 0, f"pip check: {done.stdout.strip()} {done.stderr.strip()}"


@pytest.mark.check("contents.cuda")
def test_cuda(ask: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    """The CUDA runtime that the loader gives is the planned one, and so is the one the base was made for."""
    found = ask("cuda.py")
    measured.update(found)
    want = promised["stack"]["cuda"]
    assert found["runtime"] == want, f"the CUDA runtime is {found['runtime']} ({found['path']}), the plan says {want}"
    base = next((line.partition("=")[2] for line in promised["image"]["env"] if line.startswith("CUDA_VERSION=")), "")
    assert f"{base}.".startswith(f"{want}."), f"the base says CUDA_VERSION={base}, the plan says {want}"


@pytest.mark.check("contents.cudnn")
def test_cudnn(ask: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    found = ask("cudnn.py")
    measured.update(found)
    want = ".".join(promised["stack"]["cudnn"].split(".")[:3])
    assert found["version"] == want, f"cuDNN is {found['version']} ({found['path']}), the plan says {want}"


@pytest.mark.check("contents.libraries")
def test_libraries(ask: Any, measured: dict[str, Any]) -> None:
    """Every GPU library in the image loads, each in a process of its own; those that wait for the driver are named."""
    found = ask("libraries.py")
    broken = {name: row["error"] for name, row in found.items() if row["error"]}
    waiting = sorted(name for name, error in broken.items() if NEEDS_DRIVER.search(error))
    optional = sorted(name for name in broken if OPTIONAL.match(name))
    measured.update(libraries={n: r["path"] for n, r in found.items()}, need_driver=waiting, optional=optional)
    bad = {name: error for name, error in broken.items() if name not in waiting and name not in optional}
    assert found, "no GPU library was found in the image"
    assert not bad, "; ".join(f"{name}: {error}" for name, error in sorted(bad.items()))


@pytest.mark.check("contents.one_copy")
def test_one_copy(host: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    """A devel image keeps its toolkit's own copy to link against; nothing else stands twice."""
    copies: dict[str, list[str]] = {}
    for path in listing(host, "find / -xdev -type f -name 'lib*.so.*' -not -path '*/stubs/*' -not -path '*/compat/*'"):
        name = path.rpartition("/")[2]
        if promised["stack"]["flavor"] == "devel" and path.startswith("/usr/local/cuda"):
            continue
        if SINGLE.match(_soname(name)):
            copies.setdefault(_soname(name), []).append(path)
    measured.update(copies={name: paths[0] for name, paths in sorted(copies.items())})
    if promised["stack"]["pytorch"] or promised["stack"]["tensorflow"]:
        assert copies, "no CUDA library was found in the image"
    twice = {name: paths for name, paths in copies.items() if len(paths) > 1}
    assert not twice, "; ".join(f"{name} stands at {' and '.join(paths)}" for name, paths in sorted(twice.items()))


def _soname(name: str) -> str:
    """libcublas.so.12.4.5 and libcublas.so.12 are the same library: the name up to the first number."""
    return re.sub(r"(\.so\.\d+).*", r"\1", name)


@pytest.mark.check("contents.driver_libraries")
def test_driver_libraries(host: Any) -> None:
    """The driver's libraries come from the host; a copy in the image would be loaded instead of them."""
    names = r"\( -name 'libcuda.so*' -o -name 'libnvidia-*.so*' -o -name 'libnvcuvid.so*' \)"
    elsewhere = "-not -path '*/stubs/*' -not -path '*/compat/*' -not -path '/usr/local/nvidia/*'"
    found = listing(host, f"find / -xdev {names} {elsewhere}")
    assert not found, f"driver libraries in the image: {' '.join(found)}"
    stubs = [line for line in listing(host, "/sbin/ldconfig -p") if "/stubs/" in line]
    assert not stubs, f"a stub library is on the loader's path: {stubs[0].strip()}"


@pytest.mark.check("contents.clean")
def test_clean(host: Any, promised: dict[str, Any]) -> None:
    """Nothing of the build is left: no uv, no CA bundle, no caches, no package lists, no build-time environment."""
    folders = "/mnt /media /locks /var/lib/apt/lists /var/cache/apt/archives /root/.cache"
    left = listing(host, f"find {folders} -type f -not -name lock 2> /dev/null")
    left += listing(host, r"find / -xdev -type f \( -name uv -o -name ca.pem \)")
    assert not left, f"left from the build: {' '.join(left[:20])}"
    named = [name for line in promised["image"]["env"] if BUILD_ONLY.match(name := line.partition("=")[0])]
    assert not named, f"build-time variables in the image: {', '.join(named)}"


@pytest.mark.check("contents.labels")
def test_labels(promised: dict[str, Any]) -> None:
    found = promised["image"]["labels"]
    wrong = [f"{k} is {found.get(k)!r}, not {v!r}" for k, v in promised["labels"].items() if found.get(k) != v]
    assert not wrong, "; ".join(wrong)


@pytest.mark.check("contents.pytorch")
def test_pytorch(ask: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    found = ask("pytorch.py")
    measured.update(found)
    stack, arch = promised["stack"], promised["arch"]["frameworks"]["pytorch"]
    assert found["version"].partition("+")[0] == stack["pytorch"], (
        f"torch is {found['version']}, not {stack['pytorch']}"
    )
    assert found["cuda"] == stack["cuda"], f"torch is built with CUDA {found['cuda']}, the plan says {stack['cuda']}"
    want = sorted([*arch["sass"], *arch["ptx"]])
    assert sorted(found["arch"]) == want, f"torch has code for {found['arch']}, the facts say {want}"


@pytest.mark.check("contents.tensorflow")
def test_tensorflow(ask: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    found = ask("tensorflow.py")
    measured.update(found)
    stack, arch = promised["stack"], promised["arch"]["frameworks"]["tensorflow"]
    assert found["version"] == stack["tensorflow"], f"tensorflow is {found['version']}, not {stack['tensorflow']}"
    assert found["is_cuda_build"], "tensorflow is a CPU build"
    if not stack["pytorch"]:
        assert f"{found['cuda']}.".startswith(f"{stack['cuda']}."), (
            f"built with CUDA {found['cuda']}, not {stack['cuda']}"
        )
    want = sorted([*arch["sass"], *arch["ptx"]])
    assert sorted(found["arch"]) == want, f"tensorflow has code for {found['arch']}, the facts say {want}"


@pytest.mark.check("contents.nvcc")
def test_nvcc(host: Any, promised: dict[str, Any], measured: dict[str, Any]) -> None:
    """nvcc is the planned toolkit's, and compiles a kernel for the newest architecture that the plan names."""
    done = host.run("nvcc --version")
    assert done.rc == 0, f"nvcc does not run: {done.stderr.strip()}"
    release = re.search(r"release (\d+\.\d+)", done.stdout)
    measured.update(release=release and release[1])
    want = promised["stack"]["cuda"]
    assert release and release[1] == want, f"nvcc is {release and release[1]}, the plan says {want}"
    target = max(promised["arch"]["sass"] or ["sm_90"], key=lambda name: int(name.partition("_")[2]))
    source = "__global__ void add(float *a, const float *b) { a[threadIdx.x] += b[threadIdx.x]; }"
    host.run("printf %s > /tmp/add.cu", source + "\n")
    done = host.run(
        "nvcc -arch=%s -cubin -o /tmp/add.cubin /tmp/add.cu && head -c 4 /tmp/add.cubin | tail -c 3", target
    )
    assert done.rc == 0 and done.stdout == "ELF", f"nvcc -arch={target} failed: {done.stderr.strip()[-800:]}"
