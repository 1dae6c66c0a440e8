"""The built-in profiles, as data; `profiles:` in matrix.yaml adds to them or replaces one."""

from __future__ import annotations

from cubake.matrix.types import Profile

BUILT_IN = (
    Profile("dev", (("CUDA_LAUNCH_BLOCKING", "1"),), "synchronous launches, so that an error shows where it happens"),
    Profile("prod", (), "fast"),
    Profile(
        "test",
        (("CUBLAS_WORKSPACE_CONFIG", ":4096:8"), ("TF_DETERMINISTIC_OPS", "1"), ("PYTHONHASHSEED", "0")),
        "deterministic: the same numbers twice",
    ),
)
