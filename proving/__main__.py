"""Prove one of the things that must hold of the service or of webhook delivery. Linux only; some need root.

Figures go to standard output, talk to standard error. Exit 1 when a figure does not keep its bound.
"""

import argparse
import resource
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from proving import (
    backlog,
    hostile,
    jump,
    kills,
    logs,
    outages,
    rebinding,
    sealed,
    signups,
    silence,
    sockets,
    spawning,
    strangers,
)
from proving.results import Figure, table

Proof = Callable[..., Coroutine[Any, Any, list[Figure]]]
"""Called with `quick`: a minute or so, else the full length, which is what must hold."""
PROOFS: dict[str, Proof] = {
    "kills": kills.prove,
    "outages": outages.prove,
    "silence": silence.prove,
    "jump": jump.prove,
    "strangers": strangers.prove,
    "backlog": backlog.prove,
    "rebinding": rebinding.prove,
    "hostile": hostile.prove,
    "signups": signups.prove,
    "sockets": sockets.prove,
    "logs": logs.prove,
    "spawning": spawning.prove,
}
SEALED = {"strangers", "rebinding"}
"""These need a network and a name server of their own."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m proving", description=__doc__)
    parser.add_argument("proof", choices=PROOFS, help="what to prove")
    parser.add_argument("--quick", action="store_true", help="a short run, to see that it works")
    chosen = parser.parse_args()
    if chosen.proof in SEALED:
        sealed.enter()
    if chosen.proof == "jump":
        jump.enter()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nothing that was started may outlive us
    figures = uvloop.run(PROOFS[chosen.proof](quick=chosen.quick))
    print(table(figures))
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
