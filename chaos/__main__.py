"""Run one chaos experiment against the service or webhook delivery. Linux only; some experiments need root.

Figures go to standard output, messages to standard error. Exits 1 when a figure exceeds its bound.
"""

import argparse
import resource
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop

from chaos import (
    administrator,
    alerts,
    backlog,
    containers,
    failover,
    hostile,
    jump,
    kills,
    logs,
    network_namespace,
    outages,
    rebinding,
    rolling,
    signups,
    silence,
    sockets,
    spawning,
    strangers,
)
from chaos.figures import Figure, table

Experiment = Callable[..., Coroutine[Any, Any, list[Figure]]]
"""Called with `quick`: about a minute; otherwise the full length, which is the one that counts."""
EXPERIMENTS: dict[str, Experiment] = {
    "kills": kills.run,
    "outages": outages.run,
    "silence": silence.run,
    "jump": jump.run,
    "strangers": strangers.run,
    "backlog": backlog.run,
    "rebinding": rebinding.run,
    "hostile": hostile.run,
    "signups": signups.run,
    "sockets": sockets.run,
    "logs": logs.run,
    "spawning": spawning.run,
    "rolling": rolling.run,
    "failover": failover.run,
    "containers": containers.run,
    "administrator": administrator.run,
    "alerts": alerts.run,
}
NAMESPACED = {"strangers", "rebinding"}
"""These run in a network namespace with their own name server."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("experiment", choices=EXPERIMENTS, help="the experiment to run")
    parser.add_argument("--quick", action="store_true", help="a short run that checks the experiment itself")
    chosen = parser.parse_args()
    if chosen.experiment in NAMESPACED:
        network_namespace.enter()
    if chosen.experiment == "jump":
        jump.enter()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # child processes are stopped on the way out
    figures = uvloop.run(EXPERIMENTS[chosen.experiment](quick=chosen.quick))
    print(table(figures))
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
