"""SQL of a merchant's export and erasure. Each statement of the export reads one table by the merchant, without secrets.

Left out are hashes and ciphertexts, tokens of checkout pages, what only the program uses, and what names operators.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tollhouse.platform.database.pool import Row, Tx

MERCHANT = """
    SELECT id, business_name, legal_name, address_line1, address_line2, postal_code, city, country, tax_id, register_entry,
           time_zone, suspended_at, created_at, second_factors_required_at
    FROM merchants WHERE id = $1
"""
USERS = """
    SELECT u.id, u.email, m.role, m.created_at AS member_since, m.removed_at, u.language, u.created_at, u.verified_at,
           u.password_changed_at
    FROM members m JOIN users u ON u.id = m.user_id WHERE m.merchant_id = $1 ORDER BY m.created_at, u.id
"""
SUPPORT_REFUND_LIMITS = "SELECT currency, amount_minor FROM support_refund_limits WHERE merchant_id = $1 ORDER BY currency"
SECOND_MEMBER_RULES = """
    SELECT currency, above_minor, set_by, set_at, change_by, change_at, change_above_minor, confirmed_by, confirmed_at
    FROM second_member_rules WHERE merchant_id = $1 ORDER BY currency
"""
INVITATIONS = """
    SELECT id, email, role, invited_by, created_at, expires_at, ended_at, accepted_by
    FROM invitations WHERE merchant_id = $1 ORDER BY created_at, id
"""
SAVED_FILTERS = """
    SELECT f.id, f.user_id, f.mode, f.list_name, f.name, f.query, f.created_at
    FROM members m JOIN saved_filters f ON f.user_id = m.user_id WHERE m.merchant_id = $1
"""
SETTINGS = """
    SELECT mode, default_currency, payment_methods, link_expiry_minutes, underpayment_tolerance_bps, overpayment,
           late_payments, late_monitoring_days, success_url, cancel_url, branding, confirmations, updated_at,
           additional_currencies, settlement
    FROM merchant_settings WHERE merchant_id = $1
"""
LOGOS = """
    SELECT media_type, width, height, translate(encode(content, 'base64'), E'\\n', '') AS content_base64, created_at
    FROM logos WHERE merchant_id = $1
"""
PROJECTS = """
    SELECT id, mode, name, website_url, description, status, rejected_because, pending_changes, changes_rejected_because,
           created_at, updated_at
    FROM projects WHERE merchant_id = $1 ORDER BY created_at, id
"""
API_KEYS = "SELECT id, mode, name, created_at, revoked_at FROM api_keys WHERE merchant_id = $1 ORDER BY created_at, id"
APPLICATIONS = """
    SELECT id, client_type, name, description, website_url, logo_uri, policy_uri, tos_uri, redirect_uris, status,
           created_at, updated_at, revoked_at, suspended_at
    FROM oauth_clients WHERE merchant_id = $1 ORDER BY created_at, id
"""
GRANTS = """
    SELECT id, client_id, mode, created_at, expires_at, revoked_at, revoked_because FROM oauth_grants
    WHERE merchant_id = $1 ORDER BY created_at, id
"""
APPLICATION_REPORTS = """
    SELECT id, client_id, reason, created_at FROM application_reports WHERE merchant_id = $1 ORDER BY created_at, id
"""
PROPOSALS = """
    SELECT id, mode, grant_id, api_key_id, operation, body, amount_minor, currency, status, result_id, error, created_at,
           expires_at, ended_at
    FROM proposals WHERE merchant_id = $1 ORDER BY created_at, id
"""
NOTIFICATIONS = """
    SELECT id, mode, kind, event, subject, facts, created_at FROM notifications
    WHERE merchant_id = $1 AND user_id IS NULL ORDER BY created_at, id
"""
PAYMENT_LINKS = """
    SELECT id, mode, status, project_id, display_name, description, amount_minor, currency, tax_lines, line_items,
           quantity_min, quantity_max, customer_amount_min, customer_amount_max, customer_amount_preset, external_id,
           metadata, payment_method_ids, success_url, cancel_url, webhook_url, customer_email, max_payments,
           payments_count, amount_paid_minor, created_by_type, created_by_client_id, created_at, updated_at, expires_at,
           completed_at, canceled_at
    FROM payment_links WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
CUSTOMER_NOTES = """
    SELECT n.id, n.mode, n.customer_key AS customer, n.note, u.email AS author, n.created_at
    FROM customer_notes n LEFT JOIN users u ON u.id = n.author_id
    WHERE n.merchant_id = $1 ORDER BY n.mode, n.created_at, n.id
"""
TRANSACTIONS = """
    SELECT id, mode, payment_link_id, status, method_id, rail_reference, currency, amount_minor, quantity, received_minor,
           credited_minor, unapplied_minor, fee_minor, refunded_minor, charged_back_minor, failure_code,
           refund_required_reason, late, payer_language, created_at, updated_at, succeeded_at
    FROM transactions WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
STEPS = """
    SELECT s.transaction_id, s.version, s.status, s.detail, s.at
    FROM transactions t JOIN transaction_steps s ON s.transaction_id = t.id
    WHERE t.merchant_id = $1 ORDER BY s.transaction_id, s.version
"""
REFUNDS = """
    SELECT id, mode, transaction_id, status, reason, currency, amount_minor, receiver, failure_code, external_id, metadata,
           created_at, updated_at
    FROM refunds WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
CHARGEBACKS = """
    SELECT id, mode, transaction_id, status, reason, currency, amount_minor, fee_minor, opened_at, closed_at, respond_by,
           response, responded_at, evidence, evidence_saved_at, provider_reference
    FROM chargebacks WHERE merchant_id = $1 ORDER BY mode, opened_at, id
"""
PAYMENT_REVERSALS = """
    SELECT id, mode, transaction_id, status, reason, external_ref, reversal_ref, currency, amount_minor, unapplied_minor,
           charged_back_minor, lost_minor, chargeback_id, reported_at, updated_at
    FROM payment_reversals WHERE merchant_id = $1 ORDER BY mode, reported_at, id
"""
RECEIPTS = """
    SELECT transaction_id, mode, year, number, seller, issued_at FROM receipts
    WHERE merchant_id = $1 ORDER BY mode, year, number
"""
WITHDRAWALS = """
    SELECT id, mode, status, method_id, currency, amount_minor, network_fee_mode, system_fee_minor, network_fee_minor,
           network_paid_minor, debit_minor, receive_minor, receiver, recipient_id, batch_id, provider_fields, tx_hash,
           failure_code, webhook_url, external_id, description, metadata, created_at, updated_at, processing_at, completed_at
    FROM withdrawals WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
WITHDRAWAL_RECIPIENTS = """
    SELECT id, mode, name, method_id, receiver, provider_fields, active_at, created_at FROM withdrawal_recipients
    WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
WITHDRAWAL_BATCHES = """
    SELECT id, mode, description, item_count, created_at FROM withdrawal_batches
    WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
WITHDRAWAL_SCHEDULES = """
    SELECT id, mode, recipient_id, method_id, currency, amount_minor, keep_minor, frequency, day, description, webhook_url,
           status, next_run_at, created_at, updated_at
    FROM withdrawal_schedules WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
WITHDRAWAL_SCHEDULE_RUNS = """
    SELECT schedule_id, due_at, outcome, withdrawal_id, failure_code, at FROM withdrawal_schedule_runs
    WHERE merchant_id = $1 ORDER BY schedule_id, due_at
"""
WITHDRAWAL_SETTINGS = """
    SELECT mode, saved_recipients_only, turns_off_at, updated_at FROM withdrawal_settings WHERE merchant_id = $1
"""
CONVERSIONS = """
    SELECT id, mode, status, from_currency, to_currency, rate, rate_as_of, from_amount_minor, fee_minor, to_amount_minor,
           rule_id, webhook_url, external_id, metadata, created_at
    FROM conversions WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
CONVERSION_RULES = """
    SELECT id, mode, from_currency, to_currency, trigger, threshold_minor, percent, enabled, webhook_url, created_by_type,
           created_by_client_id, created_at, updated_at
    FROM conversion_rules WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
BALANCE_PAYMENTS = """
    SELECT id, mode, client_id, CASE merchant_id WHEN $1 THEN 'payer' ELSE 'receiver' END AS role, status, currency,
           amount_minor, captured_minor, released_minor, refunded_minor, description, external_id, metadata, created_at,
           updated_at, expires_at, resolved_at
    FROM balance_payments WHERE merchant_id = $1 OR owner_id = $1 ORDER BY mode, created_at, id
"""
FULFILLMENTS = """
    SELECT id, mode, project_id, product_id, status, quantity, delivered_quantity, currency, unit_price_minor, cost_minor,
           recipient, failure_code, webhook_url, external_id, metadata, created_at, updated_at, processing_at, completed_at
    FROM fulfillments WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
BALANCES = """
    SELECT id, mode, currency, code AS account, balance, updated_at FROM ledger_accounts
    WHERE merchant_id = $1 ORDER BY mode, currency, code
"""
LEDGER_ENTRIES = """
    SELECT id, account_id, version, mode, currency, account, type, transaction_id, delta, balance_after, created_at
    FROM ledger_entries WHERE merchant_id = $1 ORDER BY account_id, version
"""
LEDGER_HOLDS = """
    SELECT id, mode, currency, source_type, source_id, amount, captured, released, status, created_at, resolved_at
    FROM ledger_holds WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
WEBHOOK_ENDPOINTS = """
    SELECT mode, url, event_types, delivery_disabled_at, created_at, updated_at FROM webhook_environments
    WHERE merchant_id = $1
"""
WEBHOOK_EVENTS = """
    SELECT id, mode, type, source_type, source_id, sequence, status, attempts, delivered_at, created_at FROM webhook_events
    WHERE merchant_id = $1 ORDER BY mode, created_at, id
"""
AUDIT_LINES = """
    SELECT id, created_at, mode, deed AS type, author_kind AS actor_kind, author AS actor, address, subject, name, changed
    FROM audit_lines WHERE merchant_id = $1 ORDER BY created_at, id
"""

TABLES: Mapping[str, str] = {
    "merchant": MERCHANT,
    "users": USERS,
    "support_refund_limits": SUPPORT_REFUND_LIMITS,
    "second_member_rules": SECOND_MEMBER_RULES,
    "invitations": INVITATIONS,
    "saved_filters": SAVED_FILTERS,
    "settings": SETTINGS,
    "logos": LOGOS,
    "projects": PROJECTS,
    "api_keys": API_KEYS,
    "applications": APPLICATIONS,
    "connections": GRANTS,
    "application_reports": APPLICATION_REPORTS,
    "proposals": PROPOSALS,
    "notifications": NOTIFICATIONS,
    "payment_links": PAYMENT_LINKS,
    "customer_notes": CUSTOMER_NOTES,
    "transactions": TRANSACTIONS,
    "transaction_steps": STEPS,
    "refunds": REFUNDS,
    "chargebacks": CHARGEBACKS,
    "payment_reversals": PAYMENT_REVERSALS,
    "receipts": RECEIPTS,
    "withdrawals": WITHDRAWALS,
    "withdrawal_recipients": WITHDRAWAL_RECIPIENTS,
    "withdrawal_batches": WITHDRAWAL_BATCHES,
    "withdrawal_schedules": WITHDRAWAL_SCHEDULES,
    "withdrawal_schedule_runs": WITHDRAWAL_SCHEDULE_RUNS,
    "withdrawal_settings": WITHDRAWAL_SETTINGS,
    "conversions": CONVERSIONS,
    "conversion_rules": CONVERSION_RULES,
    "balance_payments": BALANCE_PAYMENTS,
    "fulfillments": FULFILLMENTS,
    "ledger_accounts": BALANCES,
    "ledger_entries": LEDGER_ENTRIES,
    "ledger_holds": LEDGER_HOLDS,
    "webhook_endpoints": WEBHOOK_ENDPOINTS,
    "webhook_events": WEBHOOK_EVENTS,
    "audit_log": AUDIT_LINES,
}
"""Statements by the name of the file in the export."""
JSON_LINES: Mapping[str, str] = {name: f"SELECT row_to_json(r) AS line FROM ({sql}) AS r" for name, sql in TABLES.items()}
"""The same, each row as one line of JSON."""


# Everything that moves money out of a merchant locks it shared.
LOCK = "SELECT id, suspended_at, closed_at FROM merchants WHERE id = $1 FOR UPDATE"
# A payment that expired can still be paid late for some days.
OBSTACLES = """
    SELECT o.name, count(*) AS rows FROM (
        SELECT 'balances that are not zero' AS name FROM ledger_accounts
        WHERE merchant_id = $1 AND mode = 'live' AND balance <> 0
        UNION ALL SELECT 'active holds' FROM ledger_holds WHERE merchant_id = $1 AND mode = 'live' AND status = 'active'
        UNION ALL SELECT 'unfinished payments' FROM transactions
        WHERE merchant_id = $1 AND mode = 'live' AND status IN ('pending', 'processing', 'refund_required')
        UNION ALL SELECT 'expired payments that can still arrive' FROM transactions
        WHERE merchant_id = $1 AND mode = 'live' AND status = 'expired'
          AND updated_at > $2::timestamptz - make_interval(days => coalesce((
              SELECT s.late_monitoring_days FROM merchant_settings s WHERE s.merchant_id = $1 AND s.mode = 'live'), $3::int))
        UNION ALL SELECT 'unfinished refunds' FROM refunds
        WHERE merchant_id = $1 AND mode = 'live' AND status NOT IN ('succeeded', 'failed', 'canceled')
        UNION ALL SELECT 'open chargebacks' FROM chargebacks WHERE merchant_id = $1 AND mode = 'live' AND status = 'open'
        UNION ALL SELECT 'unfinished withdrawals' FROM withdrawals
        WHERE merchant_id = $1 AND mode = 'live' AND status NOT IN ('completed', 'failed', 'canceled')
        UNION ALL SELECT 'transfers that wait' FROM outgoing_transfers
        WHERE merchant_id = $1 AND mode = 'live' AND closed_at IS NULL
        UNION ALL SELECT 'payouts at the bank' FROM bank_payouts
        WHERE merchant_id = $1 AND status IN ('prepared', 'exported')
        UNION ALL SELECT 'reserved balance payments' FROM balance_payments
        WHERE (merchant_id = $1 OR owner_id = $1) AND mode = 'live' AND status = 'reserved'
        UNION ALL SELECT 'unfinished fulfillments' FROM fulfillments
        WHERE merchant_id = $1 AND mode = 'live' AND status IN ('pending', 'processing')) AS o
    GROUP BY o.name ORDER BY o.name
"""
PEOPLE = """
    SELECT u.id, u.email, NOT EXISTS (
        SELECT FROM members o WHERE o.user_id = u.id AND o.merchant_id <> $1 AND o.removed_at IS NULL) AS only_here
    FROM members m JOIN users u ON u.id = m.user_id WHERE m.merchant_id = $1 ORDER BY m.created_at, u.id
"""


class Obstacle(NamedTuple):
    """What must end first, and how many there are."""

    name: str
    rows: int


async def lock(tx: Tx, merchant_id: UUID) -> Row | None:
    """Lock a merchant. Returns `suspended_at` and `closed_at`; None if there is no such merchant."""
    return await tx.fetchrow(LOCK, merchant_id)


async def list_obstacles(tx: Tx, merchant_id: UUID, now: datetime, late_days: int) -> list[Obstacle]:
    """What must end before the merchant is erased. `late_days` counts for merchants without settings of their own."""
    return [Obstacle(row["name"], row["rows"]) for row in await tx.fetch(OBSTACLES, merchant_id, now, late_days)]


async def list_users(tx: Tx, merchant_id: UUID) -> list[Row]:
    """The people of a merchant, also those who left (`id`, `email`), and whether they belong to no other (`only_here`)."""
    return list(await tx.fetch(PEOPLE, merchant_id))
