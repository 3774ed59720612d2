"""SQL of the team: members with what the team sees of them, changes of roles, and invitations.

Every change locks the merchant first, so that changes of one team follow each other.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tollhouse.accounts.team.model import (
    InvitationView,
    MadeApplicationView,
    NewInvitation,
    OpenInvitation,
    TeamMemberView,
)
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import ClientId, MerchantId, UserId
from tollhouse.kernel.roles import Role
from tollhouse.platform.database.pool import Pool, Row, Tx

# Who posts to the ledger takes the same lock, and so does the trigger that keeps an owner.
LOCK_TEAM = "SELECT suspended_at IS NOT NULL FROM merchants WHERE id = $1 AND closed_at IS NULL FOR NO KEY UPDATE"
MEMBERS = """
    SELECT u.id AS user_id, u.email, m.role, m.created_at, s.last_active_at,
           has_second_factor(u.id) AS second_factor
    FROM members m JOIN users u ON u.id = m.user_id
    LEFT JOIN LATERAL (SELECT max(last_seen_at) AS last_active_at FROM sessions
                       WHERE user_id = m.user_id AND merchant_id = m.merchant_id) s ON true
    WHERE m.merchant_id = $1 AND m.removed_at IS NULL
"""
LIST_MEMBERS = f"{MEMBERS} ORDER BY m.created_at, u.id"
GET_MEMBER = f"{MEMBERS} AND m.user_id = $2"
ROLE = "SELECT role FROM members WHERE merchant_id = $1 AND user_id = $2 AND removed_at IS NULL"
OWNERS = """
    SELECT u.id, u.email, u.language FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.role = 'owner' AND m.removed_at IS NULL ORDER BY u.id
"""
READER = "SELECT email, language FROM users WHERE id = $1"
FORMER = """
    SELECT u.id, u.email FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.user_id = $2 AND m.removed_at IS NOT NULL
"""
MADE_KEYS = "SELECT id FROM api_keys WHERE merchant_id = $1 AND created_by = $2 AND revoked_at IS NULL"
MADE_APPLICATIONS = """
    SELECT id, name FROM oauth_clients WHERE merchant_id = $1 AND created_by = $2 AND status <> 'revoked'
    ORDER BY created_at DESC, id
"""

INVITATIONS = """
    SELECT i.id, i.email, i.role, i.created_at, i.expires_at, u.email AS invited_by
    FROM invitations i LEFT JOIN users u ON u.id = i.invited_by
    WHERE i.merchant_id = $1 AND i.ended_at IS NULL
"""
LIST_INVITATIONS = f"{INVITATIONS} ORDER BY i.created_at DESC, i.id DESC"
GET_INVITATION = f"{INVITATIONS} AND i.id = $2"
GET_BY_ADDRESS = f"{INVITATIONS} AND i.email_key = $2"
COUNT_OPEN = "SELECT count(*) FROM invitations WHERE merchant_id = $1 AND ended_at IS NULL AND expires_at > $2"
IS_MEMBER = """
    SELECT EXISTS (SELECT FROM members m JOIN users u ON u.id = m.user_id
                   WHERE m.merchant_id = $1 AND m.removed_at IS NULL AND u.email_key = $2)
"""
INSERT = """
    INSERT INTO invitations (id, merchant_id, email, email_key, role, invited_by, mail_id, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
# The link of the email before does not work any more.
SEND_AGAIN = """
    UPDATE invitations SET mail_id = $3, expires_at = $4 WHERE merchant_id = $1 AND id = $2 AND ended_at IS NULL
"""
CANCEL = "UPDATE invitations SET ended_at = $3 WHERE merchant_id = $1 AND id = $2 AND ended_at IS NULL"
CANCEL_BEYOND = """
    UPDATE invitations SET ended_at = $4
    WHERE merchant_id = $1 AND invited_by = $2 AND ended_at IS NULL AND NOT role = ANY ($3::text[])
"""
LOCK_TEAMS = """
    SELECT FROM merchants WHERE id IN (SELECT merchant_id FROM members WHERE user_id = $1) ORDER BY id FOR NO KEY UPDATE
"""
END_SENT = """
    UPDATE invitations SET ended_at = $2 WHERE invited_by = $1 AND created_at >= $3 AND ended_at IS NULL
    RETURNING id, merchant_id, email
"""
# Also by an invitation of who joined so. An owner was made one by another owner, and stays. Who joins becomes a member at
# the moment at which the invitation ends.
JOINED = """
    WITH RECURSIVE sent AS (
        SELECT merchant_id, accepted_by, ended_at FROM invitations WHERE invited_by = $1 AND created_at >= $2
        UNION SELECT i.merchant_id, i.accepted_by, i.ended_at
        FROM sent s JOIN members m ON (m.merchant_id, m.user_id) = (s.merchant_id, s.accepted_by) AND m.role <> 'owner'
        JOIN invitations i ON (i.merchant_id, i.invited_by) = (s.merchant_id, s.accepted_by) AND i.created_at >= s.ended_at)
    SELECT m.merchant_id, m.user_id, c.business_name
    FROM sent s JOIN members m ON (m.merchant_id, m.user_id, m.created_at) = (s.merchant_id, s.accepted_by, s.ended_at)
    JOIN merchants c ON c.id = m.merchant_id WHERE m.removed_at IS NULL AND m.role <> 'owner' ORDER BY m.created_at
"""
FIND = """
    SELECT i.id, i.mail_id, i.merchant_id, m.business_name, i.email, i.email_key, i.role, u.email AS invited_by,
           EXISTS (SELECT FROM users a WHERE a.email_key = i.email_key) AS has_account
    FROM invitations i JOIN merchants m ON m.id = i.merchant_id LEFT JOIN users u ON u.id = i.invited_by
    WHERE i.mail_id = $1 AND i.ended_at IS NULL AND i.expires_at > $2 AND m.closed_at IS NULL
"""
ACCEPT = """
    UPDATE invitations SET ended_at = $3, accepted_by = $2
    WHERE mail_id = $1 AND ended_at IS NULL AND expires_at > $3 RETURNING id
"""
DELETE_OLD = """
    DELETE FROM invitations WHERE id IN (
        SELECT id FROM invitations WHERE coalesce(ended_at, expires_at) <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
DELETE_OF_MERCHANT = "DELETE FROM invitations WHERE merchant_id = $1"
DELETE_OF_ADDRESS = "DELETE FROM invitations WHERE email_key = $1"


class MailReader(NamedTuple):
    """Who gets an email, and in which language."""

    user_id: UUID
    email: str
    language: str


async def lock_team(tx: Tx, merchant_id: MerchantId) -> bool | None:
    """Lock the team of a merchant against changes; whether the merchant is suspended. None if it is closed."""
    suspended: bool | None = await tx.fetchval(LOCK_TEAM, merchant_id)
    return suspended


async def list_members(db: Pool, merchant_id: MerchantId) -> list[TeamMemberView]:
    """The members, those for longest first."""
    return [_member(row) for row in await db.fetch(LIST_MEMBERS, merchant_id)]


async def get_member(db: Pool | Tx, merchant_id: MerchantId, user_id: UUID) -> TeamMemberView | None:
    """One member; None if the person is none."""
    row = await db.fetchrow(GET_MEMBER, merchant_id, user_id)
    return None if row is None else _member(row)


async def get_role(tx: Tx, merchant_id: MerchantId, user_id: UUID) -> Role | None:
    """The role of a member of a locked team; None for others."""
    role: Role | None = await tx.fetchval(ROLE, merchant_id, user_id)
    return role


async def list_owners(tx: Tx, merchant_id: MerchantId) -> list[MailReader]:
    """The owners."""
    return [MailReader(*row) for row in await tx.fetch(OWNERS, merchant_id)]


async def get_reader(tx: Tx, user_id: UUID) -> MailReader:
    """A user, as the reader of an email."""
    [row] = await tx.fetch(READER, user_id)
    return MailReader(user_id, *row)


async def find_former(db: Pool, merchant_id: MerchantId, user_id: UUID) -> Row | None:
    """A person who was a member (`id`, `email`); None if the person never was one, or is one again."""
    return await db.fetchrow(FORMER, merchant_id, user_id)


async def list_made_keys(db: Pool | Tx, merchant_id: MerchantId, user_id: UUID) -> set[UUID]:
    """The IDs of the active API keys that a person created."""
    return {row["id"] for row in await db.fetch(MADE_KEYS, merchant_id, user_id)}


async def list_made_applications(db: Pool | Tx, merchant_id: MerchantId, user_id: UUID) -> list[MadeApplicationView]:
    """The applications that a person registered, newest first."""
    rows = await db.fetch(MADE_APPLICATIONS, merchant_id, user_id)
    return [MadeApplicationView(ClientId(row["id"]), row["name"]) for row in rows]


async def list_invitations(db: Pool, merchant_id: MerchantId, now: datetime) -> list[InvitationView]:
    """The invitations that nobody has accepted yet, newest first."""
    return [_invitation(row, now) for row in await db.fetch(LIST_INVITATIONS, merchant_id)]


async def get_invitation(
    db: Pool | Tx, merchant_id: MerchantId, invitation_id: UUID, now: datetime
) -> InvitationView | None:
    """One invitation that nobody has accepted yet."""
    row = await db.fetchrow(GET_INVITATION, merchant_id, invitation_id)
    return None if row is None else _invitation(row, now)


async def find_by_address(tx: Tx, merchant_id: MerchantId, email_key: str, now: datetime) -> InvitationView | None:
    """The invitation to this address that nobody has accepted yet."""
    row = await tx.fetchrow(GET_BY_ADDRESS, merchant_id, email_key)
    return None if row is None else _invitation(row, now)


async def count_open(tx: Tx, merchant_id: MerchantId, now: datetime) -> int:
    """How many invitations can be accepted."""
    return int(await tx.fetchval(COUNT_OPEN, merchant_id, now))


async def is_member(tx: Tx, merchant_id: MerchantId, email_key: str) -> bool:
    """Whether a member has this address."""
    return bool(await tx.fetchval(IS_MEMBER, merchant_id, email_key))


async def insert(
    tx: Tx,
    invitation_id: UUID,
    merchant_id: MerchantId,
    new: NewInvitation,
    email_key: str,
    invited_by: UserId,
    mail_id: UUID,
    now: datetime,
    expires_at: datetime,
) -> None:
    """Insert an invitation, whose link is that of the email."""
    values = (new.email.strip(), email_key, new.role, invited_by, mail_id, now, expires_at)
    await tx.execute(INSERT, invitation_id, merchant_id, *values)


async def send_again(tx: Tx, merchant_id: MerchantId, invitation_id: UUID, mail_id: UUID, expires_at: datetime) -> None:
    """Let the link of another email accept it."""
    await tx.execute(SEND_AGAIN, merchant_id, invitation_id, mail_id, expires_at)


async def cancel(tx: Tx, merchant_id: MerchantId, invitation_id: UUID, now: datetime) -> None:
    """End an invitation."""
    await tx.execute(CANCEL, merchant_id, invitation_id, now)


async def cancel_beyond(tx: Tx, merchant_id: MerchantId, user_id: UUID, roles: Iterable[Role], now: datetime) -> None:
    """End the invitations of a member to other roles than these, which the member may give."""
    await tx.execute(CANCEL_BEYOND, merchant_id, user_id, list(roles), now)


async def end_sent(tx: Tx, user_id: UUID, since: datetime, now: datetime) -> list[Row]:
    """Lock the teams of a user, and end the open invitations that the user sent since then: `id`, `merchant_id`, `email`."""
    await tx.execute(LOCK_TEAMS, user_id)
    return await tx.fetch(END_SENT, user_id, now, since)


async def list_joined(tx: Tx, user_id: UUID, since: datetime) -> list[Row]:
    """Who joined by what a user sent since then, without owners, oldest first: `merchant_id`, `user_id`, `business_name`."""
    return await tx.fetch(JOINED, user_id, since)


async def find(db: Pool, mail_id: UUID, now: datetime) -> OpenInvitation | None:
    """The invitation of this email; None if it cannot be accepted."""
    row = await db.fetchrow(FIND, mail_id, now)
    return None if row is None else OpenInvitation(**row)


async def accept(tx: Tx, mail_id: UUID, user_id: UUID, now: datetime) -> bool:
    """Use an invitation; False if it has ended."""
    return await tx.fetchrow(ACCEPT, mail_id, user_id, now) is not None


async def delete_of_merchant(tx: Tx, merchant_id: UUID) -> int:
    """Delete the invitations of a merchant; how many."""
    return await tx.execute(DELETE_OF_MERCHANT, merchant_id)


async def delete_of_address(tx: Tx, email_key: str) -> int:
    """Delete the invitations to an address; how many."""
    return await tx.execute(DELETE_OF_ADDRESS, email_key)


def _member(row: Row) -> TeamMemberView:
    return TeamMemberView(
        user_id=row["user_id"],
        email=row["email"],
        role=row["role"],
        created_at=stamp(row["created_at"]),
        last_active_at=stamp_or_none(row["last_active_at"]),
        second_factor=row["second_factor"],
    )


def _invitation(row: Row, now: datetime) -> InvitationView:
    return InvitationView(
        invitation_id=row["id"],
        email=row["email"],
        role=row["role"],
        status="open" if now < row["expires_at"] else "expired",
        invited_by=row["invited_by"],
        created_at=stamp(row["created_at"]),
        expires_at=stamp(row["expires_at"]),
    )
