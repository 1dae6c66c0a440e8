"""tensorflow on the GPU: matmul against float64 on the CPU. For the bound see gpu_pytorch.py."""

import json
import os
import sys

sys.path = [entry for entry in sys.path if entry not in ("", os.path.dirname(os.path.abspath(__file__)))]
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

if not tf.config.list_physical_devices("GPU"):
    print(json.dumps({"error": "tensorflow lists no GPU"}))
    raise SystemExit
tf.config.experimental.enable_tensor_float_32_execution(False)
random = np.random.default_rng(0)
a, b = (random.standard_normal((512, 512)) for _ in range(2))
with tf.device("/GPU:0"):
    product = tf.matmul(tf.constant(a, tf.float32), tf.constant(b, tf.float32))
want = a.astype(np.float32).astype(np.float64) @ b.astype(np.float32).astype(np.float64)
error = float(np.abs(product.numpy() - want).max() / np.abs(want).max())
print(json.dumps({"device": product.device, "errors": {"matmul": error}, "bounds": {"matmul": 5e-5}}))
