"""The host as the environment tells it, and as NVML does: a module in pynvml's place, with the constants of the real
one, plays drivers and GPUs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pynvml as real
import pytest

from cubake import hostinfo
from cubake.errors import InputError
from cubake.facts import Facts
from cubake.resolve.host import Gpu, Host

DATA_CENTER = frozenset({"tesla", "nvidia"})
LISTING = "GPU 0: NVIDIA H200 (UUID: GPU-1)\n"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBAKE_HOST", raising=False)


# CUBAKE_HOST


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML is not asked where the variable answers."""
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.mark.usefixtures("untouched")
def test_json_in_the_variable(monkeypatch: pytest.MonkeyPatch, facts: Facts) -> None:
    monkeypatch.setenv("CUBAKE_HOST", ' {"driver": "535.104.05", "gpu": "sm_90"}\n')
    assert hostinfo.detect(facts) == Host("535.104.05", (Gpu("9.0"),), "CUBAKE_HOST")


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(
    ("content", "host"),
    [
        (json.dumps({"driver": "550.54"}), Host("550.54", (), "CUBAKE_HOST")),
        (LISTING, Host(None, (Gpu("9.0", "NVIDIA H200", "data center", DATA_CENTER, "GPU-1"),), "CUBAKE_HOST")),
    ],
    ids=["json", "listing"],
)
def test_a_file_that_the_variable_names(
    content: str, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: Facts
) -> None:
    path = tmp_path / "this host"
    path.write_text(content)
    monkeypatch.setenv("CUBAKE_HOST", str(path))
    assert hostinfo.detect(facts) == host


def test_what_is_wrong_with_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: Facts) -> None:
    def message(value: str) -> str:
        monkeypatch.setenv("CUBAKE_HOST", value)
        with pytest.raises(InputError) as wrong:
            hostinfo.detect(facts)
        assert wrong.value.hint
        return wrong.value.message

    monkeypatch.chdir(tmp_path)
    Path("binary").write_bytes(b"\xff\xfe\x00")
    Path("wrong").write_text('{"gpu": "H101"}')
    assert message('{"driver": 535}') == "CUBAKE_HOST: driver: a text in quotes is wanted"
    assert message("nowhere") == "CUBAKE_HOST=nowhere: No such file or directory"
    assert message(".") == "CUBAKE_HOST=.: Is a directory"
    assert message("binary") == "CUBAKE_HOST=binary: this is no text file"
    assert message("wrong").startswith("CUBAKE_HOST=wrong: gpu: no GPU 'H101' is known; near it: NVIDIA H100")
    assert message("\x1b[31m").isprintable()


# NVML


@dataclass
class Device:
    """A device as NVML tells it. None: it answers that this is not supported."""

    name: str | None
    uuid: str | None = "GPU-1"
    brand: int | None = real.NVML_BRAND_NVIDIA
    capability: tuple[int, int] | None = (9, 0)
    mig_mode: int | None = None
    max_parts: int | None = 7
    parts: dict[int, Device] = field(default_factory=dict)
    lost: bool = False


class FakeNvml(ModuleType):
    """The part of pynvml that cubake calls."""

    NVMLError = real.NVMLError

    def __init__(self, devices: list[Device], driver: str | None = "550.54.15", initial: int | None = None) -> None:
        super().__init__("pynvml")
        self.devices, self.driver, self.initial, self.open = devices, driver, initial, 0
        for name in dir(real):
            if name.startswith(("NVML_BRAND_", "NVML_DEVICE_MIG_")):
                setattr(self, name, getattr(real, name))

    def nvmlInit(self) -> None:
        if self.initial is not None:
            raise real.NVMLError(self.initial)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> Any:
        return supported(self.driver)

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Device:
        device = self.devices[index]
        if device.lost:
            raise real.NVMLError(real.NVML_ERROR_GPU_IS_LOST)
        return device

    def nvmlDeviceGetMigMode(self, device: Device) -> list[Any]:
        return [supported(device.mig_mode)] * 2

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device: Device, index: int) -> Device:
        if index not in device.parts:
            raise real.NVMLError(real.NVML_ERROR_NOT_FOUND)
        return device.parts[index]


def supported(value: Any) -> Any:
    if value is None:
        raise real.NVMLError(real.NVML_ERROR_NOT_SUPPORTED)
    return value


def asking(field_name: str) -> Callable[[FakeNvml, Device], Any]:
    return lambda _, device: supported(getattr(device, field_name))


for call, field_name in {
    "nvmlDeviceGetName": "name",
    "nvmlDeviceGetUUID": "uuid",
    "nvmlDeviceGetBrand": "brand",
    "nvmlDeviceGetCudaComputeCapability": "capability",
    "nvmlDeviceGetMaxMigDeviceCount": "max_parts",
}.items():
    setattr(FakeNvml, call, asking(field_name))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, facts: Facts) -> Callable[..., Host | None]:
    def run(*devices: Device, **options: Any) -> Host | None:
        fake = FakeNvml(list(devices), **options)
        monkeypatch.setitem(sys.modules, "pynvml", fake)
        host = hostinfo.detect(facts)
        assert fake.open == 0, "NVML is left open"
        return host

    return run


def test_a_gpu(read: Callable[..., Host]) -> None:
    assert read(Device("NVIDIA H200", "GPU-a")) == Host(
        "550.54.15",
        (Gpu("9.0", "NVIDIA H200", "data center", frozenset({"nvidia"}), "GPU-a"),),
        "read here with NVML",
    )


def test_two_gpus(read: Callable[..., Host]) -> None:
    old = Device("Tesla T4", "GPU-b", real.NVML_BRAND_TESLA, (7, 5))
    new = Device("NVIDIA Z999", "GPU-c", real.NVML_BRAND_GEFORCE, (15, 1))  # newer than the facts
    assert read(old, new).gpus == (
        Gpu("7.5", "Tesla T4", "data center", frozenset({"tesla"}), "GPU-b"),
        Gpu("15.1", "NVIDIA Z999", None, frozenset({"geforce"}), "GPU-c"),
    )


def test_every_brand_of_nvml_is_one_brand_of_the_gate(read: Callable[..., Host]) -> None:
    names = {name: getattr(real, name) for name in dir(real) if name.startswith("NVML_BRAND_")}
    found = {name: read(Device("NVIDIA H200", brand=value)).gpus[0].brands for name, value in names.items()}
    assert all(len(brands) == 1 for brands in found.values())
    assert found["NVML_BRAND_NVIDIA_RTX"] == {"nvidiartx"}
    assert found["NVML_BRAND_UNKNOWN"] == found["NVML_BRAND_NVIDIA_NPU"] == {"unknown"}
    assert read(Device("NVIDIA H200", brand=999)).gpus[0].brands == {"unknown"}


def test_mig_devices_stand_in_the_place_of_their_gpu(read: Callable[..., Host]) -> None:
    parts = {
        0: Device("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "MIG-0", brand=None, capability=None),
        4: Device(None, "MIG-4", brand=None, capability=None),
        5: Device("no way to ask for it", None),
    }
    brands = frozenset({"nvidia"})
    parent = Device("NVIDIA A100-SXM4-40GB", capability=(8, 0), mig_mode=real.NVML_DEVICE_MIG_ENABLE, parts=parts)
    assert read(parent).gpus == (
        Gpu("8.0", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", "data center", brands, "MIG-0", mig=True),
        Gpu("8.0", "NVIDIA A100-SXM4-40GB", "data center", brands, "MIG-4", mig=True),
    )


@pytest.mark.parametrize(
    "device",
    [
        Device("NVIDIA H200", mig_mode=real.NVML_DEVICE_MIG_DISABLE, parts={0: Device("part", "MIG-0")}),
        Device("NVIDIA H200", mig_mode=real.NVML_DEVICE_MIG_ENABLE),
        Device("NVIDIA H200", mig_mode=real.NVML_DEVICE_MIG_ENABLE, max_parts=None),
        Device("NVIDIA H200", mig_mode=None),
    ],
    ids=["off", "on without devices", "on without a count", "not supported"],
)
def test_a_gpu_without_mig_devices_is_itself(device: Device, read: Callable[..., Host]) -> None:
    (gpu,) = read(device).gpus
    assert (gpu.uuid, gpu.mig) == ("GPU-1", False)


def test_what_nvml_does_not_tell(read: Callable[..., Host]) -> None:
    assert read(Device(None, None, None)).gpus == (Gpu("9.0"),)
    assert read(Device("NVIDIA H200", None, None)).gpus == (Gpu("9.0", "NVIDIA H200", "data center", DATA_CENTER),)
    assert read(Device("NVIDIA H200", capability=None)).gpus == ()
    assert (
        read(Device("NVIDIA H200", lost=True), Device("Tesla T4", "GPU-2", capability=(7, 5))).gpus[0].uuid == "GPU-2"
    )
    assert read(driver=None) == Host(None, (), "read here with NVML")


def test_the_variable_wins_over_the_driver(read: Callable[..., Host], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUBAKE_HOST", '{"gpu": "T4"}')
    assert read(Device("NVIDIA H200")).origin == "CUBAKE_HOST"
    monkeypatch.setenv("CUBAKE_HOST", " ")
    assert read(Device("NVIDIA H200")).origin == "read here with NVML"


@pytest.mark.parametrize(
    "code",
    [real.NVML_ERROR_LIBRARY_NOT_FOUND, real.NVML_ERROR_DRIVER_NOT_LOADED, real.NVML_ERROR_LIB_RM_VERSION_MISMATCH],
)
def test_no_driver(code: int, read: Callable[..., Host | None]) -> None:
    assert read(initial=code) is None


def test_no_library(monkeypatch: pytest.MonkeyPatch, facts: Facts) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # an import of it fails
    assert hostinfo.detect(facts) is None


def test_this_machine_through_the_real_library(facts: Facts) -> None:
    host = hostinfo.detect(facts)
    assert host is None or host.driver
    assert all(gpu.uuid and gpu.name and len(gpu.brands) == 1 for gpu in (host.gpus if host else ()))


def test_other_failures_are_not_hidden(monkeypatch: pytest.MonkeyPatch, facts: Facts) -> None:
    fake = FakeNvml([Device("NVIDIA H200")])
    monkeypatch.setattr(FakeNvml, "nvmlDeviceGetBrand", lambda _, device: 1 / 0)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    with pytest.raises(ZeroDivisionError):
        hostinfo.detect(facts)
    assert fake.open == 0


def test_a_listing_takes_the_driver_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, facts: Facts
) -> None:
    """`nvidia-smi -L` names no driver; `told` is what `which --driver` puts it to."""
    listing = tmp_path / "gpus"
    listing.write_text("GPU 0: NVIDIA H100 PCIe (UUID: GPU-00000000-0000-0000-0000-000000000000)\n")
    monkeypatch.setenv("CUBAKE_HOST", str(listing))
    host = hostinfo.told(facts)
    assert host is not None
    assert (host.driver, [gpu.capability for gpu in host.gpus]) == (None, ["9.0"])
    monkeypatch.delenv("CUBAKE_HOST")
    assert hostinfo.told(facts) is None
