"""SQL of rows with a digest: listing them in order, and finding changed ones."""

from collections.abc import Sequence
from uuid import UUID

from tollhouse.platform.database.pool import Tx

TABLES = {
    "ledger": "ledger_transactions",
    "hold": "ledger_holds",
    "link": "payment_links",
    "payment": "transactions",
    "refund": "refunds",
    "chargeback": "chargebacks",
    "withdrawal": "withdrawals",
    "outgoing_transfer": "outgoing_transfers",
    "balance_payment": "balance_payments",
    "conversion": "conversions",
    "fulfillment": "fulfillments",
    "bank_statement": "bank_statements",
    "bank_entry": "bank_entries",
    "bank_transfer": "bank_entry_parts",
    "bank_batch": "bank_batches",
    "payout": "bank_payouts",
    "operator_action": "operator_actions",
    "event": "webhook_events",
}
"""Each kind of row with digests, by its name in `row_digests`, and its table. A migration creates the trigger."""
BEFORE_ALL = UUID(int=0)


def _page(kind: str, table: str) -> str:
    """The ids of one kind after another id, in order, of existing and of deleted rows."""
    return f"""
        SELECT id FROM (
            (SELECT id FROM row_digests WHERE kind = '{kind}' AND id > $1 ORDER BY id LIMIT $2)
            UNION
            (SELECT id FROM {table} WHERE id > $1 ORDER BY id LIMIT $2)
        ) AS either ORDER BY id LIMIT $2
    """


def _changes(kind: str, table: str) -> str:
    """Rows that differ from their digest. Events are dropped by month of creation: the first 48 bits of their id."""
    month = """to_char(to_timestamp(('x' || left(replace(asked.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
                        AT TIME ZONE 'UTC', 'YYYYMM')"""
    is_kept = f"to_regclass('webhook_events_' || {month}) IS NOT NULL" if kind == "event" else "true"
    return f"""
        SELECT format('{kind} %s %s', asked.id, CASE WHEN t.id IS NULL THEN 'was deleted'
                      WHEN d.id IS NULL THEN 'was not written by the program' ELSE 'was changed' END) AS line
        FROM unnest($1::uuid[]) AS asked (id)
        LEFT JOIN {table} t ON t.id = asked.id
        LEFT JOIN row_digests d ON d.kind = '{kind}' AND d.id = asked.id
        WHERE CASE WHEN t.id IS NULL THEN d.id IS NOT NULL AND {is_kept} ELSE row_digest(t) IS DISTINCT FROM d.digest END
    """


PAGES = {kind: _page(kind, table) for kind, table in TABLES.items()}
CHANGES = {kind: _changes(kind, table) for kind, table in TABLES.items()}


async def page(tx: Tx, kind: str, after: UUID, limit: int) -> list[UUID]:
    """The next ids of a kind, in order."""
    return [row["id"] for row in await tx.fetch(PAGES[kind], after, limit)]


async def changes(tx: Tx, kind: str, ids: Sequence[UUID]) -> list[str]:
    """A line for each of these rows that was changed or deleted."""
    return await lines(tx, CHANGES[kind], ids)


async def lines(tx: Tx, statement: str, ids: Sequence[UUID] | None) -> list[str]:
    """The lines of a statement that takes ids or nothing."""
    rows = await tx.fetch(statement) if ids is None else await tx.fetch(statement, list(ids))
    return [row["line"] for row in rows]
