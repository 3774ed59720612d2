"""SQL of bank accounts: how far statements were imported, what a restore requires of them, and what is open."""

from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

from msgspec import Struct
from msgspec.structs import astuple

from tollhouse.platform.database.pool import Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.bank.files.statement import EntryHead
from tollhouse.rails.bank.model import AccountKey, BookedAccount

INSERT = """
    INSERT INTO bank_accounts (iban, currency, first_opening_minor, first_on, balance_minor, last_on)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
"""
ACCOUNT = Record(BookedAccount, "bank_accounts")
LIST = f"SELECT {ACCOUNT.columns} FROM bank_accounts ORDER BY iban, currency FOR SHARE"
LOCK = f"SELECT {ACCOUNT.columns} FROM bank_accounts WHERE iban = $1 AND currency = $2 FOR NO KEY UPDATE"
UPDATE = """
    UPDATE bank_accounts SET first_opening_minor = $3, first_on = $4, balance_minor = $5, last_on = $6,
        last_statement_id = $7, importing_id = $8, next_balance_minor = $9
    WHERE iban = $1 AND currency = $2
"""
KNOWN = "SELECT identity FROM bank_entries WHERE identity = ANY ($1::bytea[])"
KNOWN_REVERSALS = "SELECT identity FROM bank_entries WHERE identity = ANY ($1::bytea[]) AND is_reversal"
STATEMENT_NAME = "SELECT statement_id FROM bank_statements WHERE id = $1"
# The newest statement that was imported since $2, by the day of its closing balance.
NEWEST_CLOSING = """
    SELECT closing_on, closing_minor FROM bank_statements
    WHERE iban = $1 AND imported_at >= $2 AND closing_on IS NOT NULL ORDER BY closing_on DESC, id DESC LIMIT 1
"""
# The last one that ended before the day $2: the balance from which the entries since then are counted.
BASE_CLOSING = """
    SELECT coalesce(closing_on, last_on) AS closing_on, closing_minor FROM bank_statements
    WHERE iban = $1 AND coalesce(closing_on, last_on) < $2 AND closing_minor IS NOT NULL
    ORDER BY coalesce(closing_on, last_on) DESC, id DESC LIMIT 1
"""
MOVED = """
    SELECT coalesce(sum(CASE e.side WHEN 'credit' THEN e.amount_minor ELSE -e.amount_minor END), 0)::bigint
    FROM bank_entries e JOIN bank_statements s ON s.id = e.first_statement_id
    WHERE s.iban = $1 AND e.booked_on > $2 AND e.booked_on <= $3
"""
UNDECIDED_DEBITS = """
    SELECT count(*) FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id AND e.side = 'debit'
    WHERE p.outcome = 'unmatched' AND e.booked_on >= $1
"""
ACCOUNTS = """
    SELECT b.iban, b.currency, s.id AS statement_id, s.statement_id AS statement_name, b.last_on,
           coalesce(s.closing_minor, b.balance_minor) AS stated_minor, b.importing_id IS NOT NULL AS is_importing
    FROM bank_accounts b LEFT JOIN bank_statements s ON s.id = b.last_statement_id
    ORDER BY b.iban, b.currency
"""
UNMATCHED = """
    SELECT e.currency, count(*) AS count,
           sum(CASE e.side WHEN 'credit' THEN p.amount_minor ELSE -p.amount_minor END)::text AS amount
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.outcome = 'unmatched' GROUP BY e.currency
"""
# The condition is that of an index: there are few such payouts, however many there have been.
PAYOUTS = """
    SELECT currency, status, count(*) AS count, sum(amount_minor)::text AS amount FROM bank_payouts
    WHERE debited_at IS NULL AND status IN ('exported', 'returned') GROUP BY currency, status
"""


async def insert(tx: Tx, new: BookedAccount) -> bool:
    """Insert an account; False if there is one."""
    values = (new.iban, new.currency, new.first_opening_minor, new.first_on, new.balance_minor, new.last_on)
    return await tx.execute(INSERT, *values) == 1


async def list_all(tx: Tx) -> dict[AccountKey, BookedAccount]:
    """All accounts, locked in share mode: until the transaction ends, no statement is taken up or completed."""
    found = await ACCOUNT.find_all(tx, LIST)
    return {(account.iban, account.currency): account for account in found}


async def lock(tx: Tx, key: AccountKey) -> BookedAccount | None:
    """Lock an account; None if there is none."""
    return await ACCOUNT.find(tx, LOCK, *key)


async def update(tx: Tx, new: BookedAccount) -> None:
    """Write a locked account."""
    await tx.execute(UPDATE, *astuple(new))


async def known_identities(tx: Tx, identities: Sequence[bytes]) -> set[bytes]:
    """Those of these entries that were imported."""
    return {row["identity"] for row in await tx.fetch(KNOWN, identities)}


async def known_entries(tx: Tx, entries: Sequence[EntryHead]) -> set[bytes]:
    """The identities of those of these entries that were imported, reversals also by an earlier version."""
    known = await known_identities(tx, [entry.identity for entry in entries])
    former = [entry.former_identity for entry in entries if entry.former_identity is not None]
    if former:
        stored = {row["identity"] for row in await tx.fetch(KNOWN_REVERSALS, former)}
        known |= {entry.identity for entry in entries if entry.former_identity in stored}
    return known


async def statement_name(tx: Tx, statement_id: UUID) -> str:
    """The bank's id of a statement."""
    return await tx.fetchval(STATEMENT_NAME, statement_id)


class Closing(Struct, frozen=True):
    """A closing balance and its day."""

    on: date
    minor: int | None


async def newest_closing(tx: Tx, iban: str, imported_since: datetime) -> Closing | None:
    """The newest closing balance among the statements that were imported since then."""
    row = await tx.fetchrow(NEWEST_CLOSING, iban, imported_since)
    return None if row is None else Closing(*row.values())


async def base_closing(tx: Tx, iban: str, before: date) -> Closing | None:
    """The last closing balance before this day."""
    row = await tx.fetchrow(BASE_CLOSING, iban, before)
    return None if row is None else Closing(*row.values())


async def moved_minor(tx: Tx, iban: str, after: date, until: date) -> int:
    """What the entries after one day until another add up to."""
    return await tx.fetchval(MOVED, iban, after, until)


async def undecided_debits(tx: Tx, since: date) -> int:
    """The number of unmatched outgoing transfers since this day."""
    return await tx.fetchval(UNDECIDED_DEBITS, since)


class StatedAccount(Struct, frozen=True):
    """A bank account with the closing balance of its newest statement."""

    iban: str
    currency: str
    statement_id: UUID | None
    statement_name: str | None
    closed_on: date
    stated_minor: int
    is_importing: bool


class OpenItems(Struct, frozen=True):
    """The number of open transfers or payouts, and their sum."""

    count: int = 0
    amount_minor: int = 0


class ReconciledAccount(Struct, frozen=True):
    """A bank account beside the ledger."""

    stated: StatedAccount
    ledger_minor: int

    @property
    def difference_minor(self) -> int:
        """What the ledger has more than the statement."""
        return self.ledger_minor - self.stated.stated_minor

    @property
    def is_wrong(self) -> bool:
        """Whether they differ although no statement is being imported."""
        return self.difference_minor != 0 and not self.stated.is_importing


class ReconciledPart(Struct, frozen=True):
    """An amount between the bank and the merchants: added to the balance of the bank, or subtracted if negative.

    `code` is that of its account, or empty for all other ones. `listed_minor` is the sum of its items, where they are open
    ones; `path` leads to their list.
    """

    code: str
    amount_minor: int
    path: str = ""
    listed_minor: int | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the list of its items has another sum."""
        return self.listed_minor is not None and self.listed_minor != self.amount_minor


class Reconciliation(Struct, frozen=True):
    """Of one currency: from the balance of the bank accounts, by the parts, to what the merchants have.

    `exported` are payouts that no statement shows yet: their amounts are in the merchants' reserved balances.
    """

    currency: str
    accounts: Sequence[ReconciledAccount]
    parts: Sequence[ReconciledPart]
    merchants_minor: int
    exported: OpenItems

    @property
    def bank_minor(self) -> int:
        """The balance of the bank accounts in the ledger."""
        return sum(account.ledger_minor for account in self.accounts)

    @property
    def is_wrong(self) -> bool:
        """Whether anything differs."""
        return any(part.is_wrong for part in (*self.accounts, *self.parts)) or self.merchants_minor != self.bank_minor + sum(
            part.amount_minor for part in self.parts
        )


async def list_stated(tx: Tx) -> list[StatedAccount]:
    """The bank accounts with their newest statements."""
    return [StatedAccount(*row.values()) for row in await tx.fetch(ACCOUNTS)]


async def list_open(tx: Tx) -> dict[tuple[str, str], OpenItems]:
    """Open items by currency and kind: `unmatched` transfers, and `exported` or `returned` payouts not debited yet."""
    found = {
        (row["currency"], "unmatched"): OpenItems(row["count"], int(row["amount"])) for row in await tx.fetch(UNMATCHED)
    }
    for row in await tx.fetch(PAYOUTS):
        found[row["currency"], row["status"]] = OpenItems(row["count"], int(row["amount"]))
    return found
