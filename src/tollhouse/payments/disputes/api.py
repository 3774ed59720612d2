"""The Integration API's endpoints for disputes."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import ListQuery, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.limits import EVIDENCE_BODY_BYTES_MAX
from tollhouse.payments.disputes import actions, store
from tollhouse.payments.disputes.actions import NewEvidence
from tollhouse.payments.disputes.model import DisputeStatus, DisputeView, dispute_view
from tollhouse.payments.disputes.store import DisputeFilter
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.orders.errors import InvalidState

OPERATIONS = Operations(INTEGRATION)


class DisputeListQuery(ListQuery, frozen=True):
    """Filters of GET /disputes."""

    transaction_id: UUID | None = None
    status: list[DisputeStatus] | None = None
    currency: str | None = None
    external_id: str | None = None


class DisputeList(Struct, frozen=True):
    """A page of disputes."""

    disputes: list[DisputeView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/disputes", guard=scope("payments:read"))
async def list_disputes(
    caller: Caller, query: DisputeListQuery, page: PageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> DisputeList:
    """List disputes. Newest first."""
    filters = msgspec.convert(query, DisputeFilter, from_attributes=True)
    rows = await store.list_disputes(db, caller.env, filters, now, page.window)
    found, more, cursor = page.cut(rows, store.position_of)
    return DisputeList([dispute_view(dispute, catalogue) for dispute in found], more, cursor)


@OPERATIONS.add("GET", "/disputes/{dispute_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_dispute(caller: Caller, dispute_id: UUID, db: Pool, now: datetime, catalogue: Catalogue) -> DisputeView:
    """Retrieve a dispute."""
    found = await store.get(db, caller.env, dispute_id, now)
    if found is None:
        raise NotFound
    return dispute_view(found, catalogue)


@OPERATIONS.add(
    "PUT",
    "/disputes/{dispute_id}/evidence",
    guard=scope("payments:write"),
    errors=(NotFound, ValidationFailed, InvalidState),
    body_bytes_max=EVIDENCE_BODY_BYTES_MAX,
)
async def save_evidence(caller: Caller, dispute_id: UUID, body: NewEvidence, work: Work) -> DisputeView:
    """Save evidence as a draft. Replaces the draft. Until it is submitted, nobody else reads it."""
    return dispute_view(await actions.save_evidence(work, caller.env, dispute_id, body), work.services.catalogue)


@OPERATIONS.add(
    "POST",
    "/disputes/{dispute_id}/submit",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, ValidationFailed, InvalidState),
)
async def submit_dispute(caller: Caller, dispute_id: UUID, work: Work) -> DisputeView:
    """Submit the saved evidence. It cannot be changed afterwards."""
    return dispute_view(await actions.submit(work, caller.env, dispute_id), work.services.catalogue)


@OPERATIONS.add(
    "POST",
    "/disputes/{dispute_id}/accept",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState),
)
async def accept_dispute(caller: Caller, dispute_id: UUID, work: Work) -> DisputeView:
    """Accept a dispute. The customer keeps the amount. This cannot be undone."""
    return dispute_view(await actions.accept(work, caller.env, dispute_id), work.services.catalogue)
