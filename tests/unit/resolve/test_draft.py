"""Which bases there are, and the order of versions."""

from __future__ import annotations

import pytest

from cubake import versions
from cubake.facts import Facts
from cubake.resolve.bases import base_for


@pytest.mark.parametrize(
    ("cuda", "flavor", "os", "cudnn", "reference"),
    # shared/facts/base_images.yaml (Dockerfiles of 2025-08-18 and tags in public use)
    [
        ("12.6", "base", "ubuntu22.04", None, "nvidia/cuda:12.6.3-base-ubuntu22.04"),
        ("12.6.1", "base", "ubuntu22.04", None, None),  # end of life: NVIDIA deletes the tag
        ("12.3", "runtime", "ubuntu22.04", "9", "nvidia/cuda:12.3.2-cudnn9-runtime-ubuntu22.04"),
        ("12.3", "runtime", "ubuntu22.04", "8", None),
        ("12.2", "devel", "ubuntu22.04", "any", "nvidia/cuda:12.2.2-cudnn8-devel-ubuntu22.04"),
        ("12.5", "devel", "ubuntu24.04", None, "nvidia/cuda:12.5.1-devel-ubuntu24.04"),
        ("12.5", "devel", "ubuntu24.04", "any", None),
        ("13.0", "devel", "ubuntu24.04", "any", "nvidia/cuda:13.0.0-cudnn-devel-ubuntu24.04"),  # never tensorrt-
        ("13.0", "base", "ubuntu22.04", None, "nvidia/cuda:13.0.0-base-ubuntu22.04"),
        ("12.4", "runtime", "debian12", None, "cubake/cuda:12.4.1-runtime-debian12"),
        ("12.4", "devel", "debian12", None, None),  # nvcc is in wheels from CUDA 13 on
        ("13.2", "devel", "debian12", None, "cubake/cuda:13.2.2-devel-debian12"),
        ("12.4", "runtime", "debian12", "any", "cubake/cuda:12.4.1-cudnn-runtime-debian12"),
        ("12.4", "runtime", "nowhere", None, None),
    ],
)
def test_bases(cuda: str, flavor: str, os: str, cudnn: str | None, reference: str | None, facts: Facts) -> None:
    base = base_for(cuda, flavor, os, facts, cudnn=cudnn)
    assert (base.reference if base else None) == reference


def test_a_local_base_never_takes_a_yanked_cudnn(facts: Facts) -> None:
    """9.25.0.15 was yanked; 9.25 asked for is 9.25.1.1 (NOTES, cuDNN)."""
    base = base_for("13.0", "runtime", "debian12", facts, cudnn="9.25")
    assert base is not None
    assert base.cudnn == "9.25.1.1"
    assert base_for("13.0", "runtime", "debian12", facts, cudnn="9.25.0.15") is None


@pytest.mark.parametrize(
    ("want", "version", "ok"),
    [
        ("2.6", "2.6.0", True), ("2.6", "2.60.0", False), ("2.1", "2.10.0", False), ("2", "2.10.0", True),
        ("2.6.0", "2.6.0", True), ("2.6.0", "2.6", False), ("any", "1", True), (None, None, True), ("any", None, False),
    ],
)  # fmt: skip
def test_matching_goes_by_components(want: str | None, version: str | None, ok: bool) -> None:
    assert versions.matches(want, version) is ok


def test_order_goes_by_numbers() -> None:
    assert versions.newest_first(["2.9.1", "2.10.0", "2.2.0", "2.15.0.post1", "2.15.0"]) == [
        "2.15.0.post1", "2.15.0", "2.10.0", "2.9.1", "2.2.0",
    ]  # fmt: skip
    assert (versions.minor("12.10.1"), versions.major("12.10.1")) == ("12.10", "12")
