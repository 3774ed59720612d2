"""Books of any size, written by SQL as this program would have written them: links, payments, postings, events, digests.

Each payment is two postings, two entries and two events. The rows are made without triggers, so the digests are made here.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg

PAYMENTS_OF_A_MERCHANT = 50_000
AMOUNT, FEE = 1_000, 10
BETWEEN = timedelta(milliseconds=100)
"""Between payments, of all merchants one after the other: rows are written in the order of their IDs, as in use."""

MERCHANT = """
    WITH merchant AS (INSERT INTO merchants (id, business_name, created_at) VALUES ($1, 'Benchmark', now()))
    INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)
    VALUES ($2, $1, 'test', 'Benchmark', 'approved', now(), now())
"""
ACCOUNTS = """
    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded, balance, version)
    SELECT 'test', 'EUR', x.merchant_id, x.code, ledger_normal_side(x.merchant_id IS NOT NULL, x.code),
           x.merchant_id IS NOT NULL, x.balance, x.version
    FROM (VALUES (NULL::uuid, 'rail:sandbox', 0::bigint, 0::bigint), (NULL, 'income:payment_fee', 0, 0),
                 ($1, 'available', $2, $3)) AS x (merchant_id, code, balance, version)
    ON CONFLICT DO NOTHING
"""
# One row for each payment: the ids it is made of, and when it was made, in the order of its account.
PLAN = """
    CREATE TEMP TABLE plan ON COMMIT DROP AS
    SELECT n, $1::uuid AS merchant_id, $2::uuid AS project_id, at, uuidv7(at - now()) AS link_id,
           uuidv7(at - now()) AS payment_id, uuidv7(at - now()) AS posting_id, uuidv7(at - now()) AS entry_id,
             uuidv7(at - now()) AS fee_id,
           uuidv7(at - now()) AS paid_event_id, uuidv7(at - now()) AS moved_event_id
    FROM (SELECT n, $3::timestamptz + n * interval '100 ms' AS at FROM generate_series(1, $4::int) AS n) moments
"""
ROWS = (
    """
    INSERT INTO payment_links (id, merchant_id, mode, token, project_id, display_name, amount_minor, currency, metadata,
                               max_payments, payments_count, amount_paid_minor, latest_transaction_id, created_by_type,
                               status, created_at, updated_at, expires_at, completed_at)
    SELECT link_id, merchant_id, 'test',
           substr(translate(encode(sha256(uuid_send(link_id)), 'hex'), '0189', 'wxyz'), 1, 26), project_id, 'Coffee',
             1000, 'EUR', '{}', 1, 1, 1000, payment_id, 'api_key', 'completed', at, at, at + '1 day', at
    FROM plan
    """,
    """
    INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
                              instructions, currency, amount_minor, received_minor, credited_minor, fee_minor, status,
             created_at,
                              updated_at, succeeded_at)
    SELECT payment_id, merchant_id, 'test', link_id, 'sandbox:EUR', 'sandbox', 'sandbox', payment_id::text, '{}', 'EUR',
             1000,
           1000, 1000, 10, 'succeeded', at, at, at
    FROM plan
    """,
    """
    INSERT INTO rail_observations (rail, mode, external_ref, outcome, merchant_id, transaction_id, currency,
             amount_minor, at)
    SELECT 'sandbox', 'test', payment_id::text, 'confirmed', merchant_id, payment_id, 'EUR', 1000, at FROM plan
    """,
    """
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    SELECT posting_id, 'test', 'payment', 'transaction', payment_id, 1, at FROM plan
    """,
    """
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p.posting_id, l.line, l.type, 'test', 'EUR', l.debit, l.credit, l.amount
    FROM (SELECT ledger_account_id(NULL, 'test', 'EUR', 'rail:sandbox') AS rail,
                 ledger_account_id(NULL, 'test', 'EUR', 'income:payment_fee') AS fees,
                 ledger_account_id((SELECT merchant_id FROM plan LIMIT 1), 'test', 'EUR', 'available') AS available) a
    CROSS JOIN plan p
    CROSS JOIN LATERAL (VALUES (1, 'payment', a.rail, a.available, 1000), (2, 'payment_fee', a.available, a.fees, 10))
        AS l (line, type, debit, credit, amount)
    """,
    """
    INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id, line,
                                delta, balance_after, created_at)
    SELECT a.id, e.version, e.id, p.merchant_id, 'test', 'EUR', 'available', e.type, p.posting_id, e.line, e.delta,
           e.balance_after, p.at
    FROM (SELECT ledger_account_id((SELECT merchant_id FROM plan LIMIT 1), 'test', 'EUR', 'available') AS id) a
    CROSS JOIN plan p
    CROSS JOIN LATERAL (VALUES (2 * n - 1, entry_id, 'payment', 1, 1000, 990 * n + 10),
                               (2 * n, fee_id, 'payment_fee', 2, -10, 990 * n))
        AS e (version, id, type, line, delta, balance_after)
    """,
    """
    INSERT INTO webhook_event_keys (source_id, source_type, type, sequence)
    SELECT payment_id, 'transaction', 'payment.succeeded', 2 FROM plan
    UNION ALL SELECT entry_id, 'ledger_entry', 'balance.updated', 2 * n FROM plan
    """,
    """
    INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_source,
                                status, created_at)
    SELECT e.id, p.merchant_id, 'test', e.type, e.source_type, e.source_id, e.sequence,
           convert_to(jsonb_build_object('id', e.id, 'data', repeat('x', 400))::text, 'UTF8'), 'none', 'skipped', p.at
    FROM plan p
    CROSS JOIN LATERAL (VALUES (paid_event_id, 'payment.succeeded', 'transaction', payment_id, 2),
                               (moved_event_id, 'balance.updated', 'ledger_entry', entry_id, 2 * n))
        AS e (id, type, source_type, source_id, sequence)
    """,
    """
    INSERT INTO row_digests (kind, id, digest)
    SELECT 'link', l.id, row_digest(l) FROM plan p JOIN payment_links l ON l.id = p.link_id
    UNION ALL SELECT 'payment', t.id, row_digest(t) FROM plan p JOIN transactions t ON t.id = p.payment_id
    UNION ALL SELECT 'ledger', t.id, row_digest(t) FROM plan p JOIN ledger_transactions t ON t.id = p.posting_id
    UNION ALL SELECT 'event', e.id, row_digest(e) FROM plan p JOIN webhook_events e ON e.id = p.paid_event_id
    UNION ALL SELECT 'event', e.id, row_digest(e) FROM plan p JOIN webhook_events e ON e.id = p.moved_event_id
    """,
)
TOTALS = "SELECT running_totals_rebuild($1)"


async def make(dsn: str, postings: int, progress: Any) -> None:
    """Write that many postings, each merchant's in one transaction."""
    connection = await asyncpg.connect(dsn, server_settings={"jit": "off", "work_mem": "256MB"})
    await connection.execute("SET session_replication_role = replica; SET synchronous_commit = off")
    payments, made = postings // 2, 0
    now: datetime = await connection.fetchval("SELECT now()")
    while made < payments:
        count = min(PAYMENTS_OF_A_MERCHANT, payments - made)
        await _merchant(connection, count, now - (payments - made + 1) * BETWEEN)
        made += count
        progress(2 * made)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


async def more(dsn: str, payments: int) -> None:
    """One merchant more, with so many payments: what is new to the next check."""
    connection = await asyncpg.connect(dsn, server_settings={"jit": "off"})
    await connection.execute("SET session_replication_role = replica")
    now: datetime = await connection.fetchval("SELECT now()")
    await _merchant(connection, payments, now - (payments + 1) * BETWEEN)
    await connection.close()


async def _merchant(connection: "asyncpg.Connection[asyncpg.Record]", count: int, begins: datetime) -> None:
    merchant_id, project_id = uuid4(), uuid4()
    async with connection.transaction():
        await connection.execute(MERCHANT, merchant_id, project_id)
        await connection.execute(ACCOUNTS, merchant_id, count * (AMOUNT - FEE), 2 * count)
        await connection.execute(PLAN, merchant_id, project_id, begins, count)
        await connection.execute("ANALYZE plan")
        for statement in ROWS:
            await connection.execute(statement)
        await connection.execute(TOTALS, merchant_id)


async def sizes(dsn: str) -> dict[str, Any]:
    """How much there is."""
    connection = await asyncpg.connect(dsn)
    row = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM ledger_postings) AS postings, (SELECT count(*) FROM row_digests) AS digests,"
        " pg_database_size(current_database()) AS bytes, pg_total_relation_size('row_digests') AS digest_bytes"
    )
    await connection.close()
    return dict(row or {})
