"""Proofs of keys at the endpoints of the authorization server (DPoP, RFC 9449)."""

from tollhouse.accounts.identity import dpop
from tollhouse.accounts.identity.jose import JoseError
from tollhouse.http.request import Request
from tollhouse.kernel.errors import ApiError


class InvalidDpopProof(ApiError):
    """400: the `DPoP` header is malformed, expired or used, or of another request (RFC 9449 section 5)."""

    code, message = "invalid_dpop_proof", "The DPoP proof is not valid."
    solution = "Make a new proof for each request: its method and URL, the time of now, and a new `jti`."


class ProofRequired(InvalidDpopProof):
    """400: the settings of the application demand tokens that are bound to a key."""

    message = "This application must send a DPoP proof: its settings demand bound tokens."


async def proven_key(request: Request) -> bytes | None:
    """The thumbprint of the key that the request proves to have; None without a proof. Raises `InvalidDpopProof`."""
    if not request.headers.getlist("dpop"):
        return None
    try:
        return await dpop.prove(request)
    except JoseError as error:
        raise InvalidDpopProof(detail=f"proof: {error}") from None
