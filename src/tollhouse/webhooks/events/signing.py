"""Signatures over the exact body of an event: `X-Service-Signature` and the three Standard Webhooks headers."""

import base64
import binascii
import hmac
from functools import lru_cache
from uuid import UUID

STANDARD_PREFIX = "whsec_"


def signature(secret: str, body: bytes) -> str:
    """HMAC-SHA256 as 64 lower-case hex digits. The key is the secret's text as it was shown."""
    return hmac.digest(secret.encode(), body, "sha256").hex()


def standard_headers(secret: str, event_id: UUID, sent_at_s: int, body: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks 1.0: id, time and body are signed with the decoded secret."""
    webhook_id, timestamp = str(event_id), str(sent_at_s)
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    digest = base64.b64encode(hmac.digest(_decoded(secret), signed, "sha256")).decode()
    return {"webhook-id": webhook_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{digest}"}


@lru_cache(maxsize=1_024)
def _decoded(secret: str) -> bytes:
    encoded = secret.removeprefix(STANDARD_PREFIX)
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except binascii.Error:
        raise ValueError("a signing secret is whsec_ and base64") from None
