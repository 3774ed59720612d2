"""Writing the log to standard error in a thread, so that logging never blocks or fails.

A reader that stops, a full disk or a closed pipe lose lines, never a request. Lost lines are counted and reported in a
line as soon as writing works again.
"""

import atexit
import io
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

LINES_MAX = 10_000
"""The maximum number of queued lines."""
LINE_BYTES_MAX = 64 * 1024
WRITE_BYTES = getattr(select, "PIPE_BUF", 512)
"""Up to this length a write to a pipe is atomic: lines of several processes do not mix."""
END_WITHIN_S = 2.0
FLUSH_WITHIN_S = 1.0
GATHER_S = 0.02
"""After writing, the thread waits this long for more lines: waking it for each line would cost each request more than the
line. A line after silence is written at once."""


class LogSink:
    """Writes lines to a descriptor. `describe_loss` formats the line that reports the number of lost lines."""

    def __init__(self, descriptor: int, describe_loss: Callable[[int], bytes]) -> None:
        self._descriptor = descriptor
        self._describe_loss = describe_loss
        self._waiting: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        self._hurry: SimpleQueue[None] = SimpleQueue()
        self._counting = threading.RLock()
        self._lost = 0
        self._untold = 0
        self._torn = False
        self._stuck = False
        self._closed = False
        self._writer: threading.Thread | None = None
        os.register_at_fork(after_in_child=self._begin_in_child)

    def _begin_in_child(self) -> None:
        """A fork has no threads, and writes only its own lines."""
        self._waiting, self._hurry = SimpleQueue(), SimpleQueue()
        self._counting = threading.RLock()
        self._lost = self._untold = 0
        self._stuck = False
        self._writer = None

    @property
    def lost(self) -> int:
        """The number of lines lost since the process started."""
        return self._lost

    def put(self, line: bytes) -> None:
        """Queue a line. Never blocks, never raises: a line for which there is no room is dropped and counted."""
        if self._closed or self._waiting.qsize() >= LINES_MAX or not self._has_writer():
            self.lose(1)
        elif len(line) > LINE_BYTES_MAX:
            self._waiting.put(line[:LINE_BYTES_MAX] + b"\n")
        else:
            self._waiting.put(line)

    def lose(self, count: int) -> None:
        """Count lines that will not be written."""
        with self._counting:
            self._lost += count
            self._untold += count

    def flush(self, within_s: float = FLUSH_WITHIN_S) -> None:
        """Wait until everything queued so far has been written, within a bound."""
        if self._closed or self._stuck or self._writer is None:
            return
        written = threading.Event()
        self._waiting.put(written)
        self._hurry.put(None)
        self._stuck = not written.wait(within_s)

    def close(self) -> None:
        """Write the queued lines within a bound; later lines are dropped."""
        self._stuck = False
        self.flush(END_WITHIN_S)
        self._closed = True

    def _has_writer(self) -> bool:
        if self._writer is not None:
            return True
        writer = threading.Thread(target=self._write_on, daemon=True, name="log")
        try:
            writer.start()
        except RuntimeError:
            return False  # no thread available
        self._writer = writer
        atexit.register(self.close)
        return True

    def _write_on(self) -> None:
        while True:
            self._write_waiting(self._waiting.get())
            while not self._waiting.empty():
                self._write_waiting(self._waiting.get())
            with suppress(Empty):
                self._hurry.get(timeout=GATHER_S)

    def _write_waiting(self, first: bytes | threading.Event) -> None:
        """Write this line and those that fit in one write with it."""
        lines: list[bytes] = []
        ends: list[threading.Event] = []
        self._take(first, lines, ends)
        size = 0
        while not ends and size < WRITE_BYTES:
            size += len(lines[-1])
            try:
                self._take(self._waiting.get_nowait(), lines, ends)
            except Empty:
                break
        while lines:
            self._write(self._next_piece(lines))
        for end in ends:
            end.set()

    @staticmethod
    def _take(one: bytes | threading.Event, lines: list[bytes], ends: list[threading.Event]) -> None:
        if isinstance(one, bytes):
            lines.append(one)
        else:
            ends.append(one)

    @staticmethod
    def _next_piece(lines: list[bytes]) -> list[bytes]:
        """As many lines as fit in one write, at least one."""
        piece = [lines.pop(0)]
        size = len(piece[0])
        while lines and size + len(lines[0]) <= WRITE_BYTES:
            size += len(lines[0])
            piece.append(lines.pop(0))
        return piece

    def _write(self, lines: list[bytes]) -> None:
        if self._untold:
            untold = self._untold
            if self._write_all((b"\n" if self._torn else b"") + self._describe_loss(untold)) is not None:
                self.lose(len(lines))
                return
            self._torn = False
            with self._counting:
                self._untold -= untold
        data = b"".join(lines)
        written = self._write_all(data)
        if written is not None:
            self._torn = written > 0
            written_lines = 0
            for line in lines:
                written -= len(line)
                written_lines += written >= 0
            self.lose(len(lines) - written_lines)
        else:
            self._stuck = False

    def _write_all(self, data: bytes) -> int | None:
        """Write everything. None on success, otherwise the number of bytes written before the error."""
        offset = 0
        while offset < len(data):
            try:
                offset += os.write(self._descriptor, data[offset:])
            except BlockingIOError:
                self._wait_for_room()
            except OSError:
                return offset
        return None

    def _wait_for_room(self) -> None:
        """Another process made the descriptor non-blocking: wait in this thread."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        poll.poll(1000)


class SinkStream(io.TextIOBase):
    """A replacement of `sys.stderr` that neither blocks nor fails."""

    def __init__(self, sink: LogSink, descriptor: int) -> None:
        self._sink = sink
        self._descriptor = descriptor
        self._tty = os.isatty(descriptor)

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The encoding."""
        return "utf-8"

    def writable(self) -> bool:
        """Writable."""
        return True

    def isatty(self) -> bool:
        """Whether standard error is a terminal."""
        return self._tty

    def fileno(self) -> int:
        """The descriptor, for child processes."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Queue a text."""
        if text:
            self._sink.put(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def flush(self) -> None:
        """Wait a moment, so that output stays in order."""
        self._sink.flush()
