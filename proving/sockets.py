"""Endless headers, slow bodies, and 2,000 idle sockets: the healthy do not notice, and none of them is refused."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from proving.attackers import KINDS
from proving.results import Figure, at_least, fact, must, percentile
from proving.served import Served, Visitor

VISITS_PER_S = 50.0
ROUNDS, QUICK_ROUNDS = 4, 2
STRETCH_S, QUICK_STRETCH_S = 20.0, 6.0
MOST_RATIO = 1.5


async def prove(*, quick: bool) -> list[Figure]:
    """Undisturbed stretches and those of an attack, in turns, for each kind of attack."""
    rounds, stretch_s = (QUICK_ROUNDS, QUICK_STRETCH_S) if quick else (ROUNDS, STRETCH_S)
    figures: list[Figure] = []
    async with Served(TOLLHOUSE_TRUSTED_PROXIES="none") as served:
        await Visitor(served).visit(VISITS_PER_S, 3.0)
        web = served.part("web")
        for kind in KINDS:
            visitor = Visitor(served)
            quiet: list[float] = []
            attacked: list[float] = []
            for _ in range(rounds):
                quiet += await visitor.visit(VISITS_PER_S, stretch_s)
                with attackers(kind, served.port):
                    attacked += await visitor.visit(VISITS_PER_S, stretch_s)
                await asyncio.sleep(1)
            before, during = percentile(quiet, 0.99), percentile(attacked, 0.99)
            figures += [
                fact(f"{kind}: undisturbed p50", percentile(quiet, 0.5), unit="ms"),
                fact(f"{kind}: undisturbed p99", before, unit="ms"),
                fact(f"{kind}: attacked p50", percentile(attacked, 0.5), unit="ms"),
                fact(f"{kind}: attacked p99", during, unit="ms"),
                must(f"{kind}: p99 of the undisturbed", during / before, MOST_RATIO, unit="times"),
                at_least(f"{kind}: requests", len(attacked), int(VISITS_PER_S * stretch_s) * rounds),
                must(f"{kind}: requests that failed", len(visitor.faults), 0),
            ]
            if visitor.faults:
                print(f"{kind}: {visitor.faults[:5]}", file=sys.stderr)
        figures.append(must("web processes that ended", int(served.part("web") != web), 0))
    return figures


@contextmanager
def attackers(kind: str, port: int) -> Iterator[None]:
    """All attackers of a kind, from when every one has begun."""
    crowd = subprocess.Popen([sys.executable, "-m", "proving.attackers", kind, str(port)], stdout=subprocess.PIPE)
    try:
        if crowd.stdout is not None:
            crowd.stdout.readline()
        yield
    finally:
        crowd.kill()
        crowd.wait()
