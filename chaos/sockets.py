"""Endless headers, slow bodies and 2,000 idle sockets: healthy requests stay fast, and none is refused."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from chaos.attackers import KINDS
from chaos.figures import Figure, at_least, at_most, fact, percentile
from chaos.service import HealthyClient, RunningService

REQUESTS_PER_S = 50.0
ROUNDS, QUICK_ROUNDS = 4, 2
STRETCH_S, QUICK_STRETCH_S = 20.0, 6.0
RATIO_MAX = 1.5


async def run(*, quick: bool) -> list[Figure]:
    """Alternate undisturbed periods and periods under attack, for each kind of attack."""
    rounds, stretch_s = (QUICK_ROUNDS, QUICK_STRETCH_S) if quick else (ROUNDS, STRETCH_S)
    figures: list[Figure] = []
    async with RunningService(TOLLHOUSE_TRUSTED_PROXIES="none") as service:
        await HealthyClient(service.url).send_requests(REQUESTS_PER_S, 3.0)
        web = service.part("web")
        for kind in KINDS:
            client = HealthyClient(service.url)
            quiet: list[float] = []
            attacked: list[float] = []
            for _ in range(rounds):
                quiet += await client.send_requests(REQUESTS_PER_S, stretch_s)
                with attackers(kind, service.port):
                    attacked += await client.send_requests(REQUESTS_PER_S, stretch_s)
                await asyncio.sleep(1)
            before, during = percentile(quiet, 0.99), percentile(attacked, 0.99)
            figures += [
                fact(f"{kind}: undisturbed p50", percentile(quiet, 0.5), unit="ms"),
                fact(f"{kind}: undisturbed p99", before, unit="ms"),
                fact(f"{kind}: attacked p50", percentile(attacked, 0.5), unit="ms"),
                fact(f"{kind}: attacked p99", during, unit="ms"),
                at_most(f"{kind}: p99 of the undisturbed", during / before, RATIO_MAX, unit="times"),
                at_least(f"{kind}: requests", len(attacked), int(REQUESTS_PER_S * stretch_s) * rounds),
                at_most(f"{kind}: requests that failed", len(client.problems), 0),
            ]
            if client.problems:
                print(f"{kind}: {client.problems[:5]}", file=sys.stderr)
        figures.append(at_most("web processes that ended", int(service.part("web") != web), 0))
    return figures


@contextmanager
def attackers(kind: str, port: int) -> Iterator[None]:
    """Run all attackers of a kind while the block runs."""
    process = subprocess.Popen([sys.executable, "-m", "chaos.attackers", kind, str(port)], stdout=subprocess.PIPE)
    try:
        if process.stdout is not None:
            process.stdout.readline()
        yield
    finally:
        process.kill()
        process.wait()
