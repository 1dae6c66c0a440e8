"""How long `build.py --help` takes (design section 10: less than 0.2 s), and an `explain`.

    python bench/help.py

One JSON line: the best of several runs in seconds, and `ratio`, help against the 0.2 s it may take; `python_s` is what
an empty program takes on the same machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

TARGET = 0.2  # seconds
RUNS = 7
BUILD = str(Path(__file__).resolve().parents[1] / "build.py")


def best(*arguments: str) -> float:
    """The shortest of several runs: what the machine did besides only makes a run longer."""

    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    return round(min(once() for _ in range(RUNS)), 3)


def main() -> None:
    shown = best(BUILD, "--help")
    line = {
        "bench": "help",
        "help_s": shown,
        "explain_s": best(BUILD, "explain", "pytorch=2.6", "cuda=12.4"),
        "python_s": best("-c", "pass"),
        "ratio": round(shown / TARGET, 3),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
