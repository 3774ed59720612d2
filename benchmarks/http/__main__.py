"""Time sequential requests to /healthz on one kept connection: as `serve` answers them, as `web` alone does, and the floor.

Each round makes fifty requests to each of the three in turns; its figure is their median. Data goes to standard output, talk
to standard error. Exit 1 when the service as it is started by a user is not within the bound of the floor.
"""

import argparse
import http.client
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import servers
from tollhouse.instance.database import embedded

REQUESTS = 50
RATIO_MAX = 10.0
"""An answer that waits for an acknowledgement takes a hundred times the floor."""


def median_ms(port: int) -> float:
    """The median of fifty requests on one connection, the first, which opens it, left out."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    took: list[float] = []
    for _ in range(REQUESTS + 1):
        began = time.perf_counter()
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        took.append((time.perf_counter() - began) * 1000)
        if answer.status != 200:  # noqa: PLR2004
            raise RuntimeError(f"port {port} answered {answer.status}")
    connection.close()
    return statistics.median(took[1:])


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tollhouse-bench-") as name, ExitStack() as last:
        folder = Path(name)
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        settings = {"DATABASE_URL": database.cluster.dsn, "TOLLHOUSE_SECRET_KEYS": servers.SECRET_KEYS}
        harness = {
            who: last.enter_context(servers.started([sys.executable, "-m", *words], settings)).port
            for who, words in (
                ("serve", ["tollhouse", "serve", "--port", "{port}"]),
                ("web", ["tollhouse", "web", "--port", "{port}"]),
                ("floor", ["benchmarks.http.bare", "{port}"]),
            )
        }
        rounds: dict[str, list[float]] = {who: [] for who in harness}
        for turn in range(chosen.rounds):
            for who in list(harness)[:: 1 if turn % 2 == 0 else -1]:
                rounds[who].append(median_ms(harness[who]))
    floor = rounds["floor"]
    print(f"{'/healthz':<10} {'median ms':>24} {'times the floor':>16}")
    for who, found in rounds.items():
        figures = f"{statistics.median(found):.2f} [{min(found):.2f}-{max(found):.2f}]"
        print(f"{who:<10} {figures:>24} {ratio(found, floor):>16.2f}")
    return 0 if ratio(rounds["serve"], floor) <= RATIO_MAX else 1


def ratio(found: list[float], floor: list[float]) -> float:
    """The median of each round's ratio to the floor in the same round."""
    return statistics.median(one / under for one, under in zip(found, floor, strict=True))


if __name__ == "__main__":
    sys.exit(main())
