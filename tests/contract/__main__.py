"""Try the whole interface: `python -m tests.contract --cases 10000`, made from the reference, spread over every operation.

The seed goes to standard error, and plays the same requests again. Exit 1 where an answer is a fault of ours, or one that
the reference does not tell of.
"""

import argparse
import os
import secrets
import sys
from pathlib import Path

import pytest


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="how many requests at least")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="where to start; random, left to itself")
    chosen = parser.parse_args()
    os.environ |= {"CONTRACT_CASES": str(chosen.cases), "CONTRACT_SEED": str(chosen.seed)}
    print(f"seed {chosen.seed}", file=sys.stderr, flush=True)  # noqa: T201 - this is a command
    return int(pytest.main(["-rP", "-x", "-p", "no:cacheprovider", str(Path(__file__).parent / "test_contract.py")]))


if __name__ == "__main__":
    sys.exit(main())
