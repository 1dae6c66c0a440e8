"""Cells become images: names, layers, floors, checks, order; the same image asked twice is one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.plan import Lock, Package, Plan
from cubake.plan.document import plan_document
from cubake.plan.make import layers_of, lock_input, served

MakePlan = Callable[[str], Plan]


@pytest.mark.parametrize(
    ("entry", "name"),
    # <stack>-cuda<X.Y>-[cudnn<X.Y>-]py<X.Y>-<os>-<flavor>[-<profile>], design section 5
    [
        ("pytorch: '2.6', python: '3.11'", "pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-ubuntu22.04-runtime"),
        (
            "pytorch: '2.10', python: '3.12', os: ubuntu24.04, flavor: devel, profile: test",
            "pytorch2.10.0-cuda12.8-cudnn9.10-py3.12-ubuntu24.04-devel-test",
        ),
        ("pytorch: '2.6', cuda: '11.8', python: '3.11'", "pytorch2.6.0-cuda11.8-cudnn9.1-py3.11-ubuntu22.04-runtime"),
        ("tensorflow: '2.18', python: '3.12'", "tensorflow2.18.1-cuda12.5-cudnn9.3-py3.12-ubuntu22.04-runtime"),
        (
            "pytorch: '2.7', tensorflow: '2.20', python: '3.12'",
            "pytorch2.7.1-tensorflow2.20.0-cuda12.6-cudnn9.5-py3.12-ubuntu22.04-runtime",
        ),
        ("cuda: '12.6', flavor: devel", "cuda12.6-py3.10-ubuntu22.04-devel"),
        ("cuda: '12.6', cudnn: any, flavor: devel, profile: dev", "cuda12.6-cudnn9.5-py3.10-ubuntu22.04-devel-dev"),
    ],
)
def test_names(entry: str, name: str, unlocked: MakePlan) -> None:
    (image,) = unlocked(f"images:\n  one: {{{entry}}}\n").images
    assert image.name == name
    assert image.tag == f"registry.example/gpu:{name}"


def test_the_same_image_asked_twice_is_one(unlocked: MakePlan) -> None:
    plan = unlocked("images:\n  a: {pytorch: '2.6', python: '3.11'}\n  b: {pytorch: '2.6.0', python: '3.11'}\n")
    assert len(plan.images) == 1
    assert plan.refused == ()


def test_one_name_with_two_contents_is_an_error_at_both_places(unlocked: MakePlan) -> None:
    text = "images:\n  a: {pytorch: '2.6', python: '3.11'}\n  b: {pytorch: '2.6.0', python: '3.11', pip: numpy}\n"
    with pytest.raises(InputError) as caught:
        unlocked(text)
    name = "pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-ubuntu22.04-runtime"
    assert caught.value.message == (
        f"matrix.yaml:5:3: {name} is asked for twice with different contents, also at matrix.yaml:4:3"
    )
    assert caught.value.hint


def test_two_platforms_of_one_image_are_no_clash(unlocked: MakePlan) -> None:
    """A tag may serve several platforms; design section 4 lets the platform be an axis."""
    text = "images:\n  a: {pytorch: '2.11', python: '3.12', os: ubuntu24.04, platform: [linux/amd64, linux/arm64]}\n"
    assert {image.stack.platform for image in unlocked(text).images} == {"linux/amd64", "linux/arm64"}


def test_profiles_share_all_layers(planned: MakePlan) -> None:
    """Design section 10: the profiles of one stack differ in environment only."""
    plan = planned("images:\n  a: {pytorch: '2.6', python: '3.11', profile: [prod, test]}\n")
    prod, test = plan.images
    assert (prod.stack.profile, test.stack.profile) == ("prod", "test")
    assert prod.layers == test.layers
    assert prod.lock_input == test.lock_input
    assert dict(test.profile.env)["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_layers_go_from_what_many_share_to_the_framework(make_package: Callable[[str, str], Package]) -> None:
    names = ("torch", "numpy", "nvidia-cublas-cu12", "triton", "nvidia-cudnn-cu12", "pip", "torchvision", "tensorflow")
    packages = tuple(make_package(name, "1.0") for name in names)
    layers = layers_of(Lock("", packages))
    assert [(layer.title, [package.name for package in layer.packages]) for layer in layers] == [
        ("CUDA libraries", ["nvidia-cublas-cu12", "nvidia-cudnn-cu12"]),
        ("packages", ["numpy", "pip"]),
        ("framework", ["torch", "triton", "torchvision", "tensorflow"]),
    ]
    assert sum(layer.bytes for layer in layers) == sum(package.bytes for package in packages)


def test_an_empty_layer_is_none(make_package: Callable[[str, str], Package]) -> None:
    assert [layer.title for layer in layers_of(Lock("", (make_package("pip", "25.3"),)))] == ["packages"]


def test_two_releases_share_their_first_layer(planned: MakePlan) -> None:
    """torch 2.5.1 and 2.6.0 pin the same CUDA libraries but one (design section 10): equal wheels make equal layers."""
    old, new = planned("images:\n  a: {pytorch: ['2.5', '2.6'], python: '3.11'}\n").images
    assert {old.stack.pytorch, new.stack.pytorch} == {"2.5.1", "2.6.0"}
    assert old.layers[0] == new.layers[0]
    assert old.layers[-1] != new.layers[-1]


@pytest.mark.parametrize(
    ("entry", "library", "ptx"),
    # floors: NVIDIA CUDA Compatibility guide; drivers bundled with the toolkits: facts/cuda.yaml
    [
        ("cuda: '11.8'", "450.80.02", "520.61.05"),
        ("pytorch: '2.6', python: '3.11'", "525.60.13", "550.54.15"),
        ("pytorch: '2.11', python: '3.12', os: ubuntu24.04", "580.65.06", "580.95.05"),
    ],
)
def test_floors(entry: str, library: str, ptx: str, unlocked: MakePlan) -> None:
    (image,) = unlocked(f"images:\n  one: {{{entry}}}\n").images
    assert (image.floors.library, image.floors.ptx) == (library, ptx)


def test_gpu_code_is_what_every_framework_has(unlocked: MakePlan) -> None:
    """torch 2.7.1: 50 60 70 75 80 86 90; TensorFlow 2.20.0: 60 70 80 89 and PTX 90 (both read from the wheels)."""
    (both,) = unlocked("images:\n  one: {pytorch: '2.7', tensorflow: '2.20', python: '3.12'}\n").images
    assert both.sass == ("sm_60", "sm_70", "sm_80")
    assert both.ptx == ()


def test_gpu_code_of_an_index_build_is_its_own(unlocked: MakePlan) -> None:
    """cu126 of torch 2.14 keeps sm_50 to sm_70 (RELEASE.md matrix); the default wheel begins at sm_75."""
    old, default = (
        unlocked(f"images:\n  one: {{pytorch: '2.14', python: '3.12', cuda: '{cuda}', os: ubuntu24.04}}\n").images[0]
        for cuda in ("12.6", "13.0")
    )
    assert old.sass[0] == "sm_50"
    assert default.sass[0] == "sm_75"


def test_checks_follow_from_what_the_image_promises(unlocked: MakePlan) -> None:
    plan = unlocked(
        "images:\n"
        "  torch: {pytorch: '2.6', python: '3.11', flavor: devel}\n"
        "  flow: {tensorflow: '2.18', python: '3.12'}\n"
        "  kit: {cuda: '12.6'}\n"
    )
    torch, flow, kit = plan.images
    everywhere = {"contents.python", "contents.packages", "contents.cuda", "contents.libraries", "gpu.device"}
    for image in plan.images:
        assert everywhere <= set(image.checks)
        assert len(set(image.checks)) == len(image.checks)
    assert {"contents.pytorch", "contents.cudnn", "contents.nvcc", "gpu.pytorch"} <= set(torch.checks)
    assert {"contents.tensorflow", "contents.cudnn", "gpu.tensorflow"} <= set(flow.checks)
    assert not {"contents.nvcc", "gpu.pytorch", "contents.pytorch"} & set(flow.checks)
    assert not {"contents.cudnn", "contents.nvcc"} & set(kit.checks)


def test_every_check_is_a_test_of_the_suite(unlocked: MakePlan) -> None:
    """A check that no test carries could never report."""
    from cubake.verify.runner import SUITE

    suite = "".join(path.read_text() for path in sorted(SUITE.glob("test_*.py")))
    plan = unlocked(
        "images:\n  a: {pytorch: '2.7', tensorflow: '2.20', python: '3.12', flavor: devel}\n"
        "  b: {cuda: '12.6', cudnn: any, flavor: devel}\n"
    )
    for check in {check for image in plan.images for check in image.checks}:
        assert f'"{check}"' in suite or f'"{check.partition(".")[2]}"' in suite, check


def test_order_frameworks_first_newest_first_profiles_last(unlocked: MakePlan) -> None:
    plan = unlocked(
        "images:\n"
        "  kit: {cuda: '12.6'}\n"
        "  torch: {pytorch: ['2.9', '2.10', '2.6'], python: '3.11', profile: [test, prod]}\n"
    )
    assert [(image.stack.pytorch, image.stack.profile) for image in plan.images] == [
        ("2.10.0", "prod"), ("2.10.0", "test"), ("2.9.1", "prod"), ("2.9.1", "test"), ("2.6.0", "prod"),
        ("2.6.0", "test"), (None, "prod"),
    ]  # fmt: skip


def test_order_does_not_depend_on_the_order_of_the_file(unlocked: MakePlan) -> None:
    rows = [
        "  a: {pytorch: '2.6', python: '3.11'}\n",
        "  b: {tensorflow: '2.18', python: '3.12'}\n",
        "  c: {cuda: '12.6'}\n",
    ]
    names = {tuple(i.name for i in unlocked("images:\n" + "".join(order)).images) for order in (rows, rows[::-1])}
    assert len(names) == 1


def test_served_counts_by_the_library_floor(unlocked: MakePlan) -> None:
    plan = unlocked(
        "images:\n  a: {cuda: '11.8'}\n  b: {cuda: '12.6'}\n  c: {cuda: '13.0', os: ubuntu24.04}\n  d: {cuda: '12.4'}\n"
    )
    drivers = ["470.57", "525.60.13", "525.60", "535.183", "580.65", "580.65.06", "590.44"]
    assert served(plan.images, drivers) == {
        "470.57": 1, "525.60.13": 3, "525.60": 1, "535.183": 3, "580.65": 3, "580.65.06": 4, "590.44": 4,
    }  # fmt: skip


def test_lock_input(unlocked: MakePlan, facts: Facts) -> None:
    (image,) = unlocked("images:\n  a: {pytorch: '2.6', python: '3.12', pip: numpy<3, os: debian12}\n").images
    asked = lock_input(image.stack, facts)
    assert asked.requirements == ("torch==2.6.0", "numpy<3", "pip")
    assert (asked.python, asked.platform, asked.index) == ("3.12", "x86_64-manylinux_2_36", None)
    (arm,) = unlocked(
        "images:\n  a: {pytorch: '2.11', python: '3.12', os: ubuntu24.04, platform: linux/arm64}\n"
    ).images
    assert arm.lock_input.platform == "aarch64-manylinux_2_39"
    (index,) = unlocked("images:\n  a: {pytorch: '2.6', cuda: '11.8', python: '3.12'}\n").images
    assert (index.lock_input.index, index.lock_input.requirements[0]) == ("cu118", "torch==2.6.0+cu118")


def test_document_has_the_keys_of_the_contract(planned: MakePlan) -> None:
    """Design section 5: fields may be added, these are never renamed."""
    document = plan_document(
        planned("images:\n  a: {pytorch: ['2.6', '2.99'], python: '3.11'}\n  b: {cuda: '12.6', cudnn: any}\n")
    )
    assert {"images", "refused"} <= document.keys()
    for image in document["images"]:
        assert image.keys() >= {"name", "tag", "stack", "base", "layers", "driver", "arch", "because", "checks"}
        assert image["stack"].keys() >= {
            "pytorch", "tensorflow", "cuda", "cudnn", "python", "os", "flavor", "profile", "platform",
        }  # fmt: skip
        assert image["driver"].keys() >= {"library_floor", "ptx_floor"}
        assert image["arch"].keys() >= {"sass", "ptx"}
        for layer in image["layers"]:
            assert layer.keys() >= {"title", "packages", "bytes"}
        for reason in image["because"]:
            assert reason.keys() >= {"rule", "statement", "source"}
    (refused,) = document["refused"]
    assert refused.keys() >= {"cell", "line", "because", "nearest"}
    assert refused["line"] == 4
    assert refused["cell"].startswith("pytorch=2.99 python=3.11")
