"""Play many histories of an adversary: `python -m tests.adversary_model --runs 20000 --jobs 2`.

Progress goes to standard error; what goes wrong to standard output, with its seed. Exit 1 if anything did.
"""

import argparse
import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import structlog

from tests.adversary_model.playing import BATCH, histories
from tests.running import make_template
from tollhouse.instance.database import embedded


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.adversary_model", description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000, help="how many histories")
    parser.add_argument("--seed", type=int, default=0, help="that of the first; the others follow it")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the histories")
    parser.add_argument("--violations", type=int, default=1, help="stop after so many, in each process")
    parser.add_argument("--tell", action="store_true", help="tell every history")
    chosen = parser.parse_args()
    if chosen.jobs > 1:
        return together(chosen)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    begun, found, played = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="tollhouse-adversary-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        server = embedded.start(folder / "data")
        try:
            asyncio.run(make_template(server.cluster.dsn))
            for played, one in enumerate(histories(server.cluster.dsn, chosen.runs, chosen.seed), 1):
                if one.violations or chosen.tell:
                    print(one, flush=True)  # noqa: T201 - this is a command
                found += bool(one.violations)
                if found >= chosen.violations:
                    break
                if played % BATCH == 0:
                    talk(f"{played} of {chosen.runs} histories, {time.monotonic() - begun:.0f} s")
        finally:
            server.stop()
    talk(f"{played} histories from seed {chosen.seed}, {time.monotonic() - begun:.0f} s: {found} in which money is missing")
    return 1 if found else 0


def together(chosen: argparse.Namespace) -> int:
    """Give each process its share of the seeds, and wait for all."""
    share = -(-chosen.runs // chosen.jobs)
    players: list[subprocess.Popen[bytes]] = []
    for before in range(0, chosen.runs, share):
        runs = min(share, chosen.runs - before)
        command = ["-m", "tests.adversary_model", f"--runs={runs}", f"--seed={chosen.seed + before}"]
        players.append(subprocess.Popen([sys.executable, *command, f"--violations={chosen.violations}"]))
    return max(player.wait() for player in players)


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is a command


if __name__ == "__main__":
    sys.exit(main())
