"""Every SQL statement about passkeys. `holder_id` is a user or an operator."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.webauthn_model import PasskeyUse, VerifiedPasskey
from tollhouse.platform.database.pool import Pool, Row, Tx

HolderKind = Literal["person", "operator"]

COLUMNS = """id, holder_id, rp_id, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, name,
       created_at, last_used_at"""
LIST = f"SELECT {COLUMNS} FROM passkeys WHERE holder_id = $1 ORDER BY created_at, id"
FIND = f"SELECT {COLUMNS} FROM passkeys WHERE credential_id = $1 AND holder_kind = $2 AND rp_id = $3"
# Serializes changes of an account's passkeys: of two first ones, one turns two-factor authentication on.
LOCK_HOLDER = {
    "person": "SELECT true FROM users WHERE id = $1 FOR UPDATE",
    "operator": "SELECT true FROM operators WHERE id = $1 AND closed_at IS NULL FOR UPDATE",
}
COUNT = "SELECT count(*) FROM passkeys WHERE holder_id = $1"
INSERT = """
    INSERT INTO passkeys (id, holder_id, holder_kind, rp_id, credential_id, public_key, sign_count, transports,
                          backup_eligible, backed_up, name, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    ON CONFLICT (credential_id) DO NOTHING
"""
# The counter grows, or the authenticator has none. Of two uses with the same one, the second is refused.
USE = """
    UPDATE passkeys SET sign_count = $2, backed_up = $3, last_used_at = $4
    WHERE id = $1 AND (sign_count < $2 OR sign_count = 0 AND $2 = 0)
"""
EXISTS = "SELECT true FROM passkeys WHERE id = $1"
RENAME = f"UPDATE passkeys SET name = $3 WHERE holder_id = $1 AND id = $2 RETURNING {COLUMNS}"
DELETE = "DELETE FROM passkeys WHERE holder_id = $1 AND id = $2 RETURNING name"


class Passkey(Struct, frozen=True):
    """A passkey. It works at the host `rp_id`; `sign_count` is the counter of its last use, 0 if it has none."""

    id: UUID
    holder_id: UUID
    rp_id: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    transports: list[str]
    backup_eligible: bool
    backed_up: bool
    name: str
    created_at: datetime
    last_used_at: datetime | None


async def list_of(db: Pool, holder_id: UUID) -> list[Passkey]:
    """The passkeys of an account, oldest first."""
    return [Passkey(**row) for row in await db.fetch(LIST, holder_id)]


async def find(db: Pool, credential_id: bytes, kind: HolderKind, rp_id: str) -> Passkey | None:
    """The passkey with this credential, of an account of this kind."""
    return _passkey(await db.fetchrow(FIND, credential_id, kind, rp_id))


async def lock_holder(tx: Tx, kind: HolderKind, holder_id: UUID) -> int | None:
    """Lock the account; how many passkeys it has, or None if there is no such account."""
    if await tx.fetchval(LOCK_HOLDER[kind], holder_id) is None:
        return None
    count: int = await tx.fetchval(COUNT, holder_id)
    return count


async def insert(
    tx: Tx, passkey_id: UUID, holder_id: UUID, kind: HolderKind, rp_id: str, name: str, made: VerifiedPasskey, now: datetime
) -> bool:
    """Insert a passkey; False if its credential is one already."""
    state = (made.credential_id, made.public_key, made.sign_count, made.transports, made.backup_eligible, made.backed_up)
    return await tx.execute(INSERT, passkey_id, holder_id, kind, rp_id, *state, name, now) == 1


async def use(tx: Tx, passkey_id: UUID, use: PasskeyUse, now: datetime) -> bool:
    """Record the use of a passkey; False if it was removed, or its counter did not grow."""
    return await tx.execute(USE, passkey_id, use.sign_count, use.backed_up, now) == 1


async def exists(tx: Tx, passkey_id: UUID) -> bool:
    """Whether there is this passkey."""
    return bool(await tx.fetchval(EXISTS, passkey_id))


async def rename(tx: Tx, holder_id: UUID, passkey_id: UUID, name: str) -> Passkey | None:
    """Rename a passkey of this account; None if it has no such one."""
    return _passkey(await tx.fetchrow(RENAME, holder_id, passkey_id, name))


async def delete(tx: Tx, holder_id: UUID, passkey_id: UUID) -> str | None:
    """Delete a passkey of this account; its name, or None if it has no such one."""
    name: str | None = await tx.fetchval(DELETE, holder_id, passkey_id)
    return name


def _passkey(row: Row | None) -> Passkey | None:
    return None if row is None else Passkey(**row)
