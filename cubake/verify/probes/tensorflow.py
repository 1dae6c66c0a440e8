"""What tensorflow says of itself and of its build."""

import json
import os
import sys

# This file must not stand in the way of the package of the same name.
sys.path = [entry for entry in sys.path if entry not in ("", os.path.dirname(os.path.abspath(__file__)))]
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # noqa: E402

info = tf.sysconfig.get_build_info()
print(
    json.dumps(
        {
            "version": tf.__version__,
            "is_cuda_build": bool(info.get("is_cuda_build")),
            "cuda": str(info.get("cuda_version")),
            "cudnn": str(info.get("cudnn_version")),
            "arch": list(info.get("cuda_compute_capabilities") or []),
        }
    )
)
