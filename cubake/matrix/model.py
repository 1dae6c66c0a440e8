"""matrix.yaml as it is written: which keys there are and what each may hold. Whatever passes is turned into the value
objects of `types` by `load`; the JSON Schema for editors is made from the same classes."""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cubake.matrix import shapes
from cubake.matrix.shapes import Listed, Many
from cubake.matrix.types import AXES

Flavor: TypeAlias = Literal["base", "runtime", "devel"]
Platform: TypeAlias = Literal["linux/amd64", "linux/arm64"]


FactsFile: TypeAlias = Literal[
    "pytorch", "tensorflow", "cuda", "components", "cudnn", "gpus", "base_images", "advisories", "os"
]


class Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Axes(Row):
    """The nine axes, each one value or a list."""

    pytorch: Many[shapes.Version] = Field((), description="PyTorch version; 2.6 means the newest 2.6.x known.")
    tensorflow: Many[shapes.Version] = Field((), description="TensorFlow version; 2.19 means the newest 2.19.x known.")
    cuda: Many[shapes.Cuda] = Field((), description="CUDA version, X.Y or X.Y.Z, or any.")
    cudnn: Many[shapes.Version] = Field((), description="cuDNN version, or any.")
    python: Many[shapes.Python] = Field((), description="Python version, X.Y; wheels and distributions fix no more.")
    os: Many[shapes.Os] = Field((), description="Distribution and its version, such as ubuntu22.04.")
    flavor: Many[Flavor] = Field((), description="How much of the toolkit: base, runtime or devel.")
    profile: Many[shapes.Name] = Field((), description="dev, prod, test, or one defined under profiles.")
    platform: Many[Platform] = Field((), description="Platform of the image.")


class EntryRow(Axes):
    """The images of one name: the product of its axes."""

    pip: Many[shapes.Requirement] = Field((), description="Further packages, as requirements such as numpy<3.")
    description: str = Field("", description="What these images are for.")
    on_conflict: Literal["skip", "fail"] | None = Field(
        None, description="What a run does when a cell cannot work; default: skip where an axis is a list, else fail."
    )

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if not (self.pytorch or self.tensorflow or self.cuda):
            raise shapes.refuse("rule", "wants at least one of pytorch, tensorflow, cuda")
        return self


class ExcludeRow(Axes):
    """Cells that are not wanted: those that match on every axis named here."""

    reason: shapes.Words = Field(description="Why, in words.")

    @model_validator(mode="after")
    def _names_an_axis(self) -> Self:
        if not any(getattr(self, axis) for axis in AXES):
            raise shapes.refuse("rule", f"wants at least one axis: {', '.join(AXES)}")
        return self


class DefaultsRow(Row):
    """The value of an axis where an entry gives none."""

    os: shapes.Os = Field("ubuntu22.04", description="Distribution and its version.")
    flavor: Flavor = Field("runtime", description="How much of the toolkit: base, runtime or devel.")
    profile: shapes.Name = Field("prod", description="dev, prod, test, or one defined under profiles.")
    platform: Platform = Field("linux/amd64", description="Platform of the image.")
    python: shapes.Python | None = Field(None, description="Python version; without it, one that fits is chosen.")


class ProfileRow(Row):
    """Environment of the images of one profile."""

    env: dict[shapes.EnvName, shapes.EnvValue] = Field({}, description="Environment variables, by name.")
    description: str = Field("", description="What this profile is for.")


class BuildRow(Row):
    """Where a build gets its parts from."""

    index_url: shapes.Url | None = Field(None, description="Package index instead of PyPI.")
    extra_index_urls: Listed[shapes.Url] = Field((), description="Further package indexes.")
    find_links: shapes.UrlOrFile | None = Field(None, description="Folder or page of wheels.")
    ca_bundle: shapes.File | None = Field(None, description="File of certificates to trust during the build.")
    network: shapes.Network | None = Field(None, description="Network of the build, such as host or none.")
    mirrors: dict[shapes.MirrorName, shapes.Url] = Field({}, description="Mirrors, by the name of what they mirror.")
    python_mirror: shapes.Url | None = Field(None, description="Mirror of uv's standalone Python builds.")
    registry_mirror: shapes.RegistryMirror | None = Field(None, description="Registry to pull nvidia/cuda from.")


class MatrixFile(Row):
    """The images wanted, over driver, CUDA, cuDNN, PyTorch, TensorFlow, Python and OS."""

    version: shapes.Format = Field(description="Format of this file.")
    repository: shapes.Repository = Field(description="Where images are pushed and pulled.")
    drivers: Listed[shapes.Driver] = Field((), description="Driver versions of the hosts to serve.")
    gpus: Listed[shapes.Gpu] = Field((), description="GPUs to serve, by compute capability.")
    defaults: DefaultsRow = Field(DefaultsRow(), description="The value of an axis where an entry gives none.")
    images: dict[shapes.Name, EntryRow] = Field(min_length=1, description="The images wanted, by name.")
    exclude: Listed[ExcludeRow] = Field((), description="Cells that are not wanted.")
    profiles: dict[shapes.Name, ProfileRow] = Field({}, description="Profiles besides dev, prod and test.")
    build: BuildRow = Field(BuildRow(), description="Where a build gets its parts from.")
    facts: dict[FactsFile, dict[str, Any]] = Field(
        {}, description="Facts of your own, by facts file; they have its form, sources included."
    )


def model_at(path: tuple[str | int, ...]) -> type[Row] | None:
    """The class that describes the mapping at this path."""
    match path:
        case ():
            return MatrixFile
        case ("images", _):
            return EntryRow
        case ("exclude", _):
            return ExcludeRow
        case ("profiles", _):
            return ProfileRow
        case ("defaults",):
            return DefaultsRow
        case ("build",):
            return BuildRow
        case _:
            return None
