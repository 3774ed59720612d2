"""SQL of proposals. `$1` is the time: a proposal that has expired, or whose proposer has ended, does not wait any more.

Whoever decides locks the merchant, then the connection or key, then the proposal. A suspension and the end of a connection
either see the decision, or are seen by it.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.kernel.scopes import Scopes
from tollhouse.payments.proposals.model import PROPOSAL, Proposal, ProposalError, ProposalStatus
from tollhouse.platform.database.pool import Pool, Tx

INSERT = PROPOSAL.insert
OF_MERCHANT = f"SELECT {PROPOSAL.columns_of('p')} FROM proposals p WHERE p.merchant_id = $2"
GET_OF_PROPOSER = (
    f"{OF_MERCHANT} AND p.id = $3 AND p.grant_id IS NOT DISTINCT FROM $4 AND p.api_key_id IS NOT DISTINCT FROM $5"
)
GET_OF_MERCHANT = f"{OF_MERCHANT} AND p.id = $3"
LIST_OF_PROPOSER = f"""
    {OF_MERCHANT} AND (p.grant_id = $3 OR p.api_key_id = $4)
      AND ($5::text[] IS NULL OR proposals_status_at(p, $1) = ANY ($5))
      AND p.created_at >= $6 AND (p.created_at, p.id) < ($7, $8)
    ORDER BY p.created_at DESC, p.id DESC LIMIT $9 OFFSET $10
"""
LIST_OF_MERCHANT = f"""
    {OF_MERCHANT} AND ($3::text IS NULL OR p.mode = $3)
      AND ($4::text[] IS NULL OR proposals_status_at(p, $1) = ANY ($4))
      AND p.created_at >= $5 AND (p.created_at, p.id) < ($6, $7)
    ORDER BY p.created_at DESC, p.id DESC LIMIT $8 OFFSET $9
"""
LIST_WAITING = f"""
    {OF_MERCHANT} AND p.mode = $3 AND p.status = 'waiting' AND proposals_status_at(p, $1) = 'waiting'
    ORDER BY p.created_at DESC, p.id DESC LIMIT $4
"""
# Locks the connection or the key, so that its proposals are counted one after the other, and nothing ends it meanwhile.
LOCK_GRANT = """
    SELECT FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id WHERE g.id = $1
    FOR NO KEY UPDATE OF g FOR SHARE OF c
"""
LOCK_API_KEY = "SELECT FROM api_keys WHERE id = $1 FOR NO KEY UPDATE"
# A statement of its own: it sees what was committed while the lock was waited for.
PROPOSER = """
    SELECT proposals_scopes($2, $3, $1) AS scope_mask, c.id AS client_id,
           coalesce(c.client_type = 'public', false) AS is_public
    FROM (SELECT) one LEFT JOIN oauth_grants g ON g.id = $2 LEFT JOIN oauth_clients c ON c.id = g.client_id
"""
COUNT_WAITING = """
    SELECT count(*) FROM proposals p
    WHERE (p.grant_id = $2 OR p.api_key_id = $3) AND p.status = 'waiting' AND proposals_status_at(p, $1) = 'waiting'
"""
HAS_WAITING = """
    SELECT EXISTS (SELECT FROM proposals p WHERE p.merchant_id = $2 AND p.mode = $3 AND p.status = 'waiting'
                   AND proposals_status_at(p, $1) = 'waiting')
"""
LOCK = "SELECT proposals_status_at(p, $1) AS status FROM proposals p WHERE p.merchant_id = $2 AND p.id = $3 FOR UPDATE"
END = f"""
    UPDATE proposals SET status = $4, ended_at = $1, decided_by = $5, result_id = $6, error = $7
    WHERE merchant_id = $2 AND id = $3 AND status = 'waiting' RETURNING {PROPOSAL.columns}
"""
STORE_ENDED = """
    UPDATE proposals p SET status = due.status_now, ended_at = least(p.expires_at, $1)
    FROM (SELECT w.id, proposals_status_at(w, $1) AS status_now FROM proposals w
          WHERE w.status = 'waiting' AND proposals_status_at(w, $1) <> 'waiting'
          ORDER BY w.id LIMIT $2 FOR UPDATE SKIP LOCKED) due
    WHERE p.id = due.id AND p.status = 'waiting'
"""


# Approved ones stay, as what they moved does.
DELETE_OLD = """
    DELETE FROM proposals WHERE (merchant_id, id) IN (
        SELECT merchant_id, id FROM proposals
        WHERE status IN ('rejected', 'canceled', 'expired', 'failed') AND ended_at <= $1
        ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class ProposalsQuery(ListQuery, frozen=True):
    """Filters of GET /proposals."""

    status: list[ProposalStatus] | None = None


class MerchantProposalsQuery(ListQuery, frozen=True):
    """Filters of the merchant's list."""

    mode: Mode | None = None
    status: list[ProposalStatus] | None = None


class Ending(Struct, frozen=True):
    """How a proposal ends."""

    status: ProposalStatus
    decided_by: UUID | None = None
    result_id: UUID | None = None
    error: ProposalError | None = None


async def insert(tx: Tx, new: Proposal) -> None:
    """Insert a proposal that waits."""
    await tx.execute(INSERT, *PROPOSAL.values(new))


async def lock_proposer(
    tx: Tx, env: MerchantEnv, grant_id: UUID | None, api_key_id: UUID | None, now: datetime
) -> Caller | None:
    """Lock the connection or key; what it may do now, or None once it has ended or is suspended.

    The caller has no credential: what the merchant approves counts toward no limits of a connection or key.
    """
    await tx.execute(*((LOCK_API_KEY, api_key_id) if grant_id is None else (LOCK_GRANT, grant_id)))
    row = await tx.fetchrow(PROPOSER, now, grant_id, api_key_id)
    if row is None or row["scope_mask"] is None:
        return None
    client_id = None if grant_id is None else ClientId(row["client_id"])
    return Caller(env, "", Scopes(row["scope_mask"]), client_id=client_id, client_is_public=row["is_public"])


async def count_waiting(tx: Tx, caller: Caller, now: datetime) -> int:
    """How many proposals of the connection or key wait."""
    return await tx.fetchval(COUNT_WAITING, now, caller.grant_id, caller.api_key_id)


async def has_waiting(tx: Tx, env: MerchantEnv, now: datetime) -> bool:
    """Whether a proposal of the environment waits."""
    return bool(await tx.fetchval(HAS_WAITING, now, env.merchant_id, env.mode))


async def get(db: Pool | Tx, caller: Caller, proposal_id: UUID, now: datetime) -> Proposal:
    """A proposal of this connection or key. Raises `NotFound`."""
    return await PROPOSAL.get(
        db, GET_OF_PROPOSER, now, caller.env.merchant_id, proposal_id, caller.grant_id, caller.api_key_id
    )


async def get_of_merchant(db: Pool | Tx, merchant_id: MerchantId, proposal_id: UUID, now: datetime) -> Proposal:
    """A proposal to this merchant. Raises `NotFound`."""
    return await PROPOSAL.get(db, GET_OF_MERCHANT, now, merchant_id, proposal_id)


async def list_of_proposer(db: Pool, caller: Caller, query: ProposalsQuery, window: Window, now: datetime) -> list[Proposal]:
    """A page of the proposals of this connection or key, newest first."""
    filters: tuple[Any, ...] = (now, caller.env.merchant_id, caller.grant_id, caller.api_key_id, query.status)
    rows = await db.fetch_custom_plan(LIST_OF_PROPOSER, *filters, *msgspec.structs.astuple(window))
    return [PROPOSAL.read(row) for row in rows]


async def list_of_merchant(
    db: Pool, merchant_id: MerchantId, mode: Mode | None, status: list[ProposalStatus] | None, window: Window, now: datetime
) -> list[Proposal]:
    """A page of the proposals to this merchant, newest first."""
    rows = await db.fetch_custom_plan(LIST_OF_MERCHANT, now, merchant_id, mode, status, *msgspec.structs.astuple(window))
    return [PROPOSAL.read(row) for row in rows]


async def list_waiting(db: Pool, env: MerchantEnv, now: datetime, limit: int) -> list[Proposal]:
    """The newest proposals that wait."""
    return await PROPOSAL.find_all(db, LIST_WAITING, now, env.merchant_id, env.mode, limit)


async def lock(tx: Tx, merchant_id: MerchantId, proposal_id: UUID, now: datetime) -> ProposalStatus:
    """Lock a proposal until the transaction ends; its status."""
    return await tx.fetchval(LOCK, now, merchant_id, proposal_id)


async def end(tx: Tx, proposal: Proposal, ending: Ending, now: datetime) -> Proposal | None:
    """End a proposal that waits, and return it as stored; None if it does not wait any more."""
    error = None if ending.error is None else msgspec.json.encode(ending.error).decode()
    values = (ending.status, ending.decided_by, ending.result_id, error)
    return await PROPOSAL.find(tx, END, now, proposal.env.merchant_id, proposal.id, *values)


async def store_ended(db: Pool, now: datetime, limit: int) -> int:
    """Store that proposals have expired or were canceled; how many."""
    return await db.execute(STORE_ENDED, now, limit)
