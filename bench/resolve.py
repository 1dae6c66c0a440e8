"""How long a universe of 20,000 cells takes to resolve, with reasons (design section 10: less than a second).

    python bench/resolve.py

One JSON line: the cells, what each stage took in seconds, and `ratio`, resolving against the second it may take.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from cubake.facts import load
from cubake.matrix import load_matrix
from cubake.plan import make_plan
from cubake.resolve import Solved, solve
from cubake.resolve.explain import sentence

TARGET = 1.0  # seconds
MATRIX = """\
version: 1
repository: bench/universe
images:
  universe:
    pytorch: [2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 2.10, 2.11, 2.12, 2.13, 2.14, 2.15]
    cuda: [11.8, 12.1, 12.4, 12.6, 12.8, 13.0, 13.2]
    python: ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
    os: [ubuntu22.04, ubuntu24.04, debian12, debian13]
    flavor: [base, runtime, devel]
    profile: [prod, test, dev]
"""


def main() -> None:
    start = time.perf_counter()
    matrix = load_matrix(Path("universe.yaml"), MATRIX)
    loaded = time.perf_counter()
    facts = load()
    outcomes = [solve(cell, facts) for cell in matrix.cells]
    statements = sum(len(sentence(one)) > 0 for outcome in outcomes for one in outcome.because)
    resolved = time.perf_counter()
    make_plan(matrix, facts, {})
    planned = time.perf_counter()
    line = {
        "bench": "resolve",
        "cells": len(outcomes),
        "solved": sum(isinstance(outcome, Solved) for outcome in outcomes),
        "statements": statements,
        "load_s": round(loaded - start, 3),
        "resolve_s": round(resolved - loaded, 3),
        "plan_again_s": round(planned - resolved, 3),
        "ratio": round((resolved - loaded) / TARGET, 3),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
