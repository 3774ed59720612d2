"""Spans of requests, database connections and deliveries, kept in memory."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import tollhouse
from tests.running import Service, free_port
from tollhouse.http.asgi import AsgiApplication
from tollhouse.instance import main
from tollhouse.instance.tracing import spans
from tollhouse.instance.tracing.spans import Tracing
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.platform.settings.config import InvalidSettingsError, load
from tollhouse.webhooks.delivery.signed_request import Claim

CALLER_TRACE, CALLER_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{CALLER_TRACE}-{CALLER_SPAN}-01"
URL = "http://127.0.0.1:4318/v1/traces"


def in_memory() -> tuple[Tracing, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    return Tracing(URL, SimpleSpanProcessor(exporter)), exporter


async def get(application: Any, path: str, *headers: tuple[bytes, bytes]) -> int:
    """GET a path of an ASGI application; the status."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"secret=hunter2",
             "headers": [(b"host", b"localhost"), *headers], "client": ("127.0.0.1", 1), "scheme": "http"}  # fmt: skip
    await application(scope, receive, send)
    return sent[0]["status"]


async def test_a_request_is_a_span_in_the_trace_of_its_caller(service: Service) -> None:
    tracing, exporter = in_memory()
    services = main.create_services(service.settings, connections=1, tracing=tracing)
    application = main.build(services, tracing=tracing)
    try:
        assert await get(application, "/readyz", (b"traceparent", TRACEPARENT.encode())) == 200
    finally:
        await services.db.close()
    *database, request = exporter.get_finished_spans()
    assert (request.name, request.kind, request.status.status_code) == ("GET /readyz", SpanKind.SERVER, StatusCode.UNSET)
    assert request.parent is not None
    assert request.context is not None
    assert (f"{request.context.trace_id:032x}", f"{request.parent.span_id:016x}") == (CALLER_TRACE, CALLER_SPAN)
    assert request.attributes is not None
    assert (request.attributes["http.route"], request.attributes["http.response.status_code"]) == ("/readyz", 200)
    assert {span.name for span in database} == {"database"}
    assert {span.parent and span.parent.span_id for span in database} == {request.context.span_id}
    assert "hunter2" not in "".join(span.to_json() for span in [request, *database])


@pytest.mark.parametrize("traceparent", [b"", b"00-0-0-01", b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01", b"\xff"])
async def test_a_wrong_traceparent_begins_a_new_trace(service: Service, traceparent: bytes) -> None:
    tracing, exporter = in_memory()
    services = main.create_services(service.settings, connections=1, tracing=tracing)
    assert await get(main.build(services, tracing=tracing), "/there-is-nothing", (b"traceparent", traceparent)) == 404
    [request] = exporter.get_finished_spans()
    assert (request.name, request.parent) == ("request", None)


async def test_a_delivery_is_a_span_that_began_before() -> None:
    tracing, exporter = in_memory()
    started_at = datetime(2026, 1, 1, tzinfo=UTC)
    claim = Claim(new_id(), new_id(), 0, 1, "test", "automatic", False, 0, 0, started_at)
    tracing.record_attempt(claim, Outcome("timeout", None, 250))
    [span] = exporter.get_finished_spans()
    started_ns = int(started_at.timestamp()) * 1_000_000_000
    assert (span.start_time, span.end_time) == (started_ns, started_ns + 250_000_000)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "timeout")
    assert span.attributes is not None
    assert (UUID(str(span.attributes["tollhouse.event_id"])), span.attributes["tollhouse.attempt"]) == (
        claim.event_id,
        "first",
    )


def test_nothing_is_imported_while_traces_are_off() -> None:
    source = Path(tollhouse.__file__).parent
    importing = [
        path.parent.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"^(from|import) (opentelemetry|tollhouse\.instance\.tracing)", path.read_text(), re.MULTILINE)
    ]
    assert set(importing) == {"instance/tracing"}
    assert main.start_tracing(load({})) is None


async def test_nothing_is_between_while_traces_are_off(service: Service) -> None:
    services = main.create_services(service.settings)
    assert type(services.db) is Pool
    assert type(main.build(services)) is AsgiApplication


async def test_spans_are_sent_to_the_collector(service: Service) -> None:
    received: list[bytes] = []

    async def collect(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response()

    collector = web.Application()
    collector.router.add_post("/v1/traces", collect)
    async with TestServer(collector) as server:
        tracing = Tracing(str(server.make_url("/v1/traces")))
        services = main.create_services(service.settings, connections=1, tracing=tracing)
        assert await get(main.build(services, tracing=tracing), "/healthz") == 200
        await tracing.close()
    [sent] = received
    assert b"GET /healthz" in sent


async def test_a_collector_that_is_not_there_harms_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "EXPORT_WITHIN_S", 0.1)
    tracing = Tracing(f"http://127.0.0.1:{free_port()}/v1/traces")
    services = main.create_services(service.settings, connections=1, tracing=tracing)
    assert await get(main.build(services, tracing=tracing), "/healthz") == 200
    await tracing.close()


def test_the_address_of_the_collector_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load({"TOLLHOUSE_TRACES_URL": URL}).traces_url == URL
    with pytest.raises(InvalidSettingsError, match="TOLLHOUSE_TRACES_URL must be an http or https URL without a user name"):
        load({"TOLLHOUSE_TRACES_URL": "localhost:4318"})
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(InvalidSettingsError, match="scripts/install otel"):
        load({"TOLLHOUSE_TRACES_URL": URL})
