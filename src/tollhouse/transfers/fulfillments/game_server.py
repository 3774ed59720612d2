"""An operator's game server: a grant is a signed POST request, answered in one of three ways.

The headers are `X-Grant-Timestamp` (Unix seconds) and `X-Grant-Signature`, the lowercase hex HMAC-SHA256 over the
timestamp, a dot and the raw body. A grant without a definite response is sent again with the same
`fulfillment_id`: the server must deliver it once and repeat its first response.

A 2xx with a `reference` means delivered, completely or `delivered_quantity`. A 4xx with an `error` means that it is
rejected permanently. Everything else is unknown, also 401, 408, 425 and 429, which concern the request, not the order.
"""

import hashlib
import hmac
import re
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.limits import DELIVERY_BODY_BYTES_MAX
from tollhouse.kernel.rails.grants import UNKNOWN, GrantAnswer, GrantOrder
from tollhouse.platform.outgoing.outbound import Outbound, Outcome

ENCODER = msgspec.json.Encoder()
USER_AGENT = "Tollhouse-Grants/2"
FAILURE_CODE = re.compile(r"[a-z0-9_]{1,64}")
UNDECIDED_STATUSES = frozenset({401, 408, 425, 429})


class DeliveryBody(Struct, frozen=True):
    """The body of a 2xx."""

    reference: Annotated[str, Meta(min_length=1, max_length=255)]
    delivered_quantity: int | None = None


class RejectionBody(Struct, frozen=True):
    """The body of a 4xx."""

    error: Annotated[str, Meta(min_length=1)]


async def grant(outbound: Outbound, url: str, secret: bytes, order: GrantOrder, now: datetime) -> GrantAnswer:
    """Send a grant to a game server; called without an open transaction."""
    body = ENCODER.encode(order)
    headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT, **signed(secret, int(now.timestamp()), body)}
    return read(await outbound.post(url, body, headers, kept_bytes=DELIVERY_BODY_BYTES_MAX), order.quantity)


def signed(secret: bytes, at: int, body: bytes) -> dict[str, str]:
    """The timestamp and signature headers."""
    signature = hmac.new(secret, b"%d." % at + body, hashlib.sha256).hexdigest()
    return {"X-Grant-Timestamp": str(at), "X-Grant-Signature": signature}


def read(outcome: Outcome, ordered: int) -> GrantAnswer:
    """The outcome of a response for an order of this quantity."""
    status = outcome.http_status or 0
    try:
        if outcome.succeeded:
            return _delivered(foreign_json.decode(outcome.body, DeliveryBody), ordered)
        if 400 <= status <= 499 and status not in UNDECIDED_STATUSES:  # noqa: PLR2004 - what 4xx means
            code = foreign_json.decode(outcome.body, RejectionBody).error
            return GrantAnswer(outcome="refused", failure_code=code if FAILURE_CODE.fullmatch(code) else "refused")
    except ForeignJsonError:
        pass
    return UNKNOWN


def _delivered(body: DeliveryBody, ordered: int) -> GrantAnswer:
    quantity = ordered if body.delivered_quantity is None else body.delivered_quantity
    if not 1 <= quantity <= ordered or not body.reference.isprintable():
        return UNKNOWN
    return GrantAnswer(outcome="granted", reference=body.reference, delivered_quantity=quantity)
