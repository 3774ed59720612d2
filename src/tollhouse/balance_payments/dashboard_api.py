"""Balance payments at the dashboard: the owner of an application settles what was reserved, connected or not."""

from datetime import datetime
from uuid import UUID

from tollhouse.balance_payments import actions, store
from tollhouse.balance_payments.api import BalancePaymentsAnswer
from tollhouse.balance_payments.errors import ApplicationRevoked, CaptureTooLarge
from tollhouse.balance_payments.model import Status
from tollhouse.balance_payments.new_payment import PartialAmount
from tollhouse.balance_payments.views import BalancePaymentView, payment_view
from tollhouse.http.lists import ListQuery, Part
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.services import Services
from tollhouse.identity.guards import signed_in
from tollhouse.identity.model import ApplicationSuspended, Person
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.ledger.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.orders.errors import InvalidState
from tollhouse.platform.db import Pool, Tx

DASHBOARD_OPERATIONS = Operations(DASHBOARD)
PATH = "/oauth/clients/{client_id}/balance-payments"


class OwnedPaymentsQuery(ListQuery, frozen=True):
    """Filters of an owner's list."""

    status: list[Status] | None = None
    mode: Mode | None = None


@DASHBOARD_OPERATIONS.add("GET", PATH, guard=signed_in, errors=(NotFound, ValidationFailed))
async def list_owned_balance_payments(
    caller: Person, client_id: str, query: OwnedPaymentsQuery, part: Part, db: Pool, now: datetime
) -> BalancePaymentsAnswer:
    """List what the merchants of an application paid or reserved by it, newest first."""
    own = await store.own(db, caller.merchant_id, client_id)
    if own is None:
        raise NotFound
    found = await store.listed_owned(db, own, query.status, query.mode, now, part.window)
    shown, more, cursor = part.cut(found)
    return BalancePaymentsAnswer([payment_view(one, now) for one in shown], more, cursor)


@DASHBOARD_OPERATIONS.add("GET", PATH + "/{payment_id}", guard=signed_in, errors=(NotFound,))
async def read_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, db: Pool, now: datetime
) -> BalancePaymentView:
    """Read a balance payment of an application."""
    payment = await store.owned(db, caller.merchant_id, client_id, payment_id)
    if payment is None:
        raise NotFound
    return payment_view(payment, now)


@DASHBOARD_OPERATIONS.add(
    "POST",
    PATH + "/{payment_id}/capture",
    guard=signed_in,
    errors=(
        NotFound,
        ValidationFailed,
        ApplicationRevoked,
        ApplicationSuspended,
        InvalidState,
        CaptureTooLarge,
        BalanceLimitExceeded,
    ),
)
async def capture_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, body: PartialAmount, tx: Tx, now: datetime, services: Services
) -> BalancePaymentView:
    """Take what is reserved, once: all of it, or a part while the rest is released. Not for a revoked application."""
    owner = caller.merchant_id
    return payment_view(await actions.capture_as_owner(tx, owner, client_id, payment_id, body, services, now), now)


@DASHBOARD_OPERATIONS.add("POST", PATH + "/{payment_id}/release", guard=signed_in, errors=(NotFound, InvalidState))
async def release_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, tx: Tx, now: datetime, services: Services
) -> BalancePaymentView:
    """Give back what is reserved, whatever became of the connection or the application."""
    return payment_view(await actions.release_as_owner(tx, caller.merchant_id, client_id, payment_id, services, now), now)


@DASHBOARD_OPERATIONS.add(
    "POST",
    PATH + "/{payment_id}/refund",
    guard=signed_in,
    errors=(NotFound, InvalidState, InsufficientFunds, BalanceLimitExceeded),
)
async def refund_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, tx: Tx, now: datetime, services: Services
) -> BalancePaymentView:
    """Pay back all that is left of what was captured, from the owner's balance, whatever became of the application."""
    return payment_view(await actions.refund_as_owner(tx, caller.merchant_id, client_id, payment_id, services, now), now)
