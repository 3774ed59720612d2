"""Applications that are known by a URL: a client ID metadata document there says what they are. They have no owner.

The document is fetched where an authorization begins, before the application is looked for, and stored as an application.
Codes, tokens and connections are then those of any public application.
"""

from datetime import datetime, timedelta
from typing import Any, cast

from msgspec import Struct

from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.throttle import FailureLimit
from tollhouse.http.request import Request
from tollhouse.http.services import Services
from tollhouse.kernel import foreign_json, scopes
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.limits import APPLICATION_NAME_CHARS_MAX, CALLBACK_URLS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.scopes import OFFLINE
from tollhouse.oauth import documents, documents_store, redirect_uris
from tollhouse.oauth.documents import FetchError
from tollhouse.oauth.documents_store import DocumentClient
from tollhouse.oauth.model import DEFAULT_GRANT_TYPES, DEVICE_CODE_GRANT, UnknownApplication, stored_id
from tollhouse.oauth.redirect_uris import UrlError, WebUrl

MAX_AGE = timedelta(hours=1)
MAX_AGE_OF_REFUSED = timedelta(seconds=30)
"""A document that is not valid may have been corrected."""
FETCHES_PER_ADDRESS = 10
SCOPES = scopes.known(name for name in scopes.ALL if not name.startswith("balance-payments:"))
"""All but those to pay an owner."""


class DocumentError(ValueError):
    """The document does not describe an application that can connect here. The message is for the log."""


class DocumentNotFetched(UnknownApplication):
    """401 where an authorization begins: the document of the application could not be fetched, or is not valid."""

    message = "The document at the URL of `client_id` could not be fetched, or does not describe a public application."
    solution = "Serve a valid client ID metadata document at exactly this URL, over https and without redirects."


class DocumentsClosed(UnknownApplication):
    """401 in live mode: an application that is known by a URL connects only where an operator has allowed its host."""

    message = "Applications that are known by a URL cannot connect in live mode, unless the operator allows their host."
    solution = "Use test mode, register the application, or ask the operator to allow the host of the document."


class Parts(Struct, frozen=True):
    """The URL of a document, and its host."""

    url: str
    host: str


async def prepare(request: Request, client_id: str | None, mode: str | None) -> None:
    """Fetch the document of an application that is known by a URL, and store what it says. Does nothing for any other.

    Raises `DocumentsClosed` and `DocumentNotFetched`.
    """
    parts = None if client_id is None else parse_url(client_id)
    if parts is None:
        return
    if mode != "test" and parts.host not in request.services.settings.client_document_hosts:
        raise DocumentsClosed
    of_address = FailureLimit("documents for", throttle.network_of(request.address), FETCHES_PER_ADDRESS, throttle.MINUTE)
    try:
        found = await _current(request.services, parts, request.now, of_address)
    except (FetchError, DocumentError, ForeignJsonError) as error:
        raise DocumentNotFetched(detail=f"document: {error}") from None
    await documents_store.save_client(request.services.db, found, request.now)


def parse_url(client_id: str) -> Parts | None:
    """The URL of a document: https, with a path, without dot segments, fragment and user; None for any other client ID."""
    url = redirect_uris.parse(client_id) if client_id.startswith("https://") and "#" not in client_id else None
    if not isinstance(url, WebUrl):
        return None
    path = client_id.removeprefix(redirect_uris.origin_of(client_id)).partition("?")[0]
    segments = path.lower().replace("%2e", ".").split("/")
    return Parts(client_id, url.host) if len(path) > 1 and not {".", ".."} & {*segments} else None


async def _current(services: Services, parts: Parts, now: datetime, of_address: FailureLimit) -> DocumentClient:
    document = await documents.get(services, parts.url, now, MAX_AGE, of_address)
    try:
        return read(parts, document.body)
    except (DocumentError, ForeignJsonError):
        again = await documents.get(services, parts.url, now, MAX_AGE_OF_REFUSED, of_address)
        return read(parts, again.body)


def read(parts: Parts, body: bytes) -> DocumentClient:
    """What a document says. Raises `DocumentError` and `ForeignJsonError`."""
    said = foreign_json.decode(body, dict[str, Any])
    if said.get("client_id") != parts.url:
        raise DocumentError("client_id is not the URL of the document")
    if said.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in said:
        raise DocumentError("not a public application")
    grant_types = _grant_types(said.get("grant_types", DEFAULT_GRANT_TYPES))
    return DocumentClient(
        id=stored_id(parts.url),
        document_url=parts.url,
        name=_name(said.get("client_name"), parts.host),
        website_url=_of_host(said.get("client_uri"), parts.host) or redirect_uris.origin_of(parts.url),
        redirect_uris=_redirect_uris(said.get("redirect_uris"), parts.host, grant_types),
        scope_mask=(SCOPES if "refresh_token" in grant_types else SCOPES - OFFLINE).mask,
        grant_types=grant_types,
        policy_uri=_of_host(said.get("policy_uri"), parts.host),
        tos_uri=_of_host(said.get("tos_uri"), parts.host),
        require_par=said.get("require_pushed_authorization_requests") is True,
        dpop_bound=said.get("dpop_bound_access_tokens") is True,
    )


def _name(sent: object, host: str) -> str:
    """The host first: it is what is known, while the name is what the application says of itself."""
    if sent is None:
        return host
    if not isinstance(sent, str) or not 1 <= len(sent.strip()) <= APPLICATION_NAME_CHARS_MAX or not is_readable(sent):
        raise DocumentError("client_name")
    return f"{host} ({sent.strip()})"


def _grant_types(sent: object) -> list[str]:
    names = cast("list[object]", sent) if isinstance(sent, list) else []
    known = [name for name in (*DEFAULT_GRANT_TYPES, DEVICE_CODE_GRANT) if name in names]
    if not {"authorization_code", DEVICE_CODE_GRANT} & {*known}:
        raise DocumentError("grant_types")
    return known


def _redirect_uris(sent: object, host: str, grant_types: list[str]) -> list[str]:
    """Those on the host of the document or on loopback; others do not count, such as addresses of apps."""
    uris = [uri for uri in cast("list[object]", sent) if isinstance(uri, str)] if isinstance(sent, list) else []
    usable = [uri for uri in uris if redirect_uris.find_error(uri) is None and _is_allowed(uri, host)]
    if "authorization_code" in grant_types and not usable:
        raise DocumentError("redirect_uris: none on the host of the document or on loopback")
    return list(dict.fromkeys(usable))[:CALLBACK_URLS_MAX]


def _is_allowed(uri: str, host: str) -> bool:
    return redirect_uris.is_loopback(uri) or _of_host(uri, host) is not None


def _of_host(sent: object, host: str) -> str | None:
    """An https URL on the host of the document; None for anything else."""
    url: WebUrl | UrlError | None = redirect_uris.parse(sent) if isinstance(sent, str) else None
    return cast("str", sent) if isinstance(url, WebUrl) and (url.scheme, url.host) == ("https", host) else None
