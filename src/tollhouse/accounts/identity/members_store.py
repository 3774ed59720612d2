"""SQL of the members of merchants: who belongs to which merchant, in which role.

A member who left keeps the row, with `removed_at`. A trigger refuses to commit an open merchant without an owner.
"""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.identity.model import MembershipView, MemberView
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.kernel.roles import Role
from tollhouse.platform.database.pool import Pool, Tx

# Also of a person who was a member before.
INSERT = """
    INSERT INTO members AS m (merchant_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (merchant_id, user_id) DO UPDATE SET role = $3, created_at = $4, removed_at = NULL
    WHERE m.removed_at IS NOT NULL
"""
OF_MERCHANT = """
    SELECT u.id, u.email, m.role, m.created_at FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.removed_at IS NULL ORDER BY m.created_at, u.id
"""
OF_USER = """
    SELECT m.merchant_id, c.business_name, m.role FROM members m JOIN merchants c ON c.id = m.merchant_id
    WHERE m.user_id = $1 AND m.removed_at IS NULL ORDER BY c.business_name, c.id
"""
# Locks the member: a concurrent change of the role or a removal is either seen here or waits.
ROLE = "SELECT role FROM members WHERE merchant_id = $1 AND user_id = $2 AND removed_at IS NULL FOR SHARE"
SET_ROLE = "UPDATE members SET role = $3 WHERE merchant_id = $1 AND user_id = $2 AND removed_at IS NULL"
REMOVE = "UPDATE members SET removed_at = $3 WHERE merchant_id = $1 AND user_id = $2 AND removed_at IS NULL"
DELETE_SESSIONS = "DELETE FROM sessions WHERE user_id = $2 AND merchant_id = $1"
DELETE = "DELETE FROM members WHERE merchant_id = $1 AND user_id = $2"
OWNED_BY = (
    "SELECT merchant_id FROM members WHERE user_id = $1 AND role = 'owner' AND removed_at IS NULL ORDER BY merchant_id"
)


async def insert(tx: Tx, merchant_id: MerchantId, user_id: UserId, role: Role, now: datetime) -> bool:
    """Make a member; False if the person is one already, whose role stays."""
    return await tx.execute(INSERT, merchant_id, user_id, role, now) == 1


async def list_of_merchant(db: Pool | Tx, merchant_id: MerchantId) -> list[MemberView]:
    """The members of a merchant, those for longest first."""
    rows = await db.fetch(OF_MERCHANT, merchant_id)
    return [MemberView(row["id"], row["email"], row["role"], stamp(row["created_at"])) for row in rows]


async def list_of_user(db: Pool | Tx, user_id: UserId) -> list[MembershipView]:
    """The merchants that a person belongs to, by name."""
    return [MembershipView(**row) for row in await db.fetch(OF_USER, user_id)]


async def lock_role(tx: Tx, merchant_id: MerchantId, user_id: UserId) -> Role | None:
    """The role of a member, which does not change before this transaction ends; None for others."""
    role: Role | None = await tx.fetchval(ROLE, merchant_id, user_id)
    return role


async def set_role(tx: Tx, merchant_id: MerchantId, user_id: UUID, role: Role) -> None:
    """Change the role of a member."""
    await tx.execute(SET_ROLE, merchant_id, user_id, role)


async def remove(tx: Tx, merchant_id: MerchantId, user_id: UUID, now: datetime) -> None:
    """Note that a member has left."""
    await tx.execute(REMOVE, merchant_id, user_id, now)


async def list_owned(tx: Tx, user_id: UUID) -> list[MerchantId]:
    """The merchants that a person owns, alone or with others."""
    return [MerchantId(row["merchant_id"]) for row in await tx.fetch(OWNED_BY, user_id)]


async def delete(tx: Tx, merchant_id: MerchantId, user_id: UUID) -> None:
    """Delete a member of a merchant that is closed, with the sessions that act for it."""
    await tx.execute(DELETE_SESSIONS, merchant_id, user_id)
    await tx.execute(DELETE, merchant_id, user_id)
