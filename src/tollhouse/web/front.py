"""The front of the house: the ASGI application that every request enters by.

It gives a request its id, finds the operation, lets the guard decide, decodes, calls the handler, puts refusals into
the dialect of the door, adds the headers every answer carries, writes one line of log, and tells the journal.
"""

import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from tollhouse.kernel import clock
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import BODY_BYTES_MAX
from tollhouse.kernel.refusals import (
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    Refusal,
    ServerError,
    TemporarilyUnavailable,
)
from tollhouse.platform.db_faults import is_unavailable
from tollhouse.platform.log import log, request_id
from tollhouse.platform.security_headers import CROSS_ORIGIN, SAME_ORIGIN, security_headers
from tollhouse.web import cookies
from tollhouse.web.answers import json_answer, refused
from tollhouse.web.ask import Ask, Headers
from tollhouse.web.base_path import BasePath, path_of
from tollhouse.web.dispatch import Answerer, Keeper
from tollhouse.web.house import House
from tollhouse.web.operations import Operation, Routes

NO_STORE = (b"cache-control", b"no-store")
CORS = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"X-Request-Id, Retry-After, WWW-Authenticate, Idempotency-Replayed"),
)
PREFLIGHT = (
    (b"access-control-allow-headers", b"Authorization, Content-Type, Idempotency-Key, X-API-Key"),
    (b"access-control-max-age", b"86400"),
)
STATIC = "/static/"
Hook = Callable[[], Awaitable[None]]


class Journal(Protocol):
    """Keeps what was asked and answered, for those to look up who asked. It holds no answer up, and raises nothing."""

    def note(self, ask: Ask, operation: Operation | None, answer: Response, duration_us: int) -> None:
        """Called when the answer has been sent."""
        ...


class Front:
    """The whole service as one ASGI application."""

    def __init__(
        self,
        house: House,
        operations: Sequence[Operation],
        *,
        keeper: Keeper,
        journal: Journal,
        static: StaticFiles,
        after_start: Hook,
        before_stop: Hook,
    ) -> None:
        self._house = house
        self._routes = Routes(operations)
        self._answerer = Answerer(keeper)
        self._journal = journal
        self._static = static
        self._hooks = (after_start, before_stop)
        self._always = security_headers(house.settings)
        self._base = BasePath(path_of(house.settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            scope = {**scope, "path": self._base.within(scope["path"], self._leads_somewhere)}
            if scope["path"].startswith(STATIC):
                await self._serve_static(scope, receive, send)
            else:
                await self._serve(scope, receive, send)

    def _leads_somewhere(self, path: str) -> bool:
        return path.startswith(STATIC) or bool(self._routes.find(path)[0])

    async def _serve_static(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file, or refuse as everywhere. A file is kept by browsers, and asked for again by its ETag."""
        ask = self._ask(scope)
        request_id.set(ask.request_id)
        try:
            answer = await self._file(ask, scope)
        except Exception as fault:  # noqa: BLE001 - the last line, as in `_serve`
            answer = self._refuse(ask, fault, html=ask.wants_html)
            answer.raw_headers.append(NO_STORE)
        answer.raw_headers += [(b"x-request-id", ask.request_id.encode()), SAME_ORIGIN, *self._always]
        await answer(scope, receive, send)

    async def _file(self, ask: Ask, scope: Scope) -> Response:
        if ask.method not in {"GET", "HEAD"}:
            raise MethodNotAllowed(headers={"Allow": "GET, HEAD"})
        if "\0" in ask.path:
            raise NotFound
        inside = {**scope, "root_path": STATIC[:-1]}
        try:
            return await self._static.get_response(self._static.get_path(inside), inside)
        except HTTPException:  # no such file, or none that may be read
            raise NotFound from None

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self._hooks[0]()
        # What is there now stays: the collector need not walk through it again and again.
        gc.collect()
        gc.freeze()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._hooks[1]()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.monotonic()
        ask = self._ask(scope)
        request_id.set(ask.request_id)
        methods, ask.params = self._routes.find(ask.path)
        operation = methods.get(ask.method)
        if ask.method == "HEAD" and "GET" in methods and methods["GET"].door.head:
            operation = methods["GET"]
        door = next(iter(methods.values())).door if methods else None
        try:
            if door is not None and door.cors and ask.method == "OPTIONS":
                answer = Response(status_code=204)
            else:
                answer = await self._answer(ask, operation, methods, receive)
        except ClientDisconnect:
            return
        except Exception as fault:  # noqa: BLE001 - the last line: every fault becomes an answer and a line of log
            answer = self._refuse(ask, fault, html=ask.wants_html and (door is None or door.html))
        self._finish(ask, answer, operation, cors=_is_cors(ask.path) if door is None else door.cors, methods=methods)
        duration_us = round((time.monotonic() - started) * 1_000_000)
        log.info(
            "answered",
            method=ask.method,
            route=f"{operation.door.name} {operation.full_path}" if operation else "none",
            status=answer.status_code,
            duration_ms=round(duration_us / 1000, 1),
        )
        await answer(scope, receive, send)
        self._journal.note(ask, operation, answer, duration_us)

    def _ask(self, scope: Scope) -> Ask:
        headers = Headers(scope["headers"])
        return Ask(
            self._house,
            scope["method"],
            scope["path"],
            headers=headers,
            query=scope["query_string"],
            raw=b"",
            address=(scope.get("client") or ("", 0))[0],
            request_id=_request_id(headers.get("x-request-id")),
            now=clock.now(),
        )

    async def _answer(
        self, ask: Ask, operation: Operation | None, methods: dict[str, Operation], receive: Receive
    ) -> Response:
        if not methods:
            raise NotFound
        if operation is None:
            allowed = sorted({*methods, *({"OPTIONS"} if next(iter(methods.values())).door.cors else ())})
            raise MethodNotAllowed(headers={"Allow": ", ".join(allowed)})
        if operation.body_bytes_max > BODY_BYTES_MAX:
            await operation.guard.admit(ask)
        ask.raw = await _read(ask.headers, receive, operation.body_bytes_max)
        answer = await self._answerer.answer(ask, operation)
        if isinstance(answer, Refusal):
            return self._refuse(ask, answer, html=ask.wants_html and operation.door.html)
        if isinstance(answer, Response):
            return answer
        return json_answer(answer, operation.status) if operation.status != 204 else Response(status_code=204)  # noqa: PLR2004

    def _refuse(self, ask: Ask, fault: Exception, *, html: bool) -> Response:
        if isinstance(fault, Refusal):
            refusal = fault
        elif is_unavailable(fault):
            refusal = TemporarilyUnavailable(detail=type(fault).__name__)
        else:
            refusal = ServerError(detail=type(fault).__name__)
            log.error("failed", code=refusal.code, exc_info=fault)
        if refusal.detail:
            log.info("refused", code=refusal.code, detail=refusal.detail)
        return refused(ask, refusal, html=html)

    def _finish(
        self, ask: Ask, answer: Response, operation: Operation | None, *, cors: bool, methods: dict[str, Operation]
    ) -> None:
        cookies.set_kept(ask, answer)
        headers = answer.raw_headers
        if b"cache-control" not in [name for name, _ in headers]:
            headers.append(NO_STORE)
        headers.append((b"x-request-id", ask.request_id.encode()))
        headers += self._always
        headers.append(CROSS_ORIGIN if cors else SAME_ORIGIN)
        if operation is not None and operation.deprecated is not None:
            headers += operation.deprecated.headers
        if cors:
            headers += CORS
            if ask.method == "OPTIONS":
                headers.append((b"access-control-allow-methods", ", ".join(sorted({*methods, "OPTIONS"})).encode()))
                headers += PREFLIGHT
        answer.raw_headers = self._base.headers(headers)


def _request_id(sent: str | None) -> str | None:
    """The caller's own id of this request, where it is one."""
    own = parse_id(sent) if sent else None
    return None if own is None else str(own)


async def _read(headers: Headers, receive: Receive, bytes_max: int) -> bytes:
    """The whole body. Raises `PayloadTooLarge` as soon as it is over the limit."""
    announced = headers.get("content-length")
    if announced is not None and announced.isdecimal() and int(announced) > bytes_max:
        raise PayloadTooLarge(_over(bytes_max))
    chunks: list[bytes] = []
    heard_bytes = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        heard_bytes += len(chunks[-1])
        if heard_bytes > bytes_max:
            raise PayloadTooLarge(_over(bytes_max))
        more = message.get("more_body", False)
    return b"".join(chunks)


def _over(bytes_max: int) -> str:
    return f"The body is larger than {bytes_max // 1024} KiB."


def _is_cors(path: str) -> bool:
    """Whether an unknown path is below a door that other sites may call."""
    return path.startswith(("/api/v2/integration/", "/.well-known/"))
