"""All clocks jump by days and months: events recorded after a jump are written and delivered at once."""

import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from chaos.figures import Figure, at_most, fact
from chaos.kills import RECEIVERS, WORKERS, destinations
from chaos.producer import Producer
from chaos.receivers import Receivers, hosts
from chaos.testbed import COUNT_EVENTS, Testbed
from tollhouse.kernel import clock

SHARED = "FAKETIME_SHARED"
SOURCE = Path(__file__).parents[1] / "scripts" / "moved_clock.c"
JUMPS = tuple(timedelta(days=days) for days in (3, 7, 45, 200, -200, 0))
"""Offsets from the true time. The last two move back."""
EVENTS_PER_S = 20
SECONDS, QUICK_SECONDS = 30.0, 5.0
ARRIVE_WITHIN_S = 60.0
FIRST_WITHIN_S = 5.0
INSERT_ACCESS = """
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at)
    VALUES (sha256(gen_random_uuid()::text::bytea), gen_random_uuid(), 1, $1)
"""


def enter() -> None:
    """Run this command again with an adjustable clock, unless it has one. Needs a C compiler."""
    if os.environ.get(SHARED):
        return
    folder = Path(tempfile.mkdtemp(prefix="tollhouse-clock-"))
    folder.chmod(0o711)
    library, shared = folder / "moved_clock.so", folder / "offset"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    shared.write_bytes(bytes(8))
    shared.chmod(0o644)
    moved = os.environ | {"LD_PRELOAD": str(library), SHARED: str(shared)}
    os.execvpe(sys.executable, [sys.executable, "-m", "chaos", *sys.argv[1:]], moved)  # noqa: S606 - our own command


def move_clocks(offset: timedelta) -> None:
    """Set the offset from the true time for every process that reads the shared file."""
    with Path(os.environ[SHARED]).open("r+b") as file:
        file.write(int(offset.total_seconds()).to_bytes(8, "little", signed=True))


async def run(*, quick: bool) -> list[Figure]:
    """Run for 30 seconds at each offset, or 5 seconds."""
    seconds = QUICK_SECONDS if quick else SECONDS
    async with Testbed(TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS="0") as testbed, Receivers(hosts(10, RECEIVERS)) as receivers:
        workers = [testbed.start_worker() for _ in range(WORKERS)]
        producer = Producer(testbed)
        targets = await destinations(testbed, receivers.urls)
        numbers = await producer.produce(targets, EVENTS_PER_S, seconds)
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        first_s: list[float] = []
        for jump in JUMPS:
            move_clocks(jump)
            began = time.perf_counter()
            one = await producer.record(targets[0])
            await testbed.services.db.execute(INSERT_ACCESS, clock.now() + timedelta(minutes=15))
            missing |= await receivers.wait_for([one], ARRIVE_WITHIN_S)
            first_s.append(time.perf_counter() - began)
            numbers += [one, *await producer.produce(targets, EVENTS_PER_S, seconds)]
            missing |= await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        waiting = await testbed.wait_until_delivered(ARRIVE_WITHIN_S)
        return [
            fact("events committed", len(numbers)),
            fact("jumps", len(JUMPS)),
            at_most("until the first event after a jump arrived", max(first_s), FIRST_WITHIN_S, unit="s"),
            at_most("recorded only at a second try", producer.repeated, 0),
            at_most("lost", len(missing), 0),
            at_most("recorded twice or not at all", abs(await testbed.count(COUNT_EVENTS) - len(numbers)), 0),
            at_most("still waiting", waiting, 0),
            at_most("workers that ended", sum(not worker.alive for worker in workers), 0),
            at_most("broken invariants", len(await testbed.broken()), 0),
        ]
