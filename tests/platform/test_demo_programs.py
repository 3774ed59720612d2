"""Programs of the demo end with it, and with themselves."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.processes import alive, below
from tollhouse.instance.demo import programs

OWNER = """
import asyncio, sys
from pathlib import Path
from tollhouse.instance.demo import programs
async def own():
    async with programs.running(Path(sys.argv[1]), "sleep", "600"):
        print("started", flush=True)
        await asyncio.sleep(600)
asyncio.run(own())
"""


async def test_a_program_ends_with_its_context_and_by_itself(tmp_path: Path) -> None:
    async with programs.running(tmp_path / "out", "sleep", "600") as guard:
        while not (started := below(guard.pid)):
            await asyncio.sleep(0.01)
    assert not any(alive(pid) for pid in (guard.pid, *started))
    async with programs.running(tmp_path / "out", "sh", "-c", "echo over; exit 3") as guard:
        assert await guard.wait() == 3
    assert (tmp_path / "out").read_text() == "over\n"


async def test_a_program_ends_when_the_demo_is_killed(tmp_path: Path) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(tmp_path / "out"), stdout=asyncio.subprocess.PIPE
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"started\n"
    started = below(owner.pid)
    os.kill(owner.pid, signal.SIGKILL)
    await owner.wait()
    assert started
    while any(alive(pid) for pid in started):
        await asyncio.sleep(0.01)
