"""The clock of every process jumps, by days and months: whatever is recorded after it is written and delivered at once."""

import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from proving.bed import COUNT_EVENTS, Bed
from proving.kills import RECEIVERS, WORKERS, destinations
from proving.producing import Producer
from proving.receiving import Receivers, hosts
from proving.results import Figure, fact, must
from tollhouse.kernel import clock

SHARED = "FAKETIME_SHARED"
SOURCE = Path(__file__).parents[1] / "scripts" / "moved_clock.c"
JUMPS = tuple(timedelta(days=days) for days in (3, 7, 45, 200, -200, 0))
"""From the true time. The last ones go back."""
EVENTS_PER_S = 20
SECONDS, QUICK_SECONDS = 30.0, 5.0
ARRIVE_WITHIN_S = 60.0
FIRST_WITHIN_S = 5.0
INSERT_ACCESS = """
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at)
    VALUES (sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), 1, $1)
"""


def enter() -> None:
    """Run this command again with a clock that can be moved, unless it has one. Needs a C compiler."""
    if os.environ.get(SHARED):
        return
    folder = Path(tempfile.mkdtemp(prefix="tollhouse-clock-"))
    folder.chmod(0o711)
    library, shared = folder / "moved_clock.so", folder / "offset"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    shared.write_bytes(bytes(8))
    shared.chmod(0o644)
    moved = os.environ | {"LD_PRELOAD": str(library), SHARED: str(shared)}
    os.execvpe(sys.executable, [sys.executable, "-m", "proving", *sys.argv[1:]], moved)  # noqa: S606 - our own command


def move_clocks(offset: timedelta) -> None:
    """Move the clock of every process that looks at the shared file, from the true time."""
    with Path(os.environ[SHARED]).open("r+b") as file:
        file.write(int(offset.total_seconds()).to_bytes(8, "little", signed=True))


async def prove(*, quick: bool) -> list[Figure]:
    """Half a minute at each time, or five seconds."""
    seconds = QUICK_SECONDS if quick else SECONDS
    async with Bed(TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS="0") as bed, Receivers(hosts(10, RECEIVERS)) as receivers:
        workers = [bed.start_worker() for _ in range(WORKERS)]
        producer = Producer(bed)
        where = await destinations(bed, receivers.urls)
        numbers = await producer.produce(where, EVENTS_PER_S, seconds)
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        first_s: list[float] = []
        for jump in JUMPS:
            move_clocks(jump)
            began = time.perf_counter()
            one = await producer.record(where[0])
            await bed.services.db.execute(INSERT_ACCESS, clock.now() + timedelta(minutes=15))
            missing |= await receivers.wait_for([one], ARRIVE_WITHIN_S)
            first_s.append(time.perf_counter() - began)
            numbers += [one, *await producer.produce(where, EVENTS_PER_S, seconds)]
            missing |= await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        waiting = await bed.settle_down(ARRIVE_WITHIN_S)
        return [
            fact("events committed", len(numbers)),
            fact("jumps", len(JUMPS)),
            must("until the first event after a jump arrived", max(first_s), FIRST_WITHIN_S, unit="s"),
            must("recorded only at a second try", producer.repeated, 0),
            must("lost", len(missing), 0),
            must("recorded twice or not at all", abs(await bed.count(COUNT_EVENTS) - len(numbers)), 0),
            must("still waiting", waiting, 0),
            must("workers that ended", sum(not worker.alive for worker in workers), 0),
            must("broken invariants", len(await bed.broken()), 0),
        ]
