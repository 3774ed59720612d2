"""Actions on fulfillments: order, cancel, and end by the answer of a game server."""

from datetime import timedelta
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.environments import projects
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.products import Product
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.grants import GrantAnswer
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.holds import HoldCapture
from tollhouse.ledger.books.model import LedgerTransaction, Source, income, payable
from tollhouse.transfers.fulfillments import store
from tollhouse.transfers.fulfillments.model import Fulfillment
from tollhouse.transfers.fulfillments.new_fulfillment import NewFulfillment, ensure_available, parse
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.orders.errors import InvalidProject, InvalidState
from tollhouse.transfers.orders.funds import ensure_funds
from tollhouse.transfers.orders.store import ensure_external_id_unused

SOURCE = "fulfillment"
SANDBOX_DELAY = timedelta(seconds=2)


async def check_order(work: Work, env: MerchantEnv, new: NewFulfillment) -> Product:
    """The product of an order that would be accepted now. Raises the errors of `order`."""
    product = parse(new, env, work.services.settings, work.services.catalogue)
    await ensure_external_id_unused(work.tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
    ensure_available(new, product, env, work.services.catalogue)
    if new.project_id is not None and await projects.seller(work.tx, env, new.project_id) is None:
        raise InvalidProject
    await ensure_funds(work.tx, env, product.currency, product.unit_price_minor * new.quantity)
    return product


async def order(work: Work, env: MerchantEnv, new: NewFulfillment) -> Fulfillment:
    """Reserve the cost of a delivery. The worker requests it from the game server.

    Raises `ValidationFailed`, `DuplicateExternalId`, `ProductUnavailable`, `PriceChanged`, `InvalidProject` and
    `InsufficientFunds`.
    """
    product = await check_order(work, env, new)
    # The database checks the balance and external id again below; any error rolls everything back.
    fulfillment_id, cost_minor = new_id(), product.unit_price_minor * new.quantity
    hold, posted = await holds.reserve(work, env, Source(SOURCE, fulfillment_id), product.currency, cost_minor)
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
        created_at=work.now,
        updated_at=work.now,
    )
    if not await store.insert(work.tx, ordered, work.now if env.livemode else work.now + SANDBOX_DELAY):
        await ensure_external_id_unused(work.tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
        raise AssertionError("fulfillments are never deleted")
    await _notify(work, ordered, posted)
    await _record_audit(work, ordered, "fulfillment.ordered")
    return ordered


async def cancel(work: Work, env: MerchantEnv, fulfillment_id: UUID) -> Fulfillment:
    """Cancel a fulfillment that was not requested yet. Raises `NotFound` and `InvalidState`."""
    canceled = await store.cancel(work.tx, env, fulfillment_id, work.now)
    if canceled is None:
        raise InvalidState((await store.get(work.tx, env, fulfillment_id)).status)
    # Nothing below this line may refuse.
    _, posted = await holds.release(work, env, canceled.hold_id)
    await _notify(work, canceled, posted)
    await _record_audit(work, canceled, "fulfillment.canceled")
    return canceled


async def end(work: Work, env: MerchantEnv, fulfillment_id: UUID, response: GrantAnswer) -> Fulfillment:
    """Charge the delivered quantity and release the rest. Raises `NotFound`, and `InvalidState` where it has ended."""
    if response.outcome == "unknown":
        raise ValueError("an unknown outcome ends nothing")
    current = await store.get(work.tx, env, fulfillment_id)
    delivered = response.delivered_quantity
    status = "failed" if not delivered else "completed" if delivered == current.quantity else "partially_completed"
    ended = await store.end(
        work.tx,
        env,
        fulfillment_id,
        status,
        work.now,
        delivered_quantity=delivered,
        reference=response.reference,
        failure_code=response.failure_code,
    )
    if ended is None:
        raise InvalidState((await store.get(work.tx, env, fulfillment_id)).status)
    # Nothing below this line may refuse.
    _, posted = (
        await holds.capture_and_release(work, env, ended.hold_id, _captures(ended))
        if delivered
        else await holds.release(work, env, ended.hold_id)
    )
    await _notify(work, ended, posted)
    return ended


def _captures(ended: Fulfillment) -> tuple[HoldCapture, ...]:
    """The shares of the charge: the game's and the platform's margin. Zero amounts are left out."""
    wholesale_minor = ended.unit_wholesale_minor * ended.delivered_quantity
    captures = (
        HoldCapture("fulfillment", wholesale_minor, payable(ended.server)),
        HoldCapture("fulfillment", ended.charged_minor - wholesale_minor, income("fulfillment_margin")),
    )
    return tuple(one for one in captures if one.amount_minor)


async def _record_audit(work: Work, fulfillment: Fulfillment, action: AuditEventType) -> None:
    amount = work.services.catalogue.priced(fulfillment.cost_minor, fulfillment.currency)
    about = new_values(amount=amount, product_id=fulfillment.product_id, quantity=fulfillment.quantity)
    await record.event(work, fulfillment.env, action, subject=fulfillment.id, changed=about)


async def _notify(work: Work, fulfillment: Fulfillment, posted: LedgerTransaction) -> None:
    cause = Cause(SOURCE, fulfillment.id, fulfillment.status, fulfillment.version)
    env, code, url = fulfillment.env, fulfillment.currency, fulfillment.webhook_url
    await notify_balance(work, env, code, posted, cause, url)
