"""A program with a fork server, for `test_forks`: the supervisor runs one scenario, parts do what they are told."""

import asyncio
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tollhouse.instance.forks import Forks, run
from tollhouse.platform.log import events as log

EXIT_STATUS = 7
WAITS_WITHOUT_SIGTERM = re.compile(rf"State:\tS.*SigBlk:\t0*{1 << (signal.SIGTERM - 1):x}\n", re.DOTALL)


def say(*words: object) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


async def starts_and_ends(forks: Forks) -> None:
    """A part has its arguments, variables, name and session; its end is reported."""
    part = await forks.start("greeter", ["greet", "hello"], {"GREETED": "world"})
    assert await part.wait() == EXIT_STATUS


async def signals(forks: Forks) -> None:
    """A part can be stopped by either signal, also one that has ended."""
    first, second = [await forks.start(name, ["sleep"], {}) for name in ("first", "second")]
    first.terminate()
    second.kill()
    say([await first.wait(), await second.wait()])
    first.kill()


async def many(forks: Forks) -> None:
    """Parts started at once are not confused."""
    parts = await asyncio.gather(*(forks.start("part", ["exit", str(number)], {}) for number in range(20)))
    say([await part.wait() for part in parts])


async def logs(forks: Forks) -> None:
    """Supervisor and part write to the log, although the process they are forks of has written."""
    log.log.info("from_supervisor")
    await (await forks.start("logger", ["log"], {})).wait()


async def waits(forks: Forks) -> None:
    """Parts run until somebody is killed."""
    for name in ("one", "two"):
        await forks.start(name, ["sleep"], {})
    say("ready", os.getpid())
    await asyncio.sleep(60)


async def stops(_forks: Forks) -> None:
    """Somebody stops the service. Another thread of the fork server gets the signal, which interrupts nothing."""
    status = Path(f"/proc/{os.getppid()}/status")
    while not WAITS_WITHOUT_SIGTERM.search(status.read_text()):
        await asyncio.sleep(0.01)
    os.kill(os.getppid(), signal.SIGTERM)
    await asyncio.sleep(60)


def part(arguments: Sequence[str]) -> int:
    """Run one part."""
    match arguments:
        case ["greet", word]:
            name = Path("/proc/self/comm").read_text().strip()
            title = Path("/proc/self/cmdline").read_bytes().rstrip(b"\0").decode()
            say(name, f"[{title}]", word, os.environ["GREETED"], os.getsid(0) == os.getpid())
        case ["exit", number]:
            return int(number)
        case ["log"]:
            log.log.info("from_part")
        case _:
            sys.stdin.read()
    return EXIT_STATUS


def supervise(control: socket.socket) -> int:
    """Run the scenario that was asked for; `unready`, `broken` and `missed` are those of one that ends early."""
    scenario = sys.argv[1]
    if scenario == "unready":
        signal.pause()
    if scenario in {"broken", "missed"}:
        return EXIT_STATUS

    async def play() -> None:
        await globals()[scenario](Forks(control))

    asyncio.run(play())
    return 0


def load() -> None:
    """What takes time before parts can be forked."""
    if sys.argv[1] == "logs":
        log.log.info("from_loading")
    if sys.argv[1] in {"unready", "broken"}:
        say("loading")
        time.sleep(60)
    if sys.argv[1] == "stops":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if sys.argv[1] == "missed":  # the signal comes before somebody waits for it
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)


if __name__ == "__main__":
    log.set_up(human=False)
    sys.exit(run(supervise, load, part))
