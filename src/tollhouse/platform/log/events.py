"""The log: one event per line, JSON unless on a terminal, with the request id and without secrets.

Logging never blocks and never raises: lines that cannot be written are dropped and counted (`platform/log/sink.py`).

Fields must be on a list. The value of any other field is redacted, so a new call cannot leak by accident. Fields without a
value are left out.
"""

import json
import logging
import sys
from contextvars import ContextVar
from typing import Any

import msgspec
import structlog
from structlog.typing import EventDict, WrappedLogger

from tollhouse.kernel import clock
from tollhouse.platform.log.sink import LogSink, SinkStream

ALLOWED = frozenset(
    {
        "event", "level", "timestamp", "logger", "request_id", "method", "route", "status", "duration_ms", "code",
        "part", "pid", "port", "workers", "exit_status", "version", "merchant_id", "mode", "client_id", "grant_id",
        "event_id", "event_type", "attempt", "error", "host", "count", "migration", "exception", "reason", "detail",
        "base_url", "folder", "holder_id", "retry_after_s", "advice", "font", "head", "table", "transaction_id",
        "server_request_id", "object_ids",
    }
)  # fmt: skip


request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The current request, for every line that is logged during it."""

STANDARD_ERROR = 2
_ENCODER = msgspec.json.Encoder(enc_hook=repr)


class _Writer:
    """Receives finished lines from structlog."""

    def __init__(self, *_: object) -> None:
        pass

    def msg(self, line: str | bytes) -> None:
        """Queue a line."""
        if _sink is not None:
            _sink.put((line if isinstance(line, bytes) else line.encode("utf-8", "backslashreplace")) + b"\n")

    debug = info = warning = error = critical = msg


_Filtering: Any = structlog.make_filtering_bound_logger(logging.INFO)


class _Log(_Filtering):
    """A logger that never raises: a line that cannot be formatted is dropped and counted."""

    def _proxy_to_logger(self, method_name: str, event: str | None = None, *event_args: str, **event_kw: Any) -> Any:
        try:
            usual: Any = super()
            return usual._proxy_to_logger(method_name, event, *event_args, **event_kw)  # noqa: SLF001 - structlog's way in
        except Exception:  # noqa: BLE001 - whatever it is, the deed is done and must not fail by its line
            if _sink is not None:
                _sink.lose(1)


class _FromLibraries(logging.Handler):
    """Messages of libraries as lines of this log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it; a message whose arguments do not fit is dropped."""
        try:
            say = log.error if record.levelno >= logging.ERROR else log.warning
            error = record.exc_info[1] if record.exc_info else None
            say("library_message", logger=record.name, detail=record.getMessage(), **({"exc_info": error} if error else {}))
        except Exception:  # noqa: BLE001 - as above
            if _sink is not None:
                _sink.lose(1)


_sink: LogSink | None = None


def set_up(*, human: bool | None = None) -> None:
    """Log to standard error: readable lines on a terminal, otherwise JSON. Writing there never blocks or fails."""
    global _sink  # noqa: PLW0603 - a process has one standard error
    if not isinstance(sys.stderr, SinkStream):
        _sink = LogSink(STANDARD_ERROR, _describe_loss)
        sys.stderr = SinkStream(_sink, STANDARD_ERROR)
    human = sys.stderr.isatty() if human is None else human
    structlog.configure(
        processors=[_traceback_without_locals, _redact_and_date, structlog.dev.ConsoleRenderer() if human else _as_json],
        wrapper_class=_Log,
        logger_factory=_Writer,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_FromLibraries()], force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are answered and logged by `http_protocol`


def lost_lines() -> int:
    """The number of lines that this process could not write."""
    return 0 if _sink is None else _sink.lost


def _describe_loss(count: int) -> bytes:
    entry = {"event": "log_lines_lost", "count": count, "level": "warning", "timestamp": clock.now()}
    return _ENCODER.encode(entry) + b"\n"


def _redact_and_date(_logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:
    """Keep the listed fields that have a value, redact others, and add request, level and time."""
    line = {name: value if name in ALLOWED else "[redacted]" for name, value in entry.items() if value is not None}
    current_id = request_id.get()
    if current_id is not None:
        line["request_id"] = current_id
    line["level"] = method
    line["timestamp"] = clock.now()
    return line


def _as_json(_logger: WrappedLogger, _method: str, entry: EventDict) -> bytes:
    """One line. Values that JSON cannot represent are written as Python prints them: logging must not fail a request."""
    try:
        return _ENCODER.encode(entry)
    except UnicodeEncodeError:
        return json.dumps(entry, default=str).encode()  # a lone surrogate: this encoder escapes it


def _traceback_without_locals(_logger: WrappedLogger, _method: str, entry: EventDict) -> EventDict:
    """Files and lines of an exception and its type, without its text and variables, which may contain secrets."""
    error = entry.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        lines: list[str] = []
        trace = error.__traceback__
        while trace is not None:
            lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno} in {trace.tb_frame.f_code.co_name}")
            trace = trace.tb_next
        entry["exception"] = [type(error).__name__, *lines]
    return entry


log: Any = structlog.get_logger("tollhouse")
