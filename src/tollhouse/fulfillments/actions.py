"""Actions on fulfillments: order, cancel, and end by the answer of a game server."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.audit import record
from tollhouse.audit.changes import new_values
from tollhouse.audit.event_types import AuditEventType
from tollhouse.catalogue import projects
from tollhouse.catalogue.currencies import priced
from tollhouse.catalogue.products import Product
from tollhouse.events.balances import Cause, notify_balance
from tollhouse.fulfillments import store
from tollhouse.fulfillments.model import Fulfillment
from tollhouse.fulfillments.new_fulfillment import NewFulfillment, ensure_available, parse
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.ledger import holds
from tollhouse.ledger.holds import HoldCapture
from tollhouse.ledger.model import PostedTransaction, Source, income, payable
from tollhouse.orders.errors import InvalidProject, InvalidState
from tollhouse.orders.funds import ensure_funds
from tollhouse.orders.store import ensure_external_id_unused
from tollhouse.platform.db import Tx
from tollhouse.rails.grants import GrantAnswer

SOURCE = "fulfillment"
SANDBOX_DELAY = timedelta(seconds=2)


async def check_order(tx: Tx, env: MerchantEnv, new: NewFulfillment, services: Services) -> Product:
    """The product of an order that would be accepted now. Raises the errors of `order`."""
    product = parse(new, env, services.settings)
    await ensure_external_id_unused(tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
    ensure_available(new, product, env)
    if new.project_id is not None and await projects.seller(tx, env, new.project_id) is None:
        raise InvalidProject
    await ensure_funds(tx, env, product.currency, product.unit_price_minor * new.quantity)
    return product


async def order(tx: Tx, env: MerchantEnv, new: NewFulfillment, services: Services, now: datetime) -> Fulfillment:
    """Reserve the cost of a delivery. The worker requests it from the game server.

    Raises `ValidationFailed`, `DuplicateExternalId`, `ProductUnavailable`, `PriceChanged`, `InvalidProject` and
    `InsufficientFunds`.
    """
    product = await check_order(tx, env, new, services)
    # The database checks the balance and external id again below; any error rolls everything back.
    fulfillment_id, cost_minor = new_id(), product.unit_price_minor * new.quantity
    hold, posted = await holds.reserve(tx, env, Source(SOURCE, fulfillment_id), product.currency, cost_minor, now)
    ordered = Fulfillment(
        id=fulfillment_id,
        env=env,
        project_id=new.project_id,
        product_id=product.product_id,
        server=product.server,
        quantity=new.quantity,
        currency=product.currency,
        unit_price_minor=product.unit_price_minor,
        unit_wholesale_minor=product.unit_wholesale_minor,
        recipient=new.recipient,
        hold_id=hold.id,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        metadata=new.metadata or {},
        created_at=now,
        updated_at=now,
    )
    if not await store.insert(tx, ordered, now if env.livemode else now + SANDBOX_DELAY):
        await ensure_external_id_unused(tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
        raise AssertionError("fulfillments are never deleted")
    await _notify(tx, ordered, posted, services, now)
    await _record_audit(tx, ordered, "fulfillment.ordered", now)
    return ordered


async def cancel(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, services: Services, now: datetime) -> Fulfillment:
    """Cancel a fulfillment that was not requested yet. Raises `NotFound` and `InvalidState`."""
    canceled = await store.cancel(tx, env, fulfillment_id, now)
    if canceled is None:
        raise InvalidState((await store.get(tx, env, fulfillment_id)).status)
    # Nothing below this line may refuse.
    _, posted = await holds.release(tx, env, canceled.hold_id, now)
    await _notify(tx, canceled, posted, services, now)
    await _record_audit(tx, canceled, "fulfillment.canceled", now)
    return canceled


async def end(
    tx: Tx, env: MerchantEnv, fulfillment_id: UUID, response: GrantAnswer, services: Services, now: datetime
) -> Fulfillment:
    """Charge the delivered quantity and release the rest. Raises `NotFound`, and `InvalidState` where it has ended."""
    if response.outcome == "unknown":
        raise ValueError("an unknown outcome ends nothing")
    current = await store.get(tx, env, fulfillment_id)
    delivered = response.delivered_quantity
    status = "failed" if not delivered else "completed" if delivered == current.quantity else "partially_completed"
    ended = await store.end(
        tx,
        env,
        fulfillment_id,
        status,
        now,
        delivered_quantity=delivered,
        reference=response.reference,
        failure_code=response.failure_code,
    )
    if ended is None:
        raise InvalidState((await store.get(tx, env, fulfillment_id)).status)
    # Nothing below this line may refuse.
    _, posted = (
        await holds.capture_and_release(tx, env, ended.hold_id, _captures(ended), now)
        if delivered
        else await holds.release(tx, env, ended.hold_id, now)
    )
    await _notify(tx, ended, posted, services, now)
    return ended


def _captures(ended: Fulfillment) -> tuple[HoldCapture, ...]:
    """The shares of the charge: the game's and the platform's margin. Zero amounts are left out."""
    wholesale_minor = ended.unit_wholesale_minor * ended.delivered_quantity
    captures = (
        HoldCapture("fulfillment", wholesale_minor, payable(ended.server)),
        HoldCapture("fulfillment", ended.charged_minor - wholesale_minor, income("fulfillment_margin")),
    )
    return tuple(one for one in captures if one.amount_minor)


async def _record_audit(tx: Tx, fulfillment: Fulfillment, action: AuditEventType, now: datetime) -> None:
    amount = priced(fulfillment.cost_minor, fulfillment.currency)
    about = new_values(amount=amount, product_id=fulfillment.product_id, quantity=fulfillment.quantity)
    await record.event(tx, fulfillment.env, action, now, subject=fulfillment.id, changed=about)


async def _notify(tx: Tx, fulfillment: Fulfillment, posted: PostedTransaction, services: Services, now: datetime) -> None:
    cause = Cause(SOURCE, fulfillment.id, fulfillment.status, fulfillment.version)
    env, code, url = fulfillment.env, fulfillment.currency, fulfillment.webhook_url
    await notify_balance(tx, env, code, posted, cause, url, services, now)
