"""Records actions of operators in the history, and in the audit log of the merchant that they concern."""

from typing import NamedTuple
from uuid import UUID

from tollhouse.accounts.approvals import store as approvals_store
from tollhouse.accounts.approvals.model import Action, OperatorAction, OperatorContext, SubjectNotFoundError
from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import new_values
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId, new_id
from tollhouse.kernel.text import Text

AUDIT_EVENTS: dict[Action, AuditEventType] = {
    "merchant_suspended": "account.suspended",
    "merchant_reactivated": "account.reactivated",
    "project_approved": "project.approved",
    "project_rejected": "project.rejected",
    "project_changes_approved": "project.changes_approved",
    "project_changes_rejected": "project.changes_rejected",
    "balance_adjusted": "balance.adjusted",
    "withdrawal_approved": "withdrawal.approved",
    "withdrawal_rejected": "withdrawal.rejected",
    "refund_approved": "refund.approved",
    "refund_rejected": "refund.rejected",
    "second_factor_removed": "second_factor.removed",
    "sessions_ended": "session.ended_by_operator",
    "application_suspended": "application.suspended",
    "application_reactivated": "application.reactivated",
    "application_approved": "application.approved",
    "application_approval_withdrawn": "application.approval_withdrawn",
    "application_verified": "application.verified",
    "application_verification_withdrawn": "application.verification_withdrawn",
}
"""What the merchant's audit log shows: the action, without the operator and the reason."""
APPROVALS: frozenset[Action] = frozenset(
    {
        "project_approved",
        "project_changes_approved",
        "withdrawal_approved",
        "refund_approved",
        "payout_approved",
        "adjustment_approved",
        "transfer_return_approved",
        "payout_refusal_approved",
        "import_confirmed",
    }
)
"""The history says of these whether a single operator is enough in this installation."""


class Client(NamedTuple):
    """The application that an action concerns."""

    client_id: ClientId
    name: str


async def record_action(
    work: Work,
    context: OperatorContext,
    action: Action,
    owner: MerchantEnv | MerchantId | None,
    *,
    subject_id: UUID,
    currency: str | None = None,
    amount_minor: int | None = None,
    client: Client | None = None,
) -> OperatorAction:
    """Record an action in its own transaction. `owner` is None if it concerns no merchant."""
    env = owner if isinstance(owner, MerchantEnv) else None
    done = OperatorAction(
        action_id=new_id(),
        operator=context.operator,
        action=action,
        merchant_id=owner.merchant_id if isinstance(owner, MerchantEnv) else owner,
        mode=None if env is None else env.mode,
        subject_id=subject_id,
        reason=context.reason or None,
        currency=currency,
        amount_minor=amount_minor,
        on_command_line=context.on_command_line,
        at=stamp(context.at),
        client_id=None if client is None else client.client_id,
        single_operator=action in APPROVALS and not work.services.settings.two_operators,
    )
    await approvals_store.insert_action(work.tx, done, context.at)
    if owner is not None and action in AUDIT_EVENTS:
        changed = (
            None
            if currency is None or amount_minor is None
            else new_values(amount=work.services.catalogue.priced(amount_minor, currency))
        )
        subject, name = None if subject_id == done.merchant_id else subject_id, None
        if client is not None:
            subject, name = client.client_id, client.name
        event = AUDIT_EVENTS[action]
        await record.event(work, owner, event, subject=subject, name=name, changed=changed)
    return done


def no_merchant(merchant_id: UUID) -> SubjectNotFoundError:
    """The error of an action on a merchant that does not exist."""
    return SubjectNotFoundError(Text("There is no merchant %(merchant_id)s.", merchant_id=merchant_id))
