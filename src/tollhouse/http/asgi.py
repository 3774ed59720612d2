"""The ASGI application that handles every request.

It assigns a request id, finds the operation, runs the guard, decodes, calls the handler, formats errors for the
surface, adds the headers of every response, writes one log line, and records the request.
"""

import asyncio
import gc
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tollhouse.http import cookies
from tollhouse.http.base_path import BasePath, path_of
from tollhouse.http.dispatch import Dispatcher, IdempotencyStore
from tollhouse.http.operations import IN_BOTH_MODES, Operation, Routes
from tollhouse.http.page_compression import compress_page
from tollhouse.http.request import ENTRY, Headers, Request
from tollhouse.http.responses import error_response, json_response
from tollhouse.http.services import Services
from tollhouse.http.static_files import ROOT as STATIC
from tollhouse.http.static_files import static_files
from tollhouse.kernel import clock
from tollhouse.kernel.errors import (
    ApiError,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    ServerError,
    TemporarilyUnavailable,
)
from tollhouse.kernel.ids import ID_PATTERN, parse_id
from tollhouse.kernel.limits import BODY_BYTES_MAX
from tollhouse.kernel.text import Text
from tollhouse.platform.database.errors import is_unavailable
from tollhouse.platform.log import changed_objects
from tollhouse.platform.log.events import log, request_id
from tollhouse.platform.server.listening import STOPPING
from tollhouse.platform.server.security_headers import CROSS_ORIGIN, SAME_ORIGIN, security_headers

NO_STORE = (b"cache-control", b"no-store")
CORS = (
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"X-Request-Id, Retry-After, WWW-Authenticate, Idempotency-Replayed, RateLimit, RateLimit-Policy, DPoP-Nonce",
    ),
)
SENT_BY_NAME = (
    b"Authorization, Content-Type, Idempotency-Key, X-API-Key, DPoP, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, "
    b"Mcp-Method, Mcp-Name"
)
PREFLIGHT = (
    (b"access-control-allow-headers", SENT_BY_NAME),
    (b"access-control-max-age", b"86400"),
)
Hook = Callable[[], Awaitable[None]]
IDS_MAX = 20
"""A request that changes more has the first ones."""
ERROR = 400
ID = re.compile(ID_PATTERN)
BODY_OF_OBJECT = re.compile(rb'\{"id":"([0-9a-f-]{36})"')


class RequestRecorder(Protocol):
    """Records requests and responses, for the request log and the metrics. Must not delay a response or raise."""

    def record(self, request: Request, operation: Operation | None, response: Response, duration_us: int) -> None:
        """Called when the response has been sent."""
        ...


class AsgiApplication:
    """The ASGI application of the service."""

    def __init__(
        self,
        services: Services,
        operations: Sequence[Operation],
        *,
        idempotency: IdempotencyStore,
        recognize: Callable[[Request], Awaitable[None]],
        recorders: Sequence[RequestRecorder],
        after_start: Hook,
        before_stop: Hook,
    ) -> None:
        self._services = services
        self._routes = Routes(operations)
        self._dispatcher = Dispatcher(idempotency)
        self._recorders = recorders
        self._recognize = recognize
        self._hooks = (after_start, before_stop)
        self._always = security_headers(services.settings)
        self._same_origin = (*self._always, SAME_ORIGIN)
        self._cross_origin = (*self._always, CROSS_ORIGIN, *CORS)
        self._base = BasePath(path_of(services.settings))
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http":
            scope = {**scope, "path": self._base.within(scope["path"], self._leads_somewhere)}
            if scope["path"].startswith(STATIC):
                await self._serve_static(scope, receive, send)
            else:
                await self._serve(scope, receive, send)

    def _leads_somewhere(self, path: str) -> bool:
        return path.startswith(STATIC) or bool(self._routes.find(path)[0])

    async def _serve_static(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a static file, or an error in the usual format."""
        request = self._build_request(scope)
        request_id.set(request.request_id)
        try:
            response = _static_response(request)
        except Exception as exc:  # noqa: BLE001 - the last line, as in `_serve`
            response = self._refuse(request, exc, html=request.wants_html)
            response.raw_headers.append(NO_STORE)
        response.raw_headers += [(b"x-request-id", request.request_id.encode()), *self._same_origin]
        await response(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        scope.get("state", {})[STOPPING] = self._stopping
        await self._hooks[0]()
        static_files()
        # Objects that exist now stay: exclude them from garbage collection.
        gc.collect()
        gc.freeze()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._hooks[1]()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.monotonic()
        request = self._build_request(scope)
        request_id.set(request.request_id)
        changed_objects.start()
        methods, request.params = self._routes.find(request.path)
        operation = methods.get(request.method)
        if request.method == "HEAD" and "GET" in methods and methods["GET"].surface.head:
            operation = methods["GET"]
        surface = next(iter(methods.values())).surface if methods else None
        if operation is not None and not operation.surface.cors:  # other sites call it, so it has no pages
            paths = self._routes.page_paths(request.path, operation)
            request.page_path, request.switch_path, request.cancel_path = paths
            request.is_of_both_modes = operation.full_path.startswith(IN_BOTH_MODES)
        try:
            if surface is not None and surface.cors and request.method == "OPTIONS":
                response = Response(status_code=204)
            else:
                response = await self._answer(request, operation, methods, receive)
        except ClientDisconnect:
            return
        except Exception as exc:  # noqa: BLE001 - the last line: every exc becomes an answer and a line of log
            response = self._refuse(request, exc, html=request.wants_html and (surface is None or surface.html))
        self._finish(
            request, response, operation, cors=_is_cors(request.path) if surface is None else surface.cors, methods=methods
        )
        duration_us = round((time.monotonic() - started) * 1_000_000) - request.waited_us
        log.info(
            "answered",
            method=request.method,
            route=operation.name if operation else "none",
            status=response.status_code,
            duration_ms=round(duration_us / 1000, 1),
            object_ids=ids_of(request, response) or None,
            server_request_id=None if request.server_request_id == request.request_id else request.server_request_id,
        )
        await response(scope, receive, send)
        for recorder in self._recorders:
            recorder.record(request, operation, response, duration_us)

    def _build_request(self, scope: Scope) -> Request:
        headers = Headers(scope["headers"])
        return Request(
            self._services,
            scope["method"],
            scope["path"],
            headers=headers,
            query=scope["query_string"],
            raw=b"",
            address=(scope.get("client") or ("", 0))[0],
            request_id=_request_id(headers.get("x-request-id")),
            now=clock.now(),
            stopping=self._stopping,
            application=self,
            entry=scope.get(ENTRY),
        )

    async def _answer(
        self, request: Request, operation: Operation | None, methods: dict[str, Operation], receive: Receive
    ) -> Response:
        if not methods:
            if request.wants_html:
                await self._recognize(request)
            raise NotFound
        if operation is None:
            allowed = sorted({*methods, *({"OPTIONS"} if next(iter(methods.values())).surface.cors else ())})
            raise MethodNotAllowed(headers={"Allow": ", ".join(allowed)})
        if operation.body_bytes_max > BODY_BYTES_MAX:
            await operation.guard.admit(request)
        request.raw = await _read(request.headers, receive, operation.body_bytes_max)
        request.receive = receive
        response = await self._dispatcher.response(request, operation)
        if isinstance(response, ApiError):
            return self._refuse(request, response, html=request.wants_html and operation.surface.html)
        if isinstance(response, Response):
            return response
        return json_response(response, operation.status) if operation.status != 204 else Response(status_code=204)  # noqa: PLR2004

    def _refuse(self, request: Request, exc: Exception, *, html: bool) -> Response:
        if isinstance(exc, ApiError):
            error = exc
        elif is_unavailable(exc):
            error = TemporarilyUnavailable(detail=type(exc).__name__)
        else:
            error = ServerError(detail=type(exc).__name__)
            log.error("failed", code=error.code, exc_info=exc)
        if error.detail:
            log.info("refused", code=error.code, detail=error.detail)
        return error_response(request, error, html=html)

    def _finish(
        self, request: Request, response: Response, operation: Operation | None, *, cors: bool, methods: dict[str, Operation]
    ) -> None:
        compress_page(request, response)
        cookies.add_cookies(request, response)
        headers = response.raw_headers
        if b"cache-control" not in [name for name, _ in headers]:
            headers.append(NO_STORE)
        headers.append((b"x-request-id", request.request_id.encode()))
        headers += request.headers_to_add
        if cors:
            headers += self._cross_origin
            if request.method == "OPTIONS":
                headers.append((b"access-control-allow-methods", ", ".join(sorted({*methods, "OPTIONS"})).encode()))
                headers += PREFLIGHT
        else:
            headers += self._always if CROSS_ORIGIN in headers else self._same_origin
        if operation is not None and operation.deprecated is not None:
            headers += operation.deprecated.headers
        if request.is_mode_in_path:
            headers = [_keep_mode(request, name, value) for name, value in headers]
        response.raw_headers = self._base.headers(headers)


def _static_response(request: Request) -> Response:
    if request.method not in {"GET", "HEAD"}:
        raise MethodNotAllowed(headers={"Allow": "GET, HEAD"})
    accept_encoding = ",".join(request.headers.getlist("accept-encoding"))
    name = request.path.removeprefix(STATIC)
    response = static_files().response(name, accept_encoding, request.headers.get("if-none-match"))
    if response is None:
        raise NotFound
    return response


def _request_id(sent: str | None) -> str | None:
    """The caller's `X-Request-Id`, if it is valid."""
    own = parse_id(sent) if sent else None
    return None if own is None else str(own)


def _keep_mode(request: Request, name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A redirect to a page of the account keeps the mode of the path."""
    is_account = name == b"location" and value.startswith(tuple(start.encode() for start in IN_BOTH_MODES))
    return name, f"/{request.mode}".encode() + value if is_account else value


async def _read(headers: Headers, receive: Receive, bytes_max: int) -> bytes:
    """The whole body. Raises `PayloadTooLarge` as soon as it exceeds the limit."""
    announced = headers.get("content-length")
    if announced is not None and announced.isdecimal() and int(announced) > bytes_max:
        raise PayloadTooLarge(_over(bytes_max))
    chunks: list[bytes] = []
    received_bytes = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        received_bytes += len(chunks[-1])
        if received_bytes > bytes_max:
            raise PayloadTooLarge(_over(bytes_max))
        more = message.get("more_body", False)
    return b"".join(chunks)


def _over(bytes_max: int) -> Text:
    return Text("The body is larger than %(size)s KiB.", size=bytes_max // 1024)


def _is_cors(path: str) -> bool:
    """Whether an unknown path belongs to a surface with CORS."""
    return path.startswith(("/api/v2/integration/", "/.well-known/"))


def ids_of(request: Request, response: Response) -> list[str]:
    """What its actions changed and, unless it only reads, the objects in its path and in its response."""
    found = dict.fromkeys(map(str, changed_objects.noted()))
    if request.method not in cookies.SAFE:
        found |= dict.fromkeys(value for value in request.params.values() if parse_id(value) is not None)
        if response.status_code < ERROR:
            found |= dict.fromkeys(_made(response))
    return list(found)[:IDS_MAX]


def _made(response: Response) -> Iterator[str]:
    """The object that the body is, or to whose page the response redirects."""
    body = BODY_OF_OBJECT.match(getattr(response, "body", b""))  # a streamed one has none
    if body is not None:
        yield body[1].decode()
    yield from ID.findall(response.headers.get("location", "").partition("?")[0])
