"""SQL of transfers and statements for operators, and of payments that a transfer may belong to."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import astuple

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.rails.bank.files.batch import id_in
from tollhouse.rails.bank.files.statement import Side
from tollhouse.rails.bank.files.transfer import NAME
from tollhouse.rails.bank.model import ListedStatement, Outcome, ShownStatement, ShownTransfer, read_reason
from tollhouse.rails.batches.store import read_shown

TransferSort = Literal["oldest", "newest", "largest"]
# Planned for the outcome: those that operators decide have indexes. There are as many as wait, not as many as there were.
MATCHING = """
    FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.outcome = $1 AND ($2::text IS NULL OR e.side = $2)
      AND ($3::date IS NULL OR e.booked_on >= $3) AND ($4::date IS NULL OR e.booked_on <= $4)
      AND ($5::text IS NULL OR strpos(lower(concat_ws(' ', p.id, p.other_name, p.other_iban, p.words, p.end_to_end_id,
                                                      p.reference)), lower($5)) > 0)
"""
COLUMNS = """
           p.id, e.booked_on, e.side, p.amount_minor, e.currency, p.outcome, coalesce(p.because, '') AS reason, p.other_name,
           p.other_iban, p.other_bic, p.words, p.end_to_end_id, p.reference
"""
OLDEST = f"SELECT {COLUMNS} {MATCHING} AND ($6::uuid IS NULL OR p.id > $6) ORDER BY p.id LIMIT $7 OFFSET $8"
NEWEST = f"SELECT {COLUMNS} {MATCHING} AND ($6::uuid IS NULL OR p.id < $6) ORDER BY p.id DESC LIMIT $7 OFFSET $8"
LARGEST = f"""
    SELECT {COLUMNS} {MATCHING}
      AND ($6::uuid IS NULL OR (p.amount_minor, p.id) < (SELECT amount_minor, id FROM bank_entry_parts WHERE id = $6))
    ORDER BY p.amount_minor DESC, p.id DESC LIMIT $7 OFFSET $8
"""
SUMS = f"""
    SELECT e.currency, count(*) AS count,
           sum(CASE e.side WHEN 'credit' THEN p.amount_minor ELSE -p.amount_minor END)::text AS amount
    {MATCHING} GROUP BY e.currency ORDER BY e.currency
"""
SORTED: Mapping[TransferSort, str] = {"oldest": OLDEST, "newest": NEWEST, "largest": LARGEST}
FIND = """
    WITH payer AS MATERIALIZED (
        (SELECT merchant_id FROM rail_observations WHERE mode = 'live' AND payer_account = $5 LIMIT 100)
        UNION
        (SELECT merchant_id FROM rail_observations WHERE mode = 'live' AND lower(payer_name) = lower($6) LIMIT 100)
    ), found AS MATERIALIZED (
        (SELECT id FROM transactions WHERE rail = $1 AND mode = 'live' AND rail_reference = ANY($4))
        UNION
        (SELECT id FROM transactions
         WHERE rail = $1 AND mode = 'live' AND currency = $2 AND amount_minor = $3 AND status IN ('pending', 'expired')
         ORDER BY created_at DESC LIMIT 50)
    )
    SELECT t.id, m.business_name, l.display_name, l.external_id, t.currency, t.amount_minor, t.status, t.created_at,
           t.rail_reference AS reference, t.rail_reference = ANY($4) AS is_near,
           t.merchant_id IN (SELECT merchant_id FROM payer) AS has_payer_before
    FROM found f
    CROSS JOIN LATERAL (SELECT * FROM transactions WHERE id = f.id) t
    JOIN payment_links l ON l.id = t.payment_link_id JOIN merchants m ON m.id = t.merchant_id
"""
STATEMENT_COLUMNS = """
           s.id, s.statement_id, s.iban, s.first_on, s.last_on, s.entries, seen.new_entries, seen.unmatched, s.imported_by,
           s.imported_at
"""
SEEN = """
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE p.nth = 0) AS new_entries,
               count(*) FILTER (WHERE p.outcome = 'unmatched') AS unmatched
        FROM bank_entries e JOIN bank_entry_parts p ON p.entry_id = e.id WHERE e.first_statement_id = s.id
    ) seen
"""
STATEMENTS = f"""
    SELECT {STATEMENT_COLUMNS}
    FROM (SELECT id, statement_id, iban, first_on, last_on, entries, imported_by, imported_at
          FROM bank_statements ORDER BY imported_at DESC, id DESC LIMIT $1 OFFSET $2) s
    {SEEN} ORDER BY s.imported_at DESC, s.id DESC
"""
STATEMENT = f"""
    SELECT {STATEMENT_COLUMNS}, s.currency, s.opening_minor, s.closing_minor FROM bank_statements s {SEEN} WHERE s.id = $1
"""
TRANSFER_COLUMNS = """
           p.id, e.first_statement_id AS statement_id, e.booked_on, e.side, e.currency, e.bank_reference, e.batch_reference,
           e.is_reversal OR p.return_reason IS NOT NULL AS is_return,
           p.amount_minor, p.other_name, p.other_iban, p.words, p.end_to_end_id, p.return_reason, p.outcome, p.reference,
           p.payout_id, p.because AS reason, p.decided_by, p.decided_because AS decided_reason, p.decided_at
"""
TRANSFERS_OF_STATEMENT = f"""
    SELECT {TRANSFER_COLUMNS} FROM bank_entries e JOIN bank_entry_parts p ON p.entry_id = e.id
    WHERE e.first_statement_id = $1 ORDER BY e.id, p.nth LIMIT $2 OFFSET $3
"""
TRANSFER = f"""
    SELECT {TRANSFER_COLUMNS} FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
    WHERE p.id = $1
"""


class TransferFilter(Struct, frozen=True):
    """Which transfers to list. `search` is part of an ID, a name, an IBAN, a reference or the remittance information."""

    outcome: Outcome
    side: Side | None = None
    since: date | None = None
    until: date | None = None
    search: str | None = None


class FoundTransfer(Struct, frozen=True, kw_only=True):
    """A transfer of a list, with what its statement has of the other party."""

    id: UUID
    booked_on: date
    side: Side
    amount: str
    currency: str
    outcome: Outcome
    reason: str
    other_name: str | None
    other_iban: str | None
    other_bic: str | None
    words: str
    end_to_end_id: str | None
    reference: str | None

    @property
    def reason_text(self) -> Translatable:
        """Why it was not matched, for pages."""
        return read_reason(self.reason)

    @property
    def signed(self) -> str:
        """The amount, negative if it was sent."""
        return f"-{self.amount}" if self.side == "debit" else self.amount


class TransferSum(Struct, frozen=True):
    """How many transfers in a currency match, and what they add up to: negative if more was sent than received."""

    currency: str
    count: int
    amount: str


async def list_transfers(
    db: Pool,
    catalogue: Catalogue,
    matching: TransferFilter,
    sort: TransferSort,
    limit: int,
    *,
    after: UUID | None = None,
    offset: int = 0,
) -> list[FoundTransfer]:
    """The transfers that match, after this one."""
    rows = await db.fetch_custom_plan(SORTED[sort], *astuple(matching), after, limit, offset)
    return [read_shown(FoundTransfer, row, catalogue) for row in rows]


async def sum_transfers(db: Pool, catalogue: Catalogue, matching: TransferFilter) -> list[TransferSum]:
    """The sums of all transfers that match, by currency."""
    rows = await db.fetch_custom_plan(SUMS, *astuple(matching))
    return [
        TransferSum(row["currency"], row["count"], catalogue.format_amount(int(row["amount"]), row["currency"]))
        for row in rows
    ]


class Candidate(Struct, frozen=True, kw_only=True):
    """A payment that a transfer may belong to.

    `is_near`: its reference is one mistake away. `has_payer_before`: the payer has paid this merchant before.
    """

    id: UUID
    business_name: str
    display_name: str
    external_id: str | None
    currency: str
    amount_minor: int
    status: str
    created_at: datetime
    reference: str
    is_near: bool
    has_payer_before: bool


async def find_candidates(
    db: Pool, currency: str, amount_minor: int, near: Collection[str], account: str | None, name: str | None
) -> list[Candidate]:
    """Payments with one of the references in `near`, and the newest unpaid ones of this amount."""
    rows = await db.fetch(FIND, NAME, currency, amount_minor, list(near), account, name)
    return [Candidate(**dict(row)) for row in rows]


async def statements(db: Pool, limit: int | None = None, offset: int = 0) -> list[ListedStatement]:
    """The statements, newest first."""
    return [read_shown(ListedStatement, row) for row in await db.fetch(STATEMENTS, limit, offset)]


async def statement(db: Pool, statement_id: UUID, catalogue: Catalogue) -> ShownStatement | None:
    """One statement."""
    row = await db.fetchrow(STATEMENT, statement_id)
    if row is None:
        return None
    opening, closing = (
        _balance(row["opening_minor"], row["currency"], catalogue),
        _balance(row["closing_minor"], row["currency"], catalogue),
    )
    return ShownStatement(read_shown(ListedStatement, row), row["currency"], opening, closing)


async def transfers_of(db: Pool, statement_id: UUID, limit: int, offset: int, catalogue: Catalogue) -> list[ShownTransfer]:
    """The transfers of a statement's new entries, in order of import."""
    return [_transfer(row, catalogue) for row in await db.fetch(TRANSFERS_OF_STATEMENT, statement_id, limit, offset)]


async def transfer(db: Pool, transfer_id: UUID, catalogue: Catalogue) -> ShownTransfer | None:
    """One transfer."""
    row = await db.fetchrow(TRANSFER, transfer_id)
    return None if row is None else _transfer(row, catalogue)


def _balance(minor: int | None, currency: str | None, catalogue: Catalogue) -> str | None:
    known = catalogue.currencies.get(currency or "")
    return None if minor is None or known is None else known.format(minor)


def _transfer(row: Row, catalogue: Catalogue) -> ShownTransfer:
    is_batch = row["outcome"] == "payout" and row["payout_id"] is None
    batch_id = id_in(row["batch_reference"]) if is_batch else None
    return read_shown(ShownTransfer, row, catalogue, batch_id=batch_id)
