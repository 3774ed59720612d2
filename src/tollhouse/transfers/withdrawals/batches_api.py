"""Batches of withdrawals in the Integration API."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import ListPageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.limits import BATCH_BODY_BYTES_MAX
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate.errors import RECIPIENT_ERRORS, DailyLimitExceeded
from tollhouse.transfers.withdrawals import batches, batches_store
from tollhouse.transfers.withdrawals.batch_views import batch_view
from tollhouse.transfers.withdrawals.batches import NewBatch
from tollhouse.transfers.withdrawals.views import WithdrawalBatchView

OPERATIONS = Operations(INTEGRATION)


class WithdrawalBatchList(Struct, frozen=True):
    """A page of batches."""

    withdrawal_batches: list[WithdrawalBatchView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/withdrawal-batches", guard=scope("withdrawals:read"))
async def list_batches(caller: Caller, page: ListPageRequest, db: Pool, catalogue: Catalogue) -> WithdrawalBatchList:
    """List withdrawal batches. Newest first."""
    found, more, cursor = page.cut(await batches_store.list_batches(db, caller.env, page.window))
    items = await batches_store.list_items(db, caller.env, *(one.id for one in found))
    return WithdrawalBatchList([batch_view(one, items[one.id], catalogue) for one in found], more, cursor)


@OPERATIONS.add(
    "POST",
    "/withdrawal-batches",
    guard=scope("withdrawals:write"),
    status=201,
    idempotency="required",
    errors=(ValidationFailed, *RECIPIENT_ERRORS, DailyLimitExceeded, InsufficientFunds),
    body_bytes_max=BATCH_BODY_BYTES_MAX,
)
async def create_batch(caller: Caller, body: NewBatch, work: Work) -> WithdrawalBatchView:
    """Create a withdrawal batch. All of its withdrawals are created and their amounts reserved, or none."""
    batch = await batches.create_batch(work, caller.env, body)
    items = await batches_store.list_items(work.tx, caller.env, batch.id)
    return batch_view(batch, items[batch.id], work.services.catalogue)


@OPERATIONS.add("GET", "/withdrawal-batches/{batch_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_batch(caller: Caller, batch_id: UUID, db: Pool, catalogue: Catalogue) -> WithdrawalBatchView:
    """Retrieve a withdrawal batch."""
    batch = await batches_store.get(db, caller.env, batch_id)
    items = await batches_store.list_items(db, caller.env, batch.id)
    return batch_view(batch, items[batch.id], catalogue)
