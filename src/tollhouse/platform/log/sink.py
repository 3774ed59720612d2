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
from itertools import accumulate
from queue import SimpleQueue

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
        self._torn = self._closed = False
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Begin without a thread and without lines, as in a fork."""
        self._waiting: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        self._hurry = threading.Event()
        self._counting = threading.RLock()
        self.lost = 0
        """The number of lines lost since the process started."""
        self._unreported = 0
        self._stuck = False
        self._writer: threading.Thread | None = None

    def put(self, line: bytes) -> None:
        """Queue a line. Never blocks, never raises: a line for which there is no room is dropped and counted."""
        if self._closed or self._waiting.qsize() >= LINES_MAX or not self._has_writer():
            self.lose(1)
        else:
            self._waiting.put(line if len(line) <= LINE_BYTES_MAX else line[:LINE_BYTES_MAX] + b"\n")

    def lose(self, count: int) -> None:
        """Count lines that will not be written."""
        with self._counting:
            self.lost += count
            self._unreported += count

    def flush(self, within_s: float = FLUSH_WITHIN_S) -> None:
        """Wait until everything queued so far has been written, within a bound."""
        if self._closed or self._stuck or self._writer is None:
            return
        written = threading.Event()
        self._waiting.put(written)
        self._hurry.set()
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
        """Write what is queued, as many lines at once as fit in one write."""
        while True:
            lines: list[bytes] = []
            size, item = 0, self._waiting.get()
            while True:
                if isinstance(item, threading.Event) or size + len(item) > WRITE_BYTES:
                    self._write(lines)
                    lines, size = [], 0
                if isinstance(item, threading.Event):
                    item.set()
                else:
                    lines.append(item)
                    size += len(item)
                if self._waiting.empty():
                    break
                item = self._waiting.get()
            self._write(lines)
            self._hurry.wait(GATHER_S)
            self._hurry.clear()

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        if unreported := self._unreported:
            report = (b"\n" if self._torn else b"") + self._describe_loss(unreported)
            if self._write_all(report) < len(report):
                self.lose(len(lines))
                return
            with self._counting:
                self._unreported -= unreported
        data = b"".join(lines)
        written = self._write_all(data)
        self._torn = 0 < written < len(data)
        if written == len(data):
            self._stuck = False
        else:
            self.lose(sum(end > written for end in accumulate(map(len, lines))))

    def _write_all(self, data: bytes) -> int:
        """Write until an error. Returns the number of bytes written."""
        offset = 0
        while offset < len(data):
            try:
                offset += os.write(self._descriptor, data[offset:])
            except BlockingIOError:  # another process made the descriptor non-blocking: wait in this thread
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll(1000)
            except OSError:
                break
        return offset


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
