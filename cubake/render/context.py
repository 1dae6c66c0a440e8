"""What a template may use, typed: every name a template prints is a field here, and nothing else exists for it."""

from __future__ import annotations

from dataclasses import dataclass

from cubake import versions
from cubake.facts import Facts
from cubake.plan import Image, Layer
from cubake.resolve import Stack, gate
from cubake.resolve.bases import gate_of

UV = "0.13.9"  # the uv that installs inside images; requirements.lock holds the same one
TOOLS = f"ghcr.io/astral-sh/uv:{UV}"
LABEL = "io.cubake"
FRAMEWORK_PARTIALS = ("pytorch", "tensorflow")


@dataclass(frozen=True)
class LayerContext:
    title: str
    slug: str
    packages: tuple[str, ...]
    size: str


@dataclass(frozen=True)
class ImageContext:
    """The fields of ``Dockerfile.j2``."""

    name: str
    matrix: str
    base: str
    tools: str
    one_set: bool
    flavor: str
    apt_packages: tuple[str, ...]
    python: str
    standalone_python: bool
    python_path: str
    site_packages: str
    layers: tuple[LayerContext, ...]
    frameworks: tuple[str, ...]
    arch_list: str
    env: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]


def image_context(image: Image, facts: Facts, matrix: str) -> ImageContext:
    stack = image.stack
    assert stack.base is not None
    own = facts.os.releases[stack.os].python == stack.python
    return ImageContext(
        name=image.name,
        matrix=matrix,
        base=stack.base.reference,
        tools=TOOLS,
        one_set=bool(stack.frameworks),  # the wheels', not the base's
        flavor=stack.flavor,
        apt_packages=apt_packages(stack, own_python=own),
        python=stack.python,
        standalone_python=not own,
        python_path=f"/usr/bin/python{stack.python}" if own else f"/usr/local/bin/python{stack.python}",
        site_packages=f"/opt/venv/lib/python{stack.python}/site-packages",
        layers=tuple(_layer(number, layer) for number, layer in enumerate(image.layers, 1)),
        frameworks=tuple(name for name, _ in stack.frameworks if name in FRAMEWORK_PARTIALS),
        arch_list=arch_list(image),
        env=image.profile.env,
        labels=labels(image),
    )


def arch_list(image: Image) -> str:
    """``8.0;9.0``: what an extension of torch is compiled for in a devel image, by the machine code of torch itself."""
    codes = [code.sass for code in image.codes if code.framework == "pytorch" and image.stack.flavor == "devel"]
    return ";".join(f"{arch[3:-1]}.{arch[-1]}" for sass in codes for arch in sass)


def apt_packages(stack: Stack, *, own_python: bool) -> tuple[str, ...]:
    """The distribution's packages: its Python where that is the one asked for, CA certificates for people's downloads,
    and a C compiler with Python's headers where torch.compile (Triton) or nvcc needs one."""
    packages = ["ca-certificates"]
    if own_python:
        packages.append(f"python{stack.python}")
    compiles = stack.pytorch is not None and stack.flavor != "base"
    if compiles or stack.flavor == "devel":
        packages += ["g++", "libc6-dev"] if stack.flavor == "devel" else ["gcc", "libc6-dev"]
        if own_python:
            packages.append(f"libpython{stack.python}-dev")
    return tuple(sorted(packages))


def labels(image: Image) -> tuple[tuple[str, str], ...]:
    """The stack, for people (``docker inspect``) and for ``verify``, which asks the image whether it is true."""
    stack = image.stack
    values = {"name": image.name, "cuda": stack.cuda, "cudnn": stack.cudnn, "python": stack.python}
    values |= {"pytorch": stack.pytorch, "tensorflow": stack.tensorflow, "os": stack.os, "flavor": stack.flavor}
    values |= {"profile": stack.profile, "driver.library_floor": image.floors.library}
    found = {f"{LABEL}.{key}": value for key, value in values.items() if value}
    title = ", ".join([*(f"{name} {version}" for name, version in stack.frameworks), f"CUDA {stack.cuda}"])
    found["org.opencontainers.image.title"] = f"{title}, Python {stack.python} on {stack.os}"
    found["org.opencontainers.image.version"] = image.name
    return tuple(sorted(found.items()))


def _layer(number: int, layer: Layer) -> LayerContext:
    slug = f"{number}-{layer.title.lower().replace(' ', '-')}"
    size = f": {layer.bytes / 1e6:,.1f} MB of wheels" if layer.bytes else ""  # some indexes tell no sizes
    return LayerContext(layer.title, slug, tuple(p.name for p in layer.packages), size)


@dataclass(frozen=True)
class BaseContext:
    """The fields of ``base.Dockerfile.j2``; ``requirements`` are exact pins."""

    reference: str
    rootfs: str
    tools: str
    cuda: str
    arch: str
    flavor: str
    requirements: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]


SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What nvidia/cuda:*-runtime-* images hold, by the part of the wheel's name; -base- has cudart alone, -devel- has all.
RUNTIME = (
    "cublas",
    "cuda-nvrtc",
    "cuda-opencl",
    "cuda-runtime",
    "cufft",
    "cufile",
    "curand",
    "cusolver",
    "cusparse",
    "npp",
    "nvfatbin",
    "nvjitlink",
    "nvjpeg",
    "nvtx",
)


def base_requirements(toolkit: str, flavor: str, cudnn: str | None, facts: Facts) -> tuple[str, ...]:
    """The wheels of a local base: the toolkit's components, NCCL as torch pins it for that CUDA, and cuDNN if asked."""
    packages = facts.components.toolkits[toolkit].packages
    cuda = versions.major(toolkit)
    chosen = {name: version for name, version in packages.items() if _part(name) in _parts(flavor, packages)}
    pins = [f"{name}=={version}" for name, version in chosen.items()]
    nccl = nccl_for(toolkit, facts)
    if flavor != "base" and nccl:
        pins.append(f"nvidia-nccl-cu{cuda}=={nccl}")
    if cudnn:
        pins.append(f"nvidia-cudnn-cu{cuda}=={cudnn}")
    return tuple(sorted(pins))


def nccl_for(toolkit: str, facts: Facts) -> str | None:
    """NCCL versions independently of the toolkit: take what the newest torch of the same CUDA pins."""
    releases = facts.frameworks["pytorch"].releases
    for same in (versions.minor, versions.major):
        for version in versions.newest_first(releases):
            wheel = releases[version].wheels["linux/amd64"]
            if wheel.cuda and wheel.nccl and same(wheel.cuda) == same(toolkit):
                return wheel.nccl
    row = facts.components.nccl.get(f"cu{versions.major(toolkit)}")
    return row.version if row else None


def base_env(toolkit: str, cudnn: str | None, flavor: str, facts: Facts) -> tuple[tuple[str, str], ...]:
    """The environment that nvidia/cuda images carry, in their names."""
    packages = {_part(name): version for name, version in facts.components.toolkits[toolkit].packages.items()}
    env = {
        "PATH": "/usr/local/nvidia/bin:/usr/local/cuda/bin:" + SYSTEM_PATH,
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "NVIDIA_REQUIRE_CUDA": require_cuda(toolkit, facts),
        "CUDA_VERSION": toolkit,
        "NV_CUDA_CUDART_VERSION": packages["cuda-runtime"],
    }
    if flavor != "base":
        env["NV_LIBCUBLAS_VERSION"] = packages["cublas"]
        env["NCCL_VERSION"] = nccl_for(toolkit, facts) or ""
    if cudnn:
        env["NV_CUDNN_VERSION"] = cudnn
    return tuple(env.items())


def require_cuda(toolkit: str, facts: Facts) -> str:
    """The driver gate: the toolkit's CUDA, or (spaces mean OR) a brand on a branch where forward compatibility is."""
    read = gate_of(toolkit, facts)
    branches, brands = (read[1].branches, read[1].brands) if read else ((), ())
    return gate.expression(versions.minor(toolkit), branches, brands)


def base_context(stack: Stack, tools: str, rootfs: str, reference: str, facts: Facts) -> BaseContext:
    assert stack.base is not None
    base, flavor = stack.base, stack.base.flavor.rsplit("-", maxsplit=1)[-1]
    found = {f"{LABEL}.base": reference, f"{LABEL}.cuda": base.toolkit}
    if base.cudnn:
        found["com.nvidia.cudnn.version"] = base.cudnn
    return BaseContext(
        reference=reference,
        rootfs=rootfs,
        tools=tools,
        cuda=versions.minor(base.toolkit),
        arch="x86_64" if stack.platform == "linux/amd64" else "aarch64",
        flavor=flavor,
        requirements=base_requirements(base.toolkit, flavor, base.cudnn, facts),
        env=base_env(base.toolkit, base.cudnn, flavor, facts),
        labels=tuple(sorted(found.items())),
    )


def _part(name: str) -> str:
    """``cublas`` of ``nvidia-cublas-cu12`` and of ``nvidia-cublas``."""
    return name.removeprefix("nvidia-").rsplit("-cu1", maxsplit=1)[0]


def _parts(flavor: str, packages: dict[str, str]) -> tuple[str, ...]:
    if flavor == "devel":
        # cuDLA drives Jetson's accelerator: its wheel exists for nothing else.
        return tuple(part for part in map(_part, packages) if part != "cudla")
    return RUNTIME if flavor == "runtime" else ("cuda-runtime",)
