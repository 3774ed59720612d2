"""SQL of bank accounts, and of how far their statements were imported."""

from collections.abc import Sequence
from uuid import UUID

from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank.files.statement import EntryHead
from tollhouse.rails.bank.model import AccountKey, BookedAccount

INSERT = """
    INSERT INTO bank_accounts (iban, currency, first_opening_minor, first_on, balance_minor, last_on)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""
LIST = """
    SELECT iban, currency, first_opening_minor, first_on, balance_minor, last_on, last_statement_id, importing_id,
           next_balance_minor
    FROM bank_accounts ORDER BY iban, currency FOR SHARE
"""
LOCK = """
    SELECT iban, currency, first_opening_minor, first_on, balance_minor, last_on, last_statement_id, importing_id,
           next_balance_minor
    FROM bank_accounts WHERE iban = $1 AND currency = $2 FOR NO KEY UPDATE
"""
UPDATE = """
    UPDATE bank_accounts SET first_opening_minor = $3, first_on = $4, balance_minor = $5, last_on = $6,
        last_statement_id = $7, importing_id = $8, next_balance_minor = $9
    WHERE iban = $1 AND currency = $2
"""
KNOWN = "SELECT identity FROM bank_entries WHERE identity = ANY ($1::bytea[])"
KNOWN_REVERSALS = "SELECT identity FROM bank_entries WHERE identity = ANY ($1::bytea[]) AND is_reversal"
STATEMENT_NAME = "SELECT statement_id FROM bank_statements WHERE id = $1"


async def insert(tx: Tx, new: BookedAccount) -> bool:
    """Insert an account; False if there is one."""
    values = (new.iban, new.currency, new.first_opening_minor, new.first_on, new.balance_minor, new.last_on)
    return await tx.execute(INSERT, *values) == 1


async def list_all(tx: Tx) -> dict[AccountKey, BookedAccount]:
    """All accounts, locked in share mode: until the transaction ends, no statement is taken up or completed."""
    found = [BookedAccount(*row.values()) for row in await tx.fetch(LIST)]
    return {(one.iban, one.currency): one for one in found}


async def lock(tx: Tx, key: AccountKey) -> BookedAccount | None:
    """Lock an account; None if there is none."""
    row = await tx.fetchrow(LOCK, *key)
    return None if row is None else BookedAccount(*row.values())


async def update(tx: Tx, new: BookedAccount) -> None:
    """Write a locked account."""
    await tx.execute(
        UPDATE,
        new.iban,
        new.currency,
        new.first_opening_minor,
        new.first_on,
        new.balance_minor,
        new.last_on,
        new.last_statement_id,
        new.importing_id,
        new.next_balance_minor,
    )


async def known_identities(tx: Tx, identities: Sequence[bytes]) -> set[bytes]:
    """Those of these entries that were imported."""
    return {row["identity"] for row in await tx.fetch(KNOWN, identities)}


async def known_entries(tx: Tx, entries: Sequence[EntryHead]) -> set[bytes]:
    """The identities of those of these entries that were imported, reversals also by an earlier version."""
    known = await known_identities(tx, [one.identity for one in entries])
    former = [one.former_identity for one in entries if one.former_identity is not None]
    if former:
        stored = {row["identity"] for row in await tx.fetch(KNOWN_REVERSALS, former)}
        known |= {one.identity for one in entries if one.former_identity in stored}
    return known


async def statement_name(tx: Tx, statement_id: UUID) -> str:
    """The bank's id of a statement."""
    return await tx.fetchval(STATEMENT_NAME, statement_id)
