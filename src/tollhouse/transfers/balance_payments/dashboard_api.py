"""Balance payments in the dashboard API: the owner of an application captures, releases and refunds them."""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.identity.guards import signed_in
from tollhouse.accounts.identity.model import ApplicationSuspended, Person
from tollhouse.accounts.identity.stepup import require_recent
from tollhouse.http.lists import PageRequest
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.balance_payments import actions, store
from tollhouse.transfers.balance_payments.api import BalancePaymentList
from tollhouse.transfers.balance_payments.errors import CaptureTooLarge, PayerSuspended, RevokedApplicationCapture
from tollhouse.transfers.balance_payments.new_payment import PartialAmount
from tollhouse.transfers.balance_payments.store import ReceivedPaymentsQuery
from tollhouse.transfers.balance_payments.views import BalancePaymentView, payment_view
from tollhouse.transfers.orders.errors import InvalidState

DASHBOARD_OPERATIONS = Operations(DASHBOARD)
PATH = "/oauth/clients/{client_id}/balance-payments"


@DASHBOARD_OPERATIONS.add("GET", PATH, guard=signed_in, errors=(NotFound, ValidationFailed))
async def list_owned_balance_payments(
    caller: Person,
    client_id: str,
    query: ReceivedPaymentsQuery,
    page: PageRequest,
    db: Pool,
    now: datetime,
    catalogue: Catalogue,
) -> BalancePaymentList:
    """List balance payments of an application. Newest first."""
    application = await store.get_application(db, caller.merchant_id, client_id)
    found, more, cursor = page.cut(await store.list_received(db, application, query, now, page.window))
    return BalancePaymentList([payment_view(one, now, catalogue) for one in found], more, cursor)


@DASHBOARD_OPERATIONS.add("GET", PATH + "/{payment_id}", guard=signed_in, errors=(NotFound,))
async def read_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, db: Pool, now: datetime, catalogue: Catalogue
) -> BalancePaymentView:
    """Retrieve a balance payment of an application."""
    return payment_view(await store.get_received(db, caller.merchant_id, client_id, payment_id), now, catalogue)


@DASHBOARD_OPERATIONS.add(
    "POST",
    PATH + "/{payment_id}/capture",
    guard=signed_in,
    errors=(
        NotFound,
        ValidationFailed,
        RevokedApplicationCapture,
        PayerSuspended,
        ApplicationSuspended,
        InvalidState,
        CaptureTooLarge,
        BalanceLimitExceeded,
    ),
    recent_authentication="by_content",
)
async def capture_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, body: PartialAmount, work: Work
) -> BalancePaymentView:
    """Capture a balance payment of an application. Possible once; the rest is released. Not for a revoked one."""
    owner = caller.merchant_id
    await _require_recent(caller, client_id, payment_id, work)
    return payment_view(
        await actions.capture_as_owner(work, owner, client_id, payment_id, body), work.now, work.services.catalogue
    )


@DASHBOARD_OPERATIONS.add(
    "POST",
    PATH + "/{payment_id}/release",
    guard=signed_in,
    errors=(NotFound, InvalidState),
    recent_authentication="by_content",
)
async def release_owned_balance_payment(caller: Person, client_id: str, payment_id: UUID, work: Work) -> BalancePaymentView:
    """Release a balance payment of an application. Also of a disconnected or revoked one."""
    await _require_recent(caller, client_id, payment_id, work)
    return payment_view(
        await actions.release_as_owner(work, caller.merchant_id, client_id, payment_id), work.now, work.services.catalogue
    )


@DASHBOARD_OPERATIONS.add(
    "POST",
    PATH + "/{payment_id}/refund",
    guard=signed_in,
    errors=(NotFound, InvalidState, InsufficientFunds, BalanceLimitExceeded),
    recent_authentication="by_content",
)
async def refund_owned_balance_payment(caller: Person, client_id: str, payment_id: UUID, work: Work) -> BalancePaymentView:
    """Refund a balance payment of an application. From the owner's balance, also of a revoked application."""
    await _require_recent(caller, client_id, payment_id, work)
    return payment_view(
        await actions.refund_as_owner(work, caller.merchant_id, client_id, payment_id), work.now, work.services.catalogue
    )


async def _require_recent(caller: Person, client_id: str, payment_id: UUID, work: Work) -> None:
    """Recent authentication for live money. Raises `NotFound` and `RecentAuthenticationRequired`."""
    found = await store.get_received(work.tx, caller.merchant_id, client_id, payment_id)
    if found.env.livemode:
        require_recent(caller, work.now)
