"""The machine that cubake runs on: its driver and GPUs, read through NVML, or what `CUBAKE_HOST` says in their stead.

A door: it reads the environment, a file, and the driver's library by way of nvidia-ml-py, which is imported only when
asked. Nothing here starts a program; `nvidia-smi` is not called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.matrix.problems import shown
from cubake.resolve.host import Gpu, Host, described, parse_host

VARIABLE = "CUBAKE_HOST"

# NVML's brands in the words of the start gate; one that is not here is `unknown` to the container runtime as well.
# Source: github.com/NVIDIA/nvidia-container-toolkit, internal/requirements/image.go.
_BRANDS = {
    "NVML_BRAND_QUADRO": "quadro",
    "NVML_BRAND_TESLA": "tesla",
    "NVML_BRAND_NVS": "nvs",
    "NVML_BRAND_GRID": "grid",
    "NVML_BRAND_GEFORCE": "geforce",
    "NVML_BRAND_TITAN": "titan",
    "NVML_BRAND_NVIDIA_VAPPS": "nvidiavapps",
    "NVML_BRAND_NVIDIA_VPC": "nvidiavpc",
    "NVML_BRAND_NVIDIA_VCS": "nvidiavcs",
    "NVML_BRAND_NVIDIA_VWS": "nvidiavws",
    "NVML_BRAND_NVIDIA_CLOUD_GAMING": "nvidiacloudgaming",
    "NVML_BRAND_QUADRO_RTX": "quadrortx",
    "NVML_BRAND_NVIDIA_RTX": "nvidiartx",
    "NVML_BRAND_NVIDIA": "nvidia",
    "NVML_BRAND_GEFORCE_RTX": "geforcertx",
    "NVML_BRAND_TITAN_RTX": "titanrtx",
}


def detect(facts: Facts) -> Host | None:
    """The host of the environment variable ``CUBAKE_HOST`` if that is set, else this machine, else None.

    The variable holds a host as JSON, or the path of a file with that or with what `nvidia-smi -L` prints. None means
    that nvidia-ml-py or NVIDIA's driver is not there. Raises InputError for a variable that is wrong.
    """
    return told(facts) or _read(facts)


def told(facts: Facts) -> Host | None:
    """The host of ``CUBAKE_HOST`` alone."""
    given = os.environ.get(VARIABLE, "").strip()
    return _given(given, facts) if given else None


def _given(value: str, facts: Facts) -> Host:
    inline = value.startswith("{")
    where = VARIABLE if inline else f"{VARIABLE}={shown(value)}"
    try:
        return replace(parse_host(value if inline else _content(value), facts), origin=VARIABLE)
    except InputError as wrong:
        raise InputError(f"{where}: {wrong.message}", wrong.hint) from wrong


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as wrong:  # ValueError: not UTF-8, or no path at all
        reason = (wrong.strerror if isinstance(wrong, OSError) else "") or "this is no text file"
        raise InputError(reason, f"{VARIABLE} is a host as JSON, or the path of a file that holds one") from wrong


def _read(facts: Facts) -> Host | None:
    try:
        import pynvml
    except ImportError:
        return None
    nvml: Any = pynvml
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:  # no driver, or one that does not answer
        return None
    try:
        count = _ask(nvml, nvml.nvmlDeviceGetCount) or 0
        gpus = tuple(gpu for index in range(count) for gpu in _gpus(nvml, index, facts))
        return Host(_ask(nvml, nvml.nvmlSystemGetDriverVersion), gpus, "read here with NVML")
    finally:
        _ask(nvml, nvml.nvmlShutdown)


def _ask(nvml: Any, call: Callable[..., Any], *arguments: object) -> Any:
    """What NVML says, or None where this driver or this GPU does not support the question."""
    try:
        return call(*arguments)
    except nvml.NVMLError:
        return None


def _gpus(nvml: Any, index: int, facts: Facts) -> Iterator[Gpu]:
    """A GPU, or the MIG devices in its place: programs see no other. None where it is lost or tells no capability."""
    device = _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    capability = _ask(nvml, nvml.nvmlDeviceGetCudaComputeCapability, device) if device is not None else None
    if capability is None:
        return
    name = _ask(nvml, nvml.nvmlDeviceGetName, device) or ""
    gpu = described(name, ".".join(map(str, capability)), facts)
    brands = _brands(nvml, _ask(nvml, nvml.nvmlDeviceGetBrand, device)) or gpu.brands
    gpu = replace(gpu, name=name or None, brands=brands, uuid=_ask(nvml, nvml.nvmlDeviceGetUUID, device))
    parts = [
        replace(gpu, name=_ask(nvml, nvml.nvmlDeviceGetName, part) or gpu.name, uuid=uuid, mig=True)
        for part in _mig_devices(nvml, device)
        if (uuid := _ask(nvml, nvml.nvmlDeviceGetUUID, part))
    ]
    yield from parts or [gpu]


def _mig_devices(nvml: Any, device: object) -> Iterator[object]:
    """Handles of the MIG devices; none where MIG is off, or not a thing on this GPU."""
    mode = _ask(nvml, nvml.nvmlDeviceGetMigMode, device)  # [current, pending]
    if not mode or mode[0] != nvml.NVML_DEVICE_MIG_ENABLE:
        return
    for index in range(_ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, device) or 0):
        part = _ask(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, device, index)
        if part is not None:  # indexes have gaps
            yield part


def _brands(nvml: Any, brand: int | None) -> frozenset[str]:
    """The one brand as the gate calls it; empty where NVML does not tell it."""
    if brand is None:
        return frozenset()
    known = {getattr(nvml, constant, None): name for constant, name in _BRANDS.items()}
    return frozenset({known.get(brand, "unknown")})
