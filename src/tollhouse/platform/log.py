"""The log: one event a line, JSON when nobody watches, with the request's id and without anything secret.

What may be logged is on a list. A field that is not on it is replaced by its kind, so a new call cannot leak by accident.
"""

import logging
import sys
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

ALLOWED = frozenset(
    {
        "event", "level", "timestamp", "logger", "request_id", "method", "route", "status", "duration_ms", "code",
        "part", "pid", "port", "workers", "exit_status", "version", "merchant_id", "mode", "client_id", "grant_id",
        "event_id", "event_type", "attempt", "error", "host", "count", "migration", "exception", "reason", "detail",
        "base_url", "folder",
    }
)  # fmt: skip


def redact(_logger: WrappedLogger, _method: str, entry: EventDict) -> EventDict:
    """Keep the fields of the list; of every other one, only say that it was there."""
    return {name: value if name in ALLOWED else "[redacted]" for name, value in entry.items()}


def set_up(*, human: bool | None = None) -> None:
    """Log to standard error: readable lines on a terminal, JSON anywhere else."""
    human = sys.stderr.isatty() if human is None else human
    renderer: Any = structlog.dev.ConsoleRenderer() if human else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _traceback_without_locals,
            redact,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s", force=True)


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
