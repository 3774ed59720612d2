"""The HTTP request of a delivery: its address, the stored body, and the signature headers."""

import base64
import binascii
import hmac
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.database.pool import Row
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.webhooks.delivery.response_excerpts import HIDDEN
from tollhouse.webhooks.events import secrets
from tollhouse.webhooks.events.secrets import SigningSecret

USER_AGENT = "Tollhouse-Webhooks/2"

Trigger = Literal["automatic", "manual", "test"]


class Claim(Struct, frozen=True):
    """A delivery leased by this worker for one attempt. `request_id` is the request that caused its event."""

    event_id: UUID
    token: UUID
    lane: int
    destination_key: int
    mode: Mode
    trigger: Trigger
    held: bool
    tries: int
    lost: int
    started_at: datetime
    request_id: str | None = None


class SignedRequest(Struct, frozen=True):
    """A request that is ready to be sent."""

    url: str
    body: bytes
    headers: dict[str, str]


def claim_from_row(row: Row, token: UUID) -> Claim:
    """The claim of a leased row."""
    columns = ("event_id", "lane", "destination_key", "mode", "held", "tries", "lost", "started_at")
    return Claim(
        **{name: row[name] for name in columns},
        token=token,
        trigger=row["sending"],
        request_id=None if row["request_id"] is None else str(row["request_id"]),
    )


def destination_url(claim: Claim, row: Row, *, deprecated_webhooks: bool) -> str | None:
    """The current address of the event; None if it is not to be sent.

    Saved addresses count only in compatibility mode (`deprecated_webhooks`); a manual redelivery uses the current one.
    A held event without an active secret has expired.
    """
    if row["disabled"] or (claim.held and row["version"] is None):
        return None
    if row["destination_source"] in {"request", "test"}:
        return row["destination_url"]
    if not deprecated_webhooks:
        return None
    return row["saved_url"] if claim.trigger == "manual" else row["destination_url"]


def sign(keys: KeyRing, claim: Claim, row: Row, url: str) -> SignedRequest:
    """Sign the stored body. Raises `DecryptionError` without a usable secret, `ValueError` if the body is damaged."""
    if row["version"] is None:
        raise DecryptionError("no active secret")
    env = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
    body = unpack(row["body"])
    signing = [SigningSecret(row["version"], Encrypted(row["key_id"], row["nonce"], row["ciphertext"]))]
    if row["previous_version"] is not None:
        encrypted = Encrypted(row["previous_key_id"], row["previous_nonce"], row["previous_ciphertext"])
        signing.append(SigningSecret(row["previous_version"], encrypted))
    headers = unsigned_headers(claim.event_id, row["type"], row["position"], claim.mode, row["attempts"] + 1)
    headers |= signature_headers(keys, env, signing, claim.event_id, claim.started_at, body)
    return SignedRequest(url, body, headers)


def signature_headers(
    keys: KeyRing, env: MerchantEnv, signing: Sequence[SigningSecret], event_id: UUID, at: datetime, body: bytes
) -> dict[str, str]:
    """The signatures of a body by the secret of now, and by the one before it during an overlap; nothing without one.

    Raises `DecryptionError`, and `ValueError` if a secret is damaged.
    """
    if not signing:
        return {}
    current, *previous = texts = [secrets.decrypt(keys, env, secret.version, secret.encrypted) for secret in signing]
    headers = {"X-Service-Signature": signature(current, body)}
    if previous:
        headers["X-Service-Signature-Previous"] = signature(previous[0], body)
    return headers | standard_headers(texts, event_id, int(at.timestamp()), body)


def unsigned_headers(event_id: UUID, event_type: str, position: int | None, mode: Mode, attempt: int) -> dict[str, str]:
    """The headers of an attempt that need no secret. `webhook.test` has no position."""
    placed = {} if position is None else {"X-Service-Position": str(position)}
    return placed | {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": USER_AGENT,
        "X-Service-Event-Id": str(event_id),
        "X-Service-Event-Type": event_type,
        "X-Service-Mode": mode,
        "X-Service-Attempt": str(attempt),
    }


def shown_headers(
    event_id: UUID, event_type: str, position: int | None, mode: Mode, attempt: int, started_at: datetime
) -> dict[str, str]:
    """The headers of an attempt for people. Its signatures cannot be shown without the secret that it was made with."""
    return unsigned_headers(event_id, event_type, position, mode, attempt) | {
        "X-Service-Signature": HIDDEN,
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(started_at.timestamp())),
        "webhook-signature": HIDDEN,
    }


def signature(secret: str, body: bytes) -> str:
    """HMAC-SHA256 as 64 lower-case hex digits. The key is the secret's text as it was shown."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def standard_headers(texts: Sequence[str], event_id: UUID, sent_at_s: int, body: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks 1.0: id, time and body are signed with each decoded secret."""
    webhook_id, timestamp = str(event_id), str(sent_at_s)
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    digests = [base64.b64encode(hmac.digest(_decoded(text), signed, "sha256")).decode() for text in texts]
    signatures = " ".join(f"v1,{digest}" for digest in digests)
    return {"webhook-id": webhook_id, "webhook-timestamp": timestamp, "webhook-signature": signatures}


@lru_cache(maxsize=1_024)
def _decoded(secret: str) -> bytes:
    encoded = secret.removeprefix(secrets.PREFIX)
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except binascii.Error:
        raise ValueError("a signing secret is whsec_ and base64") from None
