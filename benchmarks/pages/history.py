"""A long history, made of one real payment: as many more, with their links, postings, events, requests and audit events.

The rows are copies in SQL, without triggers: what is measured here reads, and what an action costs is measured elsewhere.
Every history spans the same time, ends now, and begins with the same few rare rows: another currency, status and type.
"""

# ruff: noqa: S608 - the statements are made of constants
from typing import Any
from uuid import UUID

import asyncpg

RARE = 5
"""How many of the oldest rows differ from the rest."""
SPAN = "interval '300 days'"

# One row for each payment more: the ids it is made of, and when it was made, the oldest first.
MORE = f"""
    CREATE TEMP TABLE more AS
    SELECT n, at, uuidv7(at - now()) AS link_id, uuidv7(at - now()) AS payment_id, uuidv7(at - now()) AS posting_id,
           uuidv7(at - now()) AS entry_id, uuidv7(at - now()) AS fee_id, n <= {RARE} AS rare,
           CASE WHEN n > {RARE} AND n % 10 = 0 THEN 'expired' WHEN n > {RARE} AND n % 20 = 1 THEN 'failed'
                ELSE 'succeeded' END AS ends
    FROM (SELECT n, now() - ($1 - n + 1) * ({SPAN} / $1) AS at FROM generate_series(1, $1::int) AS n) moments
"""
PAID = "m.ends = 'succeeded'"
COPIES: dict[str, dict[str, str]] = {
    "payment_links": {
        "id": "m.link_id",
        "token": "substr(translate(lower(encode(sha256(uuid_send(m.link_id)), 'base64')), '+/=0189', 'abcdefg'), 1, 26)",
        "external_id": "'order-' || m.n",
        "customer_email": "'c' || m.n || '@example.com'",
        "latest_transaction_id": "m.payment_id",
        "currency": "CASE WHEN m.rare THEN 'USD' ELSE o.currency END",
        "status": f"CASE WHEN m.rare THEN 'canceled' WHEN {PAID} THEN 'completed' ELSE 'expired' END",
        "completed_at": f"CASE WHEN NOT m.rare AND {PAID} THEN m.at END",
        "canceled_at": "CASE WHEN m.rare THEN m.at END",
        "expires_at": "m.at + interval '1 day'",
        "created_at": "m.at",
    },
    "transactions": {
        "id": "m.payment_id",
        "payment_link_id": "m.link_id",
        "rail_reference": "m.payment_id::text",
        "currency": "CASE WHEN m.rare THEN 'USD' ELSE o.currency END",
        "method_id": "CASE WHEN m.rare THEN 'sandbox:USD' ELSE o.method_id END",
        "status": "CASE WHEN m.rare THEN 'refund_required' ELSE m.ends END",
        "refund_required_reason": "CASE WHEN m.rare THEN 'late' END",
        "failure_code": "CASE m.ends WHEN 'failed' THEN 'declined' END",
        "received_minor": f"CASE WHEN {PAID} THEN o.received_minor ELSE 0 END",
        "credited_minor": f"CASE WHEN {PAID} AND NOT m.rare THEN o.credited_minor ELSE 0 END",
        "unapplied_minor": "CASE WHEN m.rare THEN o.received_minor ELSE 0 END",
        "fee_minor": f"CASE WHEN {PAID} AND NOT m.rare THEN 1 ELSE 0 END",
        "created_at": "m.at",
        "updated_at": "m.at",
        "succeeded_at": f"CASE WHEN {PAID} AND NOT m.rare THEN m.at END",
    },
    "ledger_transactions": {"id": "m.posting_id", "source_id": "m.payment_id", "created_at": "m.at"},
    "ledger_entries": {
        "id": "m.entry_id",
        "transaction_id": "m.posting_id",
        "version": "m.n + 1000",
        "type": "CASE WHEN m.rare THEN 'chargeback_reversal' ELSE o.type END",
        "balance_after": "o.balance_after * m.n",
        "created_at": "m.at",
    },
    "webhook_events": {
        "id": "uuidv7(m.at - now())",
        "source_id": "m.payment_id",
        "sequence": "m.n + 1000",
        "status": "CASE WHEN m.rare THEN 'failed' ELSE o.status END",
        "type": "CASE WHEN m.rare THEN 'payment.failed' ELSE o.type END",
        "created_at": "m.at",
    },
    "api_requests": {"id": "uuidv7()", "request_id": "uuidv7()", "status": "CASE WHEN m.rare THEN 500 ELSE o.status END"},
    "audit_lines": {"id": "uuidv7(m.at - now())", "created_at": "m.at"},
}
"""Of each table the columns in which a copy differs from its original."""
ORIGINALS = {
    "ledger_transactions": f"o.source_id IN (SELECT id FROM transactions WHERE merchant_id = $1) AND {PAID}",
    "ledger_entries": f"o.merchant_id = $1 AND o.type = 'payment' AND {PAID}",
    "webhook_events": "o.merchant_id = $1 AND o.type <> 'payment.failed'",
    "api_requests": "o.merchant_id = $1 AND o.method = 'GET'",
    "audit_lines": "o.merchant_id = $1 AND o.deed = 'account.opened'",
}
"""Which row is copied, where a merchant has several."""
FEES = f"""
    INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id, line,
                                delta, balance_after, created_at)
    SELECT o.account_id, m.n + 100000000, m.fee_id, o.merchant_id, o.mode, o.currency, o.account, 'payment_fee',
           m.posting_id, 2, -1, o.balance_after * m.n, m.at
    FROM more m, (SELECT * FROM ledger_entries WHERE merchant_id = $1 AND type = 'payment' AND version < 1000 LIMIT 1) o
    WHERE {PAID} AND NOT m.rare
"""
BALANCES = """
    UPDATE ledger_accounts a SET balance = (SELECT sum(e.delta) FROM ledger_entries e WHERE e.account_id = a.id)
    WHERE a.merchant_id = $1 AND a.code = 'available' AND a.currency = 'EUR'
"""
TOTALS = "SELECT running_totals_rebuild($1)"
STATUSES = """
    INSERT INTO webhook_event_statuses (event_id, merchant_id, mode, status, created_at)
    SELECT id, merchant_id, mode, status, created_at FROM webhook_events
    WHERE merchant_id = $1 AND status IN ('retrying', 'failed', 'canceled', 'held')
"""
FAILURES = """
    INSERT INTO webhook_failures (event_id, merchant_id, mode, failed_at)
    SELECT id, merchant_id, mode, created_at FROM webhook_events WHERE merchant_id = $1 AND status = 'failed'
"""
PROJECT = "(SELECT id FROM projects WHERE merchant_id = $1 AND mode = 'test' ORDER BY created_at LIMIT 1)"
RELEASED = """
    INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, payer_account,
                                    review, approvals_needed, created_at, released_at, closed_at)
    SELECT {id}, '{kind}', $1, 'test', 'sandbox', {currency}, 100, 'somebody', 'somebody', 'not_required', 0, at, at, at
    FROM more WHERE {some}
"""
SOME, CURRENCY = "(n % 5 = 0 OR rare)", "CASE WHEN rare THEN 'USD' ELSE 'EUR' END"
PAYEE, APPLICATION = "uuidv7()", "'thc_0000000000000000000000'"
ORDERS = (
    f"""
    INSERT INTO oauth_clients (id, merchant_id, client_type, name, description, redirect_uris, scope_mask, status,
                               created_at, updated_at)
    SELECT {APPLICATION}, uuidv7(), 'public', 'Shop', 'A shop.', '{{https://app.example}}', 1, 'enabled', now(), now()
    ON CONFLICT DO NOTHING
    """,
    RELEASED.format(id="link_id", kind="refund", currency=CURRENCY, some=SOME),
    f"""
    INSERT INTO refunds (id, merchant_id, mode, transaction_id, rail, currency, amount_minor, unapplied_minor, hold_id,
                         status, reason, receiver, failure_code, external_id, metadata, created_at, updated_at)
    SELECT link_id, $1, 'test', payment_id, 'sandbox', {CURRENCY}, 100, 0, link_id,
           CASE WHEN rare THEN 'failed' ELSE 'succeeded' END, 'other', 'somebody', CASE WHEN rare THEN 'declined' END,
           'refund-' || n, '{{}}', at, at
    FROM more WHERE {SOME}
    """,
    RELEASED.format(id="payment_id", kind="withdrawal", currency=CURRENCY, some=SOME),
    f"""
    INSERT INTO withdrawals (id, merchant_id, mode, method_id, rail, currency, amount_minor, network_fee_mode,
                             system_fee_minor, network_fee_minor, debit_minor, receive_minor, receiver, provider_fields,
                             hold_id, status, submission, network_paid_minor, failure_code, external_id, metadata,
                             created_at, updated_at, processing_at, completed_at)
    SELECT payment_id, $1, 'test', 'sandbox:' || {CURRENCY}, 'sandbox', {CURRENCY}, 100, 'deduct', 1, 1, 100, 98,
           'somebody', '{{}}', payment_id, CASE WHEN rare THEN 'failed' ELSE 'completed' END, 'accepted',
           CASE WHEN NOT rare THEN 1 END, CASE WHEN rare THEN 'payout_declined' END, 'withdrawal-' || n, '{{}}', at, at, at,
           CASE WHEN NOT rare THEN at END
    FROM more WHERE {SOME}
    """,
    f"""
    INSERT INTO conversions (id, merchant_id, mode, status, from_currency, to_currency, rate, rate_as_of,
                             from_amount_minor, fee_minor, to_amount_minor, external_id, metadata, created_at)
    SELECT link_id, $1, 'test', 'completed', {CURRENCY}, 'GBP', 1, at, 100, 0, 100, 'conversion-' || n, '{{}}', at
    FROM more WHERE {SOME}
    """,
    f"""
    INSERT INTO balance_payments (id, merchant_id, mode, client_id, owner_id, currency, amount_minor, captured_minor,
                                  released_minor, hold_id, status, external_id, metadata, created_at, updated_at,
                                  expires_at, resolved_at)
    SELECT link_id, $1, 'test', {APPLICATION}, {PAYEE}, {CURRENCY}, 100, CASE WHEN rare THEN 0 ELSE 100 END,
           CASE WHEN rare THEN 100 ELSE 0 END, posting_id, CASE WHEN rare THEN 'released' ELSE 'captured' END, 'order-' || n,
           '{{}}', at, at, at + interval '1 day', at
    FROM more WHERE {SOME}
    """,
    f"""
    INSERT INTO fulfillments (id, merchant_id, mode, project_id, product_id, server, quantity, delivered_quantity, currency,
                              unit_price_minor, unit_wholesale_minor, cost_minor, recipient, hold_id, status,
                              provider_reference, failure_code, attempts, external_id, metadata, created_at, updated_at,
                              processing_at, completed_at)
    SELECT payment_id, $1, 'test', {PROJECT}, 'sandbox:gems', 'sandbox', 10, CASE WHEN rare THEN 0 ELSE 10 END,
           {CURRENCY}, 10, 8, 100, '{{}}', entry_id, CASE WHEN rare THEN 'failed' ELSE 'completed' END,
           CASE WHEN NOT rare THEN 'reference' END, CASE WHEN rare THEN 'rejected' END, 1, 'order-' || n, '{{}}', at, at, at,
           CASE WHEN NOT rare THEN at + interval '3 s' END
    FROM more WHERE {SOME}
    """,
)
"""Refunds, withdrawals, conversions, balance payments and fulfillments: one for every fifth payment."""
OWN = "'thc_' || substr(encode(sha256(uuid_send($1)), 'hex'), 1, 22)"
OPEN_GRANTS = 20
GRANTS = (
    f"""
    INSERT INTO oauth_clients (id, merchant_id, client_type, name, description, redirect_uris, scope_mask, status,
                               created_at, updated_at)
    SELECT {OWN}, $1, 'public', 'Own', 'An application.', '{{https://app.example}}', 1, 'enabled', now(), now()
    """,
    f"""
    INSERT INTO oauth_grants (id, client_id, merchant_id, mode, scope_mask, grant_epoch, created_at, expires_at, revoked_at,
                              revoked_because)
    SELECT link_id, {OWN}, $1, 'test', 1, 1, at, now() + interval '30 days', CASE WHEN ended THEN at END,
           CASE WHEN ended THEN 'disconnected_by_merchant' END
    FROM (SELECT *, n <= (SELECT max(n) FROM more) - {OPEN_GRANTS} AS ended FROM more) AS m
    """,
    "INSERT INTO oauth_grant_activity (grant_id, last_used_at) SELECT link_id, at FROM more",
)
"""Connections of an application of the merchant, at itself: one for each payment, of which the newest are active."""


async def make(dsn: str, merchant_id: UUID, count: int) -> dict[str, Any]:
    """Copy this merchant's one payment so many times. What to look for: a payment, link and entry in the middle."""
    connection = await asyncpg.connect(dsn, server_settings={"jit": "off", "work_mem": "256MB"})
    await connection.execute("SET session_replication_role = replica; SET synchronous_commit = off")
    await connection.execute(MORE, count)
    await connection.execute("ANALYZE more")
    for table, differing in COPIES.items():
        names = await connection.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'", table
        )
        columns = [name["column_name"] for name in names]
        values = ", ".join(differing.get(name, f"o.{name}") for name in columns)
        which = ORIGINALS.get(table, "o.merchant_id = $1")
        await connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM more m, {table} o WHERE {which} ORDER BY m.n",
            merchant_id,
        )
    for statement in (FEES, BALANCES, *ORDERS, *GRANTS, TOTALS, STATUSES, FAILURES):
        await connection.execute(statement, *([merchant_id] if "$1" in statement else []))
    middle = await connection.fetchrow(
        "SELECT payment_id, link_id, entry_id, fee_id, at, n FROM more WHERE n BETWEEN $1 AND $1 + 20 AND n % 5 = 0"
        " AND ends = 'succeeded' LIMIT 1",
        count // 2,
    )
    client_id = await connection.fetchval(f"SELECT {OWN}", merchant_id)
    await connection.close()
    return dict(middle or {}) | {"client_id": client_id}


async def settle(dsn: str) -> None:
    """Vacuum and gather statistics, as the server does by itself after a while."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    await connection.close()
