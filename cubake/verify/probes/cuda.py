"""The CUDA runtime's own version, asked by cudaRuntimeGetVersion, which needs no driver."""

import ctypes
import json

from common import open_first

library, path = open_first("libcudart.so.")
number = ctypes.c_int()
code = library.cudaRuntimeGetVersion(ctypes.byref(number))
if code:
    raise SystemExit(f"cudaRuntimeGetVersion gave {code}")
print(json.dumps({"runtime": f"{number.value // 1000}.{number.value % 1000 // 10}", "path": path}))
