"""The log: one event a line, JSON when nobody watches, with the request's id and without anything secret.

What may be logged is on a list. A field that is not on it is replaced by its kind, so a new call cannot leak by accident.
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

ALLOWED = frozenset(
    {
        "event", "level", "timestamp", "logger", "request_id", "method", "route", "status", "duration_ms", "code",
        "part", "pid", "port", "workers", "exit_status", "version", "merchant_id", "mode", "client_id", "grant_id",
        "event_id", "event_type", "attempt", "error", "host", "count", "migration", "exception", "reason", "detail",
        "base_url", "folder", "holder_id", "retry_after_s",
    }
)  # fmt: skip


request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The request that is being answered, for every line written meanwhile."""

_ENCODER = msgspec.json.Encoder(enc_hook=repr)


def set_up(*, human: bool | None = None) -> None:
    """Log to standard error: readable lines on a terminal, JSON anywhere else."""
    human = sys.stderr.isatty() if human is None else human
    renderer, out = (
        (structlog.dev.ConsoleRenderer(), structlog.PrintLoggerFactory(sys.stderr))
        if human
        else (_as_json, structlog.BytesLoggerFactory(sys.stderr.buffer))
    )
    structlog.configure(
        processors=[_traceback_without_locals, _redact_and_date, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=out,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s", force=True)


def _redact_and_date(_logger: WrappedLogger, method: str, entry: EventDict) -> EventDict:
    """Keep the fields of the list, and of every other one only that it was there; add which request, how grave and when."""
    line = {name: value if name in ALLOWED else "[redacted]" for name, value in entry.items()}
    asked = request_id.get()
    if asked is not None:
        line["request_id"] = asked
    line["level"] = method
    line["timestamp"] = clock.now()
    return line


def _as_json(_logger: WrappedLogger, _method: str, entry: EventDict) -> bytes:
    """One line. What no JSON can hold is shown as Python shows it: writing a line may not fail a request."""
    try:
        return _ENCODER.encode(entry)
    except UnicodeEncodeError:
        return json.dumps(entry, default=str).encode()  # half a character: this encoder spells it out


def _traceback_without_locals(_logger: WrappedLogger, _method: str, entry: EventDict) -> EventDict:
    """Files and lines of an exception, and its type: neither its text nor its variables, which may hold secrets."""
    fault = entry.pop("exc_info", None)
    if fault is True:
        fault = sys.exc_info()[1]
    if isinstance(fault, BaseException):
        lines: list[str] = []
        trace = fault.__traceback__
        while trace is not None:
            lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno} in {trace.tb_frame.f_code.co_name}")
            trace = trace.tb_next
        entry["exception"] = [type(fault).__name__, *lines]
    return entry


log: Any = structlog.get_logger("tollhouse")
