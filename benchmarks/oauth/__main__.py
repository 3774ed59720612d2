"""Measure the requests of this group: see `benchmarks.harness.command`."""

import sys

from benchmarks.harness.command import main

if __name__ == "__main__":
    sys.exit(main("oauth"))
