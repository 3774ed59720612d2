"""Proofs that the sender of a request has a key (DPoP, RFC 9449): a token signed for its method and URL, used once.

No nonces are given: a proof can be made a minute ahead at most, and the ids of used ones are kept until it has expired.
"""

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import unquote

from tollhouse.accounts.identity import jose, jti_store
from tollhouse.accounts.identity.jose import JoseError, SignedToken
from tollhouse.http.request import Request
from tollhouse.kernel import base64url

CLOCK_DIFFERENCE_S = 60
"""How far the time of a proof can be from now, before or after."""
JTI_CHARS_MAX = 255
DEFAULT_PORTS = {"https": ":443", "http": ":80"}
URL = re.compile(r"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#@]+)(?P<path>/[^?#]*)?(?:[?#].*)?")


async def prove(request: Request, access_token: str | None = None) -> bytes:
    """Verify and use the proof of this request: the thumbprint of its key. Raises `JoseError`.

    With an access token, the proof must be for it.
    """
    sent = request.headers.getlist("dpop")
    if len(sent) != 1:
        raise JoseError("one DPoP header is needed")
    token = jose.parse(sent[0])
    key = token.header.get("jwk")
    if token.header.get("typ") != "dpop+jwt":
        raise JoseError("typ must be dpop+jwt")
    if not isinstance(key, dict):
        raise JoseError("jwk must be the public key")
    _check_claims(token, request, access_token)
    thumbprint = jose.thumbprint(cast("dict[str, Any]", key))
    if not jose.verify(token, cast("dict[str, Any]", key)):
        raise JoseError("wrong signature")
    expires_at = datetime.fromtimestamp((token.time("iat") or 0) + 2 * CLOCK_DIFFERENCE_S, UTC)
    if not await jti_store.use(request.services.db, "dpop", thumbprint.hex(), token.text("jti") or "", expires_at):
        raise JoseError("used before")
    return thumbprint


def _check_claims(token: SignedToken, request: Request, access_token: str | None) -> None:
    """Raises `JoseError` for claims that are not those of a proof of this request now."""
    issued_at, jti, url = token.time("iat"), token.text("jti"), token.text("htu")
    if not jti or len(jti) > JTI_CHARS_MAX:
        raise JoseError("jti must be a text of 1 to 255 characters")
    if issued_at is None or abs(request.now.timestamp() - issued_at) > CLOCK_DIFFERENCE_S:
        raise JoseError("iat must be within a minute of now")
    if token.text("htm") != request.method:
        raise JoseError("htm must be the method")
    if url is None or normal(url) != normal(request.services.settings.base_url + request.path):
        raise JoseError("htu must be the URL")
    if access_token is not None and token.text("ath") != base64url.encode(hashlib.sha256(access_token.encode()).digest()):
        raise JoseError("ath must be the digest of the access token")


def normal(url: str) -> str | None:
    """A URL without query and fragment, in the form in which equal ones are the same text (RFC 3986 section 6.2)."""
    parts = URL.fullmatch(url)
    if parts is None:
        return None
    scheme, authority = parts["scheme"].lower(), parts["authority"].lower()
    return f"{scheme}://{authority.removesuffix(DEFAULT_PORTS.get(scheme, ''))}{unquote(parts['path'] or '/')}"
