"""A long history, made of one real payment: as many more, with their links, postings, events, requests and audit lines.

The rows are copies in SQL, without triggers: what is measured here reads, and what an action costs is measured elsewhere.
"""

from typing import Any
from uuid import UUID

import asyncpg

# One row for each payment more: the ids it is made of, and when it was made. The newest is the newest of all.
MORE = """
    CREATE TEMP TABLE more AS
    SELECT n, uuidv7(-n * interval '25 s') AS link_id, uuidv7(-n * interval '25 s') AS payment_id,
           uuidv7(-n * interval '25 s') AS posting_id, uuidv7(-n * interval '25 s') AS entry_id,
           uuidv7(-n * interval '25 s') AS fee_id, now() - n * interval '25 s' AS at
    FROM generate_series(1, $1::int) AS n
"""
COPIES = {
    "payment_links": {
        "id": "m.link_id",
        "token": "substr(translate(lower(encode(sha256(m.n::text::bytea), 'base64')), '+/=0189', 'abcdefg'), 1, 26)",
        "external_id": "'order-' || m.n",
        "customer_email": "'c' || m.n || '@example.com'",
        "latest_transaction_id": "m.payment_id",
        "created_at": "m.at",
    },
    "transactions": {
        "id": "m.payment_id",
        "payment_link_id": "m.link_id",
        "rail_reference": "m.payment_id::text",
        "created_at": "m.at",
        "updated_at": "m.at",
        "succeeded_at": "m.at",
    },
    "ledger_transactions": {"id": "m.posting_id", "source_id": "m.payment_id", "created_at": "m.at"},
    "ledger_entries": {
        "id": "m.entry_id",
        "transaction_id": "m.posting_id",
        "version": "m.n + 1000",
        "balance_after": "o.balance_after * m.n",
        "created_at": "m.at",
    },
    "webhook_events": {"id": "uuidv7()", "source_id": "m.payment_id", "sequence": "m.n + 1000", "created_at": "m.at"},
    "api_requests": {"id": "uuidv7()", "request_id": "uuidv7()"},
    "audit_lines": {"id": "uuidv7()", "created_at": "m.at"},
}
"""Of each table the columns in which a copy differs from its original."""
FEES = """
    INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id, line,
                                delta, balance_after, created_at)
    SELECT o.account_id, m.n + 1000000, m.fee_id, o.merchant_id, o.mode, o.currency, o.account, 'payment_fee', m.posting_id,
           2, -1, o.balance_after * m.n, m.at
    FROM ledger_entries o, more m
    WHERE o.merchant_id = $1 AND o.type = 'payment' AND o.transaction_id NOT IN (SELECT posting_id FROM more)
"""
BALANCES = """
    UPDATE ledger_accounts a SET balance = (SELECT sum(e.delta) FROM ledger_entries e WHERE e.account_id = a.id)
    WHERE a.merchant_id = $1 AND a.code = 'available'
"""
ORIGINALS = {
    "ledger_transactions": "o.source_id IN (SELECT id FROM transactions WHERE merchant_id = $1)",
    "ledger_entries": "o.merchant_id = $1 AND o.type = 'payment'",
    "api_requests": "o.merchant_id = $1 AND o.method = 'GET'",
    "audit_lines": "o.merchant_id = $1 AND o.deed = 'account.opened'",
}
"""Which row is copied, where a merchant has several."""


async def make(dsn: str, merchant_id: UUID, count: int) -> dict[str, Any]:
    """Copy this merchant's one payment so many times. What to look for in the history: an old payment, an old link."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET session_replication_role = replica")
    await connection.execute(MORE, count)
    for table, differing in COPIES.items():
        names = await connection.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'", table
        )
        columns = [name["column_name"] for name in names]
        values = ", ".join(differing.get(name, f"o.{name}") for name in columns)
        which = ORIGINALS.get(table, "o.merchant_id = $1")
        await connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} o, more m WHERE {which}",  # noqa: S608
            merchant_id,
        )
    await connection.execute(FEES, merchant_id)
    await connection.execute(BALANCES, merchant_id)
    await connection.execute("VACUUM ANALYZE")
    old = await connection.fetchrow("SELECT payment_id, link_id, at FROM more WHERE n = $1", count // 2)
    await connection.close()
    return dict(old or {})
