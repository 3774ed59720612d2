"""Every SQL statement about conversion rules."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions.model import RULE, ConversionRule
from tollhouse.transfers.orders.store import env_of, fetch_page

# Writers of rules lock their merchant, so that two of them cannot close a cycle together.
LOCK_MERCHANT = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
INSERT = f"""
    INSERT INTO conversion_rules (id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent,
                                  enabled, webhook_url, created_by_type, created_by_client_id, created_at, updated_at,
                                  seen_version)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13,
           coalesce((SELECT a.version FROM ledger_accounts a
                     WHERE (a.owner, a.mode, a.currency, a.code) = ($2, $3, $4, 'available')), 0)
    RETURNING {RULE.columns}
"""
GET = f"SELECT {RULE.columns} FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LIST = f"""
    SELECT {RULE.columns} FROM conversion_rules WHERE merchant_id = $1 AND mode = $2
      AND created_at >= $3 AND (created_at, id) < ($4, $5)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
# A rule that is enabled, or whose currency or trigger changes, counts entries from now on.
UPDATE = f"""
    UPDATE conversion_rules r SET
        from_currency = $5, to_currency = $6, trigger = $7, threshold_minor = $8, percent = $9, enabled = $10,
        webhook_url = $11, updated_at = $12, version = version + 1, retry_at = NULL,
        waiting_minor = CASE WHEN restarts THEN 0 ELSE waiting_minor END,
        seen_version = CASE WHEN restarts THEN balance_version ELSE seen_version END
    FROM (SELECT (from_currency, trigger, true) IS DISTINCT FROM ($5, $7, enabled) AS restarts,
                 coalesce((SELECT a.version FROM ledger_accounts a
                           WHERE (a.owner, a.mode, a.currency, a.code) = ($1, $2, $5, 'available')), 0) AS balance_version
          FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3) now
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND version = $4
    RETURNING {RULE.columns_of("r")}
"""
DELETE = f"DELETE FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3 RETURNING {RULE.columns}"
# Rules whose balance has unprocessed entries, or whose retry is due.
LIST_DUE = """
    SELECT r.id, r.merchant_id, r.mode FROM conversion_rules r
    JOIN ledger_accounts a ON (a.owner, a.mode, a.currency, a.code) = (r.merchant_id, r.mode, r.from_currency, 'available')
    JOIN merchants m ON m.id = r.merchant_id AND m.suspended_at IS NULL
    WHERE r.enabled AND (r.retry_at <= $1 OR r.retry_at IS NULL AND a.version > r.seen_version) ORDER BY r.id LIMIT $2
"""
LOCK_ENABLED = f"""
    SELECT {RULE.columns} FROM conversion_rules
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND enabled FOR UPDATE SKIP LOCKED
"""
# One statement, hence one snapshot. Entries of conversions do not trigger conversions; what a payment was
# converted to the currency of its link is no longer there to convert.
GET_BALANCE_CHANGE = """
    SELECT a.balance, a.version, n.paid, n.grew
    FROM ledger_accounts a
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(e.delta) FILTER (
                   WHERE e.type IN ('payment', 'payment_fee')
                      OR (e.type IN ('conversion_out', 'conversion_fee')
                          AND EXISTS (SELECT FROM ledger_transactions l JOIN conversions c ON c.id = l.source_id
                                      WHERE l.id = e.transaction_id AND l.mode = e.mode
                                        AND c.transaction_id IS NOT NULL AND c.reversal_id IS NULL))), 0)::bigint AS paid,
               coalesce(bool_or(e.delta > 0) FILTER (WHERE e.type NOT LIKE 'conversion%'), false) AS grew
        FROM ledger_entries e WHERE e.account_id = a.id AND e.version > $4) n
    WHERE a.owner = $1 AND a.mode = $2 AND a.currency = $3 AND a.code = 'available'
"""
RECORD_PROGRESS = """
    UPDATE conversion_rules SET seen_version = $4, waiting_minor = $5, runs = $6, retry_at = $7
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""


class BalanceChange(Struct, frozen=True):
    """The available balance and its version, and since the rule's last run the sum of payments and whether it grew."""

    available_minor: int = 0
    version: int = 0
    paid_minor: int = 0
    grew: bool = False


async def lock_merchant(tx: Tx, env: MerchantEnv) -> None:
    """Lock a merchant's rules against other writers until the transaction ends."""
    await tx.fetchval(LOCK_MERCHANT, env.merchant_id)


async def insert(tx: Tx, new: ConversionRule) -> ConversionRule:
    """Insert a rule that counts entries from now on, and return it."""
    creator = (new.created_by.type, new.created_by.oauth_client_id)
    row = (new.id, new.env.merchant_id, new.env.mode)
    return await RULE.get(tx, INSERT, *row, *_settings(new), *creator, new.created_at)


async def get(db: Pool | Tx, env: MerchantEnv, rule_id: UUID) -> ConversionRule:
    """A rule of a merchant and mode. Raises `NotFound`."""
    return await RULE.get(db, GET, env.merchant_id, env.mode, rule_id)


async def list_rules(db: Pool | Tx, env: MerchantEnv, window: Window) -> list[ConversionRule]:
    """A page of rules, newest first."""
    return await fetch_page(db, RULE.read, LIST, window, env.merchant_id, env.mode)


async def update(tx: Tx, new: ConversionRule, now: datetime) -> ConversionRule:
    """Replace a rule whose version is still the current one, and return it as stored. Raises `NotFound`."""
    row = (new.env.merchant_id, new.env.mode, new.id, new.version)
    return await RULE.get(tx, UPDATE, *row, *_settings(new), now)


async def delete(tx: Tx, env: MerchantEnv, rule_id: UUID) -> ConversionRule:
    """Delete a rule and return it. Raises `NotFound`."""
    return await RULE.get(tx, DELETE, env.merchant_id, env.mode, rule_id)


async def list_due(db: Pool, now: datetime, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """Rules with unprocessed entries or a due retry."""
    return [(env_of(row), row["id"]) for row in await db.fetch(LIST_DUE, now, limit)]


async def lock_enabled(tx: Tx, env: MerchantEnv, rule_id: UUID) -> ConversionRule | None:
    """Lock an enabled rule and return it; None where it is disabled or locked by another transaction."""
    return await RULE.find(tx, LOCK_ENABLED, env.merchant_id, env.mode, rule_id)


async def get_balance_change(tx: Tx, rule: ConversionRule) -> BalanceChange:
    """The balance, and its changes since the rule's last run."""
    row = await tx.fetchrow(GET_BALANCE_CHANGE, rule.env.merchant_id, rule.env.mode, rule.from_currency, rule.seen_version)
    return BalanceChange() if row is None else BalanceChange(row["balance"], row["version"], row["paid"], row["grew"])


async def record_progress(
    tx: Tx, rule: ConversionRule, seen_version: int, waiting_minor: int, runs: int, retry_at: datetime | None
) -> None:
    """Record how far a rule has processed the balance's entries."""
    row = (rule.env.merchant_id, rule.env.mode, rule.id)
    await tx.execute(RECORD_PROGRESS, *row, seen_version, waiting_minor, runs, retry_at)


def _settings(rule: ConversionRule) -> tuple[object, ...]:
    pair = (rule.from_currency, rule.to_currency)
    return (*pair, rule.trigger, rule.threshold_minor, rule.percent, rule.enabled, rule.webhook_url)
