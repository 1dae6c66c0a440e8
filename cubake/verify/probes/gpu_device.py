"""The driver and its devices, by the driver API: no framework, no runtime library."""

import ctypes
import json

cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *args: object) -> None:
    code = getattr(cuda, name)(*args)
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise SystemExit(f"{name} gave {code}: {(text.value or b'').decode()}")


call("cuInit", 0)
version, count = ctypes.c_int(), ctypes.c_int()
call("cuDriverGetVersion", ctypes.byref(version))
call("cuDeviceGetCount", ctypes.byref(count))
devices = []
for index in range(count.value):
    device, name, memory = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
    call("cuDeviceGet", ctypes.byref(device), index)
    call("cuDeviceGetName", name, 256, device)
    call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
    capability = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        value = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    devices.append({"name": name.value.decode(), "capability": ".".join(capability), "bytes": memory.value})
driver = ""
try:
    with open("/sys/module/nvidia/version") as file:
        driver = file.read().strip()
except OSError:
    pass
cuda_version = f"{version.value // 1000}.{version.value % 1000 // 10}"
print(
    json.dumps(
        {
            "name": devices[0]["name"] if devices else None,
            "driver": driver,
            "driver_cuda": cuda_version,
            "count": count.value,
            "devices": devices,
        }
    )
)
