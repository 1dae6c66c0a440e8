"""Which checks an image must pass, by what it promises. Each id is a test of ``verify/suite``, marked with it.

A check named here that does not report is a failure: nothing is verified by being left out.
"""

from __future__ import annotations

from cubake.resolve import Stack

CONTENTS = ("python", "packages", "pip_check", "cuda", "libraries", "one_copy", "driver_libraries", "clean", "labels")


def checks_for(stack: Stack) -> tuple[str, ...]:
    """The ids, contents first, then those that need a GPU."""
    frameworks = [name for name, _ in stack.frameworks]
    contents = [*CONTENTS, *frameworks, *(["cudnn"] if stack.cudnn else [])]
    contents += ["nvcc"] if stack.flavor == "devel" else []
    return tuple([f"contents.{name}" for name in contents] + [f"gpu.{name}" for name in ("device", *frameworks)])
