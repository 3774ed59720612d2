"""The name of a process, as `ps` and `top` show it: `tollhouse: web 1`."""

import ctypes
from contextlib import suppress
from pathlib import Path

NAME_BYTES_MAX = 15
ARG_START, ARG_END = 48, 49
"""The fields of `/proc/self/stat` with the addresses of the arguments, from 1 (proc(5))."""
FIELDS_OF_NAME = 2


def set_process_title(name: str) -> None:
    """Name this process. On systems other than Linux nothing happens.

    The title takes the place of the arguments, as long as they are, and a thread's name is short: only `name` is in it.
    """
    with suppress(OSError, ValueError):
        Path("/proc/self/comm").write_bytes(name.encode()[:NAME_BYTES_MAX])
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = (int(fields[number - 1 - FIELDS_OF_NAME]) for number in (ARG_START, ARG_END))
        if not 0 < start < end:
            return
        title = f"tollhouse: {name}".encode()[: end - start - 1]
        ctypes.memmove(start, title.ljust(end - start, b"\0"), end - start)
