"""How results are printed: for people, or as JSON in one line for programs."""

import argparse
import json
from typing import Any


def show(options: argparse.Namespace, result: Any, line: str | None = None) -> None:
    """Print a result; `line` is what a person is shown instead of all of it."""
    if isinstance(result, str):
        print(result, end="" if result.endswith("\n") else "\n")
    elif options.json:
        print(json.dumps(result, separators=(",", ":")), flush=True)
    elif line is not None:
        print(line, flush=True)
    else:
        print(json.dumps(result, indent=2, ensure_ascii=False))
