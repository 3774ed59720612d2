"""Parts of the service as new processes, where forking a loaded program is not safe, as on macOS."""

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence


class Spawns:
    """Starts `tollhouse` with other arguments. The new processes inherit these descriptors."""

    def __init__(self, *descriptors: int) -> None:
        self._descriptors = descriptors

    async def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Process:
        """Start a process. Raises `OSError`."""
        del name
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tollhouse",
            *arguments,
            env={**os.environ, **environment},
            stdin=asyncio.subprocess.PIPE,
            pass_fds=self._descriptors,
            start_new_session=True,
        )
