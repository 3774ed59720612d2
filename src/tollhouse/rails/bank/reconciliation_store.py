"""SQL of the bank reconciliation: what the bank stated, and which transfers and payouts are open."""

from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank.reconciliation_model import OpenItems, StatedAccount

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


async def list_accounts(tx: Tx) -> list[StatedAccount]:
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
