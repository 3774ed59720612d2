"""Proposals in the Integration API, and, for the merchant, in the dashboard API."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import any_credential, scope, signed_in
from tollhouse.accounts.identity.model import Caller, Person
from tollhouse.accounts.identity.stepup import require_recent
from tollhouse.http.lists import PageRequest
from tollhouse.http.operations import DASHBOARD, INTEGRATION, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.payments.links.model import MethodUnavailable
from tollhouse.payments.proposals import actions, store
from tollhouse.payments.proposals.model import (
    MerchantProposalView,
    Proposal,
    ProposalOperation,
    ProposalView,
    TooManyProposals,
    merchant_view,
)
from tollhouse.payments.proposals.operations import SCOPES, require_role
from tollhouse.payments.proposals.store import MerchantProposalsQuery, ProposalsQuery
from tollhouse.payments.refunds.new_refund import ChargedBack, ReceiverRequired, RefundNotAllowed
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.balance_payments.model import SelfPayment
from tollhouse.transfers.fulfillments.model import ProductUnavailable
from tollhouse.transfers.gate.model import WithdrawalMethodUnavailable
from tollhouse.transfers.orders.errors import (
    AmountAboveMaximum,
    AmountBelowFees,
    AmountBelowMinimum,
    CurrencyNotSupported,
    InvalidState,
    PriceChanged,
)
from tollhouse.transfers.withdrawals.model import InvalidReceiver

INTEGRATION_OPERATIONS = Operations(INTEGRATION)
DASHBOARD_OPERATIONS = Operations(DASHBOARD)
EXAMPLE_BODY = {"method_id": "sandbox:EUR", "amount": "4.20", "receiver": "Nina Nowak"}


class NewProposal(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An operation to propose to the merchant."""

    operation: Annotated[ProposalOperation, example("withdrawals")]
    """What is proposed: the operation that creates such an object. It needs the write scope of that."""
    body: Annotated[dict[str, Any], example(EXAMPLE_BODY)]
    """The body of the operation. It cannot have a `quote_id`; that of a refund has the `transaction_id`, too."""


class ProposalList(Struct, frozen=True):
    """A page of proposals."""

    proposals: list[ProposalView]
    has_more: bool
    next_cursor: str | None


class MerchantProposalList(Struct, frozen=True):
    """A page of proposals to the merchant."""

    proposals: list[MerchantProposalView]
    has_more: bool
    next_cursor: str | None


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/proposals",
    guard=scope(*SCOPES),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        WithdrawalMethodUnavailable,
        InvalidReceiver,
        AmountBelowMinimum,
        AmountAboveMaximum,
        AmountBelowFees,
        ChargedBack,
        RefundNotAllowed,
        ReceiverRequired,
        MethodUnavailable,
        SelfPayment,
        CurrencyNotSupported,
        ProductUnavailable,
        PriceChanged,
        TooManyProposals,
    ),
)
async def propose(caller: Caller, body: NewProposal, work: Work) -> ProposalView:
    """Create a proposal. The operation runs when the merchant approves it. It needs the write scope of the operation."""
    return ProposalView.of(await actions.propose(work, caller, body.operation, body.body), work.services.catalogue)


@INTEGRATION_OPERATIONS.add("GET", "/proposals", guard=any_credential)
async def list_proposals(
    caller: Caller, query: ProposalsQuery, page: PageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> ProposalList:
    """List proposals. Newest first, those of this connection or API key."""
    found, more, cursor = page.cut(await store.list_of_proposer(db, caller, query, page.window, now))
    return ProposalList([ProposalView.of(proposal, catalogue) for proposal in found], more, cursor)


@INTEGRATION_OPERATIONS.add("GET", "/proposals/{proposal_id}", guard=any_credential, errors=(NotFound,))
async def read_proposal(caller: Caller, proposal_id: UUID, db: Pool, now: datetime, catalogue: Catalogue) -> ProposalView:
    """Retrieve a proposal."""
    return ProposalView.of(await store.get(db, caller, proposal_id, now), catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST", "/proposals/{proposal_id}/cancel", guard=any_credential, idempotency="honoured", errors=(NotFound, InvalidState)
)
async def cancel_proposal(caller: Caller, proposal_id: UUID, work: Work) -> ProposalView:
    """Cancel a proposal. Possible while it waits."""
    return ProposalView.of(await actions.cancel(work, caller, proposal_id), work.services.catalogue)


@DASHBOARD_OPERATIONS.add("GET", "/proposals", guard=signed_in("read"), errors=(ValidationFailed,))
async def list_received_proposals(
    caller: Person, query: MerchantProposalsQuery, page: PageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> MerchantProposalList:
    """List the proposals to the merchant. Newest first."""
    rows = await store.list_of_merchant(db, caller.merchant_id, query.mode, query.status, page.window, now)
    found, more, cursor = page.cut(rows)
    return MerchantProposalList([merchant_view(proposal, catalogue) for proposal in found], more, cursor)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/proposals/{proposal_id}/approve",
    guard=signed_in("proposals", of_object=True),
    errors=(NotFound, InvalidState),
    recent_authentication="by_content",
)
async def approve_proposal(caller: Person, proposal_id: UUID, request: Request) -> MerchantProposalView:
    """Approve a proposal. The operation runs once; if it is refused, the proposal is `failed` with the `error`."""
    proposal = await _get_to_decide(request, caller, proposal_id)
    return merchant_view(await actions.approve(request.transact, caller, proposal), request.services.catalogue)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/proposals/{proposal_id}/reject",
    guard=signed_in("proposals", of_object=True),
    errors=(NotFound, InvalidState),
    recent_authentication="by_content",
)
async def reject_proposal(caller: Person, proposal_id: UUID, request: Request) -> MerchantProposalView:
    """Reject a proposal. Nothing moves."""
    proposal = await _get_to_decide(request, caller, proposal_id)
    rejected = await request.transact(lambda work: actions.reject(work, caller, proposal))
    return merchant_view(rejected, request.services.catalogue)


async def _get_to_decide(request: Request, caller: Person, proposal_id: UUID) -> Proposal:
    """The proposal, with recent authentication in live mode.

    Raises `NotFound`, `RoleForbidden` and `RecentAuthenticationRequired`.
    """
    found = await store.get_of_merchant(request.services.db, caller.merchant_id, proposal_id, request.now)
    require_role(caller, found)
    if found.env.livemode:
        require_recent(caller, request.now)
    return found
