"""Proposals: their states, errors and JSON, and who made them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.spending.model import LimitKind
from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.platform.database.records import Internal, Json, Record, Selected

ProposalOperation = LimitKind
"""What is proposed: the operations that limits count."""
ProposalStatus = Literal["waiting", "approved", "rejected", "canceled", "expired", "failed"]
"""State of a proposal.

waiting: The merchant has not decided.
approved: The merchant approved it, and the operation ran.
rejected: The merchant rejected it.
canceled: By its proposer, by the end of its connection or key or the loss of the permission, or by a suspension.
expired: Nobody decided in time.
failed: The merchant approved it, and the operation was refused. Nothing moved.
"""
ResultObject = Literal["withdrawal", "refund", "balance_payment", "conversion", "fulfillment"]
"""What was created.

withdrawal: A withdrawal.
refund: A refund.
balance_payment: A balance payment.
conversion: A conversion.
fulfillment: A fulfillment.
"""
ProposerObject = Literal["connection", "api_key"]
"""What proposed.

connection: The connection of an application.
api_key: An API key.
"""
RESULTS: dict[ProposalOperation, ResultObject] = {
    "withdrawals": "withdrawal",
    "refunds": "refund",
    "balance_payments": "balance_payment",
    "conversions": "conversion",
    "fulfillments": "fulfillment",
}


class ProposalError(Struct, frozen=True):
    """Why the operation was refused, as it answers the request itself."""

    code: Annotated[str, example("insufficient_funds")]
    """Code of the error."""
    message: Annotated[str, example("The available balance is too low.")]
    """What happened, in a sentence."""
    details: dict[str, Any] | None = None
    """The `details` of the error; null without any."""


class ProposalResult(Struct, frozen=True):
    """The object that the approved operation created."""

    object: Annotated[ResultObject, example("withdrawal")]
    """Its type."""
    id: UUID
    """Its ID, by which it is retrieved like any other."""


STATUS_AT = Selected("proposals_status_at({row}, $1)")
"""The status now: `$1` of each statement that reads proposals is the time."""
PROPOSER_NAME, DECIDER = Selected("proposals_proposer_name({row})"), Selected("proposals_decider({row})")


class Proposal(Struct, frozen=True, kw_only=True):
    """An operation that waits for the merchant, or did. `amount_minor` is None for all that is left of a payment.

    `proposer_name` is the name of the application or of the key now, `decided_by` the address of the user who decided.
    """

    id: UUID
    status: Annotated[ProposalStatus, STATUS_AT, example("waiting")] = "waiting"
    """State of the proposal."""
    operation: Annotated[ProposalOperation, example("withdrawals")]
    """What is proposed."""
    body: Json[dict[str, Any]]
    """The body of the operation, as it was proposed."""
    error: Json[ProposalError | None] = None
    """Why the operation was refused; null unless `failed`."""
    env: MerchantEnv
    created_at: datetime
    expires_at: datetime
    """When it expires unless the merchant decides: 7 days after it was proposed."""
    ended_at: Annotated[datetime | None, example(None)] = None
    """When it was decided, canceled or expired; null while it waits."""
    grant_id: Internal[UUID | None] = None
    api_key_id: Internal[UUID | None] = None
    amount_minor: Internal[int | None] = None
    currency: Internal[str]
    result_id: Internal[UUID | None] = None
    proposer_name: Internal[Annotated[str, PROPOSER_NAME]] = ""
    decided_by: Internal[Annotated[str | None, DECIDER]] = None

    @property
    def result(self) -> ProposalResult | None:
        """The object that the operation created."""
        return None if self.result_id is None else ProposalResult(RESULTS[self.operation], self.result_id)


PROPOSAL = Record(Proposal, "proposals")


class TooManyProposals(ApiError):
    """409: 100 proposals of the connection or the API key wait for the merchant."""

    code, status = "too_many_proposals", 409
    message = "100 proposals are waiting for the merchant. Cancel one, or wait until some are decided."
    solution = "Cancel proposals that are not needed, or wait until the merchant has decided some."


@view_of(Proposal)
class ProposalView(RecordView, frozen=True, kw_only=True):
    """A proposal, as its proposer sees it."""

    object: Annotated[Literal["proposal"], After("id")] = "proposal"
    result: Annotated[ProposalResult | None, After("body")] = None
    """The created object; null unless `approved`."""


class Proposer(Struct, frozen=True):
    """The connection or the API key that proposed."""

    object: Annotated[ProposerObject, example("connection")]
    """Whether an application proposed by its connection, or an API key."""
    id: UUID
    """ID of the connection (its `grant_id`) or of the key."""
    name: Annotated[str, example("Stall manager")]
    """Name of the application or of the key."""


@view_of(Proposal)
class MerchantProposalView(RecordView, frozen=True, kw_only=True):
    """A proposal, as the merchant sees it."""

    object: Annotated[Literal["proposal"], After("id")] = "proposal"
    result: Annotated[ProposalResult | None, After("body")] = None
    """The created object; null unless `approved`."""
    proposed_by: Annotated[Proposer, After("operation")]
    """The connection or API key that proposed it."""
    decided_by: Annotated[str | None, After("ended_at"), example(None)] = None
    """Email address of the user who approved or rejected it; null if nobody did."""


def proposer_of(proposal: Proposal) -> Proposer:
    """The connection or key that proposed."""
    if proposal.grant_id is not None:
        return Proposer("connection", proposal.grant_id, proposal.proposer_name)
    if proposal.api_key_id is None:
        raise AssertionError("a connection or a key proposes")
    return Proposer("api_key", proposal.api_key_id, proposal.proposer_name)


def merchant_view(proposal: Proposal, catalogue: Catalogue) -> MerchantProposalView:
    """A proposal, as the merchant sees it."""
    return MerchantProposalView.of(proposal, catalogue, proposed_by=proposer_of(proposal), decided_by=proposal.decided_by)
