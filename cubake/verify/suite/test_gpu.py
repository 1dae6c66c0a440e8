"""GPU: does the image compute right answers on the device? Skipped, with the reason, where there is none."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.check("gpu.device")
def test_device(ask: Any, measured: dict[str, Any]) -> None:
    found = ask("gpu_device.py")
    measured.update(found)
    assert found["count"] > 0, "the driver initialises but shows no device"


@pytest.mark.check("gpu.pytorch")
def test_pytorch(ask: Any, measured: dict[str, Any]) -> None:
    _right(ask("gpu_pytorch.py"), measured)


@pytest.mark.check("gpu.tensorflow")
def test_tensorflow(ask: Any, measured: dict[str, Any]) -> None:
    _right(ask("gpu_tensorflow.py"), measured)


def _right(found: dict[str, Any], measured: dict[str, Any]) -> None:
    measured.update(found)
    assert "error" not in found, found["error"]
    assert found["device"].lower().startswith(("cuda", "/device:gpu", "/job")), f"computed on {found['device']}"
    wrong = {name: error for name, error in found["errors"].items() if not error <= found["bounds"][name]}
    assert not wrong, f"answers off by {wrong}, bounds {found['bounds']}"
