"""Typed facts: what is true of drivers, toolkits, libraries, frameworks, base images and distributions.

Every row names its source; the text and the confidence of a source stand once, at the top of its file. The files
are generated: people read them, ``build.py refresh`` writes them, nobody edits them. Versions are text throughout.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Confidence = Literal["verified", "high", "medium", "low"]
Platform = Literal["linux/amd64", "linux/arm64"]
Version = Annotated[str, Field(pattern=r"^\d+(\.[0-9a-z]+)*$")]
Sm = Annotated[str, Field(pattern=r"^(sm|compute)_\d{2,3}$")]


class Fact(BaseModel):
    """Base of every row: frozen, and closed against unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Fact):
    text: str
    confidence: Confidence


class Row(Fact):
    source: str = Field(description="key under `sources` of the same file")


class Wheel(Fact):
    """One CUDA build of a framework for one platform.

    ``requires`` holds the libraries it needs as PEP 440 specifiers by package name; ``sass`` and ``ptx`` are the GPU
    architectures with machine code and with PTX; ``runpath`` the folders of site-packages in which it looks for
    libraries (where it was read); ``build`` the build tag (PEP 427) that a re-uploaded file carries; ``bytes`` is the
    size of the largest wheel file.
    """

    cuda: Version | None = Field(description="X.Y of the toolkit it was built with; null: CPU only")
    cudnn: Version | None = None
    nccl: Version | None = None
    python: tuple[str, ...]
    glibc: Version = Field(description="oldest glibc its platform tag allows (PEP 600)")
    requires: dict[str, str] = {}
    sass: tuple[Sm, ...] = ()
    ptx: tuple[Sm, ...] = ()
    runpath: tuple[str, ...] = ()
    build: str = ""
    bytes: int


class IndexBuild(Row):
    """A CUDA build of PyTorch on PyTorch's own index (cu118, cu126, ...)."""

    cuda: Version
    cudnn: Version | None
    sass: tuple[Sm, ...]
    ptx: tuple[Sm, ...] = ()
    default: bool = Field(description="the same build is the default one on the Python package index")


class Release(Row):
    released: str
    requires_python: str
    numpy: str = Field(default="", description="NumPy it works with: by METADATA, or the ABI it was built for")
    wheels: dict[Platform, Wheel]
    family: dict[str, tuple[str, ...]] = Field(default={}, description="matching versions of sibling packages")
    family_lacks: dict[str, tuple[str, ...]] = Field(
        default={}, description="Pythons of its x86-64 wheels that none of the matching siblings has a wheel for"
    )
    indexes: dict[str, IndexBuild] = {}


class Framework(Fact):
    sources: dict[str, Source]
    releases: dict[Version, Release]


class Toolkit(Row):
    """A CUDA minor release (X.Y). ``library_floor`` is the oldest Linux driver its libraries run on."""

    library_floor: Version
    drivers: dict[str, Version | None] = Field(description="driver bundled with each update release: the PTX floor")
    capabilities: tuple[str, ...]
    max_gcc: int | None


class Cuda(Fact):
    sources: dict[str, Source]
    toolkits: dict[Version, Toolkit]


class Components(Fact):
    """Exact wheel versions of each toolkit release (X.Y.Z), by package name.

    ``nccl``, which is outside the toolkit, by CUDA major: only where no torch in the facts pins one.
    """

    sources: dict[str, Source]
    nccl: dict[str, NcclRow]
    toolkits: dict[str, ComponentRow]


class NcclRow(Row):
    version: Version


class ComponentRow(Row):
    packages: dict[str, Version]


class CudnnWheel(Fact):
    bytes: int
    platforms: tuple[Platform, ...]
    yanked: bool = False


class CudnnRelease(Row):
    soname: int
    min_capability: str
    wheels: dict[str, CudnnWheel] = Field(description="by CUDA major: cu11, cu12, cu13")


class Cudnn(Fact):
    sources: dict[str, Source]
    versions: dict[Version, CudnnRelease]


class Tags(Fact):
    """The published tags of one nvidia/cuda version on one distribution."""

    flavors: tuple[str, ...]
    cudnn: Version | None = Field(default=None, description="cuDNN in the -cudnn- flavours; null: not read")
    end_of_life: bool = False


class Gate(Fact):
    """What NVIDIA_REQUIRE_CUDA lets in: drivers of this CUDA and newer, or one of the branches on one of the brands."""

    cuda: Version
    branches: tuple[int, ...] = ()
    brands: tuple[str, ...] = ()


class BaseImage(Row):
    gate: Gate | None = Field(default=None, description="null: not read; every image asks for its own CUDA at least")
    library_path: str = Field(default="", description="LD_LIBRARY_PATH that the image sets; empty: not read")
    os: dict[str, Tags]


class BaseImages(Fact):
    sources: dict[str, Source]
    images: dict[str, BaseImage]


class Capability(Row):
    arch: str
    cuda_min: str | None
    cuda_max: str | None
    branch_min: int | None
    branch_last: int | None


class Model(Row):
    capability: str
    kind: str
    names: tuple[str, ...]


class Branch(Row):
    """A driver branch (R535). ``cuda`` is the CUDA version its drivers report: what they compile PTX of."""

    cuda: Version
    kind: str
    end_of_life: Annotated[str, BeforeValidator(str)] | None


class Gpus(Fact):
    sources: dict[str, Source]
    capabilities: dict[str, Capability]
    models: tuple[Model, ...]
    branches: dict[str, Branch]


class Advisory(Row):
    """Something known of a release that no other fact tells. ``stops`` refuses it; otherwise it is said, no more.
    With ``capabilities`` it is true on those GPUs alone, with ``python`` for those Pythons."""

    package: str = Field(description="distribution name: torch, tensorflow, torchvision")
    versions: str = Field(description="PEP 440 specifier of the versions meant")
    capabilities: str = Field(default="", description="PEP 440 specifier of compute capabilities; empty: any")
    python: str = Field(default="", description="PEP 440 specifier of Pythons; empty: any")
    stops: bool = False
    text: str
    remedy: str


class Advisories(Fact):
    sources: dict[str, Source]
    advisories: dict[str, Advisory]


class Os(Row):
    """A distribution release: what it ships, and what debootstrap needs to make its root file system."""

    suite: str
    glibc: Version
    python: Version
    gcc: int
    nvidia_cuda: bool = Field(description="NVIDIA publishes nvidia/cuda images for it")
    components: str
    keyring: str


class OsFile(Fact):
    sources: dict[str, Source]
    releases: dict[str, Os]
