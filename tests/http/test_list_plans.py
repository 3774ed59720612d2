"""With many rows each filter of a list is looked up by an index: the merchant's other rows are not read."""

# ruff: noqa: S608 - the statements are made of constants

import re
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor
from tests.running import migrated_database
from tollhouse.accounts.audit import store as audit
from tollhouse.instance.database import embedded
from tollhouse.ledger.books import store as ledger
from tollhouse.pages.dashboard.balances import ledger_store as ledger_pages
from tollhouse.payments.links import store as links
from tollhouse.payments.refunds import store as refunds
from tollhouse.payments.transactions import payment_list_store as payments
from tollhouse.payments.transactions import store as transactions
from tollhouse.transfers.balance_payments import store as balance_payments
from tollhouse.transfers.conversions import store as conversions
from tollhouse.transfers.fulfillments import store as fulfillments
from tollhouse.transfers.withdrawals import store as withdrawals
from tollhouse.webhooks.endpoints import store as webhooks

ROWS, READ_MAX = 20_000, 200
CALL = re.compile(r"(status_at|stored_statuses)\(")
MOMENTS = (
    f"FROM (SELECT n, now() - ({ROWS} - n) * interval '1 min' AS at, n <= 3 AS rare FROM generate_series(1, {ROWS}) n) m"
)
CURRENCY = "CASE WHEN rare THEN 'USD' ELSE 'EUR' END"
# $1 is the merchant. The oldest three rows are of another currency, status, method, type and topic than the rest.
FILLED = {
    "payment_links": f"""
        INSERT INTO payment_links (id, merchant_id, mode, token, project_id, display_name, amount_minor, currency, metadata,
            external_id, customer_email, created_by_type, status,
            created_at, updated_at, expires_at, completed_at, canceled_at)
        SELECT lpad(n::text, 32, '0')::uuid, $1, 'test', rpad(translate(n::text, '0189', 'abcd'), 26, 'x'),
               gen_random_uuid(), 'Coffee', n, {CURRENCY}, '{{}}', 'order-' || n, 'c' || n || '@example.com', 'api_key',
               CASE WHEN rare THEN 'canceled' ELSE 'completed' END, at, at, at + interval '1 day',
               CASE WHEN NOT rare THEN at END, CASE WHEN rare THEN at END {MOMENTS}
    """,
    "transactions": f"""
        INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
            instructions, currency, amount_minor, received_minor, credited_minor, status, failure_code, created_at,
            updated_at, succeeded_at)
        SELECT gen_random_uuid(), $1, 'test', lpad(n::text, 32, '0')::uuid, 'sandbox:' || {CURRENCY}, 'sandbox', 'sandbox',
               gen_random_uuid(), '{{}}', {CURRENCY}, n, CASE WHEN rare THEN 0 ELSE n END, CASE WHEN rare THEN 0 ELSE n END,
               CASE WHEN rare THEN 'failed' ELSE 'succeeded' END, CASE WHEN rare THEN 'declined' END, at, at,
               CASE WHEN NOT rare THEN at END {MOMENTS}
    """,
    "ledger_transactions": f"""
        INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, created_at)
        SELECT lpad(n::text, 32, '0')::uuid, 'test', 'payment', 'transaction', gen_random_uuid(), at {MOMENTS}
    """,
    "ledger_accounts": """
        INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
        SELECT 'test', currency, $1, 'available', 'credit', true FROM unnest('{EUR,USD}'::text[]) AS currency
    """,
    "ledger_entries": f"""
        INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id,
            line, delta, balance_after, created_at)
        SELECT a.id, n, lpad(n::text, 32, '0')::uuid, $1, 'test', a.currency, 'available',
               CASE WHEN rare THEN 'refund_reversal' ELSE 'payment' END, lpad(n::text, 32, '0')::uuid, 1, 1, n, at
        {MOMENTS} JOIN ledger_accounts a ON a.merchant_id = $1 AND a.currency = {CURRENCY}
    """,
    "outgoing_transfers": f"""
        INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, payer_account,
            review, approvals_needed, created_at)
        SELECT lpad(n::text, 32, '0')::uuid, 'withdrawal', $1, 'test', 'sandbox', 'EUR', 1, 'x', 'x', 'not_required', 0, at
        {MOMENTS}
    """,
    "refunds": f"""
        INSERT INTO refunds (id, merchant_id, mode, transaction_id, rail, currency, amount_minor, unapplied_minor, hold_id,
            status, reason, failure_code, metadata, created_at, updated_at)
        SELECT lpad(n::text, 32, '0')::uuid, $1, 'test', gen_random_uuid(), 'sandbox', {CURRENCY}, 1, 0, gen_random_uuid(),
               CASE WHEN rare THEN 'failed' ELSE 'succeeded' END, 'other', CASE WHEN rare THEN 'declined' END, '{{}}', at, at
        {MOMENTS}
    """,
    "withdrawals": f"""
        INSERT INTO withdrawals (id, merchant_id, mode, method_id, rail, currency, amount_minor, network_fee_mode,
            system_fee_minor, network_fee_minor, debit_minor, receive_minor, receiver, provider_fields, hold_id, status,
            submission, network_paid_minor, failure_code, metadata, created_at, updated_at, processing_at, completed_at)
        SELECT lpad(n::text, 32, '0')::uuid, $1, 'test', 'sandbox:' || {CURRENCY}, 'sandbox', {CURRENCY}, 9, 'deduct', 0, 0,
               9, 9, 'x', '{{}}', gen_random_uuid(), CASE WHEN rare THEN 'failed' ELSE 'completed' END, 'accepted',
               CASE WHEN NOT rare THEN 0 END, CASE WHEN rare THEN 'declined' END, '{{}}', at, at, at,
               CASE WHEN NOT rare THEN at END {MOMENTS}
    """,
    "conversions": f"""
        INSERT INTO conversions (id, merchant_id, mode, status, from_currency, to_currency, rate, rate_as_of,
            from_amount_minor, fee_minor, to_amount_minor, metadata, created_at)
        SELECT gen_random_uuid(), $1, 'test', 'completed', {CURRENCY}, 'GBP', 1, at, 1, 0, 1, '{{}}', at {MOMENTS}
    """,
    "balance_payments": f"""
        INSERT INTO balance_payments (id, merchant_id, mode, client_id, owner_id, currency, amount_minor, captured_minor,
            released_minor, hold_id, status, metadata, created_at, updated_at, expires_at, resolved_at)
        SELECT gen_random_uuid(), $1, 'test', 'thc_x', gen_random_uuid(), {CURRENCY}, 9, CASE WHEN rare THEN 0 ELSE 9 END,
               CASE WHEN rare THEN 9 ELSE 0 END, gen_random_uuid(), CASE WHEN rare THEN 'released' ELSE 'captured' END,
               '{{}}', at, at, at + interval '1 day', at {MOMENTS}
    """,
    "fulfillments": f"""
        INSERT INTO fulfillments (id, merchant_id, mode, product_id, server, quantity, delivered_quantity, currency,
            unit_price_minor, unit_wholesale_minor, cost_minor, recipient, hold_id, status, provider_reference, failure_code,
            attempts, metadata, created_at, updated_at, processing_at, completed_at)
        SELECT gen_random_uuid(), $1, 'test', CASE WHEN rare THEN 'coins' ELSE 'gems' END, 'sandbox', 1,
               CASE WHEN rare THEN 0 ELSE 1 END, {CURRENCY}, 1, 1, 1, '{{}}', gen_random_uuid(),
               CASE WHEN rare THEN 'failed' ELSE 'completed' END, CASE WHEN NOT rare THEN 'x' END,
               CASE WHEN rare THEN 'rejected' END, 1, '{{}}', at, at, at, CASE WHEN NOT rare THEN at END {MOMENTS}
    """,
    "webhook_events": f"""
        INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_url,
            destination_source, status, delivered_at, created_at)
        SELECT uuidv7(at - now()), $1, 'test', 'payment.succeeded', 'transaction', gen_random_uuid(), 1, '', 'https://x',
               'request', CASE WHEN rare THEN CASE n WHEN 1 THEN 'pending' ELSE 'failed' END ELSE 'delivered' END,
               CASE WHEN NOT rare THEN at END, at {MOMENTS}
    """,
    "webhook_event_statuses": """
        INSERT INTO webhook_event_statuses (event_id, merchant_id, mode, status, created_at)
        SELECT id, merchant_id, mode, status, created_at FROM webhook_events WHERE merchant_id = $1 AND status = 'failed'
    """,
    "audit_lines": f"""
        INSERT INTO audit_lines (merchant_id, id, created_at, deed, author_kind, author)
        SELECT $1, gen_random_uuid(), at, CASE WHEN rare THEN 'refund.created' ELSE 'link.created' END, 'person', 'x'
        {MOMENTS}
    """,
}
WINDOW = "'-infinity', 'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21, 0"
BEFORE = "'infinity', NULL, NULL, NULL, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21"
NEWEST = "'infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff'"
LISTS = {
    "transactions of a status": (transactions.LIST, f"now(), '{{failed}}', NULL, NULL, NULL, NULL, NULL, {WINDOW}"),
    "expired transactions": (transactions.LIST, f"now(), '{{expired}}', NULL, NULL, NULL, NULL, NULL, {WINDOW}"),
    "transactions of a method": (transactions.LIST, f"now(), NULL, NULL, NULL, 'sandbox:USD', NULL, NULL, {WINDOW}"),
    "transactions of a currency": (transactions.LIST, f"now(), NULL, 'USD', NULL, NULL, NULL, NULL, {WINDOW}"),
    "transactions of an external ID": (transactions.LIST, f"now(), NULL, NULL, NULL, NULL, NULL, 'order-1', {WINDOW}"),
    "failed payments": (payments.LIST, f"now(), 'failed'{', NULL' * 6}, {BEFORE}"),
    "expired payments": (payments.LIST, f"now(), 'expired'{', NULL' * 6}, {BEFORE}"),
    "expired payments, counted": (payments.COUNT, f"now(), 'expired'{', NULL' * 6}, 'infinity', NULL, NULL, NULL, 21"),
    "payments of a reference": (payments.LIST, f"now(){', NULL' * 5}, 'c1@example.com', NULL, {BEFORE}"),
    "payments of an amount": (
        payments.LIST,
        f"now(){', NULL' * 7}, 'infinity', '{{EUR}}', '{{77}}', '{{77}}', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21",
    ),
    "payments in the middle": (
        payments.LIST,
        f"now(){', NULL' * 7}, now() - interval '10000 min'{', NULL' * 3}, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21",
    ),
    "links of a status": (links.LIST, f"now(), '{{canceled}}', NULL, NULL, NULL, {WINDOW}"),
    "links of a currency": (links.LIST, f"now(), NULL, 'USD', NULL, NULL, {WINDOW}"),
    "canceled links": (links.SEARCH, f"now(), 'canceled'{', NULL' * 6}, {NEWEST}, 21"),
    "links of a reference": (links.SEARCH, f"now(), NULL, NULL, NULL, 'c1@example.com'{', NULL' * 3}, {NEWEST}, 21"),
    "links of an amount": (links.SEARCH, f"now(){', NULL' * 4}, '{{EUR}}', '{{77}}', '{{77}}', {NEWEST}, 21"),
    "entries of a type": (ledger.ENTRIES, f"NULL, NULL, 'refund_reversal', NULL, NULL, {WINDOW}, NULL"),
    "entries of a currency": (ledger.ENTRIES, f"'USD', NULL, NULL, NULL, NULL, {WINDOW}, '{{{{account}}}}'"),
    "listed entries of a type": (
        ledger_pages.OLDER,
        f"{NEWEST}, '-infinity', 'infinity', '', '', 'refund_reversal', 21, NULL",
    ),
    "listed entries of a currency": (
        ledger_pages.OLDER,
        f"{NEWEST}, '-infinity', 'infinity', 'USD', '', '', 21, '{{{{account}}}}'",
    ),
    "refunds of a status": (refunds.LIST, f"NULL, '{{failed}}', NULL, NULL, {WINDOW}"),
    "refunds of a currency": (refunds.LIST, f"NULL, NULL, 'USD', NULL, {WINDOW}"),
    "withdrawals of a status": (withdrawals.LIST, f"'{{failed}}'{', NULL' * 7}, {WINDOW}"),
    "withdrawals of a currency": (withdrawals.LIST, f"NULL, 'USD'{', NULL' * 6}, {WINDOW}"),
    "withdrawals of a method": (withdrawals.LIST, f"NULL, NULL, 'sandbox:USD'{', NULL' * 5}, {WINDOW}"),
    "withdrawals of an amount": (withdrawals.LIST, f"{'NULL, ' * 4}'{{EUR}}', '{{77}}', '{{77}}', NULL, {WINDOW}"),
    "conversions of a currency": (conversions.LIST, f"NULL, 'USD', NULL, NULL, {WINDOW}"),
    "balance payments of a status": (balance_payments.LIST, f"NULL, now(), '{{released}}', NULL, NULL, {WINDOW}"),
    "balance payments of a currency": (balance_payments.LIST, f"NULL, now(), NULL, 'USD', NULL, {WINDOW}"),
    "fulfillments of a status": (fulfillments.LIST, f"'{{failed}}'{', NULL' * 4}, {WINDOW}"),
    "fulfillments of a product": (fulfillments.LIST, f"NULL, 'coins'{', NULL' * 3}, {WINDOW}"),
    "failed events": (webhooks.EVENTS_OF_STATUSES, f"'{{failed,held}}', NULL, NULL, {WINDOW}"),
    "failed events of a common type": (
        webhooks.EVENTS_OF_STATUSES,
        f"'{{failed}}', '{{payment.succeeded}}', NULL, {WINDOW}",
    ),
    "pending events": (webhooks.QUEUED_EVENTS, f"'{{pending}}', NULL, NULL, {WINDOW}, '{{{{queued}}}}'"),
    "fulfillments of a currency": (fulfillments.LIST, f"NULL, NULL, 'USD'{', NULL' * 2}, {WINDOW}"),
}


@pytest.mark.long
async def test_a_rare_filter_reads_few_rows(server: embedded.Server) -> None:
    """In a database of its own: plans depend on how many rows others have of each status."""
    merchant, found, called = f"'{uuid4()}'", dict[str, int](), set[str]()
    raw = await asyncpg.connect(await migrated_database(server.cluster.dsn))
    try:
        await raw.execute("BEGIN")
        await raw.execute("SET LOCAL session_replication_role = replica")  # the rows alone: nothing that they belong to
        for table, statement in FILLED.items():
            await raw.execute(statement.replace("$1", merchant))
            await raw.execute(f"ANALYZE {table}")
        account = await raw.fetchval(f"SELECT id FROM ledger_accounts WHERE owner = {merchant} AND currency = 'USD'")
        queued = await raw.fetchval(f"SELECT id FROM webhook_events WHERE merchant_id = {merchant} AND status = 'pending'")
        await raw.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        for name, (statement, values) in LISTS.items():
            await raw.execute(f"PREPARE listed AS {statement}")
            given = values.replace("{account}", str(account)).replace("{queued}", str(queued))
            plan = await raw.fetch(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE listed({merchant}, 'test', {given})")
            found[name] = sum(
                int(number)
                for number in re.findall(r"(?:hit|read)=(\d+)", next(row[0] for row in plan if "Buffers" in row[0]))
            )
            called |= {name for row in plan if CALL.search(row[0])}
            await raw.execute("DEALLOCATE listed")
    finally:
        await raw.close()
    assert called == set()  # in the place of such a call stands its expression, which an index can answer
    assert {name: buffers for name, buffers in found.items() if buffers > READ_MAX} == {}


@pytest.mark.parametrize("topics", ["'{refund}'"])
async def test_a_rare_topic_reads_few_rows(alice: Actor, topics: str) -> None:
    merchant = f"'{alice.merchant_id}'"
    raw = await asyncpg.connect(alice.service.dsn)
    try:
        await raw.execute("BEGIN")
        await raw.execute(FILLED["audit_lines"].replace("$1", merchant))
        await raw.execute("ANALYZE audit_lines")
        await raw.execute(f"PREPARE listed AS {audit.OLDER}")
        await raw.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        values = f"{merchant}, {NEWEST}, '-infinity', 'infinity', '', {topics}, '', '', 21"
        plan = "\n".join(row[0] for row in await raw.fetch(f"EXPLAIN EXECUTE listed({values})"))
    finally:
        await raw.close()
    assert "audit_lines_by_topic" in plan
