"""The table of operations: every endpoint is declared once, beside its handler.

Routing, guards, decoding, errors, `docs/routes.txt` and the API reference are derived from that table. Every operation
has a guard.

A handler is a function that names what it needs as parameters: `caller`, `body`, `query`, `page` (of a list), `work` or `tx`
(a transaction, committed when the handler returns), `db` (the pool, for reads), `now`, `catalogue`, `services`, `request`,
and the `{names}` of its path. It returns a Struct, a Response, or an `ApiError` that is sent after the commit. What a
handler reads from `request` itself or puts into a Response is declared as `reads` and `responses`.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar, get_args, get_type_hints, runtime_checkable
from uuid import UUID

from msgspec import Struct, structs

from tollhouse.http.request import Request
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import BODY_BYTES_MAX

Idempotency = Literal["no", "honoured", "required"]
RecentAuthentication = Literal["no", "live", "always", "by_content"]
"""When the caller must have signed in or confirmed the password within the last 15 minutes: in live mode (the `mode` of
the path or the body), always, or depending on the content of the request."""
Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)
IN_ONE_MODE, IN_BOTH_MODES = "/{mode}/", ("/developers/", "/settings/")
"""How the paths of dashboard pages begin: of an environment, and of the account. The latter may follow a mode, which
selects the environment of the menu: `/live/settings/business`."""
SUPPLIED = frozenset(
    {"caller", "env", "body", "query", "page", "work", "tx", "db", "now", "catalogue", "services", "request"}
)


class Surface(Struct, frozen=True):
    """A surface: operations with a common path prefix and common rules.

    `cors`: browsers of other sites may call it. `html`: errors can be pages. `head`: HEAD is allowed for GET, except where
    GET has side effects.
    """

    name: str
    prefix: str
    cors: bool
    html: bool
    head: bool = True


INTEGRATION = Surface("integration", "/api/v2/integration", cors=True, html=False)
PROTOCOL = Surface("oauth", "", cors=True, html=False)
AUTHORIZE = Surface("authorize", "", cors=False, html=False, head=False)
DASHBOARD = Surface("dashboard", "/api/v2/merchant", cors=False, html=False)
PAGES = Surface("pages", "", cors=False, html=True)
MCP = Surface("mcp", "", cors=True, html=False)
"""Messages of the Model Context Protocol."""
RAILS = Surface("rails", "/rails", cors=False, html=False)
"""Where providers of payment methods report to."""


class NoMembers(Struct, frozen=True, forbid_unknown_fields=True):
    """A body without members."""


class Guard(Protocol):
    """Admits or rejects requests. `label` is shown in the route table."""

    @property
    def label(self) -> str:
        """Such as `payments:write` or `session`."""
        ...

    async def admit(self, request: Request) -> Any:
        """The caller. Raises `ApiError`."""
        ...

    async def record_use(self, request: Request, caller: Any) -> None:
        """Called after a successful response."""
        ...


@runtime_checkable
class ReauthenticatingGuard(Guard, Protocol):
    """A guard of users, who can confirm their password."""

    async def reauthenticate(self, request: Request, caller: Any) -> Any:
        """The caller with authentication within the last 15 minutes. Raises an error that asks for it."""
        ...


class Deprecated(Struct, frozen=True):
    """Since when an operation is deprecated, and the path of the page that describes its replacement."""

    since: datetime
    documented_at: str

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The deprecation headers (RFC 9745). There is no Sunset (RFC 8594): no date of removal is set."""
        link = f'<{self.documented_at}>; rel="deprecation"; type="text/html"'
        return [(b"deprecation", b"@%d" % int(self.since.timestamp())), (b"link", link.encode())]


class Operation(Struct, frozen=True):
    """One row of the table. `body` is the handler's parameter type, `accepts` the type that a sent body must fit.

    `full_path` is the path from the root, `name` the surface and that path. For the API reference: `reads` is the form (of a
    GET, the query) that the handler reads from `request`, `headers` what it reads of those, `response` what it returns,
    `formats` media types besides JSON. `body_bytes_max` applies to admitted callers.
    """

    surface: Surface
    method: str
    path: str
    guard: Guard
    handler: Handler
    status: int
    idempotency: Idempotency
    errors: tuple[type[ApiError], ...]
    needs: tuple[str, ...]
    body: type[Any] | None
    accepts: type[Any] | None
    query: type[Any] | None
    uuids: frozenset[str]
    response: Any
    reads: type[Struct] | None
    headers: type[Struct] | None
    formats: tuple[str, ...]
    body_bytes_max: int
    deprecated: Deprecated | None
    recent_authentication: RecentAuthentication
    full_path: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        """Compute what each request needs."""
        structs.force_setattr(self, "full_path", self.surface.prefix + self.path)
        structs.force_setattr(self, "name", f"{self.surface.name} {self.full_path}")

    @property
    def in_transaction(self) -> bool:
        """Whether the handler runs in a transaction that is committed when it returns."""
        return not {"work", "tx"}.isdisjoint(self.needs)

    @property
    def body_optional(self) -> bool:
        """Whether a missing body means an empty object."""
        return self.accepts is not None and not any(field.required for field in structs.fields(self.accepts))

    @property
    def guard_label(self) -> str:
        """The label of the guard for the route table."""
        when = {"no": "", "live": ", recent in live", "always": ", recent", "by_content": ", recent by content"}
        return self.guard.label + when[self.recent_authentication]

    @property
    def summary(self) -> str:
        """The handler's first sentence."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]


class Operations(list[Operation]):
    """The operations of one module and surface, in order of declaration."""

    def __init__(self, surface: Surface) -> None:
        super().__init__()
        self._surface = surface

    def add(
        self,
        method: str,
        path: str,
        *,
        guard: Guard,
        status: int = 200,
        idempotency: Idempotency = "no",
        errors: Sequence[type[ApiError]] = (),
        reads: type[Struct] | None = None,
        headers: type[Struct] | None = None,
        responses: Any = None,
        formats: Sequence[str] = (),
        body_bytes_max: int = BODY_BYTES_MAX,
        deprecated: Deprecated | None = None,
        recent_authentication: RecentAuthentication = "no",
    ) -> Callable[[H], H]:
        """Declare the handler below as this operation."""

        def declare(handler: H) -> H:
            hints, needs = _hints(handler, path, guard, recent_authentication)
            self.append(
                Operation(
                    surface=self._surface,
                    method=method,
                    path=path,
                    guard=guard,
                    handler=handler,
                    status=status,
                    idempotency=idempotency,
                    errors=tuple(errors),
                    needs=needs,
                    body=hints.get("body"),
                    accepts=hints.get("body") or self._nothing(method),
                    query=hints.get("query") or getattr(hints.get("page"), "query_type", None),
                    uuids=frozenset(name for name in _names(path) if hints.get(name) is UUID),
                    response=hints.get("return") if responses is None else responses,
                    reads=reads,
                    headers=headers,
                    formats=tuple(formats),
                    body_bytes_max=body_bytes_max,
                    deprecated=deprecated,
                    recent_authentication=recent_authentication,
                )
            )
            return handler

        return declare

    def _nothing(self, method: str) -> type[Any] | None:
        """The type of bodies that a handler does not read: on JSON surfaces it is an empty object."""
        return NoMembers if self._surface in (INTEGRATION, DASHBOARD) and method != "GET" else None


def _hints(
    handler: Handler, path: str, guard: Guard, recent: RecentAuthentication
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The handler's annotations and parameters. Raises `TypeError` for parameters that cannot be supplied."""
    hints, needs = get_type_hints(handler), tuple(inspect.signature(handler).parameters)
    if unknown := set(needs) - SUPPLIED - _names(path):
        raise TypeError(f"{handler.__qualname__} asks for {unknown}, which nobody supplies")
    if "env" in needs and "mode" not in _names(path):
        raise TypeError(f"{handler.__qualname__} asks for the environment, which its path does not name")
    _check_recent(recent, guard, path, hints.get("body"))
    return hints, needs


def _check_recent(when: RecentAuthentication, guard: Guard, path: str, body: Any) -> None:
    """Raises `TypeError` if recent authentication is declared but cannot be enforced."""
    if when in {"live", "always"} and not isinstance(guard, ReauthenticatingGuard):
        raise TypeError(f"{path}: {guard.label} cannot be asked to authenticate again")
    if when == "live" and "mode" not in _names(path) and "mode" not in getattr(body, "__struct_fields__", ()):
        raise TypeError(f"{path}: neither the path nor the body says which mode it is")


def _names(path: str) -> set[str]:
    """The names in braces."""
    return {part[1:-1] for part in path.split("/") if part.startswith("{")}


class Routes:
    """Finds an operation by method and path."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._root = _Node()
        for operation in operations:
            self._place(operation)
        fixed = {operation.full_path for operation in operations if "{" not in operation.full_path}
        self._fixed = {path: self._walk(path) for path in fixed}
        gets = {operation.full_path: operation for operation in operations if operation.method == "GET"}
        self._pages = {operation.full_path: _page_segments(operation.full_path, gets) for operation in operations}

    def find(self, path: str) -> tuple[dict[str, Operation], dict[str, str]]:
        """The operations of this path by method, and the values of its `{names}`. Empty if there is no such path.

        Paths with NUL match nothing: PostgreSQL and the file system reject it.
        """
        if "\0" in path:
            return {}, {}
        found = self._fixed.get(path) or self._walk(path)
        mode, rest = _split_mode(path)
        if found[0] or not mode or not rest.startswith(IN_BOTH_MODES):
            return found
        methods, values = self._fixed.get(rest) or self._walk(rest)
        return methods, {**values, "mode": mode} if methods else {}

    def page_paths(self, path: str, operation: Operation) -> tuple[str, str, str]:
        """Of a request: its page, the path that exists in both modes, without its mode, and the way out: see `Request`."""
        of_page, of_both, of_cancel = self._pages[operation.full_path]
        mode, rest = _split_mode(path)
        start, segments = ["", mode] if mode else [""], rest.split("/")[1:]
        page, both, cancel = (
            "/".join([*before, *segments[:n]]) if n else ""
            for n, before in ((of_page, start), (of_both, [""]), (of_cancel, start))
        )
        return page, both, cancel

    def _walk(self, path: str) -> tuple[dict[str, Operation], dict[str, str]]:
        node, values = self._root, list[str]()
        for segment in path.split("/")[1:]:
            below = node.below.get(segment)
            if below is None:
                if node.any is None or not segment:
                    return {}, {}
                below = node.any
                values.append(segment)
            node = below
        return node.methods, dict(zip(node.names, values, strict=True)) if node.methods else {}

    def _place(self, operation: Operation) -> None:
        node = self._root
        for segment in operation.full_path.split("/")[1:]:
            if segment.startswith("{"):
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.below.setdefault(segment, _Node())
        if operation.method in node.methods:
            raise ValueError(f"{operation.method} {operation.full_path} is declared twice")
        node.methods[operation.method] = operation
        node.names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]


def _split_mode(path: str) -> tuple[str, str]:
    """The mode that a path begins with, or an empty text, and the rest."""
    mode, slash, rest = path[1:].partition("/")
    return (mode, slash + rest) if mode in get_args(Mode) else ("", path)


def _page_segments(pattern: str, gets: Mapping[str, Operation]) -> tuple[int, int, int]:
    """How many segments after the mode name the page, the page that exists in both modes, and the one of `cancel_path`.

    An object has one mode.
    """
    start = "/{mode}" if pattern.startswith(IN_ONE_MODE) else ""
    segments = pattern.removeprefix(start).split("/")[1:]
    found = {n: gets.get("/".join([start, *segments[:n]])) for n in range(len(segments), 0, -1)}
    pages = {n: page for n, page in found.items() if page is not None}
    cancel = next((n for n, page in pages.items() if page.recent_authentication == "no"), 0)
    if not pattern.startswith((IN_ONE_MODE, *IN_BOTH_MODES)):
        return next(iter(pages), 0), 0, cancel
    shared = [n for n in pages if not start or not any(segment.startswith("{") for segment in segments[:n])]
    return next(iter(pages), 0), next(iter(shared), 0), cancel


class _Node:
    """A path segment and its possible successors."""

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.methods: dict[str, Operation] = {}
        self.names: list[str] = []
