"""Actions on fulfillments: order, cancel, and end by the answer of a game server.

The game server of test mode delivers to every player except those whose names determine the outcome; the simulator's answers
take the same path.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.environments import projects
from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import SANDBOX, Product, Quantity
from tollhouse.kernel.catalogue.provider_fields import fields_errors
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.rails.grants import UNKNOWN, GrantAnswer, GrantOrder
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.holds import HoldCapture
from tollhouse.ledger.books.model import LedgerTransaction, Source, income, payable
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.fulfillments import store
from tollhouse.transfers.fulfillments.model import Fulfillment, ProductUnavailable
from tollhouse.transfers.gate import gate, spending
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.orders.errors import InvalidProject, InvalidState, PriceChanged
from tollhouse.transfers.orders.quotes import destination_errors, ensure_funds
from tollhouse.transfers.orders.store import ensure_external_id_unused

REFUSED = {"unknown": "unknown_player", "banned": "player_banned", "out-of-stock": "out_of_stock"}
PARTIAL, STUCK = "partial", "stuck"
"""The player who gets half, rounded up; the player whose grant is never answered."""
SOURCE = "fulfillment"
SANDBOX_DELAY = timedelta(seconds=2)


class NewFulfillment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fulfillment to order. `max_cost` is the highest acceptable cost, in the product's currency."""

    product_id: str
    """ID of a product from the list of products."""
    quantity: Annotated[Quantity, example(10)]
    """Number of units to deliver."""
    recipient: Annotated[dict[str, Any], example({"player_id": "nina-7"})]
    """The player, as the JSON Schema `recipient_schema` of the product describes."""
    project_id: UUID | None = None
    max_cost: Amount = None
    webhook_url: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.caller.env, context.settings, context.catalogue)


def parse(new: NewFulfillment, env: MerchantEnv, settings: Settings, catalogue: Catalogue) -> Product:
    """The product. Raises `ValidationFailed` with every error, then `ProductUnavailable`."""
    product = _known(new.product_id, env, catalogue)
    if field_errors := list(_field_errors(new, env, settings, catalogue)):
        raise ValidationFailed(*field_errors)
    if product is None:
        raise ProductUnavailable(None)
    return product


def ensure_available(new: NewFulfillment, product: Product, env: MerchantEnv, catalogue: Catalogue) -> None:
    """Raises `ProductUnavailable`, and `PriceChanged` where the cost exceeds `max_cost`."""
    reason = catalogue.product_unavailable(product, env.mode)
    if reason is not None:
        raise ProductUnavailable(reason)
    cost_minor = product.unit_price_minor * new.quantity
    max_cost_minor = minor_of(new.max_cost, catalogue.currencies[product.currency])
    if max_cost_minor is not None and max_cost_minor < cost_minor:
        raise PriceChanged({"cost_minor": cost_minor, "max_cost_minor": max_cost_minor, "currency": product.currency})


def _field_errors(new: NewFulfillment, env: MerchantEnv, settings: Settings, catalogue: Catalogue) -> Iterator[FieldError]:
    product = _known(new.product_id, env, catalogue)
    if product is not None:
        yield from _product_errors(new, product, catalogue)
    yield from destination_errors(new.webhook_url, env, settings)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata)


def _known(product_id: str, env: MerchantEnv, catalogue: Catalogue) -> Product | None:
    product = catalogue.products.get(product_id)
    return None if product is not None and product.server == SANDBOX and env.livemode else product


def _product_errors(new: NewFulfillment, product: Product, catalogue: Catalogue) -> Iterator[FieldError]:
    minimum, maximum = product.minimum_quantity, min(product.maximum_quantity, MINOR_MAX // product.unit_price_minor)
    if not minimum <= new.quantity <= maximum:
        yield FieldError("quantity", "out_of_range", messages.whole_number(minimum, maximum))
    known = catalogue.currencies[product.currency]
    if new.max_cost is not None and minor_of(new.max_cost, known) is None:
        yield amount_error(known, "max_cost")
    yield from fields_errors(product.recipient_schema, new.recipient, "recipient")


def grant_in_sandbox(order: GrantOrder) -> GrantAnswer:
    """The outcome in the sandbox."""
    player = order.recipient.get("player_id")
    if player == STUCK:
        return UNKNOWN
    if player in REFUSED:
        return GrantAnswer(outcome="refused", failure_code=REFUSED[player])
    return granted(order, (order.quantity + 1) // 2 if player == PARTIAL else order.quantity)


def granted(order: GrantOrder, quantity: int) -> GrantAnswer:
    """This quantity was delivered."""
    return GrantAnswer(outcome="granted", reference=f"sandbox-{order.fulfillment_id}", delivered_quantity=quantity)


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

    Raises `ValidationFailed`, `DuplicateExternalId`, `ProductUnavailable`, `PriceChanged`, `InvalidProject`,
    `InsufficientFunds` and `ConnectionLimitExceeded`.
    """
    product = await check_order(work, env, new)
    # The database checks the balance and external id again below; any error rolls everything back.
    fulfillment_id, cost_minor = new_id(), product.unit_price_minor * new.quantity
    await spending.spend(work, "fulfillments", fulfillment_id, product.currency, cost_minor)
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
        credential_id=work.actor.credential_id,
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
    return tuple(capture for capture in captures if capture.amount_minor)


async def _record_audit(work: Work, fulfillment: Fulfillment, action: AuditEventType) -> None:
    amount = work.services.catalogue.priced(fulfillment.cost_minor, fulfillment.currency)
    about = new_values(amount=amount, product_id=fulfillment.product_id, quantity=fulfillment.quantity)
    await record.event(work, fulfillment.env, action, subject=fulfillment.id, changed=about)


async def _notify(work: Work, fulfillment: Fulfillment, posted: LedgerTransaction) -> None:
    cause = Cause(SOURCE, fulfillment.id, fulfillment.status, fulfillment.version)
    env, code, url = fulfillment.env, fulfillment.currency, fulfillment.webhook_url
    await notify_balance(work, env, code, posted, cause, url)


async def play(
    work: Work, env: MerchantEnv, fulfillment_id: UUID, outcome: Literal["complete", "fail", "partial"]
) -> Fulfillment:
    """Simulate the answer for a fulfillment. Raises `NotFound`, `MerchantSuspended`, and `InvalidState` if it has ended."""
    current = await store.get(work.tx, env, fulfillment_id)
    await gate.let_leave(work.tx, env.merchant_id)
    await store.begin(work.tx, env, fulfillment_id, work.now)
    match outcome:
        case "complete":
            response = granted(current.order, current.quantity)
        case "partial":
            response = granted(current.order, (current.quantity + 1) // 2)
        case "fail":
            response = GrantAnswer(outcome="refused", failure_code="unknown_player")
    return await end(work, env, fulfillment_id, response)
