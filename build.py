#!/usr/bin/env python3
"""The entry point: `python build.py --matrix` plans, renders, builds, verifies and reports every image."""

from cubake.cli import main

if __name__ == "__main__":
    main()
