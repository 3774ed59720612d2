"""Spans of requests, of the time that each has a database connection, and of deliveries.

No span has text from a request: paths are those of operations, and statements and bodies are left out.
"""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tollhouse.http.operations import Operation
from tollhouse.http.request import Request
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.transaction import DatabaseConnection
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.webhooks.delivery.attempt_metrics import kind_of, outcome_label
from tollhouse.webhooks.delivery.signed_request import Claim

NAME = "tollhouse"
PROPAGATED = (b"traceparent", b"tracestate")
SERVER_ERROR = 500
NS_PER_MS = 1_000_000
EXPORT_WITHIN_S = 3
"""For a batch of 512 spans, with its retries. At most four batches wait when a process ends."""


class Tracing:
    """What is traced, and where the spans go: by default in batches to an OTLP collector."""

    def __init__(self, url: str, processor: SpanProcessor | None = None) -> None:
        named = {} if "OTEL_SERVICE_NAME" in os.environ else {SERVICE_NAME: NAME}
        resource = Resource.create({SERVICE_VERSION: version("tollhouse"), **named})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(
            processor or BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=EXPORT_WITHIN_S))
        )
        self._tracer = self._provider.get_tracer(NAME)

    @property
    def pool(self) -> "Callable[..., Pool]":
        """What makes the pool of database connections."""
        return partial(TracedPool, tracer=self._tracer)

    def application(self, inner: ASGIApp) -> "TracedApplication":
        """An application whose requests have spans, which `record` names."""
        return TracedApplication(inner, self._tracer)

    def record(self, request: Request, operation: Operation | None, response: Response, duration_us: int) -> None:
        """Name the span of the current request, as a `RequestRecorder`."""
        del duration_us
        span = trace.get_current_span()
        if operation is not None:
            span.update_name(f"{operation.method} {operation.full_path}")
            span.set_attribute("http.route", operation.full_path)
        span.set_attribute("http.response.status_code", response.status_code)
        span.set_attribute("tollhouse.request_id", request.request_id)
        if response.status_code >= SERVER_ERROR:
            span.set_status(StatusCode.ERROR)

    def record_attempt(self, claim: Claim, outcome: Outcome) -> None:
        """Add the span of an attempt to deliver an event, which has ended."""
        started_ns = round(claim.started_at.timestamp() * 1000) * NS_PER_MS
        attributes = {
            "tollhouse.event_id": str(claim.event_id),
            "tollhouse.attempt": kind_of(claim),
            "tollhouse.outcome": outcome_label(outcome),
        }
        span = self._tracer.start_span(
            "webhook delivery", kind=SpanKind.CLIENT, start_time=started_ns, attributes=attributes
        )
        if outcome.http_status is not None:
            span.set_attribute("http.response.status_code", outcome.http_status)
        if not outcome.succeeded:
            span.set_status(StatusCode.ERROR, outcome_label(outcome))
        span.end(started_ns + outcome.duration_ms * NS_PER_MS)

    async def close(self) -> None:
        """Send what is left. A collector that does not respond delays this by `EXPORT_WITHIN_S` for each batch."""
        await asyncio.to_thread(self._provider.force_flush)


class TracedApplication:
    """An ASGI application with a span for each request, in the trace of the caller (W3C Trace Context) if it has one."""

    def __init__(self, inner: ASGIApp, tracer: Tracer) -> None:
        self._inner = inner
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        carrier = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in PROPAGATED}
        context = self._propagator.extract(carrier)
        attributes = {"http.request.method": scope["method"]}
        with self._tracer.start_as_current_span("request", context, SpanKind.SERVER, attributes):
            await self._inner(scope, receive, send)


class TracedPool(Pool):
    """A pool with a span for each time that a traced request has a connection: a statement or a transaction."""

    def __init__(self, *args: object, tracer: Tracer, **more: object) -> None:
        super().__init__(*args, **more)  # pyright: ignore[reportArgumentType] - the arguments of `Pool`
        self._tracer = tracer
        self._spans: dict[DatabaseConnection, Span] = {}

    async def acquire(self) -> DatabaseConnection:
        """Get a connection of the pool, and begin its span, which includes the wait."""
        if not trace.get_current_span().is_recording():
            return await super().acquire()
        span = self._tracer.start_span("database", kind=SpanKind.CLIENT, attributes={"db.system.name": "postgresql"})
        try:
            connection = await super().acquire()
        except BaseException as error:
            _end(span, error)
            raise
        self._spans[connection] = span
        return connection

    def take_back(self, connection: DatabaseConnection, error: BaseException | None) -> None:
        """Take back a connection, and end its span."""
        span = self._spans.pop(connection, None)
        super().take_back(connection, error)
        if span is not None:
            _end(span, error)


def _end(span: Span, error: BaseException | None) -> None:
    """With the type of the error only: its text may have values."""
    if error is not None:
        span.set_status(StatusCode.ERROR, type(error).__name__)
    span.end()
