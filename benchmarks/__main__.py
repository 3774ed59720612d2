"""Measure requests of all kinds beside the floor: one table. `python -m benchmarks --help`."""

import sys

from benchmarks.harness.command import main

if __name__ == "__main__":
    sys.exit(main())
