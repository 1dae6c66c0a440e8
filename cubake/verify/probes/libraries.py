"""Loads every GPU library, each in a forked process of its own, so that none is helped or hidden by another."""

import ctypes
import importlib.metadata
import json
import os

from common import libraries

result = {}
for name, path in libraries().items():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(path, mode=os.RTLD_NOW)
        except OSError as refusal:
            os.write(writing, str(refusal).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        error = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    if status and not error:
        error = f"loading it ended the process with status {status}"
    result[name] = {"path": path, "error": error}
for distribution in importlib.metadata.distributions():
    if distribution.metadata["Name"].startswith("nvidia-"):
        for file in distribution.files or ():
            path = str(distribution.locate_file(file))
            if ".so" in file.name and not os.path.exists(path):
                result[file.name] = {
                    "path": path,
                    "error": f"{distribution.metadata['Name']} has it, and it is not there",
                }
print(json.dumps(result))
