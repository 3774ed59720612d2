"""SQL that reads what is kept about a person, without secrets, and records exports and erasures.

A user is found by `email_key`; a customer by the address of a payment link, and everything else of the customer by the link.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from tollhouse.platform.database.pool import Pool, Row, Tx

ADDRESSES_AT_ONCE = 5_000

USERS = """
    SELECT id, email, language, dashboard_mode, created_at, verified_at, password_changed_at, password_reset_at
    FROM users WHERE email_key = $1
"""
# Of a user, by `$1`, the id.
SESSIONS = """
    SELECT created_at, last_seen_at, expires_at, ended_at, user_agent, address FROM sessions
    WHERE user_id = $1 ORDER BY created_at
"""
KNOWN_DEVICES = "SELECT last_seen_at FROM known_devices WHERE user_id = $1 ORDER BY last_seen_at"
ADDRESS_CHANGES = """
    SELECT old_email, new_email, requested_at, withdrawn_at, confirmed_at, undone_at FROM address_changes
    WHERE user_id = $1 ORDER BY requested_at
"""
SECOND_FACTORS = "SELECT created_at, confirmed_at FROM second_factors WHERE holder_id = $1"
BACKUP_CODES = "SELECT used_at FROM backup_codes WHERE holder_id = $1 ORDER BY used_at"
PASSKEYS = "SELECT name, rp_id, backed_up, created_at, last_used_at FROM passkeys WHERE holder_id = $1 ORDER BY created_at"
SAVED_FILTERS = """
    SELECT mode, list_name, name, query, created_at FROM saved_filters WHERE user_id = $1 ORDER BY created_at, id
"""
AUDIT_LINES = """
    SELECT a.created_at, a.mode, a.deed, a.address, a.subject, a.name, a.changed
    FROM members m
    JOIN audit_lines a ON a.merchant_id = m.merchant_id AND a.author_kind = 'person' AND a.author = m.user_id::text
    WHERE m.user_id = $1 ORDER BY a.created_at, a.id
"""
MERCHANTS = """
    SELECT c.id, c.business_name, m.role, m.created_at, m.removed_at FROM members m JOIN merchants c ON c.id = m.merchant_id
    WHERE m.user_id = $1 ORDER BY m.created_at, c.id
"""
MAILS_OF_USER = """
    SELECT about, recipient, language, facts, created_at, sent_at, shown_at, given_up_at FROM mails
    WHERE user_id = $1 ORDER BY created_at, id
"""
NOTIFICATIONS_OF_USER = """
    SELECT n.event, n.mode, n.facts, n.created_at FROM members m
    JOIN notifications n ON n.merchant_id = m.merchant_id AND n.user_id = m.user_id
    WHERE m.user_id = $1 ORDER BY n.created_at, n.id
"""
NOTIFICATION_PREFERENCES = """
    SELECT p.merchant_id, p.kind, p.mail FROM members m
    JOIN notification_preferences p ON p.merchant_id = m.merchant_id AND p.user_id = m.user_id
    WHERE m.user_id = $1 ORDER BY p.merchant_id, p.kind
"""
# Of an address, by `$1` as it was typed.
MAILS = """
    SELECT about, recipient, language, facts, created_at, sent_at, shown_at, given_up_at FROM mails
    WHERE lower(recipient) = lower($1) AND user_id IS NULL ORDER BY created_at, id
"""
# By the rule of `payments.customers`: as long as a link or a note has the address.
CUSTOMER_NOTES = """
    SELECT n.id, m.business_name AS merchant, n.mode, n.note, n.created_at
    FROM merchants m
    CROSS JOIN (VALUES ('live'), ('test')) AS modes (mode)
    JOIN customer_notes n ON n.merchant_id = m.id AND n.mode = modes.mode AND n.customer_key = customer_key($1, NULL)
    ORDER BY n.created_at, n.id
"""
INVITATIONS = """
    SELECT m.business_name AS merchant, i.email, i.role, i.created_at, i.expires_at, i.ended_at
    FROM invitations i JOIN merchants m ON m.id = i.merchant_id WHERE i.email_key = lower($1) ORDER BY i.created_at, i.id
"""
# Of users who have another address now. That one is not named: an address can have come to somebody else, or was mistyped.
ADDRESS_CHANGES_OF_ADDRESS = """
    SELECT CASE WHEN c.old_key = lower($1) THEN c.old_email END AS old_email,
           CASE WHEN c.new_key = lower($1) THEN c.new_email END AS new_email,
           c.requested_at, c.withdrawn_at, c.confirmed_at, c.undone_at
    FROM address_changes c JOIN users u ON u.id = c.user_id
    WHERE lower($1) IN (c.old_key, c.new_key) AND u.email_key <> lower($1) ORDER BY c.requested_at, c.id
"""
OPERATORS = "SELECT id, email, created_at, closed_at FROM operators WHERE lower(email_key) = lower($1)"
OPERATOR_ACTIONS = """
    SELECT id, at, action, merchant_id, mode FROM operator_actions WHERE lower(operator) = lower($1) ORDER BY at, id
"""
# By the index on merchant, mode and address.
PAYMENT_LINKS = """
    SELECT l.id, m.business_name AS merchant, l.mode, l.status, l.display_name, l.description, l.amount_minor, l.currency,
           l.tax_lines, l.line_items, l.external_id, l.metadata, l.customer_email, l.max_payments, l.created_at,
           l.expires_at, l.completed_at, l.canceled_at
    FROM merchants m
    CROSS JOIN (VALUES ('live'), ('test')) AS modes (mode)
    JOIN payment_links l ON l.merchant_id = m.id AND l.mode = modes.mode AND lower(l.customer_email) = lower($1)
    ORDER BY l.created_at, l.id
"""
# Of payment links, by `$1`, their ids.
TRANSACTIONS = """
    SELECT id, payment_link_id, mode, status, method_id, currency, amount_minor, quantity, received_minor, refunded_minor,
           payer_language, created_at, succeeded_at
    FROM transactions WHERE payment_link_id = ANY ($1::uuid[]) ORDER BY created_at, id
"""
RECEIPTS = """
    SELECT r.transaction_id, r.year, r.number, r.issued_at
    FROM transactions t JOIN receipts r ON r.transaction_id = t.id
    WHERE t.payment_link_id = ANY ($1::uuid[]) ORDER BY r.issued_at, r.transaction_id
"""
RECEIPT_MAILS = """
    SELECT m.transaction_id, m.requested_by, m.requested_at, m.handled_at, m.withheld
    FROM transactions t JOIN receipt_mails m ON m.transaction_id = t.id
    WHERE t.payment_link_id = ANY ($1::uuid[]) ORDER BY m.requested_at, m.transaction_id, m.ordinal
"""
REFUNDS = """
    SELECT r.id, r.transaction_id, r.status, r.reason, r.currency, r.amount_minor, r.created_at
    FROM transactions t JOIN refunds r ON r.transaction_id = t.id
    WHERE t.payment_link_id = ANY ($1::uuid[]) ORDER BY r.created_at, r.id
"""
# Nobody but the merchant reads a draft of evidence.
CHARGEBACKS = """
    SELECT c.id, c.transaction_id, c.status, c.reason, c.currency, c.amount_minor, c.opened_at, c.closed_at,
           CASE c.response WHEN 'submitted' THEN c.evidence ELSE '{}' END AS evidence
    FROM transactions t JOIN chargebacks c ON c.transaction_id = t.id
    WHERE t.payment_link_id = ANY ($1::uuid[]) ORDER BY c.opened_at, c.id
"""
WEBHOOK_EVENTS = """
    SELECT e.id, e.type, e.source_id, e.created_at
    FROM (SELECT merchant_id, mode, id FROM payment_links WHERE id = ANY ($1::uuid[])
          UNION ALL SELECT merchant_id, mode, id FROM transactions WHERE payment_link_id = ANY ($1::uuid[])) AS s
    JOIN webhook_events e ON (e.merchant_id, e.mode, e.source_id) = (s.merchant_id, s.mode, s.id)
    ORDER BY e.created_at, e.id
"""
# The accounts that paid or were refunded, which need not be those of the person.
RAIL_OBSERVATIONS = """
    SELECT o.transaction_id, o.at, o.currency, o.amount_minor, o.payer_account, o.payer_name
    FROM transactions t JOIN rail_observations o ON o.transaction_id = t.id
    WHERE t.payment_link_id = ANY ($1::uuid[]) AND (o.payer_account IS NOT NULL OR o.payer_name IS NOT NULL)
    ORDER BY o.at, o.transaction_id
"""
BANK_ENTRY_PARTS = """
    SELECT p.reference, e.booked_on, e.currency, p.amount_minor, p.other_name, p.other_iban, p.other_bic,
           p.other_address, p.words
    FROM transactions t
    JOIN bank_entry_parts p ON p.reference = t.rail_reference AND p.outcome = 'payment'
    JOIN bank_entries e ON e.id = p.entry_id
    WHERE t.payment_link_id = ANY ($1::uuid[]) AND t.rail = 'bank' ORDER BY e.booked_on, p.id
"""
REFUND_RECEIVERS = """
    SELECT r.id, r.receiver FROM transactions t JOIN refunds r ON r.transaction_id = t.id
    WHERE t.payment_link_id = ANY ($1::uuid[]) AND r.receiver IS NOT NULL ORDER BY r.created_at, r.id
"""

OF_USER: Mapping[str, str] = {
    "merchants": MERCHANTS,
    "sessions": SESSIONS,
    "known_devices": KNOWN_DEVICES,
    "address_changes": ADDRESS_CHANGES,
    "second_factors": SECOND_FACTORS,
    "backup_codes": BACKUP_CODES,
    "passkeys": PASSKEYS,
    "saved_filters": SAVED_FILTERS,
    "audit_lines": AUDIT_LINES,
    "mails": MAILS_OF_USER,
    "notifications": NOTIFICATIONS_OF_USER,
    "notification_preferences": NOTIFICATION_PREFERENCES,
}
OF_ADDRESS: Mapping[str, str] = {
    "invitations": INVITATIONS,
    "address_changes": ADDRESS_CHANGES_OF_ADDRESS,
    "mails": MAILS,
    "customer_notes": CUSTOMER_NOTES,
    "operators": OPERATORS,
    "operator_actions": OPERATOR_ACTIONS,
}
OF_LINKS: Mapping[str, str] = {
    "transactions": TRANSACTIONS,
    "receipts": RECEIPTS,
    "receipt_mails": RECEIPT_MAILS,
    "refunds": REFUNDS,
    "chargebacks": CHARGEBACKS,
    "webhook_events": WEBHOOK_EVENTS,
}
ACCOUNTS_OF_LINKS: Mapping[str, str] = {
    "rail_observations": RAIL_OBSERVATIONS,
    "bank_entry_parts": BANK_ENTRY_PARTS,
    "refunds.receiver": REFUND_RECEIVERS,
}
"""Statements by the name of the table in the export."""

INSERT = "INSERT INTO data_subject_requests (id, kind, email_mac, at) VALUES ($1, $2, $3, $4)"
IS_OPERATOR = "SELECT true FROM operators WHERE email_key = $1"
# The merchants before their member: of two erasures that would leave one without owners, the second sees the first.
LOCK_MERCHANTS = """
    SELECT c.id FROM users u JOIN members m ON m.user_id = u.id JOIN merchants c ON c.id = m.merchant_id
    WHERE u.email_key = $1 ORDER BY c.id FOR NO KEY UPDATE OF c
"""
USER = """
    SELECT u.id, (
        SELECT m.merchant_id FROM members m JOIN merchants c ON c.id = m.merchant_id AND c.closed_at IS NULL
        WHERE m.user_id = u.id AND m.role = 'owner' AND m.removed_at IS NULL AND NOT EXISTS (
            SELECT FROM members o WHERE o.merchant_id = m.merchant_id AND o.user_id <> m.user_id AND o.role = 'owner'
              AND o.removed_at IS NULL)
        ORDER BY m.merchant_id LIMIT 1) AS only_owner_of
    FROM users u WHERE u.email_key = $1
"""
ERASURES = "SELECT id, email_mac, at FROM data_subject_requests WHERE kind = 'erasure' ORDER BY at, id"
USER_ADDRESSES = "SELECT email_key AS email FROM users WHERE email_key > $1 ORDER BY email_key LIMIT $2"
MAIL_ADDRESSES = """
    SELECT DISTINCT recipient AS email FROM mails WHERE recipient > $1 ORDER BY recipient LIMIT $2
"""
OTHER_ADDRESSES = """
    SELECT DISTINCT a.email FROM (
        SELECT new_key AS email FROM address_changes WHERE confirmed_at IS NULL
        UNION ALL SELECT email_key FROM invitations) a
    WHERE a.email > $1 ORDER BY a.email LIMIT $2
"""
CUSTOMER_MODES = """
    SELECT m.id, modes.mode FROM merchants m CROSS JOIN (VALUES ('live'), ('test')) AS modes (mode)
    WHERE EXISTS (SELECT FROM payment_links l
                  WHERE l.merchant_id = m.id AND l.mode = modes.mode AND l.customer_email IS NOT NULL)
"""
# In the order of the index.
CUSTOMER_ADDRESSES = """
    SELECT DISTINCT lower(customer_email) AS email FROM payment_links
    WHERE merchant_id = $1 AND mode = $2 AND customer_email IS NOT NULL AND lower(customer_email) ~>~ $3
    ORDER BY lower(customer_email) USING ~<~ LIMIT $4
"""


async def list_of(tx: Tx, statements: Mapping[str, str], value: object) -> dict[str, list[Row]]:
    """The rows of each statement for a user, an address or links, by table."""
    return {table: list(await tx.fetch(sql, value)) for table, sql in statements.items()}


async def find_users(tx: Tx, email_key: str) -> list[Row]:
    """The user with this address, if there is one."""
    return list(await tx.fetch(USERS, email_key))


async def find_links(tx: Tx, email: str) -> list[Row]:
    """The payment links that have this address as the customer's."""
    return list(await tx.fetch(PAYMENT_LINKS, email))


async def insert_request(
    tx: Tx, request_id: UUID, kind: Literal["export", "erasure"], email_mac: bytes, now: datetime
) -> None:
    """Record an export or an erasure."""
    await tx.execute(INSERT, request_id, kind, email_mac, now)


async def is_operator(tx: Tx, email_key: str) -> bool:
    """Whether this is the address of an operator, also of one whose account was closed."""
    return bool(await tx.fetchval(IS_OPERATOR, email_key))


async def lock_user(tx: Tx, email_key: str) -> Row | None:
    """The user with this address (`id`, `only_owner_of`), whose merchants are locked; None if there is none."""
    await tx.fetch(LOCK_MERCHANTS, email_key)
    return await tx.fetchrow(USER, email_key)


async def list_erasures(db: Pool) -> Sequence[Row]:
    """Every erasure (`id`, `email_mac`, `at`), oldest first."""
    return await db.fetch(ERASURES)


async def iterate_addresses(db: Pool) -> AsyncIterator[list[str]]:
    """Every address of users, customers, invitations and emails, in batches; an address can come several times."""
    for sql in (USER_ADDRESSES, MAIL_ADDRESSES, OTHER_ADDRESSES):
        async for found in _pages(db, sql):
            yield found
    for merchant in await db.fetch(CUSTOMER_MODES):
        async for found in _pages(db, CUSTOMER_ADDRESSES, merchant["id"], merchant["mode"]):
            yield found


async def _pages(db: Pool, sql: str, *values: object) -> AsyncIterator[list[str]]:
    last = ""
    while rows := await db.fetch(sql, *values, last, ADDRESSES_AT_ONCE):
        yield [row["email"] for row in rows]
        last = rows[-1]["email"]
