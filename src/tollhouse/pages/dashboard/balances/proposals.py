"""Dashboard pages of proposals: the list, and one proposal with what it would do, to be approved or rejected."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person, RoleForbidden
from tollhouse.http.forms import NO_ERRORS, FormErrors
from tollhouse.http.lists import LongPageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.schema_fields import describe
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.limits import PAGE_ROWS_MAX
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.proposals import actions, store
from tollhouse.payments.proposals.model import Proposal, ProposalStatus, merchant_view
from tollhouse.payments.proposals.operations import OPERATIONS as PROPOSABLE
from tollhouse.payments.proposals.operations import parse_body
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.transfers.balance_payments import store as balance_payments_store
from tollhouse.transfers.conversions import actions as conversions
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals.new_withdrawal import parse as parse_withdrawal

OPERATIONS = Operations(PAGES)
ROOT = "/{mode}/proposals"
ENDED: list[ProposalStatus] = ["approved", "rejected", "canceled", "expired", "failed"]
SHARED = ("description", "external_id", "metadata", "webhook_url")
"""The members that most bodies have."""
DECIDED = "This proposal does not wait for a decision any more. Nothing was changed."


class Consequence(Struct, frozen=True):
    """What a proposal would do, beside what its body says. Amounts are those of now."""

    receiver: str = ""
    name: str = ""
    fields: list[tuple[str, str]] = []
    remaining: str = ""
    debit: str = ""
    receive: str = ""
    to_amount: str = ""
    method: str = ""


@OPERATIONS.add("GET", ROOT, guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: LongPageQuery) -> Response:
    """The proposals that wait, and below those that have ended, newest first."""
    services, now = request.services, request.now
    waiting = await store.list_waiting(services.db, env, now, PAGE_ROWS_MAX) if query.page == 1 else []
    rows = await store.list_of_merchant(services.db, env.merchant_id, env.mode, ENDED, query.window, now)
    ended, more = query.cut(rows)
    return render(
        request,
        caller,
        "proposals/list",
        here="proposals",
        waiting=[_row(request, proposal) for proposal in waiting],
        ended=[_row(request, proposal) for proposal in ended],
        page_links=query.links(ended, more=more),
    )


@OPERATIONS.add("GET", f"{ROOT}/{{proposal_id}}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, proposal_id: UUID) -> Response:
    """One proposal: what it would do, who proposed it, and the decision."""
    return await _page(request, caller, await _get(request, env, proposal_id))


@OPERATIONS.add("POST", f"{ROOT}/{{proposal_id}}/approve", guard=signed_in_page("proposals"), recent_authentication="live")
async def approve(request: Request, caller: Person, env: MerchantEnv, proposal_id: UUID) -> Response:
    """Approve the proposal: its operation runs. A repeated request changes nothing."""
    proposal = await _get(request, env, proposal_id)
    return await _decide(request, caller, proposal, lambda: actions.approve(request.transact, caller, proposal), "approved")


@OPERATIONS.add("POST", f"{ROOT}/{{proposal_id}}/reject", guard=signed_in_page("proposals"), recent_authentication="live")
async def reject(request: Request, caller: Person, env: MerchantEnv, proposal_id: UUID) -> Response:
    """Reject the proposal. A repeated request changes nothing."""
    proposal = await _get(request, env, proposal_id)
    return await _decide(
        request,
        caller,
        proposal,
        lambda: request.transact(lambda work: actions.reject(work, caller, proposal)),
        "rejected",
    )


async def _decide(
    request: Request, person: Person, proposal: Proposal, decide: Callable[[], Awaitable[Proposal]], decision: ProposalStatus
) -> Response:
    try:
        await decide()
    except InvalidState:
        current = await _get(request, proposal.env, proposal.id)
        if current.status != decision:
            return await _page(request, person, current, FormErrors(DECIDED, status=409))
    except RoleForbidden:
        raise
    except ApiError as error:  # it may pass, and the proposal still waits
        return await _page(request, person, proposal, FormErrors(error.message, status=error.status))
    return see_other(f"/{proposal.env.mode}/proposals/{proposal.id}")


async def _get(request: Request, env: MerchantEnv, proposal_id: UUID) -> Proposal:
    """A proposal of this environment. Raises `NotFound`."""
    found = await store.get_of_merchant(request.services.db, env.merchant_id, proposal_id, request.now)
    if found.env != env:
        raise NotFound
    return found


async def _page(request: Request, person: Person, proposal: Proposal, form_errors: FormErrors = NO_ERRORS) -> Response:
    return render(
        request,
        person,
        "proposals/one",
        here="proposals",
        consequence=await request.transact(lambda work: _consequence(work, proposal)),
        body=dict.fromkeys((*SHARED, *PROPOSABLE[proposal.operation].body.__struct_fields__)) | proposal.body,
        form_errors=form_errors,
        **_row(request, proposal),
    )


def _row(request: Request, proposal: Proposal) -> dict[str, Any]:
    """A proposal, and its amount as a decimal; empty for all that is left of a payment."""
    catalogue, minor = request.services.catalogue, proposal.amount_minor
    return {
        "proposal": merchant_view(proposal, catalogue),
        "amount": "" if minor is None else catalogue.format_amount(minor, proposal.currency),
        "currency": proposal.currency,
    }


async def _consequence(work: Work, proposal: Proposal) -> Consequence:
    """What the proposal would do now; nothing if it could not be done."""
    try:
        return await CONSEQUENCES[proposal.operation](work, proposal, parse_body(proposal.operation, proposal.body))
    except ApiError:
        return Consequence()


async def _of_withdrawal(work: Work, proposal: Proposal, new: Any) -> Consequence:
    catalogue = work.services.catalogue
    receiver, name, fields = new.receiver or "", "", new.provider_fields
    if new.recipient_id is not None:
        saved = await recipients_store.get(work.tx, proposal.env, new.recipient_id)
        receiver, name, fields = saved.receiver, saved.name, saved.provider_fields | fields
    method, terms = parse_withdrawal(new, proposal.env, work.services.settings, catalogue)
    debit, receive = (catalogue.format_amount(minor, terms.currency) for minor in (terms.debit_minor, terms.receive_minor))
    return Consequence(receiver, name, describe(fields), debit=debit, receive=receive, method=method.name)


async def _of_refund(work: Work, proposal: Proposal, new: Any) -> Consequence:
    payment = await transaction_store.get(work.tx, proposal.env, new.transaction_id)
    remaining = work.services.catalogue.format_amount(payment.refundable_minor, payment.currency)
    return Consequence(new.receiver or "", remaining=remaining)


async def _of_balance_payment(work: Work, proposal: Proposal, new: Any) -> Consequence:
    if proposal.grant_id is not None:
        return Consequence(proposal.proposer_name)
    names = await balance_payments_store.application_names(work.tx, [new.oauth_client_id])
    return Consequence(names.get(new.oauth_client_id, ""))


async def _of_conversion(work: Work, proposal: Proposal, new: Any) -> Consequence:
    services = work.services
    amount = conversions.parse(new, proposal.env, services.settings, services.catalogue)
    if amount is None:
        return Consequence()
    exchange = await conversions.current_exchange(work.tx, proposal.env, amount, work.now, services.catalogue)
    return Consequence(to_amount=services.catalogue.format_amount(exchange.to_amount_minor, exchange.to_currency))


async def _of_fulfillment(_work: Work, _proposal: Proposal, new: Any) -> Consequence:
    return Consequence(fields=describe(new.recipient))


CONSEQUENCES: dict[str, Callable[[Work, Proposal, Any], Awaitable[Consequence]]] = {
    "withdrawals": _of_withdrawal,
    "refunds": _of_refund,
    "balance_payments": _of_balance_payment,
    "conversions": _of_conversion,
    "fulfillments": _of_fulfillment,
}
