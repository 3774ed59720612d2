"""Runs a supervisor and the parts of the service that it starts."""

import asyncio
import importlib
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from tollhouse.instance import forks
from tollhouse.instance.spawns import Spawns
from tollhouse.instance.supervisor import Starter

PARTS, COMMAND_LINE = "tollhouse.instance.cli.parts", "tollhouse.instance.cli.main"
"""The module that imports all that parts need, and the one that runs them."""


def run_supervised(supervise: Callable[[Starter], Coroutine[Any, Any, int]], *descriptors: int) -> int:
    """Run a supervisor with its parts; the exit status. Parts inherit these descriptors, and their own arguments.

    On Linux the parts are forks of this process. Elsewhere system libraries do not allow that, and they are new processes.
    """
    if sys.platform != "linux":
        return asyncio.run(supervise(Spawns(*descriptors)))

    async def with_forks(control: socket.socket) -> int:
        return await supervise(forks.Forks(control))

    return forks.run(lambda control: asyncio.run(with_forks(control)), _load, _run_part)


def _load() -> None:
    importlib.import_module(PARTS)


def _run_part(arguments: Sequence[str]) -> int:
    return importlib.import_module(COMMAND_LINE).main(arguments)
