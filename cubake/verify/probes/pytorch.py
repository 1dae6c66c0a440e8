"""What torch says of itself, and the GPU libraries it loaded with the path each came from."""

import json

import torch
from common import loaded

cudnn = torch.backends.cudnn.version()
libraries = [path for path in loaded() if "/nvidia/" in path or "/cuda" in path or "libcudnn" in path]
flags = torch._C._cuda_getArchFlags()
nccl = torch.cuda.nccl.version()
print(
    json.dumps(
        {
            "version": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": cudnn,
            "nccl": ".".join(map(str, nccl)) if isinstance(nccl, tuple) else str(nccl),
            "arch": flags.split() if flags else [],
            "loaded": libraries,
        }
    )
)
