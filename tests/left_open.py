"""Close the database connections that a failed test left open."""

from contextlib import suppress
from types import TracebackType

import asyncpg


def close_left_open(traceback: TracebackType | None) -> list[str]:
    """Close the connections in the local variables of these frames. Returns a line for each: its name and place.

    A report keeps the frames of a failed test, and with them its connections and their locks: the next tests would wait
    for these, and fail when the connections are collected at last.
    """
    closed: list[str] = []
    while traceback is not None:
        frame = traceback.tb_frame
        for name, value in frame.f_locals.items():
            if isinstance(value, asyncpg.Connection) and not value.is_closed():
                with suppress(RuntimeError):  # its loop is closed already, and with it the connection, which does not know
                    value.terminate()
                closed.append(f"{name} in {frame.f_code.co_name}, {frame.f_code.co_filename}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return closed
