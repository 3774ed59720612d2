"""What a merchant does about a dispute: save evidence, submit it, or accept the dispute. The worker tells the rail."""

from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.payments.disputes import store
from tollhouse.payments.disputes.model import Dispute
from tollhouse.payments.disputes.new_evidence import NewEvidence
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.transfers.orders.errors import InvalidState

NO_EVIDENCE = "This must have at least one text. Save evidence before you submit it."


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
