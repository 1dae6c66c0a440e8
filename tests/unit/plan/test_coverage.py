"""Which GPUs an image has code for: same major and no newer minor, or PTX no newer than the device."""

from __future__ import annotations

import pytest

from cubake.resolve.rules_gpu import has_code

# The wheel lists of torch up to 2.6, and what NVIDIA's compatibility rules say of devices (open case RW14).
SASS = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


@pytest.mark.parametrize(
    ("gpu", "sass", "ptx", "runs"),
    [
        ("sm_89", SASS, (), True),
        ("sm_61", SASS, (), True),
        ("sm_87", SASS, (), True),
        ("sm_120", SASS, (), False),
        ("sm_100", SASS, (), False),
        ("sm_121", (*SASS, "sm_120"), ("compute_120",), True),
        ("sm_103", ("sm_100",), (), True),
        ("sm_120", ("sm_100",), (), False),
        ("sm_80", ("sm_86",), (), False),
        ("sm_120", ("sm_89",), ("compute_90",), True),
        ("sm_80", (), ("compute_90",), False),
    ],
)
def test_has_code(gpu: str, sass: tuple[str, ...], ptx: tuple[str, ...], runs: bool) -> None:
    assert has_code(gpu, sass, ptx) is runs
