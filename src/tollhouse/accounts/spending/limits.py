"""Changing the limits of a connection or an API key, and checking that their recipients exist."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.spending import store
from tollhouse.accounts.spending.model import Limits
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool, Tx


class LimitsOwner(Struct, frozen=True):
    """The connection (a grant) or API key that has limits, and its name for the audit log."""

    env: MerchantEnv
    credential_id: UUID
    is_key: bool
    name: str


async def ensure_recipients(db: Pool | Tx, env: MerchantEnv, limits: Limits, field: str = "recipients") -> None:
    """Raise `ValidationFailed` unless all recipients are saved ones of the environment."""
    if limits.recipients is not None and not await store.are_recipients(db, env, limits.recipients):
        raise ValidationFailed(FieldError(field, "invalid_value", messages.SAVED_RECIPIENTS))


async def lock(work: Work, owner: LimitsOwner) -> Limits:
    """The limits, by which nothing is spent until the transaction ends; `new.raises(them)` needs recent authentication.

    Raises `NotFound`.
    """
    before = await store.lock(work.tx, owner.env.merchant_id, owner.credential_id)
    if before is None:
        raise NotFound
    return before


async def replace(work: Work, owner: LimitsOwner, new: Limits) -> Limits:
    """Replace the limits and record it in the audit log; those before. Raises `NotFound` and `ValidationFailed`."""
    before = await lock(work, owner)
    if new == before:
        return before
    if new.recipients != before.recipients:
        await ensure_recipients(work.tx, owner.env, new)
    # Nothing below this line may refuse.
    await store.replace(work.tx, owner.credential_id, new)
    changed = changes(before.described(work.services.catalogue), new.described(work.services.catalogue))
    event_type = "api_key.limits_changed" if owner.is_key else "grant.limits_changed"
    await record.event(work, owner.env, event_type, subject=owner.credential_id, name=owner.name, changed=changed)
    return before
