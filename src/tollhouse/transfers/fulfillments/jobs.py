"""Background job of fulfillments: request deliveries from the game servers until each has answered.

A grant is a signed POST request. The headers are `X-Grant-Timestamp` (Unix seconds) and `X-Grant-Signature`, the lowercase
hex HMAC-SHA256 over the timestamp, a dot and the raw body. A grant without a definite response is sent again with the same
`fulfillment_id`: the server must deliver it once and repeat its first response.

A 2xx with a `reference` means delivered, completely or `delivered_quantity`. A 4xx with an `error` means that it is
rejected permanently. Everything else is unknown, also 401, 408, 425 and 429, which concern the request, not the order.
"""

import asyncio
import hashlib
import hmac
import re
from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tollhouse.http.services import Services
from tollhouse.kernel import clock, foreign_json
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import SANDBOX
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.limits import DELIVERY_BODY_BYTES_MAX
from tollhouse.kernel.rails.grants import UNKNOWN, GrantAnswer, GrantOrder
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.outbound import Outbound, Outcome
from tollhouse.transfers.fulfillments import actions, store
from tollhouse.transfers.fulfillments.model import Fulfillment

ENCODER = msgspec.json.Encoder()
USER_AGENT = "Tollhouse-Grants/2"
FAILURE_CODE = re.compile(r"[a-z0-9_]{1,64}")
UNDECIDED_STATUSES = frozenset({401, 408, 425, 429})
BATCH_SIZE = 20
LEASE = timedelta(seconds=30)
"""How long a worker keeps what it leased: three times the timeout of a game server."""
RETRY_DELAY_MIN, RETRY_DELAY_MAX = timedelta(seconds=5), timedelta(hours=1)
DOUBLINGS_MAX = 10
ALERT_AFTER = timedelta(hours=24)


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


async def deliver(services: Services) -> None:
    """Request the deliveries that are due, concurrently. No transaction waits for a game server."""
    now = clock.now()
    due = await store.lease_due(services.db, now, LEASE, BATCH_SIZE)
    if not due:
        return
    async with Outbound(services.settings) as outbound:
        await asyncio.gather(*(_deliver_one(services, outbound, fulfillment, now) for fulfillment in due))


def retry_delay(attempts: int) -> timedelta:
    """The delay after this many attempts without a definite answer."""
    return min(RETRY_DELAY_MIN * 2 ** min(attempts - 1, DOUBLINGS_MAX), RETRY_DELAY_MAX)


async def _deliver_one(services: Services, outbound: Outbound, due: Fulfillment, now: datetime) -> None:
    """Request one delivery and record the answer. A failure is logged, and retried with the same id."""
    try:
        response = await _request(outbound, due, now, services.catalogue)
        if response.outcome == "unknown":
            if now - due.created_at >= ALERT_AFTER:
                log.error("fulfillment_outcome_unknown", part=due.server, detail=str(due.id))
            await store.set_next_attempt(services.db, due, now + retry_delay(due.attempts))
            return
        await services.transact(lambda work: actions.end(work, due.env, due.id, response), clock.now())
    except ApiError as error:  # ended meanwhile by the simulator or another worker
        log.info("fulfillment_ended_meanwhile", detail=error.code)
    except Exception as error:  # noqa: BLE001 - one failure must not stop the others
        log.error("fulfillment_processing_failed", exc_info=error)


async def _request(outbound: Outbound, due: Fulfillment, now: datetime, catalogue: Catalogue) -> GrantAnswer:
    if due.server == SANDBOX:
        return actions.grant_in_sandbox(due.order)
    server = catalogue.game_servers.get(due.server)
    if server is None:
        log.error("game_server_not_configured", part=due.server)
        return UNKNOWN
    return await grant(outbound, server.url, server.secret(), due.order, now)
