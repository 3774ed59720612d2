"""What a merchant does about a dispute: save evidence, submit it, or accept the dispute.

Jobs give the responses to the rails, and close disputes that nobody responded to.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock, messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.kernel.rails.disputes import (
    EVIDENCE_CHARS_MAX,
    EVIDENCE_CHARS_TOTAL_MAX,
    DisputeProvider,
    DisputeSubmission,
    Evidence,
)
from tollhouse.kernel.rails.provider import SANDBOX_RAIL
from tollhouse.kernel.text import Text
from tollhouse.payments.disputes import store
from tollhouse.payments.disputes.model import Dispute, DueDispute
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.payments.refunds import chargebacks
from tollhouse.payments.refunds.chargeback_responses_store import DueResponse
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.platform.log.events import log
from tollhouse.transfers.orders.errors import InvalidState

MEMBERS = tuple(field.name for field in msgspec.structs.fields(Evidence))
NO_EVIDENCE = "This must have at least one text. Save evidence before you submit it."
BATCH_SIZE = 50
LEASE = timedelta(seconds=30)
"""A worker that dies leaves its responses to another one after this time."""
INTERVAL_MIN, INTERVAL_MAX = timedelta(seconds=5), timedelta(minutes=10)
INTERVALS_PER_AGE = 8
"""The interval between two deliveries is an eighth of the response's age."""
RAIL_DECIDES = DisputeSubmission("accepted")
GIVEN_UP = DisputeSubmission("accepted", "lost")


class NewEvidence(Evidence, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The evidence to save. It replaces what was saved before."""

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """Every invalid field."""
        return self.field_errors()

    def field_errors(self) -> Iterator[FieldError]:
        """Every invalid field."""
        total = 0
        for name in MEMBERS:
            text = getattr(self, name)
            if text is None:
                continue
            total += len(text)
            if not 1 <= len(text) <= EVIDENCE_CHARS_MAX or not text.strip() or not is_readable(text, LINE_FEEDS):
                yield FieldError(name, "invalid_value", messages.plain_text(1, EVIDENCE_CHARS_MAX))
        if total > EVIDENCE_CHARS_TOTAL_MAX:
            too_long = Text(
                "This must be at most %(most)s characters long, all texts together.", most=EVIDENCE_CHARS_TOTAL_MAX
            )
            yield FieldError("evidence", "too_long", too_long)


async def save_evidence(work: Work, env: MerchantEnv, dispute_id: UUID, evidence: NewEvidence) -> Dispute:
    """Replace the draft of the evidence. Raises `ValidationFailed`, `NotFound` and `InvalidState`."""
    if field_errors := list(evidence.field_errors()):
        raise ValidationFailed(*field_errors)
    saved = await responses.save_evidence(work.tx, env, dispute_id, evidence, work.now)
    current = await _get(work, env, dispute_id)
    if not saved:
        raise InvalidState(current.status)
    return current


async def submit(work: Work, env: MerchantEnv, dispute_id: UUID) -> Dispute:
    """Submit the saved evidence, once and for all. Raises `NotFound`, `InvalidState` and `ValidationFailed`."""
    return await _respond(work, env, dispute_id, "submitted", "dispute.evidence_submitted")


async def accept(work: Work, env: MerchantEnv, dispute_id: UUID) -> Dispute:
    """Accept the dispute: the customer keeps the amount. Raises `NotFound` and `InvalidState`."""
    return await _respond(work, env, dispute_id, "accepted", "dispute.accepted")


async def _respond(work: Work, env: MerchantEnv, dispute_id: UUID, response: str, event_type: AuditEventType) -> Dispute:
    responded = await responses.respond(work.tx, env, dispute_id, response, work.now)
    current = await _get(work, env, dispute_id)
    if not responded:
        if current.status == "needs_response":
            raise ValidationFailed(FieldError("evidence", "required", NO_EVIDENCE))
        raise InvalidState(current.status)
    await record.event(work, env, event_type, subject=dispute_id)
    return current


async def _get(work: Work, env: MerchantEnv, dispute_id: UUID) -> Dispute:
    found = await store.get(work.tx, env, dispute_id, work.now)
    if found is None:
        raise NotFound
    return found


async def deliver_responses(services: Services) -> None:
    """Give due responses to their rails."""
    now = clock.now()
    for due in await responses.lease_responses(services.db, now, LEASE, BATCH_SIZE):
        await deliver(services, due, now)


async def deliver(services: Services, due: DueResponse, now: datetime) -> None:
    """Give one leased response to its rail. No database transaction is open during the call."""
    submission = await _submit(services, due)
    if submission is None or submission.outcome == "unknown":
        age = now - due.order.responded_at
        interval = clock.interval_by_age(age, INTERVALS_PER_AGE, INTERVAL_MIN, INTERVAL_MAX)
        await responses.schedule_delivery(services.db, due, now + interval)
        return
    if submission.outcome == "rejected":
        log.error("dispute_response_rejected", part=due.rail, mode=due.env.mode)
    await services.transact(lambda work: _record(work, due, submission), now)


async def expire_disputes(services: Services) -> None:
    """Close disputes of the sandbox as lost when their time to respond is over. Other rails close theirs themselves."""
    now = clock.now()
    for due in await store.list_expired(services.db, SANDBOX_RAIL, now, BATCH_SIZE):
        await services.transact(lambda work, due=due: _expire(work, due), now)


async def _submit(services: Services, due: DueResponse) -> DisputeSubmission | None:
    """What the rail answers; None if there is no such rail now."""
    provider = services.rails.find(due.rail, due.env.mode)
    if provider is None:
        log.error("dispute_rail_missing", part=due.rail, mode=due.env.mode)
        return None
    if not isinstance(provider, DisputeProvider):
        return GIVEN_UP if due.response == "accepted" else RAIL_DECIDES
    if due.response == "accepted":
        return await provider.accept_dispute(due.order)
    return await provider.submit_evidence(due.order)


async def _record(work: Work, due: DueResponse, submission: DisputeSubmission) -> None:
    """Nothing is left to deliver. The payment is locked before its chargeback, as everywhere."""
    if submission.decision is None:
        await responses.schedule_delivery(work.tx, due, None)
        return
    try:
        won = submission.decision == "won"
        await chargebacks.decide(work, due.env, due.transaction_id, won=won, chargeback_id=due.order.id)
    except InvalidState:  # somebody else has closed it meanwhile; that has cleared the delivery too
        log.info("dispute_closed_meanwhile", part=due.rail)


async def _expire(work: Work, due: DueDispute) -> None:
    await transaction_store.lock(work.tx, due.env, due.transaction_id)
    current = await store.get(work.tx, due.env, due.id, work.now)
    if current is not None and current.status == "expired" and current.decision == "open":
        await chargebacks.decide(work, due.env, due.transaction_id, won=False, chargeback_id=due.id)
