"""HTTP/1.1 with limits: connections have deadlines for requests and responses, and requests have a maximum size.

Violations are answered here, before the application runs: 400, 408, 431, and 429 or 503 if there are too many
connections. The limits of all connections together are in `connection_limits.py`.
"""

import asyncio
from enum import Enum, auto
from typing import Any, cast
from urllib.parse import unquote

import httptools
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tollhouse.kernel.errors import (
    ApiError,
    InvalidRequest,
    RequestHeadersTooLarge,
    RequestTimeout,
    TemporarilyUnavailable,
    TooManyConnections,
)
from tollhouse.kernel.ids import new_id_text
from tollhouse.kernel.limits import (
    LINGER_BYTES_MAX,
    PIPELINED_REQUESTS_MAX,
    REQUEST_BODY_BYTES_PER_S_MIN,
    REQUEST_HEADER_BYTES_MAX,
    REQUEST_HEADERS_MAX,
    RESPONSE_BYTES_PER_S_MIN,
)
from tollhouse.platform.log import metrics
from tollhouse.platform.log.events import log
from tollhouse.platform.server.connection_limits import ConnectionLimits
from tollhouse.platform.server.cycle import CountedTransport, HttpCycle
from tollhouse.platform.server.listening import DRAINING
from tollhouse.platform.server.security_headers import SAME_ORIGIN, security_headers


class Receiving(Enum):
    """How much of the next request has arrived."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


FORWARDED = b"x-forwarded-"
ERRORS = (InvalidRequest, RequestHeadersTooLarge, RequestTimeout, TemporarilyUnavailable, TooManyConnections)
REFUSED = metrics.Counter(
    "tollhouse_http_requests_refused",
    "Requests and connections that were refused before an operation was found, by error code.",
    ("code",),
    [(error.code,) for error in ERRORS],
)


class HttpProtocol(HttpToolsProtocol):
    """One connection. Only requests with headers of a proxy are passed to `behind_proxy`, which reads them."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        behind_proxy: Any,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._settings = limits.settings
        self._behind_proxy = behind_proxy
        self._is_forwarded = False
        self._idle_until: float | None = None
        self._receiving = Receiving.NOTHING
        self._receive_by: float | None = None
        self._head_bytes = 0
        self._body_bytes = 0
        self._framing_bytes = 0
        self._dropped_bytes = 0
        self._error: ApiError | None = None
        self._lingers = False
        self._stalled: tuple[float, int] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start, if there is room for this connection."""
        self._output = CountedTransport(transport)
        super().connection_made(cast("asyncio.Transport", self._output))
        error = self._limits.admit(self, self.client[0] if self.client else "")
        if error is None:
            self._receive_by = self.loop.time() + self._settings.request_header_timeout_s
        else:
            self._refuse(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection was closed by either side."""
        self._limits.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse in pieces, so that an oversized head is rejected before more of it is parsed."""
        if self._receiving is Receiving.NOTHING:
            self._begin_head()
        offset = 0
        while offset < len(data) and not self._over(len(data) - offset):
            room = REQUEST_HEADER_BYTES_MAX - (self._head_bytes if self._receiving is Receiving.HEAD else 0)
            piece = data if room >= len(data) else data[offset : offset + room]
            offset += len(piece)
            self._head_bytes += len(piece)
            self._framing_bytes += len(piece)
            super().data_received(piece)
            if self._receiving is Receiving.HEAD and self._head_bytes >= REQUEST_HEADER_BYTES_MAX:
                self._refuse(RequestHeadersTooLarge())
            elif self._receiving is Receiving.BODY and self._framing_bytes > REQUEST_HEADER_BYTES_MAX:
                self._refuse(InvalidRequest("The body's chunks or trailers are too long."))

    def on_message_begin(self) -> None:
        """Parser: a request starts."""
        if self._receiving is not Receiving.HEAD:
            self._begin_head()
        self._is_forwarded = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: a header, or an ignored trailer after the body."""
        if self._receiving is Receiving.BODY:
            return
        if len(self.headers) >= REQUEST_HEADERS_MAX:
            self._fail(RequestHeadersTooLarge())
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        elif name.startswith(FORWARDED):
            self._is_forwarded = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Parser: the head is complete; call the application."""
        if len(self.pipeline) >= PIPELINED_REQUESTS_MAX:
            self._fail(InvalidRequest())
        self._receiving, self._body_bytes, self._framing_bytes = Receiving.BODY, 0, 0
        self._receive_by = self.loop.time() + self._settings.request_body_timeout_s
        parser: Any = self.parser
        self._complete_scope(parser)
        before = self._current
        cycle = self.cycle = HttpCycle(
            self.tasks,
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=self.scope["http_version"] != "1.0" and parser.should_keep_alive() and not DRAINING.has_begun,
            on_response=self.on_response_complete,
        )
        application: Any = self._behind_proxy if self._is_forwarded else cast("Any", self.app)
        if before is None or before.response_complete:
            self._start_asgi_task(cycle, application)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, application))

    def _complete_scope(self, parser: Any) -> None:
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        self.scope["method"] = parser.get_method().decode("ascii")
        self.scope["http_version"] = parser.get_http_version()
        self.scope["path"] = unquote(path) if "%" in path else path
        self.scope["raw_path"] = url.path
        self.scope["query_string"] = url.query or b""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        task = self.loop.create_task(cycle.run_asgi(app))
        cast("HttpCycle", cycle).task = task
        self.tasks.add(task)

    def on_body(self, body: bytes) -> None:
        """Parser: a part of the body. After the response has been sent it is discarded, up to a limit."""
        self._body_bytes += len(body)
        self._framing_bytes = 0
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Parser: the request is complete."""
        self._receiving, self._receive_by, self._head_bytes, self._dropped_bytes = Receiving.NOTHING, None, 0, 0
        if self.cycle.response_complete:
            self._wait_for_request()
        else:
            self._limits.works(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The response is complete: start the next pipelined request or wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.cycle.response_complete and not self.cycle.keep_alive:
            self._linger()
        elif self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._limits.waits(self)
            if self._receiving is Receiving.NOTHING:
                self._wait_for_request()

    def send_400_response(self, msg: str) -> None:
        """The parser failed: respond in the format of the service."""
        self._refuse(self._error or InvalidRequest(msg))

    def check(self, now: float) -> None:
        """Close the connection if one of its deadlines has passed."""
        if self._receive_by is not None and now >= self._receive_by:
            self._check_receive_deadline(now)
        if self._idle_until is not None and now >= self._idle_until:
            self._idle_until = None
            self.transport.close()
        self._check_reader(now)

    def abort(self) -> None:
        """Close the connection immediately and discard the unsent part of a response."""
        self._output.reset()

    def _wait_for_request(self) -> None:
        self._idle_until = self.loop.time() + self.timeout_keep_alive

    def _begin_head(self) -> None:
        self._receiving, self._head_bytes, self._body_bytes, self._idle_until = Receiving.HEAD, 0, 0, None
        self._receive_by = self.loop.time() + self._settings.request_header_timeout_s

    def _over(self, coming_bytes: int) -> bool:
        """Whether input is discarded: what a client still sends after its response. Beyond a limit it is not read."""
        if self._lingers:
            self._dropped_bytes += coming_bytes
        if self._dropped_bytes > LINGER_BYTES_MAX:
            self._linger()
            self.flow.pause_reading()
        return self._lingers or self._output.is_closing()

    def _linger(self) -> None:
        """Close soon. The kernel resets a connection that is closed while the client sends, and its response may be lost."""
        if self._lingers:
            return
        self._lingers, self._receive_by = True, None
        self._output.end_writing()
        self._limits.linger(self)

    def _fail(self, error: ApiError) -> None:
        """Stop the parser, which then reports a 400. Raises what it expects from a failed callback."""
        self._error = error
        raise ValueError(error.code)

    def _check_receive_deadline(self, now: float) -> None:
        if self._busy or self.flow.read_paused:
            self._receive_by = (
                now + self._settings.request_header_timeout_s
            )  # the service delayed the request, not the client
        elif self._receiving is Receiving.NOTHING:
            self.transport.close()  # no request was sent; browsers open such connections ahead
            self._receive_by = None
        elif now >= (self._receive_by or 0) + self._body_bytes / REQUEST_BODY_BYTES_PER_S_MIN:
            self._refuse(RequestTimeout())

    def _check_reader(self, now: float) -> None:
        """Close the connection of a client that does not read its response, or too slowly."""
        waiting = self.transport.get_write_buffer_size()
        if not waiting:
            self._stalled = None
            return
        sent = self._output.written - waiting
        if self._stalled is None:
            self._stalled = now, sent
        since, taken_then = self._stalled
        if now - since >= self._settings.response_timeout_s:
            self._stalled = None
            if sent - taken_then < (now - since) * RESPONSE_BYTES_PER_S_MIN:
                log.warning("response_abandoned", reason="the client does not read")
                self.abort()

    @property
    def _current(self) -> RequestResponseCycle | None:
        """The current or latest request; None before the first."""
        return self.cycle

    @property
    def _busy(self) -> bool:
        """Whether a response is being built or sent: nothing else may be written then."""
        current = self._current
        if current is None or current.response_complete:
            return bool(self.pipeline)
        return bool(self.pipeline) or current.response_started or not current.more_body

    def _refuse(self, error: ApiError) -> None:
        """Respond without the application, and close the connection."""
        if self._lingers or self._output.is_closing():
            return
        REFUSED.add(error.code)
        if self._busy:
            self.abort()
            return
        current = self._current
        answered = current is not None and self._receiving is Receiving.BODY and current.response_complete
        if current is not None:
            current.disconnected = True
            current.message_event.set()
        if not answered:
            request_id = new_id_text()
            self._output.write(self._answer(error, request_id))
            log.info("answered", route="none", status=error.status, code=error.code, request_id=request_id)
        self.flow.resume_reading()
        self._linger()

    def _answer(self, error: ApiError, request_id: str) -> bytes:
        members = {"error": error.code, "error_description": str(error.message), "request_id": request_id}
        body = msgspec.json.encode(members | {"doc_url": error.doc_url(self._settings.base_url)})
        headers = [
            *self.server_state.default_headers,
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
            (b"x-request-id", request_id.encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
            SAME_ORIGIN,
            *security_headers(self._settings),
        ]
        return b"".join([STATUS_LINE[error.status], *(b"%s: %s\r\n" % header for header in headers), b"\r\n", body])
