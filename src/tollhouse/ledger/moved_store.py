"""What the deeds of one object did to a merchant's accounts, found by the object: for the page that shows it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.model import EntryType, MerchantCode
from tollhouse.platform.db import Pool

# By the postings, because entries are found by their account alone.
OF_SOURCES = """
    SELECT t.created_at, p.type, p.currency, p.amount, a.code, a.id = p.credit_account_id AS credited
    FROM unnest($3::text[], $4::uuid[]) AS s (source_type, source_id)
    JOIN ledger_transactions t ON t.source_type = s.source_type AND t.source_id = s.source_id AND t.mode = $2
    JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.owner = $1 AND a.mode = $2
    ORDER BY t.created_at, t.id, p.line, a.id LIMIT $5
"""


class Moved(Struct, frozen=True):
    """One change of one account of the merchant, signed as the account counts."""

    at: datetime
    type: EntryType
    account: MerchantCode
    currency: str
    delta_minor: int


async def of_sources(db: Pool, env: MerchantEnv, sources: Sequence[tuple[str, UUID]], limit: int) -> list[Moved]:
    """What these objects (`transaction`, `refund`, ... and the id) did to this merchant's accounts, oldest first."""
    names, ids = [name for name, _ in sources], [one_id for _, one_id in sources]
    return [
        Moved(
            at=row["created_at"],
            type=row["type"],
            account=row["code"],
            currency=row["currency"],
            delta_minor=row["amount"] if row["credited"] != (row["code"] == "debt") else -row["amount"],
        )
        for row in await db.fetch(OF_SOURCES, env.merchant_id, env.mode, names, ids, limit)
    ]
