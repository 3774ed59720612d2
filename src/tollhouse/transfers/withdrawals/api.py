"""Withdrawals, their batches, saved recipients and settings in the Integration API; a second member's approval."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope, signed_in, spending
from tollhouse.accounts.identity.model import Caller, Person
from tollhouse.accounts.merchants.second_member import NotSecondMember
from tollhouse.accounts.spending.model import ConnectionLimitExceeded
from tollhouse.http.lists import CataloguePageRequest, ListPageRequest, PageRequest
from tollhouse.http.operations import DASHBOARD, INTEGRATION, Operations
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.limits import BATCH_BODY_BYTES_MAX
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.model import RECIPIENT_ERRORS, DailyLimitExceeded, WithdrawalMethodUnavailable
from tollhouse.transfers.gate.recipients_store import RecipientsQuery
from tollhouse.transfers.orders.errors import (
    AmountAboveMaximum,
    AmountBelowFees,
    AmountBelowMinimum,
    DuplicateExternalId,
    InvalidState,
)
from tollhouse.transfers.orders.quotes import QUOTE_ERRORS
from tollhouse.transfers.withdrawals import actions, batches, model, recipients, store
from tollhouse.transfers.withdrawals.batches import NewBatch
from tollhouse.transfers.withdrawals.model import InvalidReceiver, RecipientExists, TooManyRecipients
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal, NewWithdrawalQuote
from tollhouse.transfers.withdrawals.recipients import NewRecipient, NewWithdrawalSettings
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery
from tollhouse.transfers.withdrawals.views import (
    SavedRecipientView,
    WithdrawalBatchView,
    WithdrawalMethodView,
    WithdrawalQuoteView,
    WithdrawalSettingsView,
    WithdrawalView,
    batch_view,
    method_view,
    withdrawal_quote_view,
    withdrawal_settings_view,
    withdrawal_view,
)

OPERATIONS = Operations(INTEGRATION)
AMOUNT_ERRORS = (AmountBelowMinimum, AmountAboveMaximum, AmountBelowFees)
BATCHES = Operations(INTEGRATION)
DASHBOARD_OPERATIONS = Operations(DASHBOARD)
RECIPIENTS = Operations(INTEGRATION)


class WithdrawalMethodList(Struct, frozen=True):
    """A page of methods."""

    withdrawal_methods: list[WithdrawalMethodView]
    has_more: bool
    next_cursor: str | None


class WithdrawalList(Struct, frozen=True):
    """A page of withdrawals."""

    withdrawals: list[WithdrawalView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/withdrawal-methods", guard=scope("withdrawals:read"))
async def list_withdrawal_methods(caller: Caller, page: CataloguePageRequest, services: Services) -> WithdrawalMethodList:
    """List withdrawal methods. Unavailable ones have a reason."""
    found, more, cursor = page.pick(model.list_methods(caller.env.mode, services.catalogue), lambda method: method.method_id)
    return WithdrawalMethodList(
        [method_view(method, caller.env, services.rails, services.catalogue) for method in found], more, cursor
    )


@OPERATIONS.add(
    "POST",
    "/withdrawal-quotes",
    guard=scope("withdrawals:read"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, WithdrawalMethodUnavailable, *AMOUNT_ERRORS),
)
async def quote_withdrawal(caller: Caller, body: NewWithdrawalQuote, work: Work) -> WithdrawalQuoteView:
    """Create a withdrawal quote. Its costs are guaranteed for one minute. No money is reserved."""
    services = work.services
    return withdrawal_quote_view(await actions.quote(work, caller.env, body), services.rails, services.catalogue)


@OPERATIONS.add(
    "POST",
    "/withdrawals",
    guard=spending("withdrawals:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        *QUOTE_ERRORS,
        DuplicateExternalId,
        WithdrawalMethodUnavailable,
        InvalidReceiver,
        *RECIPIENT_ERRORS,
        *AMOUNT_ERRORS,
        ConnectionLimitExceeded,
        DailyLimitExceeded,
        InsufficientFunds,
    ),
)
async def request_withdrawal(caller: Caller, body: NewWithdrawal, work: Work) -> WithdrawalView:
    """Create a withdrawal. The amount is reserved at once. In live mode an operator reviews it."""
    return withdrawal_view(await actions.request(work, caller.env, body), work.services.catalogue)


@OPERATIONS.add("GET", "/withdrawals", guard=scope("withdrawals:read"))
async def list_withdrawals(
    caller: Caller, query: WithdrawalsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> WithdrawalList:
    """List withdrawals. Newest first."""
    found, more, cursor = page.cut(await store.list_withdrawals(db, caller.env, query, page.window))
    return WithdrawalList([withdrawal_view(withdrawal, catalogue) for withdrawal in found], more, cursor)


@OPERATIONS.add("GET", "/withdrawals/{withdrawal_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_withdrawal(caller: Caller, withdrawal_id: UUID, db: Pool, catalogue: Catalogue) -> WithdrawalView:
    """Retrieve a withdrawal."""
    return withdrawal_view(await store.get(db, caller.env, withdrawal_id), catalogue)


@OPERATIONS.add(
    "POST",
    "/withdrawals/{withdrawal_id}/cancel",
    guard=scope("withdrawals:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState),
)
async def cancel_withdrawal(caller: Caller, withdrawal_id: UUID, work: Work) -> WithdrawalView:
    """Cancel a withdrawal. Possible until it is sent. The amount becomes available again."""
    return withdrawal_view(await actions.cancel(work, caller.env, withdrawal_id), work.services.catalogue)


class WithdrawalBatchList(Struct, frozen=True):
    """A page of batches."""

    withdrawal_batches: list[WithdrawalBatchView]
    has_more: bool
    next_cursor: str | None


@BATCHES.add("GET", "/withdrawal-batches", guard=scope("withdrawals:read"))
async def list_batches(caller: Caller, page: ListPageRequest, db: Pool, catalogue: Catalogue) -> WithdrawalBatchList:
    """List withdrawal batches. Newest first."""
    found, more, cursor = page.cut(await store.list_batches(db, caller.env, page.window))
    items = await store.list_items(db, caller.env, *(batch.id for batch in found))
    return WithdrawalBatchList([batch_view(batch, items[batch.id], catalogue) for batch in found], more, cursor)


@BATCHES.add(
    "POST",
    "/withdrawal-batches",
    guard=spending("withdrawals:write"),
    status=201,
    idempotency="required",
    errors=(ValidationFailed, *RECIPIENT_ERRORS, ConnectionLimitExceeded, DailyLimitExceeded, InsufficientFunds),
    body_bytes_max=BATCH_BODY_BYTES_MAX,
)
async def create_batch(caller: Caller, body: NewBatch, work: Work) -> WithdrawalBatchView:
    """Create a withdrawal batch. All of its withdrawals are created and their amounts reserved, or none."""
    batch = await batches.create_batch(work, caller.env, body)
    items = await store.list_items(work.tx, caller.env, batch.id)
    return batch_view(batch, items[batch.id], work.services.catalogue)


@BATCHES.add("GET", "/withdrawal-batches/{batch_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_batch(caller: Caller, batch_id: UUID, db: Pool, catalogue: Catalogue) -> WithdrawalBatchView:
    """Retrieve a withdrawal batch."""
    batch = await store.get_batch(db, caller.env, batch_id)
    items = await store.list_items(db, caller.env, batch.id)
    return batch_view(batch, items[batch.id], catalogue)


class SavedRecipientList(Struct, frozen=True):
    """A page of recipients."""

    withdrawal_recipients: list[SavedRecipientView]
    has_more: bool
    next_cursor: str | None


@RECIPIENTS.add("GET", "/withdrawal-recipients", guard=scope("withdrawals:read"))
async def list_recipients(
    caller: Caller, query: RecipientsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> SavedRecipientList:
    """List withdrawal recipients. Newest first."""
    found, more, cursor = page.cut(await recipients_store.list_recipients(db, caller.env, query, page.window))
    return SavedRecipientList([SavedRecipientView.of(recipient, catalogue) for recipient in found], more, cursor)


@RECIPIENTS.add(
    "POST",
    "/withdrawal-recipients",
    guard=scope("withdrawals:write"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, WithdrawalMethodUnavailable, InvalidReceiver, TooManyRecipients, RecipientExists),
)
async def add_recipient(caller: Caller, body: NewRecipient, work: Work) -> SavedRecipientView:
    """Create a withdrawal recipient. It can be paid from `active_at` on. In live mode, all users get an email."""
    return SavedRecipientView.of(await recipients.add(work, caller.env, body), work.services.catalogue)


@RECIPIENTS.add("GET", "/withdrawal-recipients/{recipient_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_recipient(caller: Caller, recipient_id: UUID, db: Pool, catalogue: Catalogue) -> SavedRecipientView:
    """Retrieve a withdrawal recipient."""
    return SavedRecipientView.of(await recipients_store.get(db, caller.env, recipient_id), catalogue)


@RECIPIENTS.add("DELETE", "/withdrawal-recipients/{recipient_id}", guard=scope("withdrawals:write"), errors=(NotFound,))
async def delete_recipient(caller: Caller, recipient_id: UUID, work: Work) -> SavedRecipientView:
    """Delete a withdrawal recipient. Its withdrawals are kept."""
    return SavedRecipientView.of(await recipients.delete(work, caller.env, recipient_id), work.services.catalogue)


@RECIPIENTS.add("GET", "/settings/withdrawals", guard=scope("settings:read"))
async def read_withdrawal_settings(caller: Caller, work: Work) -> WithdrawalSettingsView:
    """Retrieve the withdrawal settings. They are those of the current environment."""
    return withdrawal_settings_view(await recipients.get_settings(work, caller.env))


@RECIPIENTS.add("PUT", "/settings/withdrawals", guard=scope("settings:write"), errors=(ValidationFailed,))
async def save_withdrawal_settings(caller: Caller, body: NewWithdrawalSettings, work: Work) -> WithdrawalSettingsView:
    """Update the withdrawal settings. `saved_recipients_only` is turned off only after a cooling time."""
    return withdrawal_settings_view(await recipients.save_settings(work, caller.env, body))


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/withdrawals/{withdrawal_id}/approve",
    guard=signed_in("money", of_object=True),
    errors=(NotFound, InvalidState, NotSecondMember),
    recent_authentication="always",
)
async def approve_withdrawal(caller: Person, withdrawal_id: UUID, work: Work) -> WithdrawalView:
    """Approve a withdrawal. As the second member, where the team needs one above an amount."""
    return withdrawal_view(await actions.approve_as_member(work, caller, withdrawal_id), work.services.catalogue)
