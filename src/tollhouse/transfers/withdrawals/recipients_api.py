"""Saved recipients, and the settings of withdrawals, in the Integration API."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.errors import WithdrawalMethodUnavailable
from tollhouse.transfers.gate.recipients_store import RecipientsQuery
from tollhouse.transfers.withdrawals import recipients
from tollhouse.transfers.withdrawals.errors import InvalidReceiver, RecipientExists, TooManyRecipients
from tollhouse.transfers.withdrawals.recipients import NewRecipient, NewWithdrawalSettings
from tollhouse.transfers.withdrawals.views import SavedRecipientView, WithdrawalSettingsView, withdrawal_settings_view

OPERATIONS = Operations(INTEGRATION)


class SavedRecipientList(Struct, frozen=True):
    """A page of recipients."""

    withdrawal_recipients: list[SavedRecipientView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/withdrawal-recipients", guard=scope("withdrawals:read"))
async def list_recipients(
    caller: Caller, query: RecipientsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> SavedRecipientList:
    """List withdrawal recipients. Newest first."""
    found, more, cursor = page.cut(await recipients_store.list_recipients(db, caller.env, query, page.window))
    return SavedRecipientList([SavedRecipientView.of(one, catalogue) for one in found], more, cursor)


@OPERATIONS.add(
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


@OPERATIONS.add("GET", "/withdrawal-recipients/{recipient_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_recipient(caller: Caller, recipient_id: UUID, db: Pool, catalogue: Catalogue) -> SavedRecipientView:
    """Retrieve a withdrawal recipient."""
    return SavedRecipientView.of(await recipients_store.get(db, caller.env, recipient_id), catalogue)


@OPERATIONS.add("DELETE", "/withdrawal-recipients/{recipient_id}", guard=scope("withdrawals:write"), errors=(NotFound,))
async def delete_recipient(caller: Caller, recipient_id: UUID, work: Work) -> SavedRecipientView:
    """Delete a withdrawal recipient. Its withdrawals are kept."""
    return SavedRecipientView.of(await recipients.delete(work, caller.env, recipient_id), work.services.catalogue)


@OPERATIONS.add("GET", "/settings/withdrawals", guard=scope("settings:read"))
async def read_withdrawal_settings(caller: Caller, work: Work) -> WithdrawalSettingsView:
    """Retrieve the withdrawal settings. They are those of the current environment."""
    return withdrawal_settings_view(await recipients.get_settings(work, caller.env))


@OPERATIONS.add("PUT", "/settings/withdrawals", guard=scope("settings:write"), errors=(ValidationFailed,))
async def save_withdrawal_settings(caller: Caller, body: NewWithdrawalSettings, work: Work) -> WithdrawalSettingsView:
    """Update the withdrawal settings. `saved_recipients_only` is turned off only after a cooling time."""
    return withdrawal_settings_view(await recipients.save_settings(work, caller.env, body))
