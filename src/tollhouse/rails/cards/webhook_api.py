"""Where card providers send their signed events: `Stripe-Signature: t=<Unix seconds>,v1=<hex>[,v1=<hex>]`.

`v1` is the HMAC-SHA256 of the timestamp, a dot and the raw body, and is verified before anything else. While a secret is
rotated, the provider signs with both, and both are configured here. An event is kept once, by its ID, and answered at once;
a job reads from the provider's API what it is about. So repeated and reordered events lead to the same state.
"""

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from tollhouse.accounts.identity.guards import PublicGuard
from tollhouse.accounts.identity.throttle import RequestMeter
from tollhouse.http.operations import RAILS, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Services
from tollhouse.kernel import foreign_json
from tollhouse.kernel.errors import ApiError, InvalidRequest, NotFound
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.rails.cards import store
from tollhouse.rails.cards.payments import RELEVANT_TYPES, find_cards
from tollhouse.rails.cards.store import ProviderEvent
from tollhouse.rails.cards.stripe.objects import StripeEvent

TOLERANCE_S = 300
"""How far the timestamp may be from the clock of this host. An older request may be a recorded one."""
SIGNATURES_MAX = 8
HEADER_CHARS_MAX = 2_048
OPERATIONS = Operations(RAILS)
BODY_BYTES_MAX = 256 * 1024
REQUESTS_PER_MIN = 1_200
"""Of one network. What is refused beyond it is sent again by the provider, and the payment is polled."""
REQUESTS = RequestMeter(places=4_096)


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
    return sum(hmac.compare_digest(signature, sent) for signature in expected for sent in signatures) > 0


class InvalidSignature(ApiError):
    """400: no signature fits, or it is too old."""

    code, message = "invalid_signature", "The signature of the webhook is missing, invalid or too old."
    solution = "Send the raw body unchanged, signed with the current secret, within its time."


class EventReceived(Struct, frozen=True):
    """The response to an event."""

    received: bool = True


class ProviderGuard(PublicGuard):
    """The provider, recognized by the signature of the body, which the handler verifies."""

    def __init__(self) -> None:
        super().__init__("signature of the provider")

    async def admit(self, request: Request) -> None:
        """Limits the requests of a network before their body is read. Raises `RateLimited`."""
        if request.services.settings.rate_limits and not request.raw:
            REQUESTS.count_network(request.address, REQUESTS_PER_MIN, request.now)


@OPERATIONS.add(
    "POST",
    "/{rail}/webhook",
    guard=ProviderGuard(),
    errors=(NotFound, InvalidSignature, InvalidRequest),
    body_bytes_max=BODY_BYTES_MAX,
)
async def receive(request: Request, rail: str, services: Services, now: datetime) -> EventReceived:
    """Receive an event of a card provider. It is processed afterwards."""
    cards = find_cards(services, rail)
    if cards is None:
        raise NotFound
    if not is_signed(request.headers.get("stripe-signature"), request.raw, cards.account.webhook_secrets, now):
        raise InvalidSignature
    try:
        event = foreign_json.decode(request.raw, StripeEvent)
    except ForeignJsonError:
        raise InvalidRequest("This is not an event.") from None
    if event.type in RELEVANT_TYPES and (event.livemode or cards.account.takes_test_payments):
        kept = ProviderEvent(rail, cards.mode, event.id, event.type, event.data.object.id)
        await store.insert_event(services.db, kept, now)
    return EventReceived()
