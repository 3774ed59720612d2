"""The signature of the provider's webhooks: `Stripe-Signature: t=<Unix seconds>,v1=<hex>[,v1=<hex>]`.

`v1` is the HMAC-SHA256 of the timestamp, a dot and the raw body. While a secret is rotated, the provider signs with both,
and both are configured here.
"""

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

TOLERANCE_S = 300
"""How far the timestamp may be from the clock of this host. An older request may be a recorded one."""
SIGNATURES_MAX = 8
HEADER_CHARS_MAX = 2_048


def is_signed(header: str | None, raw: bytes, secrets: Sequence[bytes], now: datetime) -> bool:
    """Whether one of the signatures was made with one of the secrets, at about this time."""
    if header is None or len(header) > HEADER_CHARS_MAX:
        return False
    timestamps, signatures = list[str](), list[bytes]()
    for item in header.split(","):
        name, _, value = item.strip().partition("=")
        if name == "t":
            timestamps.append(value)
        elif name == "v1":
            signatures.append(value.encode("latin-1", "replace"))
    if len(timestamps) != 1 or not 1 <= len(signatures) <= SIGNATURES_MAX:
        return False
    [at] = timestamps
    if not (at.isascii() and at.isdigit() and len(at) <= 12) or abs(now.timestamp() - int(at)) > TOLERANCE_S:  # noqa: PLR2004 - digits of a year far away
        return False
    signed = at.encode() + b"." + raw
    expected = [hmac.new(secret, signed, hashlib.sha256).hexdigest().encode() for secret in secrets]
    # Every pair is compared: the time does not say which secret or signature fits.
    return sum(hmac.compare_digest(one, sent) for one in expected for sent in signatures) > 0
