"""What connections and API keys with limits may spend. Others cost no statement here.

`spend` comes before the money moves or is held, and before any lock of a balance: those who spend with one application or
key wait for each other. The database refuses a withdrawal, refund, balance payment, conversion or fulfillment of such a
credential that has not been counted.
"""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.accounts.identity.model import ProposalRequired
from tollhouse.accounts.spending import store
from tollhouse.accounts.spending.model import ConnectionLimitExceeded, ExceededLimit, LimitKind, LimitReason
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.transfers.orders.store import clock_offset

KEPT_FOR = timedelta(days=31)


async def spend(
    work: Work,
    kind: LimitKind,
    source_id: UUID,
    currency: str,
    amount_minor: int,
    *,
    rail: str | None = None,
    account: str | None = None,
) -> None:
    """Count an amount towards the limits of the credential that asks for it. Raises `ConnectionLimitExceeded`.

    Withdrawals name where the money goes, in the rail's notation.
    """
    credential_id = _limited(work)
    if credential_id is None:
        return
    exceeded = await store.spend(
        work.tx, credential_id, kind, source_id, currency, amount_minor, work.now, rail=rail, account=account
    )
    if exceeded is not None:
        raise ConnectionLimitExceeded(kind, currency, exceeded, work.services.catalogue)


async def ensure_unexpired(work: Work, env: MerchantEnv, kind: LimitKind, currency: str) -> None:
    """Check limits of a credential that moves what was counted before. Raises `ConnectionLimitExceeded`."""
    credential_id = _limited(work)
    if credential_id is None:
        return
    limits = await store.get(work.tx, env.merchant_id, credential_id)
    if limits.expires_at is not None and limits.expires_at <= await _present(work, env):
        raise _never(work, kind, currency, "expired")


async def ensure_standing_order(work: Work, env: MerchantEnv, kind: LimitKind, currency: str) -> None:
    """Check a credential that sets up what the service does later, uncounted.

    Only one whose limits do not concern this kind, and that may do more than propose, may do so. No row of it is counted, so
    it is asked here again, in whatever way it was let in. Raises `ConnectionLimitExceeded` and `ProposalRequired`.
    """
    credential_id = work.actor.credential_id
    if credential_id is None:
        return
    limits, proposals_only = await store.lock_standing(work.tx, env.merchant_id, credential_id)
    if proposals_only:
        raise ProposalRequired
    is_restricted = limits.recipients is not None and kind == "withdrawals"
    if is_restricted or limits.expires_at is not None or any(limit.kind == kind for limit in limits.limits):
        raise _never(work, kind, currency, "standing_order")


async def delete_old_uses(services: Services) -> None:
    """Delete uses that no window contains any more."""
    await delete_in_batches(services.db, store.DELETE_OLD, clock.now() - KEPT_FOR)


def _limited(work: Work) -> UUID | None:
    return work.actor.credential_id if work.actor.is_limited else None


async def _present(work: Work, env: MerchantEnv) -> datetime:
    return work.now + await clock_offset(work.tx, env)


def _never(work: Work, kind: LimitKind, currency: str, reason: LimitReason) -> ConnectionLimitExceeded:
    exceeded = ExceededLimit(period="transaction", limit_minor=0, remaining_minor=0, resets_at=None, reason=reason)
    return ConnectionLimitExceeded(kind, currency, exceeded, work.services.catalogue)
