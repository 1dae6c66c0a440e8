"""cuDNN's own version, asked by cudnnGetVersion: 8907 is 8.9.7, 90100 is 9.1.0 (the scale changed with 9)."""

import ctypes
import json

from common import open_first

library, path = open_first("libcudnn.so.")
library.cudnnGetVersion.restype = ctypes.c_size_t
number = library.cudnnGetVersion()
scale = 10000 if number >= 10000 else 1000
print(json.dumps({"version": f"{number // scale}.{number % scale // 100}.{number % 100}", "path": path}))
