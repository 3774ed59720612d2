"""Recording audit events, in the transaction of the action: neither is committed without the other."""

from uuid import UUID

import msgspec

from tollhouse.accounts.audit import store
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import Changes
from tollhouse.accounts.audit.store import Subject
from tollhouse.http.services import Work
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.log import changed_objects


async def event(
    work: Work,
    scope: MerchantEnv | MerchantId,
    event_type: AuditEventType,
    *,
    subject: UUID | str | None = None,
    name: str | None = None,
    changed: Changes | None = None,
    by: Actor | None = None,
) -> None:
    """Record an event of a merchant or of one environment, by the actor of the work unless `by` names another.

    `subject` is the ID of the object, `name` its name at this time.
    """
    merchant_id, mode = (scope.merchant_id, scope.mode) if isinstance(scope, MerchantEnv) else (scope, None)
    if isinstance(subject, UUID):
        changed_objects.note(subject)
    encoded = msgspec.json.encode(changed).decode() if changed else None
    about = Subject(None if subject is None else str(subject), name, encoded)
    await store.insert(work.tx, merchant_id, new_id(), work.now, mode, event_type, by or work.actor, about)


async def event_of_user(work: Work, user_id: UUID, event_type: AuditEventType, by: Actor) -> None:
    """Record an event of the user's merchants. Operators belong to no merchant: nothing is recorded for them."""
    await store.insert_for_user(work.tx, user_id, new_id(), work.now, event_type, by)
