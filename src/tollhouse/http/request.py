"""The HTTP request for handlers and guards."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive

from tollhouse.http.forms import FORM, FORM_WITH_FILES, Form, parse_form, parse_multipart
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import Actor, ActorKind
from tollhouse.kernel.errors import InvalidRequest, UnsupportedMediaType
from tollhouse.kernel.ids import Mode, new_id_text
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Tx

T = TypeVar("T")
NEVER = asyncio.Event()
"""Of requests outside of a server."""
ENTRY = "tollhouse.entry"
"""The member of an ASGI scope with the request for whose caller this process sends another one to itself."""


class Headers:
    """The headers of a request as sent. Names are in lower case."""

    __slots__ = ("_lines",)

    def __init__(self, lines: list[tuple[bytes, bytes]]) -> None:
        self._lines = lines

    def get(self, name: str) -> str | None:
        """The first header of this name."""
        encoded = name.encode()
        for line_name, value in self._lines:
            if line_name == encoded:
                return value.decode("latin-1")
        return None

    @property
    def lines(self) -> list[tuple[bytes, bytes]]:
        """Names and values as sent."""
        return self._lines

    def getlist(self, name: str) -> list[str]:
        """All headers of this name."""
        encoded = name.encode()
        return [value.decode("latin-1") for line_name, value in self._lines if line_name == encoded]


class ErrorLayout(Struct, frozen=True):
    """The layout of error pages: its template, its values, and the address of the way out; empty for customers."""

    template: str = "http/layout.html"
    home: str = "/"
    values: dict[str, Any] = {}


ERROR_LAYOUT = ErrorLayout()


class Request:
    """One HTTP request. `now` is its time for every check and write, `raw` its body, within the operation's size limit.

    `caller` is the authenticated caller, also if the request is then refused. `actor` is recorded as the author of its
    actions: the system until a guard knows better. `zone` is the time zone of pages: UTC unless a signed-in person has
    chosen one. `acting_for` is the merchant of a person who belongs to several, else empty. `mode` is the environment of a
    page of the dashboard, None on others. `page_path` is the page of this request, of a form the one above it;
    `switch_path`, in the dashboard, that page without its mode, or the list of its object; `cancel_path` the page, or the
    nearest one above it, that opens
    without confirming the password; `is_of_both_modes`: the page shows the same in both. `error_layout` is how an error of
    this request looks as a page: a guard that knows the person keeps the navigation. `cookies_to_set` (name, value,
    seconds) and `headers_to_add` are added to the response, also to an error.
    `before_action` is what a guard checks again in the transaction of each action.
    `stopping` is set when the service ends, `waited_us` is how long the request waited for what it asks for. `request_id`
    is the caller's `X-Request-Id` or, without one, `server_request_id`; permanent records store the latter.
    `proven_key` is the thumbprint of the key that the sender has proved to have (DPoP), once it has.
    `application` takes requests that a handler sends for its caller; their `entry` is the request of that handler, which
    `has_calls` once there is one.
    """

    __slots__ = (
        "acting_for",
        "actor",
        "address",
        "application",
        "before_action",
        "caller",
        "cancel_path",
        "cookies_to_set",
        "entry",
        "error_layout",
        "has_calls",
        "headers",
        "headers_to_add",
        "is_of_both_modes",
        "method",
        "mode",
        "now",
        "page_path",
        "params",
        "path",
        "proven_key",
        "query",
        "raw",
        "receive",
        "request_id",
        "server_request_id",
        "services",
        "stopping",
        "switch_path",
        "waited_us",
        "zone",
    )  # fmt: skip

    def __init__(
        self,
        services: Services,
        method: str,
        path: str,
        *,
        headers: Headers,
        query: bytes,
        raw: bytes,
        address: str,
        request_id: str | None,
        now: datetime,
        stopping: asyncio.Event = NEVER,
        application: ASGIApp | None = None,
        entry: "Request | None" = None,
    ) -> None:
        self.services = services
        self.method = method
        self.path = path
        self.headers = headers
        self.query = query
        self.raw = raw
        self.address = address
        self.server_request_id = new_id_text()
        self.request_id = request_id or self.server_request_id
        self.now = now
        self.params: dict[str, str] = {}
        self.caller: object = None
        self.proven_key: bytes | None = None
        self.actor = Actor("system", request=self.server_request_id)
        self.zone: tzinfo = UTC
        self.mode: Mode | None = None
        self.error_layout = ERROR_LAYOUT
        self.acting_for = ""
        self.page_path = ""
        self.cancel_path = ""
        self.switch_path = ""
        self.is_of_both_modes = False
        self.before_action: Callable[[Tx], Awaitable[None]] | None = None
        self.cookies_to_set: list[tuple[str, str, int]] = []
        self.headers_to_add: tuple[tuple[bytes, bytes], ...] = ()
        self.receive: Receive | None = None
        self.stopping = stopping
        self.waited_us = 0
        self.application = application
        self.entry = entry
        self.has_calls = False

    async def transact(self, action: Callable[[Work], Awaitable[T]]) -> T:
        """Run `action` in a transaction, by the actor and at the time of this request, after `before_action`."""
        check = self.before_action
        if check is None:
            return await self.services.transact(action, self.now, self.actor)

        async def checked(work: Work) -> T:
            await check(work.tx)
            return await action(work)

        return await self.services.transact(checked, self.now, self.actor)

    async def wait(self, future: asyncio.Future[None], most_ms: int) -> None:
        """Wait for it, at most so long, and not when the service ends. Raises `ClientDisconnect`."""
        started_ns = time.monotonic_ns()
        gone, stopping = asyncio.create_task(self._gone()), asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({future, gone, stopping}, timeout=most_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise ClientDisconnect
        finally:
            self.waited_us += (time.monotonic_ns() - started_ns) // 1000
            gone.cancel()
            stopping.cancel()

    async def _gone(self) -> None:
        """Return when the client has closed the connection."""
        if self.receive is None:
            await asyncio.Event().wait()
        else:
            while (await self.receive())["type"] != "http.disconnect":
                pass

    def actor_of(self, kind: ActorKind, actor_id: UUID | str) -> Actor:
        """This user, key or application, with the address and ID of this request."""
        return Actor(kind, str(actor_id), self.address, self.server_request_id)

    @property
    def is_mode_in_path(self) -> bool:
        """Whether this is a page of the dashboard whose path has the mode."""
        return self.mode is not None and "mode" in self.params

    @property
    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        return (self.headers.get("content-type") or "").partition(";")[0].strip().lower()

    def require_json(self) -> None:
        """Raises `UnsupportedMediaType` if the body is not declared as JSON."""
        if self.raw and self.media_type != "application/json":
            raise UnsupportedMediaType

    def form(self) -> Form:
        """The submitted form. Raises `InvalidRequest`."""
        if self.media_type != FORM:
            raise InvalidRequest(Text("The body must be %(media_type)s.", media_type=FORM))
        return parse_form(self.raw)

    def file(self, field: str) -> bytes:
        """The uploaded file, empty if none was chosen. Raises `InvalidRequest`."""
        if self.media_type != FORM_WITH_FILES:
            raise InvalidRequest(Text("The body must be %(media_type)s.", media_type=FORM_WITH_FILES))
        return parse_multipart(self.headers.get("content-type") or "", self.raw).get(field, b"")

    @property
    def wants_html(self) -> bool:
        """Whether a browser is the client: Accept has HTML, and not JSON before it."""
        accept = self.headers.get("accept") or ""
        html, json = accept.find("text/html"), accept.find("application/json")
        return html >= 0 and (json < 0 or html < json)
