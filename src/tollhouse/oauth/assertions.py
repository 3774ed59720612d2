"""Authentication by a signed token, `private_key_jwt` (RFC 7523, RFC 7521), by the rules of FAPI 2.0.

The audience is the issuer alone: a token for one endpoint of one server cannot be passed on to another. Each is used once.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from tollhouse.accounts.identity import jose, jti_store
from tollhouse.accounts.identity.jose import JoseError, SignedToken
from tollhouse.http.services import Services
from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.ids import ClientId
from tollhouse.oauth import clients_store, documents, keys_store
from tollhouse.oauth.documents import FetchError
from tollhouse.oauth.keys_store import ClientKeys
from tollhouse.oauth.model import InvalidClient
from tollhouse.oauth.protocol_settings import usable_keys

LIFETIME_S = 300
"""The latest expiry, in seconds from now."""
CLOCK_DIFFERENCE_S = 60
JTI_CHARS_MAX = 255
TYPES = frozenset({None, "JWT", "client-authentication+jwt"})
KEYS_MAX_AGE = timedelta(minutes=10)
KEYS_MAX_AGE_OF_UNKNOWN = timedelta(seconds=30)
"""A key that is not in the set may be new."""


def claimed_client_id(assertion: str) -> str | None:
    """The client ID in an assertion that is not verified yet; None if it is malformed."""
    try:
        return jose.parse(assertion).text("sub")
    except JoseError:
        return None


async def prove(services: Services, client_id: ClientId, assertion: str, now: datetime) -> bytes:
    """Verify and use an assertion of this client. The digest that stands for its keys. Raises `InvalidClient`."""
    try:
        token = jose.parse(assertion)
        _check_claims(token, client_id, services.settings.base_url, now)
    except JoseError as error:
        raise InvalidClient(detail=f"assertion: {error}") from None
    client = await keys_store.find_keys(services.db, client_id) if clients_store.CLIENT_ID.fullmatch(client_id) else None
    if client is None:
        raise InvalidClient(detail="assertion of a client without keys")
    if not await _is_signed_by(services, client, token, now):
        raise InvalidClient(detail="assertion: wrong signature or key")
    expires_at = datetime.fromtimestamp((token.time("exp") or 0) + CLOCK_DIFFERENCE_S, UTC)
    if not await jti_store.use(services.db, "assertion", client_id, token.text("jti") or "", expires_at):
        raise InvalidClient(detail="assertion: used before")
    return client.secret_hash


def _check_claims(token: SignedToken, client_id: ClientId, issuer: str, now: datetime) -> None:
    """Raises `JoseError` for claims that are not those of an assertion of this client for this server now."""
    audience = token.claims.get("aud")
    expires_at, jti, at = token.time("exp"), token.text("jti"), now.timestamp()
    if token.header.get("typ") not in TYPES:
        raise JoseError("typ")
    if token.text("iss") != client_id or token.text("sub") != client_id:
        raise JoseError("iss and sub must be the client ID")
    if audience not in (issuer, [issuer]):
        raise JoseError("aud must be the issuer alone")
    if expires_at is None or not at - CLOCK_DIFFERENCE_S < expires_at <= at + LIFETIME_S + CLOCK_DIFFERENCE_S:
        raise JoseError("exp must be within 5 minutes")
    for name in ("iat", "nbf"):
        begins_at = token.time(name)
        if name in token.claims and (begins_at is None or begins_at > at + CLOCK_DIFFERENCE_S):
            raise JoseError(f"{name} must not be in the future")
    if not jti or len(jti) > JTI_CHARS_MAX:
        raise JoseError("jti must be a text of 1 to 255 characters")


async def _is_signed_by(services: Services, client: ClientKeys, token: SignedToken, now: datetime) -> bool:
    if client.jwks is not None:
        return _verifies(token, usable_keys(client.jwks))
    if client.jwks_uri is None:
        return False
    for max_age in (KEYS_MAX_AGE, KEYS_MAX_AGE_OF_UNKNOWN):
        if _verifies(token, await _fetched_keys(services, client.jwks_uri, now, max_age)):
            return True
    return False


def _verifies(token: SignedToken, keys: list[dict[str, Any]]) -> bool:
    """Whether one of the keys made the signature: that of its `kid`, if it has one."""
    kid = token.header.get("kid")
    return any(jose.verify(token, key) for key in keys if kid is None or key.get("kid") == kid)


async def _fetched_keys(services: Services, url: str, now: datetime, max_age: timedelta) -> list[dict[str, Any]]:
    try:
        document = await documents.get(services, url, now, max_age)
        return usable_keys(foreign_json.decode(document.body, dict[str, Any]))
    except (FetchError, ForeignJsonError, JoseError) as error:
        raise InvalidClient(
            "Client authentication failed: the keys of the application could not be fetched.", detail=f"jwks_uri: {error}"
        ) from None
