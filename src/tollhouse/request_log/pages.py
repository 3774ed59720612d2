"""The dashboard's pages of the request log: what the credentials of one environment asked for, and one request."""

import shlex
from urllib.parse import quote, urlencode
from uuid import UUID

import msgspec
from starlette.responses import Response

from tollhouse.http.operations import INTEGRATION, PAGES, Operations
from tollhouse.http.paging import Turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.limits import PAGE_ROWS_DEFAULT
from tollhouse.request_log import redaction, store
from tollhouse.request_log.cleaning import kept_since
from tollhouse.request_log.model import Credential, CredentialKind, RequestsQuery, RequestView

OPERATIONS = Operations(PAGES)
METHODS = [(method, method) for method in ("GET", "POST", "PUT", "DELETE")]
STATUSES = [("2xx", "2xx: done"), ("4xx", "4xx: refused"), ("5xx", "5xx: failed at our side")]


@OPERATIONS.add("GET", "/{mode}/developers/requests", guard=signed_in_page)
async def requests(request: Request, caller: Person, mode: str, query: RequestsQuery) -> Response:
    """Requests of the last days, newest first, as the address filters them."""
    env, services = caller.env(mode), request.services
    found = await store.newest(services.db, env, query, PAGE_ROWS_DEFAULT + 1, kept_since(services, request.now))
    shown = found[:PAGE_ROWS_DEFAULT]
    credentials = await store.credentials(services.db, env)
    more = urlencode(query.filters | {"before": str(shown[-1].id)}) if len(found) > len(shown) else ""
    return page(
        request,
        "request_log/list.html",
        person=caller,
        mode=env.mode,
        here="requests",
        requests=shown,
        query=query,
        methods=METHODS,
        statuses=STATUSES,
        credentials=[(one.credential, one.name) for one in credentials],
        names={one.credential: one.name for one in credentials},
        days=services.settings.request_log_kept_days,
        searched=store.SEARCHED_REQUESTS_MAX,
        turn=Turn(1, "?" + urlencode(query.filters) if query.before else "", f"?{more}" if more else ""),
    )


@OPERATIONS.add("GET", "/{mode}/developers/requests/{entry}", guard=signed_in_page)
async def show(request: Request, caller: Person, mode: str, entry: UUID) -> Response:
    """One request: who asked for what, and what was answered."""
    env, services = caller.env(mode), request.services
    found = await store.one(services.db, env, entry, kept_since(services, request.now))
    if found is None:
        raise NotFound
    known = {one.credential: one for one in await store.credentials(services.db, env)}
    return page(
        request,
        "request_log/one.html",
        person=caller,
        mode=env.mode,
        here="requests",
        request=found,
        credential=known.get(found.credential) or Credential(found.credential, "", _kind(found)),
        asked=_laid_out(found.asked),
        answered=_laid_out(found.answered),
        command=_command(found, services.settings.base_url),
        hidden=redaction.HIDDEN,
    )


def _kind(found: RequestView) -> CredentialKind:
    return "key" if found.grant_id is None else "application"


def _laid_out(body: str | None) -> str:
    """JSON for reading; what is no JSON as it is."""
    if body is None:
        return ""
    return msgspec.json.format(body, indent=2) if body.startswith(("{", "[")) else body


def _command(found: RequestView, base_url: str) -> str:
    """The request as one line for a shell. The credential stays in the shell's own variable."""
    address = base_url + INTEGRATION.prefix + quote(found.path) + (f"?{found.query}" if found.query else "")
    parts = ["curl", "-g", "-X", found.method, shlex.quote(address), '-H "X-API-Key: $TOLLHOUSE_API_KEY"']
    if found.has_key:
        parts.append('-H "Idempotency-Key: $(uuidgen)"')
    if found.asked is not None and found.asked.startswith(("{", "[")):
        parts += ["-H 'Content-Type: application/json'", "-d", shlex.quote(found.asked)]
    return " ".join(parts)
