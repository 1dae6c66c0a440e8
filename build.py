#!/usr/bin/env python3
"""The entry point: `python build.py --matrix` plans, renders, builds, verifies and reports every image."""

import os
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv" / "bin" / "python"


def run() -> None:
    """Run the command line; where this Python lacks what it needs, with the Python that bin/quickstart made."""
    try:
        from cubake.cli import main

        main()
    except ModuleNotFoundError as error:
        if os.access(VENV, os.X_OK) and Path(sys.executable) != VENV:
            os.execv(VENV, [str(VENV), *sys.argv])
        missing = f"cubake needs its dependencies (missing: {error.name})"
        print(f"{missing}: run bin/quickstart, or use .venv/bin/python", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    run()
