"""The facts agree with each other and with anchors read from their sources (../shared/facts, NOTES.md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cubake.facts import Facts, load
from cubake.facts.model import Release, Wheel

FACTS = load()
FOLDER = Path(__file__).resolve().parents[3] / "cubake" / "facts"
FILES = sorted(FOLDER.glob("*.yaml"))
COLLECTED = date(2026, 11, 30)
ARM, AMD = "linux/arm64", "linux/amd64"


def releases() -> Iterator[tuple[str, str, Release]]:
    for framework, file in FACTS.frameworks.items():
        yield from ((framework, version, release) for version, release in file.releases.items())


def cuda_wheels() -> list[tuple[str, Wheel]]:
    return [
        (f"{framework} {version} {platform}", wheel)
        for framework, version, release in releases()
        for platform, wheel in release.wheels.items()
        if wheel.cuda
    ]


def sources_used(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "source":
                yield item
            elif key != "sources":
                yield from sources_used(item)
    elif isinstance(value, list):
        for item in value:
            yield from sources_used(item)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_row_names_a_source_of_its_file_and_no_source_is_idle(path: Path) -> None:
    data = yaml.load(path.read_text(), Loader=yaml.BaseLoader)
    if "sources" not in data:
        pytest.skip("symptoms and the like carry their sources otherwise")
    assert set(sources_used(data)) == set(data["sources"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_keys_stand_once(path: Path) -> None:
    """YAML lets the last of two equal keys win without a word."""

    def check(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            twice = [key for key, count in Counter(key.value for key, _ in node.value).items() if count > 1]
            assert twice == [], f"{path.name}:{node.start_mark.line + 1}"
            for _, value in node.value:
                check(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                check(value)

    check(yaml.compose(path.read_text(), Loader=yaml.SafeLoader))


@pytest.mark.parametrize(("name", "wheel"), cuda_wheels(), ids=[name for name, _ in cuda_wheels()])
class TestCudaWheel:
    def test_its_cudnn_is_a_wheel_of_its_cuda_major(self, name: str, wheel: Wheel) -> None:
        pins = [package for package in wheel.requires if "cudnn" in package]
        if not pins:
            return  # TensorFlow up to 2.13 leaves cuDNN to the host
        assert wheel.cuda is not None
        major = f"cu{wheel.cuda.split('.')[0]}"
        assert pins == [f"nvidia-cudnn-{major}"]
        row = FACTS.cudnn.versions[str(wheel.cudnn)]
        assert major in row.wheels
        assert not row.wheels[major].yanked

    def test_its_cudnn_and_nccl_are_those_it_requires(self, name: str, wheel: Wheel) -> None:
        for word, version in (("cudnn", wheel.cudnn), ("nccl", wheel.nccl)):
            for package, specifier in wheel.requires.items():
                if f"nvidia-{word}-" in package:
                    assert version is not None
                    assert version in SpecifierSet(specifier)

    def test_its_cuda_is_known(self, name: str, wheel: Wheel) -> None:
        assert wheel.cuda in FACTS.cuda.toolkits

    def test_its_machine_code_is_within_what_its_toolkit_can_make(self, name: str, wheel: Wheel) -> None:
        toolkit = FACTS.cuda.toolkits.get(str(wheel.cuda))
        if toolkit is None:
            pytest.skip("reported by test_its_cuda_is_known")
        able = {capability.replace(".", "") for capability in toolkit.capabilities}
        assert {arch.partition("_")[2] for arch in (*wheel.sass, *wheel.ptx)} <= able
        assert wheel.sass


def test_index_builds_are_within_what_their_toolkit_can_make() -> None:
    wrong = []
    for _, version, release in releases():
        for name, build in release.indexes.items():
            toolkit = FACTS.cuda.toolkits.get(build.cuda)
            able = {capability.replace(".", "") for capability in toolkit.capabilities} if toolkit else set()
            if not {arch.partition("_")[2] for arch in (*build.sass, *build.ptx)} <= able:
                wrong.append((version, name))
    assert wrong == []


def test_index_names_are_their_cuda() -> None:
    for _, _, release in releases():
        for name, build in release.indexes.items():
            assert name == f"cu{build.cuda.replace('.', '')}"


def test_the_default_index_build_is_the_default_wheel() -> None:
    for _, version, release in releases():
        defaults = [build for build in release.indexes.values() if build.default]
        assert len(defaults) == bool(release.indexes), version
        for build in defaults:
            assert build.cuda == release.wheels[AMD].cuda, version


def test_the_default_index_build_has_the_default_wheels_cudnn() -> None:
    """It is the same build, so its cuDNN is what the wheel pins. NOTES, PyTorch 6: RELEASE.md says 9.17.1.4 for 2.11
    where the wheel pins 9.19.0.56, and the wheel is what is installed."""
    wrong = {
        version: (build.cudnn, release.wheels[AMD].cudnn)
        for _, version, release in releases()
        for build in release.indexes.values()
        if build.default and build.cudnn != release.wheels[AMD].cudnn
    }
    assert wrong == {}


def test_pythons_are_sorted_and_stand_once() -> None:
    for framework, version, release in releases():
        for wheel in release.wheels.values():
            keys = [(Version(tag.rstrip("t")), tag.endswith("t")) for tag in wheel.python]
            assert keys == sorted(set(keys)), (framework, version)


def test_pythons_are_those_the_release_requires() -> None:
    for framework, version, release in releases():
        for wheel in release.wheels.values():
            wrong = [tag for tag in wheel.python if tag.rstrip("t") not in SpecifierSet(release.requires_python)]
            assert wrong == [], (framework, version)


def test_nothing_is_newer_than_the_collection() -> None:
    for framework, version, release in releases():
        assert date(2020, 1, 1) < date.fromisoformat(release.released) <= COLLECTED, (framework, version)


def test_releases_stand_newest_first() -> None:
    for framework, file in FACTS.frameworks.items():
        keys = [Version(version) for version in file.releases]
        assert keys == sorted(keys, reverse=True), framework


@pytest.mark.parametrize(
    ("major", "floor"),
    # NVIDIA CUDA Compatibility guide, minor-version compatibility (shared/facts/cuda.yaml)
    [("11", "450.80.02"), ("12", "525.60.13"), ("13", "580.65.06")],
)
def test_library_floors(major: str, floor: str) -> None:
    floors = {row.library_floor for version, row in FACTS.cuda.toolkits.items() if version.split(".")[0] == major}
    assert floors == {floor}


def test_drivers_belong_to_their_toolkit_and_never_fall() -> None:
    seen: list[Version] = []
    for version, row in sorted(FACTS.cuda.toolkits.items(), key=lambda pair: Version(pair[0])):
        for release, driver in row.drivers.items():
            assert re.fullmatch(re.escape(version) + r"\.\d+", release)
            if driver:
                assert Version(driver) >= Version(row.library_floor)
                seen.append(Version(driver))
    assert seen == sorted(seen)


def test_every_toolkit_release_can_be_had() -> None:
    """A release that is neither wheels nor an image could be in no image; rc and previews are not listed at all."""
    named = {release for row in FACTS.cuda.toolkits.values() for release in row.drivers}
    assert named - set(FACTS.components.toolkits) - set(FACTS.base_images.images) == set()


def test_every_component_set_and_image_is_a_known_toolkit_release() -> None:
    named = {release for row in FACTS.cuda.toolkits.values() for release in row.drivers}
    assert set(FACTS.components.toolkits) - named == set()
    assert set(FACTS.base_images.images) - named == set()


def test_component_sets_hold_the_runtime_and_cublas() -> None:
    for toolkit, row in FACTS.components.toolkits.items():
        suffix = "" if int(toolkit.split(".")[0]) >= 13 else f"-cu{toolkit.split('.')[0]}"
        for part in ("cuda-runtime", "cublas", "cuda-nvrtc", "cufft", "cusolver", "cusparse"):
            assert f"nvidia-{part}{suffix}" in row.packages, toolkit


def test_the_runtime_of_a_component_set_has_its_toolkits_version() -> None:
    for toolkit, row in FACTS.components.toolkits.items():
        runtime = next(version for name, version in row.packages.items() if "cuda-runtime" in name)
        assert runtime.startswith(".".join(toolkit.split(".")[:2]) + "."), toolkit


def test_cudnn_of_base_images_is_known() -> None:
    for toolkit, image in FACTS.base_images.images.items():
        for name, tags in image.os.items():
            if tags.cudnn:
                assert f"cu{toolkit.split('.')[0]}" in FACTS.cudnn.versions[tags.cudnn].wheels, (toolkit, name)
                assert any("cudnn" in flavor for flavor in tags.flavors), (toolkit, name)


def test_the_distributions_of_base_images_that_are_offered_are_known() -> None:
    published = {name for image in FACTS.base_images.images.values() for name in image.os}
    assert {name for name, row in FACTS.os.releases.items() if row.nvidia_cuda} <= published


def test_no_machine_code_for_gpus_that_do_not_exist() -> None:
    known = {name.replace(".", "") for name in FACTS.gpus.capabilities}
    used = {arch.partition("_")[2] for _, wheel in cuda_wheels() for arch in (*wheel.sass, *wheel.ptx)}
    assert used - {"35", "37"} <= known  # Kepler: no toolkit since 12.0 and no driver since R470 knows it


def test_gpu_models_have_a_known_capability() -> None:
    assert {model.capability for model in FACTS.gpus.models} <= set(FACTS.gpus.capabilities)


# Anchors: each was read from the artifact named.


def wheel(framework: str, version: str, platform: str = AMD) -> Wheel:
    return FACTS.frameworks[framework].releases[version].wheels[platform]


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn", "nccl"),
    # wheel METADATA of torch, shared/facts/pytorch.yaml, verified; default changes: NOTES, PyTorch 2
    [
        ("2.4.1", "12.1", "9.1.0.70", "2.20.5"),
        ("2.5.1", "12.4", "9.1.0.70", "2.21.5"),
        ("2.6.0", "12.4", "9.1.0.70", "2.21.5"),
        ("2.7.1", "12.6", "9.5.1.17", "2.26.2"),
        ("2.10.0", "12.8", "9.10.2.21", "2.27.5"),
        ("2.11.0", "13.0", "9.19.0.56", "2.28.9"),
        ("2.15.0", "13.2", "9.26.0.51", "2.30.7"),
    ],
)
def test_torch_wheels(version: str, cuda: str, cudnn: str, nccl: str) -> None:
    row = wheel("pytorch", version)
    assert (row.cuda, row.cudnn, row.nccl) == (cuda, cudnn, nccl)


def test_torch_2_11_left_volta() -> None:
    """NOTES, PyTorch 3: the default wheel of 2.11 has no sm_70; that of 2.10 has."""
    assert "sm_70" in wheel("pytorch", "2.10.0").sass
    assert "sm_70" not in wheel("pytorch", "2.11.0").sass


def test_no_ptx_in_default_torch_wheels() -> None:
    """NOTES, PyTorch 5 (verified)."""
    assert [v for _, v, r in releases() if _ == "pytorch" and r.wheels[AMD].ptx] == []


def test_torch_on_arm() -> None:
    """NOTES, PyTorch 9: CPU only up to 2.10, CUDA from 2.11."""
    for version in FACTS.frameworks["pytorch"].releases:
        assert bool(wheel("pytorch", version, ARM).cuda) is (Version(version) >= Version("2.11"))


def test_tensorflow_on_arm_is_cpu_only() -> None:
    """NOTES, TensorFlow 8."""
    rows = FACTS.frameworks["tensorflow"].releases.values()
    assert [row for row in rows if ARM in row.wheels and row.wheels[ARM].cuda] == []


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn"),
    # and-cuda pins and build_info of the wheels: NOTES, TensorFlow 4
    [("2.15.1", "12.2", "8.9.4.25"), ("2.17.1", "12.3", "8.9.7.29"), ("2.18.1", "12.5", "9.3.0.75")],
)
def test_tensorflow_wheels(version: str, cuda: str, cudnn: str) -> None:
    row = wheel("tensorflow", version)
    assert (row.cuda, row.cudnn) == (cuda, cudnn)


def test_tensorflow_2_16_0_does_not_exist() -> None:
    """NOTES, TensorFlow 1."""
    assert "2.16.0" not in FACTS.frameworks["tensorflow"].releases


def test_tensorflow_2_20_asks_for_ranges() -> None:
    """NOTES, TensorFlow 3."""
    assert wheel("tensorflow", "2.19.1").requires["nvidia-cudnn-cu12"] == "==9.3.0.75"
    assert "9.28.0.42" in SpecifierSet(wheel("tensorflow", "2.20.0").requires["nvidia-cudnn-cu12"])


def test_components_of_12_5_1_are_not_those_of_12_5_0() -> None:
    """NOTES, Redistributable wheels 1: the metapackage 12.5.1 pins the wheels of 12.5.0. cudart 12.5.82 and cuBLAS
    12.5.3.2 are those of the 12.5.1 image."""
    new, old = (FACTS.components.toolkits[version].packages for version in ("12.5.1", "12.5.0"))
    assert new != old
    assert (new["nvidia-cuda-runtime-cu12"], new["nvidia-cublas-cu12"]) == ("12.5.82", "12.5.3.2")


def test_cuda_12_7_never_existed() -> None:
    """NOTES, CUDA and drivers 1."""
    assert "12.7" not in FACTS.cuda.toolkits


def test_cudnn_that_was_yanked() -> None:
    """NOTES, cuDNN: 9.25.0.15 was yanked; 9.10.2.21 is the last for CUDA 11."""
    assert all(row.yanked for row in FACTS.cudnn.versions["9.25.0.15"].wheels.values())
    cu11 = [Version(version) for version, row in FACTS.cudnn.versions.items() if "cu11" in row.wheels]
    assert max(cu11) == Version("9.10.2.21")


def test_cudnn_soname_is_its_major() -> None:
    assert all(str(row.soname) == version.split(".")[0] for version, row in FACTS.cudnn.versions.items())


def test_tag_names_of_base_images() -> None:
    """NOTES, Base images 1: cudnn8 to 12.2.2, cudnn9 in 12.3.2 only, cudnn from 12.4.1 on."""
    for toolkit, image in FACTS.base_images.images.items():
        at = Version(toolkit)
        word = "cudnn8" if at <= Version("12.2.2") else "cudnn9" if at <= Version("12.3.2") else "cudnn"
        used = {flavor.split("-")[0] for tags in image.os.values() for flavor in tags.flavors if "cudnn" in flavor}
        assert used <= {word}, toolkit


def test_geforce_in_the_driver_gate_ends_with_12_4() -> None:
    """NOTES, CUDA and drivers 3 (verified in the Dockerfiles)."""
    for toolkit, image in FACTS.base_images.images.items():
        if image.gate:
            assert ("geforce" in image.gate.brands) is (Version(toolkit) <= Version("12.4.1")), toolkit


def test_distributions() -> None:
    """Package lists of the distributions: libc6 and python3 of jammy, noble, bookworm, trixie."""
    found = {name: (row.glibc, row.python) for name, row in FACTS.os.releases.items()}
    assert found == {
        "ubuntu22.04": ("2.35", "3.10"),
        "ubuntu24.04": ("2.39", "3.12"),
        "debian12": ("2.36", "3.11"),
        "debian13": ("2.41", "3.13"),
    } | {name: row for name, row in found.items() if name not in ("ubuntu22.04", "ubuntu24.04", "debian12", "debian13")}


def test_facts_are_read_only_as_far_as_asked() -> None:
    fresh = Facts()
    assert fresh.os
    assert set(vars(fresh)) - {"own"} == {"os"}
