"""SQL of lists of transfers that were applied to no payment or payout: filtered, sorted and summed."""

from collections.abc import Mapping
from datetime import date
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import astuple

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.rails.bank.files.statement import Side
from tollhouse.rails.bank.model import Outcome, read_reason

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
           p.id, e.booked_on, e.side, p.amount_minor, e.currency, p.outcome, p.because, p.other_name, p.other_iban,
           p.other_bic, p.words, p.end_to_end_id, p.reference
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
STATEMENTS: Mapping[TransferSort, str] = {"oldest": OLDEST, "newest": NEWEST, "largest": LARGEST}


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
    rows = await db.fetch_custom_plan(STATEMENTS[sort], *astuple(matching), after, limit, offset)
    return [_transfer(row, catalogue) for row in rows]


async def sum_transfers(db: Pool, catalogue: Catalogue, matching: TransferFilter) -> list[TransferSum]:
    """The sums of all transfers that match, by currency."""
    rows = await db.fetch_custom_plan(SUMS, *astuple(matching))
    return [
        TransferSum(row["currency"], row["count"], catalogue.format_amount(int(row["amount"]), row["currency"]))
        for row in rows
    ]


def _transfer(row: Row, catalogue: Catalogue) -> FoundTransfer:
    return FoundTransfer(
        id=row["id"],
        booked_on=row["booked_on"],
        side=row["side"],
        amount=catalogue.format_amount(row["amount_minor"], row["currency"]),
        currency=row["currency"],
        outcome=row["outcome"],
        reason=row["because"] or "",
        other_name=row["other_name"],
        other_iban=row["other_iban"],
        other_bic=row["other_bic"],
        words=row["words"],
        end_to_end_id=row["end_to_end_id"],
        reference=row["reference"],
    )
