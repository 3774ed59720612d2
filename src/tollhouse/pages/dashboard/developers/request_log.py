"""The dashboard's pages of the request log."""

import shlex
from urllib.parse import quote, urlencode
from uuid import UUID

import msgspec
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.lists import PageLinks
from tollhouse.http.operations import INTEGRATION, PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.limits import PAGE_ROWS_DEFAULT
from tollhouse.kernel.resources import PATHS
from tollhouse.kernel.text import Text
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.webhooks.request_log import redaction, store
from tollhouse.webhooks.request_log.model import CredentialKind, CredentialLabel, RequestsQuery, RequestView
from tollhouse.webhooks.request_log.retention import kept_since

OPERATIONS = Operations(PAGES)
METHODS = [(method, method) for method in ("GET", "POST", "PUT", "DELETE")]
STATUSES = [
    ("2xx", Text("%(status)s: succeeded", status="2xx")),
    ("4xx", Text("%(status)s: client error", status="4xx")),
    ("5xx", Text("%(status)s: server error", status="5xx")),
]


@OPERATIONS.add("GET", "/{mode}/developers/requests", guard=signed_in_page("read"))
async def requests(request: Request, caller: Person, env: MerchantEnv, query: RequestsQuery) -> Response:
    """List the requests of the last days, newest first."""
    services = request.services
    found = await store.list_newest(services.db, env, query, PAGE_ROWS_DEFAULT + 1, kept_since(services, request.now))
    shown = found[:PAGE_ROWS_DEFAULT]
    credentials = await store.list_credentials(services.db, env)
    more = urlencode(query.filters | {"before": str(shown[-1].id)}) if len(found) > len(shown) else ""
    return render(
        request,
        caller,
        "request_log/list",
        here="requests",
        requests=shown,
        query=query,
        saved=await load_saved_filters(request, caller, env, "developers/requests", query),
        methods=METHODS,
        statuses=STATUSES,
        credentials=[(credential.credential, credential.name) for credential in credentials],
        names={credential.credential: credential.name for credential in credentials},
        days=services.settings.request_log_kept_days,
        searched=store.SEARCHED_REQUESTS_MAX,
        page_links=PageLinks(1, "?" + urlencode(query.filters) if query.before else "", f"?{more}" if more else ""),
    )


@OPERATIONS.add("GET", "/{mode}/developers/requests/{entry}", guard=signed_in_page("read"))
async def show(request: Request, caller: Person, env: MerchantEnv, entry: UUID) -> Response:
    """Show a request and its response."""
    services = request.services
    found = await store.get(services.db, env, entry, kept_since(services, request.now))
    if found is None:
        raise NotFound
    known = {credential.credential: credential for credential in await store.list_credentials(services.db, env)}
    return render(
        request,
        caller,
        "request_log/one",
        here="requests",
        request=found,
        credential=known.get(found.credential) or CredentialLabel(found.credential, "", _kind(found)),
        request_body=_formatted(found.request_body),
        response_body=_formatted(found.response_body),
        command=_command(found, services.settings.base_url),
        hidden=redaction.HIDDEN,
    )


def _kind(found: RequestView) -> CredentialKind:
    return "key" if found.grant_id is None else "application"


def _formatted(body: str | None) -> str:
    """Indented JSON; other text unchanged."""
    if body is None:
        return ""
    return msgspec.json.format(body, indent=2) if body.startswith(("{", "[")) else body


def _command(found: RequestView, base_url: str) -> str:
    """The request as a curl command. The credential is a shell variable."""
    prefix = "" if found.path == PATHS["mcp"] else INTEGRATION.prefix
    address = base_url + prefix + quote(found.path) + (f"?{found.query}" if found.query else "")
    parts = ["curl", "-g", "-X", found.method, shlex.quote(address), '-H "X-API-Key: $TOLLHOUSE_API_KEY"']
    if found.has_key:
        parts.append('-H "Idempotency-Key: $(uuidgen)"')
    if found.request_body is not None and found.request_body.startswith(("{", "[")):
        parts += ["-H 'Content-Type: application/json'", "-d", shlex.quote(found.request_body)]
    return " ".join(parts)
