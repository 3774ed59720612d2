"""Propose and cancel, by a connection or an API key; approve and reject, by the merchant.

An approval and the operation are one transaction, so the operation runs once or not at all. It is the merchant's own act: it
does not count toward the limits of the connection, which it may exceed; everything else holds. If the operation is refused,
nothing of that transaction stays, and another one stores the refusal. After an error that may pass, the proposal waits on.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from tollhouse.accounts.approvals import store as approvals_store
from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity.model import AccountSuspended, Caller, MissingScope, Person
from tollhouse.accounts.mail.model import mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.merchants import team
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import PROPOSAL_EMAIL_EVERY_S, PROPOSAL_S, PROPOSALS_WAITING_MAX
from tollhouse.payments.proposals import store
from tollhouse.payments.proposals.model import (
    Proposal,
    ProposalError,
    ProposalOperation,
    TooManyProposals,
)
from tollhouse.payments.proposals.operations import (
    OPERATIONS,
    ProposedAmount,
    parse_body,
    require_role,
    require_scope,
    within_body,
)
from tollhouse.payments.proposals.store import Ending
from tollhouse.transfers.orders.errors import InvalidState, PriceChanged

Transact = Callable[[Callable[[Work], Awaitable[Proposal]]], Awaitable[Proposal]]
"""Runs an action in a transaction, by the user who decides."""
VALID_FOR = timedelta(seconds=PROPOSAL_S)
TOO_MANY_REQUESTS, SERVER_ERROR = 429, 500
PATH = "/proposals"


class OperationRefused(Exception):
    """The operation of an approved proposal was refused by this error."""

    def __init__(self, error: ApiError) -> None:
        self.error = error
        super().__init__(error.code)


async def propose(work: Work, caller: Caller, operation: ProposalOperation, body: dict[str, Any]) -> Proposal:
    """Propose an operation.

    Raises `MissingScope`, `ValidationFailed`, what the operation itself refuses whenever it runs, and `TooManyProposals`.
    """
    require_scope(caller, operation)
    services = work.services
    parsed = parse_body(operation, body, ValidationContext(caller, PATH, services.settings, services.catalogue, work.now))
    try:
        subject = await OPERATIONS[operation].check(work, caller, parsed)
    except ApiError as error:
        raise within_body(error) from None
    if not await approvals_store.lock_active(work.tx, caller.env.merchant_id):
        raise AccountSuspended
    now_allowed = await store.lock_proposer(work.tx, caller.env, caller.grant_id, caller.api_key_id, work.now)
    if now_allowed is None:  # it has ended since it was authenticated
        raise MissingScope(caller, OPERATIONS[operation].scope)
    require_scope(now_allowed, operation)
    if await store.count_waiting(work.tx, caller, work.now) >= PROPOSALS_WAITING_MAX:
        raise TooManyProposals
    # Nothing below this line may refuse.
    is_first = not await store.has_waiting(work.tx, caller.env, work.now)
    proposal = Proposal(
        id=new_id(),
        operation=operation,
        body=body,
        env=caller.env,
        created_at=work.now,
        expires_at=work.now + VALID_FOR,
        grant_id=caller.grant_id,
        api_key_id=caller.api_key_id,
        amount_minor=subject.amount_minor,
        currency=subject.currency,
    )
    await store.insert(work.tx, proposal)
    proposal = await store.get(work.tx, caller, proposal.id, work.now)
    await _record_audit(work, proposal, "proposal.made")
    if is_first:
        await _notify_waiting(work, proposal, subject)
    return proposal


async def cancel(work: Work, caller: Caller, proposal_id: UUID) -> Proposal:
    """Cancel a proposal of this connection or key. Raises `NotFound` and `InvalidState`."""
    proposal = await store.get(work.tx, caller, proposal_id, work.now)
    return await _end(work, proposal, Ending("canceled"), "proposal.canceled")


async def reject(work: Work, person: Person, proposal: Proposal) -> Proposal:
    """Reject a proposal to the merchant. Raises `RoleForbidden` and `InvalidState`."""
    require_role(person, proposal)
    return await _end(work, proposal, Ending("rejected", person.user_id), "proposal.rejected")


async def approve(transact: Transact, person: Person, proposal: Proposal) -> Proposal:
    """Approve a proposal to the merchant, and run its operation. The result is `approved` or `failed`.

    Raises `RoleForbidden`, `InvalidState`, and errors of the operation that may pass, after which the proposal still waits.
    """
    require_role(person, proposal)
    try:
        return await transact(lambda work: _run(work, person, proposal))
    except OperationRefused as refused:
        error = refused.error
    if error.status >= SERVER_ERROR or error.status == TOO_MANY_REQUESTS:
        raise error
    ending = Ending("failed", person.user_id, error=_shown(error))
    return await transact(lambda work: _end(work, proposal, ending, "proposal.failed"))


async def _run(work: Work, person: Person, proposal: Proposal) -> Proposal:
    """Lock merchant, proposer and proposal, run the operation, and store the approval."""
    if not await approvals_store.lock_active(work.tx, proposal.env.merchant_id):
        raise AccountSuspended
    caller = await store.lock_proposer(work.tx, proposal.env, proposal.grant_id, proposal.api_key_id, work.now)
    status = await store.lock(work.tx, proposal.env.merchant_id, proposal.id, work.now)
    if status != "waiting" or caller is None:
        raise InvalidState("canceled" if status == "waiting" else status)
    operation = OPERATIONS[proposal.operation]
    try:
        body = parse_body(proposal.operation, proposal.body)
        _ensure_as_shown(work, proposal, await operation.check(work, caller, body))
        result_id = await operation.run(work, caller, body)
    except ApiError as error:
        raise OperationRefused(error) from error
    if proposal.operation == "refunds":
        await team.ensure_refund_allowed(work, person, result_id)
    return await _end(work, proposal, Ending("approved", person.user_id, result_id), "proposal.approved")


def _ensure_as_shown(work: Work, proposal: Proposal, subject: ProposedAmount) -> None:
    """Raise `PriceChanged` where it would cost something else than the merchant was shown."""
    if (subject.amount_minor, subject.currency) != (proposal.amount_minor, proposal.currency):
        catalogue, minor = work.services.catalogue, subject.amount_minor
        amount = None if minor is None else catalogue.format_amount(minor, subject.currency)
        raise PriceChanged({"amount": amount, "amount_minor": minor, "currency": subject.currency})


async def _end(work: Work, proposal: Proposal, ending: Ending, event_type: AuditEventType) -> Proposal:
    status = await store.lock(work.tx, proposal.env.merchant_id, proposal.id, work.now)
    ended = await store.end(work.tx, proposal, ending, work.now) if status == "waiting" else None
    if ended is None:
        raise InvalidState(status)
    await _record_audit(work, ended, event_type)
    return ended


def _shown(error: ApiError) -> ProposalError:
    """The refusal as the proposer and the merchant see it; errors of fields are its details."""
    details = cast("dict[str, Any] | None", error.members.get("details"))
    if error.field_errors:
        details = {field_error.field: str(field_error.message) for field_error in error.field_errors}
    return ProposalError(error.code, str(error.message), details)


async def _record_audit(work: Work, proposal: Proposal, event_type: AuditEventType) -> None:
    catalogue, minor = work.services.catalogue, proposal.amount_minor
    values = new_values(
        operation=proposal.operation,
        amount=None if minor is None else catalogue.priced(minor, proposal.currency),
        connection=proposal.grant_id,
        api_key=proposal.api_key_id,
        result=proposal.result_id,
        reason=None if proposal.error is None else proposal.error.code,
    )
    await record.event(work, proposal.env, event_type, subject=proposal.id, name=proposal.proposer_name, changed=values)


async def _notify_waiting(work: Work, proposal: Proposal, subject: ProposedAmount) -> None:
    """Once while proposals wait, and once in 15 minutes, so that nobody fills a mailbox by proposing and canceling."""
    minor, amount = subject.amount_minor, ""
    if minor is not None:
        amount = work.services.catalogue.format_amount(minor, subject.currency)
    facts = NoticeFacts(
        operation=proposal.operation,
        amount=amount,
        currency=subject.currency if amount else "",
        account=mail_name(subject.receiver),
        name=mail_name(proposal.proposer_name),
        at=stamp(work.now),
    )
    period = int(work.now.timestamp()) // PROPOSAL_EMAIL_EVERY_S
    await notify_members(work, "proposal_waiting", Occurrence(proposal.env, period, facts, proposal.id))
