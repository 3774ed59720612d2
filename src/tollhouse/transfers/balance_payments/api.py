"""Balance payments in the Integration API, and, for the owner of an application, in the dashboard API."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import ApplicationGuard, scope, signed_in, spending
from tollhouse.accounts.identity.model import (
    ApplicationRequired,
    ApplicationSuspended,
    Caller,
    ConfidentialClientRequired,
    Person,
)
from tollhouse.accounts.identity.stepup import require_recent
from tollhouse.accounts.spending.model import ConnectionLimitExceeded
from tollhouse.http.lists import PageRequest
from tollhouse.http.operations import DASHBOARD, INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.ledger.books.model import BalanceLimitExceeded, InsufficientFunds
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.balance_payments import actions, store
from tollhouse.transfers.balance_payments.model import (
    BalancePaymentView,
    CaptureTooLarge,
    NewBalancePayment,
    PartialAmount,
    PayerSuspended,
    RevokedApplicationCapture,
    SelfPayment,
    payment_view,
)
from tollhouse.transfers.balance_payments.store import BalancePaymentsQuery, ReceivedPaymentsQuery
from tollhouse.transfers.gate.model import DestinationRefused, DestinationWaits
from tollhouse.transfers.orders.errors import CurrencyNotSupported, DuplicateExternalId, InvalidState, RefundTooLarge

INTEGRATION_OPERATIONS = Operations(INTEGRATION)
READ, WRITE = scope("balance-payments:read"), spending("balance-payments:write")
APPLICATION = ApplicationGuard("balance-payments:write")
CONFIDENTIAL = ApplicationGuard("balance-payments:write", confidential=True)
DASHBOARD_OPERATIONS = Operations(DASHBOARD)
PATH = "/oauth/clients/{client_id}/balance-payments"


class BalancePaymentList(Struct, frozen=True):
    """A page of balance payments."""

    balance_payments: list[BalancePaymentView]
    has_more: bool
    next_cursor: str | None


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/balance-payments",
    guard=WRITE,
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        NotFound,
        DuplicateExternalId,
        CurrencyNotSupported,
        SelfPayment,
        ConnectionLimitExceeded,
        InsufficientFunds,
        BalanceLimitExceeded,
        DestinationWaits,
        DestinationRefused,
    ),
)
async def make_balance_payment(caller: Caller, body: NewBalancePayment, work: Work) -> BalancePaymentView:
    """Create a balance payment. It pays the owner of an application from the merchant's balance, or reserves the amount."""
    return payment_view(await actions.pay(work, caller, body), work.now, work.services.catalogue)


@INTEGRATION_OPERATIONS.add("GET", "/balance-payments", guard=READ, errors=(ValidationFailed,))
async def list_balance_payments(
    caller: Caller, query: BalancePaymentsQuery, page: PageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> BalancePaymentList:
    """List balance payments. Newest first. An access token lists those of its application, an API key lists all."""
    rows = await store.list_payments(db, caller.env, caller.client_id, query, now, page.window)
    found, more, cursor = page.cut(rows)
    return BalancePaymentList([payment_view(payment, now, catalogue) for payment in found], more, cursor)


@INTEGRATION_OPERATIONS.add("GET", "/balance-payments/{payment_id}", guard=READ, errors=(NotFound,))
async def read_balance_payment(
    caller: Caller, payment_id: UUID, db: Pool, now: datetime, catalogue: Catalogue
) -> BalancePaymentView:
    """Retrieve a balance payment."""
    return payment_view(await store.get(db, caller.env, caller.client_id, payment_id), now, catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/balance-payments/{payment_id}/capture",
    guard=APPLICATION,
    idempotency="required",
    errors=(
        ApplicationRequired,
        NotFound,
        ValidationFailed,
        InvalidState,
        ConnectionLimitExceeded,
        CaptureTooLarge,
        ConfidentialClientRequired,
        BalanceLimitExceeded,
        DestinationWaits,
        DestinationRefused,
    ),
)
async def capture_balance_payment(caller: Caller, payment_id: UUID, body: PartialAmount, work: Work) -> BalancePaymentView:
    """Capture a balance payment. Possible once. Confidential clients can capture a part; the rest is released."""
    return payment_view(await actions.capture(work, caller, payment_id, body), work.now, work.services.catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/balance-payments/{payment_id}/release",
    guard=CONFIDENTIAL,
    idempotency="honoured",
    errors=(ApplicationRequired, ConfidentialClientRequired, NotFound, InvalidState),
)
async def release_balance_payment(caller: Caller, payment_id: UUID, work: Work) -> BalancePaymentView:
    """Release a balance payment. Its reservation ends. The amount becomes available to the merchant again."""
    return payment_view(await actions.release(work, caller, payment_id), work.now, work.services.catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/balance-payments/{payment_id}/refund",
    guard=CONFIDENTIAL,
    idempotency="required",
    errors=(
        ApplicationRequired,
        ConfidentialClientRequired,
        NotFound,
        ValidationFailed,
        InvalidState,
        RefundTooLarge,
        InsufficientFunds,
        BalanceLimitExceeded,
    ),
)
async def refund_balance_payment(caller: Caller, payment_id: UUID, body: PartialAmount, work: Work) -> BalancePaymentView:
    """Refund a balance payment. The money comes from the owner's balance, in full or in part."""
    return payment_view(await actions.refund(work, caller, payment_id, body), work.now, work.services.catalogue)


@DASHBOARD_OPERATIONS.add("GET", PATH, guard=signed_in("read"), errors=(NotFound, ValidationFailed))
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
    return BalancePaymentList([payment_view(payment, now, catalogue) for payment in found], more, cursor)


@DASHBOARD_OPERATIONS.add("GET", PATH + "/{payment_id}", guard=signed_in("read"), errors=(NotFound,))
async def read_owned_balance_payment(
    caller: Person, client_id: str, payment_id: UUID, db: Pool, now: datetime, catalogue: Catalogue
) -> BalancePaymentView:
    """Retrieve a balance payment of an application."""
    return payment_view(await store.get_received(db, caller.merchant_id, client_id, payment_id), now, catalogue)


@DASHBOARD_OPERATIONS.add(
    "POST",
    PATH + "/{payment_id}/capture",
    guard=signed_in("money", of_object=True),
    errors=(
        NotFound,
        ValidationFailed,
        RevokedApplicationCapture,
        PayerSuspended,
        ApplicationSuspended,
        InvalidState,
        CaptureTooLarge,
        BalanceLimitExceeded,
        DestinationWaits,
        DestinationRefused,
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
    guard=signed_in("money", of_object=True),
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
    guard=signed_in("money", of_object=True),
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
    """Recent authentication for live money. Raises `NotFound`, `RoleForbidden` and `RecentAuthenticationRequired`."""
    found = await store.get_received(work.tx, caller.merchant_id, client_id, payment_id)
    caller.require("money", found.env.mode)
    if found.env.livemode:
        require_recent(caller, work.now)
