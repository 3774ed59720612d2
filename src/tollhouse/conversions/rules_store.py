"""Every SQL statement about conversion rules."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.conversions.model import CreatedBy, Rule
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Row, Tx

# Whoever makes or changes a rule holds its merchant: so no two of them close a circle together.
LOCK = "SELECT true FROM merchants WHERE id = $1 FOR NO KEY UPDATE"
INSERT = """
    INSERT INTO conversion_rules (id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent,
                                  enabled, webhook_url, created_by_type, created_by_client_id, seen_version, created_at,
                                  updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
           coalesce((SELECT a.version FROM ledger_accounts a
                     WHERE (a.owner, a.mode, a.currency, a.code) = ($2, $3, $4, 'available')), 0), $13, $13
    RETURNING id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url,
              created_by_type, created_by_client_id, version, seen_version, waiting_minor, runs, created_at, updated_at
"""
ONE = """
    SELECT id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url,
           created_by_type, created_by_client_id, version, seen_version, waiting_minor, runs, created_at, updated_at
    FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
LIST = """
    SELECT id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url,
           created_by_type, created_by_client_id, version, seen_version, waiting_minor, runs, created_at, updated_at
    FROM conversion_rules WHERE merchant_id = $1 AND mode = $2
      AND created_at >= $3 AND (created_at, id) < ($4, $5)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
# One that is switched on, or that converts from another currency now, counts from now on.
CHANGE = """
    UPDATE conversion_rules r SET
        from_currency = $5, to_currency = $6, trigger = $7, threshold_minor = $8, percent = $9, enabled = $10,
        webhook_url = $11, updated_at = $12, version = version + 1, retry_at = NULL,
        waiting_minor = CASE WHEN anew THEN 0 ELSE waiting_minor END,
        seen_version = CASE WHEN anew THEN there ELSE seen_version END
    FROM (SELECT (from_currency, trigger, true) IS DISTINCT FROM ($5, $7, enabled) AS anew,
                 coalesce((SELECT a.version FROM ledger_accounts a
                           WHERE (a.owner, a.mode, a.currency, a.code) = ($1, $2, $5, 'available')), 0) AS there
          FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3) now
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND version = $4
    RETURNING id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url,
              created_by_type, created_by_client_id, version, seen_version, waiting_minor, runs, created_at, updated_at
"""
DELETE = """
    DELETE FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3
    RETURNING id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url,
              created_by_type, created_by_client_id, version, seen_version, waiting_minor, runs, created_at, updated_at
"""
# Rules whose balance has entries that they have not looked at, or that could not convert before.
DUE = """
    SELECT r.id, r.merchant_id, r.mode FROM conversion_rules r
    JOIN ledger_accounts a ON (a.owner, a.mode, a.currency, a.code) = (r.merchant_id, r.mode, r.from_currency, 'available')
    WHERE r.enabled AND (r.retry_at <= $1 OR r.retry_at IS NULL AND a.version > r.seen_version) ORDER BY r.id LIMIT $2
"""
TAKE = """
    SELECT id, merchant_id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url,
           created_by_type, created_by_client_id, version, seen_version, waiting_minor, runs, created_at, updated_at
    FROM conversion_rules WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND enabled FOR UPDATE SKIP LOCKED
"""
# One statement, hence one snapshot. What conversions did is no reason to convert.
LOOK = """
    SELECT a.balance, a.version, n.paid, n.grew
    FROM ledger_accounts a
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(e.delta) FILTER (WHERE e.type IN ('payment', 'payment_fee')), 0)::bigint AS paid,
               coalesce(bool_or(e.delta > 0) FILTER (WHERE e.type NOT LIKE 'conversion%'), false) AS grew
        FROM ledger_entries e WHERE e.account_id = a.id AND e.version > $4) n
    WHERE a.owner = $1 AND a.mode = $2 AND a.currency = $3 AND a.code = 'available'
"""
NOTE = """
    UPDATE conversion_rules SET seen_version = $4, waiting_minor = $5, runs = $6, retry_at = $7
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""


class News(Struct, frozen=True):
    """What is available, how many entries made it so, and what came since: from payments, and whether anything did."""

    available_minor: int = 0
    version: int = 0
    paid_minor: int = 0
    grew: bool = False


async def hold(tx: Tx, env: MerchantEnv) -> None:
    """Let nobody else make or change rules of this merchant until this transaction ends."""
    await tx.fetchval(LOCK, env.merchant_id)


async def insert(tx: Tx, new: Rule) -> Rule:
    """Keep a new rule, which counts from now on."""
    by = (new.created_by.type, new.created_by.oauth_client_id)
    row = await tx.fetchrow(INSERT, new.id, new.env.merchant_id, new.env.mode, *_facts(new), *by, new.created_at)
    if row is None:
        raise AssertionError("an insert returns its row")
    return _rule(row)


async def one(db: Pool | Tx, env: MerchantEnv, rule_id: UUID) -> Rule | None:
    """This rule of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, rule_id)
    return None if row is None else _rule(row)


async def listed(db: Pool | Tx, env: MerchantEnv, window: Window) -> list[Rule]:
    """A page of rules, newest first."""
    rows = await db.fetch(LIST, env.merchant_id, env.mode, *msgspec.structs.astuple(window))
    return [_rule(row) for row in rows]


async def change(tx: Tx, new: Rule, now: datetime) -> Rule | None:
    """Replace a rule where its version is still the present one; None where somebody else was first."""
    whose = (new.env.merchant_id, new.env.mode, new.id, new.version)
    row = await tx.fetchrow(CHANGE, *whose, *_facts(new), now)
    return None if row is None else _rule(row)


async def delete(tx: Tx, env: MerchantEnv, rule_id: UUID) -> Rule | None:
    """End a rule; None where there is none."""
    row = await tx.fetchrow(DELETE, env.merchant_id, env.mode, rule_id)
    return None if row is None else _rule(row)


async def due(db: Pool, now: datetime, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """Rules that have something to look at."""
    rows = await db.fetch(DUE, now, limit)
    return [(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["id"]) for row in rows]


async def take(tx: Tx, env: MerchantEnv, rule_id: UUID) -> Rule | None:
    """A rule that is switched on, for this transaction alone; None where another has it."""
    row = await tx.fetchrow(TAKE, env.merchant_id, env.mode, rule_id)
    return None if row is None else _rule(row)


async def look(tx: Tx, rule: Rule) -> News:
    """The balance, and what came to it since the rule last looked."""
    row = await tx.fetchrow(LOOK, rule.env.merchant_id, rule.env.mode, rule.from_currency, rule.seen_version)
    return News() if row is None else News(row["balance"], row["version"], row["paid"], row["grew"])


async def note(tx: Tx, rule: Rule, seen_version: int, waiting_minor: int, runs: int, retry_at: datetime | None) -> None:
    """Keep how far a rule has come."""
    await tx.execute(NOTE, rule.env.merchant_id, rule.env.mode, rule.id, seen_version, waiting_minor, runs, retry_at)


def _facts(rule: Rule) -> tuple[object, ...]:
    return (
        rule.from_currency,
        rule.to_currency,
        rule.trigger,
        rule.threshold_minor,
        rule.percent,
        rule.enabled,
        rule.webhook_url,
    )


def _rule(row: Row) -> Rule:
    facts = dict(row)
    return Rule(
        env=MerchantEnv(MerchantId(facts.pop("merchant_id")), facts.pop("mode")),
        created_by=CreatedBy(facts.pop("created_by_type"), facts.pop("created_by_client_id")),
        **facts,
    )
