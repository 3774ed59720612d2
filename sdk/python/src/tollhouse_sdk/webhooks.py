"""Verification of webhooks: that they are genuine, unchanged and recent."""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from tollhouse_sdk.errors import SignatureInvalid

if TYPE_CHECKING:
    from tollhouse_sdk.generated.models import Event

PREFIX = "whsec_"
TOLERANCE_S = 300
BARE_HEADERS = ("x-service-signature", "x-service-signature-previous")


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Iterable[str],
    *,
    tolerance_s: float | None = TOLERANCE_S,
    now: float | None = None,
) -> "Event":
    """The event of a delivery, or `SignatureInvalid`. `body` is what arrived, byte for byte.

    `secrets` is the signing secret as it was shown, or several of which one is enough, such as the old and the new one.
    A delivery whose signature is older than `tolerance_s` is refused, so that nobody can send it again; None accepts any
    age, for deliveries that were kept, and then also those that have `X-Service-Signature` alone.
    """
    found = {name.lower(): value for name, value in headers.items()}
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    if not known or not all(secret.startswith(PREFIX) for secret in known):
        raise ValueError(f"A signing secret begins with {PREFIX}.")
    if "webhook-signature" in found:
        _check_standard(body, found, known, tolerance_s, time.time() if now is None else now)
    elif tolerance_s is None:
        _check_bare(body, found, known)
    else:
        raise SignatureInvalid("The header webhook-signature is missing.")
    event = json.loads(body)
    if found.get("webhook-id", event["id"]) != event["id"]:
        raise SignatureInvalid("The header webhook-id is not the ID of the event.")
    return cast("Event", event)


def _check_standard(body: bytes, found: Mapping[str, str], known: list[str], tolerance_s: float | None, now: float) -> None:
    """The headers of Standard Webhooks. While a secret is being rotated there are two signatures, of which one is enough."""
    name, said = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
    if not (said.isascii() and said.isdigit()):
        raise SignatureInvalid("The header webhook-timestamp is missing or malformed.")
    message = b".".join([name.encode(), said.encode(), body])
    expected = [b"v1," + _standard_signature(secret, message) for secret in known]
    given = found["webhook-signature"].encode().split(b" ")
    if not any([hmac.compare_digest(one, other) for one in expected for other in given]):  # noqa: C419 - all are compared
        raise SignatureInvalid("The signature does not match the body and the secret.")
    if tolerance_s is not None and abs(now - int(said)) > tolerance_s:
        raise SignatureInvalid(f"The delivery was signed more than {tolerance_s:g} s ago, or in the future.")


def _standard_signature(secret: str, message: bytes) -> bytes:
    key = b64decode(secret.removeprefix(PREFIX))
    return b64encode(hmac.digest(key, message, hashlib.sha256))


def _check_bare(body: bytes, found: Mapping[str, str], known: list[str]) -> None:
    """`X-Service-Signature`, and beside it that of the previous secret while it is being rotated."""
    expected = [hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode() for secret in known]
    given = [found[name].encode() for name in BARE_HEADERS if name in found]
    if not any([hmac.compare_digest(one, other) for one in expected for other in given]):  # noqa: C419 - all are compared
        raise SignatureInvalid("The signature does not match the body and the secret.")
