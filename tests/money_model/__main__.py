"""Play many histories, each batch on a database of its own: `python -m tests.money_model --runs 5000`.

Progress and the seed go to standard error. Exit 1 when books and service come apart; the seed of a batch plays it again.
"""

import argparse
import asyncio
import logging
import secrets
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import structlog

from tests.money_model.playing import BATCH, STEPS, play
from tests.running import make_template
from tollhouse.instance.database import embedded


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.money_model", description=__doc__)
    parser.add_argument("--runs", type=int, default=5_000, help="how many histories")
    parser.add_argument("--steps", type=int, default=STEPS, help="how long each is")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="where to start; random, left to itself")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the histories")
    chosen = parser.parse_args()
    if chosen.jobs > 1:
        return together(chosen)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    talk(f"seed {chosen.seed}")
    begun = time.monotonic()
    batch = None
    with tempfile.TemporaryDirectory(prefix="tollhouse-money-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        server = embedded.start(folder / "data")
        try:
            asyncio.run(make_template(server.cluster.dsn))
            for batch in play(server.cluster.dsn, chosen.runs, steps=chosen.steps, start=chosen.seed):
                talk(f"{batch.before} of {chosen.runs} histories, {time.monotonic() - begun:.0f} s")
        except Exception:  # noqa: BLE001 - whatever came apart is told, with the way to see it again
            traceback.print_exc()
            if batch is not None:
                talk(f"failed: python -m tests.money_model --runs {batch.runs} --steps {chosen.steps} --seed {batch.seed}")
            return 1
        finally:
            server.stop()
    talk(f"{chosen.runs} histories, {time.monotonic() - begun:.0f} s: the service and the books agree")
    return 0


def together(chosen: argparse.Namespace) -> int:
    """Give each process its share of the batches, with seeds of its own, and wait for all."""
    share = -(-chosen.runs // chosen.jobs // BATCH) * BATCH
    players: list[subprocess.Popen[bytes]] = []
    for before in range(0, chosen.runs, share):
        runs, seed = min(share, chosen.runs - before), chosen.seed + before // BATCH
        command = ["-m", "tests.money_model", f"--runs={runs}", f"--steps={chosen.steps}", f"--seed={seed}"]
        players.append(subprocess.Popen([sys.executable, *command]))
    return max(player.wait() for player in players)


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is a command


if __name__ == "__main__":
    sys.exit(main())
