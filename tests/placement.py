"""Where each table would stand if merchants were divided among database nodes, as Citus does it: made from `schema.sql`.

A table is distributed by merchant, a reference (a copy on every node), or local (on one node). A row without `merchant_id`
that belongs to a merchant stands where its parent stands, and would get the column.

A node can keep a key unique and verify a foreign key only if both contain `merchant_id`, or if the referenced table is a
reference. Those that do not are listed here with what would become of them: decision 0090. No new one may be added.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE public\.(\w+) \((.*?)\n\)", re.DOTALL)
MERCHANT = re.compile(r"^\s+merchant_id uuid", re.MULTILINE)
KEY = re.compile(r"ALTER TABLE (?:ONLY )?public\.(\w+)\s+ADD CONSTRAINT \w+ (?:PRIMARY KEY|UNIQUE)[^(]*\(([^)]*)\)")
INDEX = re.compile(r"CREATE UNIQUE INDEX \w+ ON (?:ONLY )?public\.(\w+) USING btree \((.*?)\)(?: INCLUDE| WHERE| NULLS|;)")
FOREIGN_KEY = re.compile(
    r"ALTER TABLE (?:ONLY )?public\.(\w+)\s+ADD CONSTRAINT \w+ FOREIGN KEY \(([^)]*)\) REFERENCES public\.(\w+)"
)
OWNED: Mapping[str, str] = {
    "address_changes": "users",
    "api_key_activity": "api_keys",
    "backup_codes": "users",
    "chargeback_notes": "chargebacks",
    "known_devices": "users",
    "ledger_postings": "ledger_transactions",
    "ledger_transaction_applications": "ledger_transactions",
    "ledger_transactions": "transactions",
    "oauth_access_tokens": "oauth_grants",
    "oauth_grant_activity": "oauth_grants",
    "oauth_refresh_retries": "oauth_grants",
    "passkeys": "users",
    "row_digests": "ledger_transactions",
    "running_totals": "running_series",
    "saved_filters": "users",
    "second_factors": "users",
    "sessions": "users",
    "transaction_steps": "transactions",
    "webhook_attempts": "webhook_events",
    "webhook_event_keys": "webhook_events",
    "webhook_positions": "webhook_feeds",
}
"""Tables whose rows belong to a merchant by their parent."""
REFERENCE = {
    "conversion_prices",
    "currency_scales",
    "ledger_release_kinds",
    "mail_kinds",
    "merchants",
    "oauth_clients",
    "oauth_grant_cutoffs",
    "operator_action_kinds",
    "price_rejections",
    "scope_bits",
    "state_transitions",
}
"""Small, written rarely, joined by statements about any merchant. Applications belong to one merchant and serve others."""
LOCAL = {
    "bank_accounts",
    "bank_announcements",
    "bank_batches",
    "bank_entries",
    "bank_entry_parts",
    "bank_fetches",
    "bank_import_entries",
    "bank_import_pieces",
    "bank_import_statements",
    "bank_imports",
    "bank_payouts",
    "bank_reports",
    "bank_sendings",
    "bank_statements",
    "bitcoin_batch_coins",
    "bitcoin_batch_payouts",
    "bitcoin_batches",
    "bitcoin_outputs",
    "bitcoin_payouts",
    "bitcoin_transactions",
    "chain_deposits",
    "chain_payout_health",
    "chain_payouts",
    "chain_transactions",
    "chain_wallets",
    "check_state",
    "conversion_positions",
    "data_subject_requests",
    "database_identity",
    "deposit_addresses",
    "failed_attempts",
    "hash_chain_blocks",
    "invariant_watch",
    "ledger_daily_totals",
    "ledger_daily_totals_state",
    "mails",
    "oauth_documents",
    "operator_actions",
    "operator_approvals",
    "operator_sessions",
    "operators",
    "payout_pauses",
    "price_feed",
    "provider_balance_cursors",
    "provider_balance_transactions",
    "provider_events",
    "rail_balances",
    "rail_cursors",
    "rail_floats",
    "rail_health",
    "rail_measurements",
    "schema_migrations",
    "secret_keys",
    "used_jtis",
    "worker_signs",
}
"""Of the instance as a whole: what operators, its bank account and its workers have."""


APPEND = {
    "api_keys (id)",
    "balance_payments (hold_id)",
    "chargebacks (id)",
    "conversion_quotes (id)",
    "conversion_rules (id)",
    "conversions (id)",
    "conversions (quote_id)",
    "conversions (rule_id, rule_step)",
    "fulfillments (hold_id)",
    "ledger_accounts (id)",
    "ledger_accounts (id, currency, mode)",
    "ledger_accounts (owner, mode, currency, code)",
    "ledger_entries (account_id, version)",
    "ledger_entries (id)",
    "ledger_holds (id)",
    "ledger_holds (source_type, source_id)",
    "oauth_grants (id)",
    "outgoing_transfers (id)",
    "projects (id)",
    "receipt_mails (transaction_id)",
    "receipt_mails (transaction_id, ordinal)",
    "receipts (transaction_id)",
    "refunds (hold_id)",
    "running_series (id)",
    "sandbox_plans (id)",
    "transactions (id)",
    "users (id)",
    "webhook_deliveries (event_id)",
    "webhook_deliveries_later (event_id)",
    "webhook_event_statuses (event_id)",
    "webhook_events (id)",
    "webhook_failures (event_id)",
    "webhook_feeds (number)",
    "webhook_redelivery_runs (id)",
    "withdrawal_quotes (id)",
    "withdrawals (hold_id)",
    "withdrawals (quote_id)",
}
"""Keys that get the merchant as their last column. It is in the row, and the other columns already make the row unique."""
LOOKUP = {
    "api_keys (key_hash)",
    "oauth_access_tokens (token_hash, expires_at)",
    "oauth_codes (code_hash)",
    "oauth_requests (device_code_hash)",
    "oauth_requests (id_hash)",
    "oauth_requests (user_code)",
    "passkeys (credential_id)",
    "payment_links (token)",
    "rail_observations (rail, mode, external_ref, outcome, confirmations)",
    "sessions (id_hash)",
    "transactions (rail, mode, rail_reference)",
    "users (email_key)",
}
"""Keys that callers or rails send without a merchant: a table that is divided by the key itself says whose it is."""
FOREIGN_KEYS = {
    "address_changes (user_id) users",
    "api_key_activity (api_key_id) api_keys",
    "balance_payments (hold_id) ledger_holds",
    "bank_payouts (id, kind, merchant_id, mode, currency, amount_minor) outgoing_transfers",
    "bitcoin_payouts (id) outgoing_transfers",
    "chain_payouts (transfer_id) outgoing_transfers",
    "chargeback_notes (chargeback_id) chargebacks",
    "fulfillments (hold_id) ledger_holds",
    "known_devices (user_id) users",
    "ledger_entries (account_id, currency, mode) ledger_accounts",
    "ledger_entries (transaction_id, line) ledger_postings",
    "ledger_postings (credit_account_id, currency, mode) ledger_accounts",
    "ledger_postings (debit_account_id, currency, mode) ledger_accounts",
    "ledger_postings (transaction_id, mode) ledger_transactions",
    "ledger_transaction_applications (transaction_id, mode) ledger_transactions",
    "mails (user_id) users",
    "members (user_id) users",
    "refunds (hold_id) ledger_holds",
    "refunds (id) outgoing_transfers",
    "running_totals (series_id) running_series",
    "saved_filters (user_id) users",
    "sessions (user_id) users",
    "transaction_steps (transaction_id) transactions",
    "withdrawals (hold_id) ledger_holds",
    "withdrawals (id) outgoing_transfers",
}
"""Foreign keys without the merchant, or between a distributed and a local table."""


class KeyWithoutMerchant(Struct, frozen=True):
    """A key without the merchant, and its change: `append`, `column` (add it to the row first) or `lookup`."""

    columns: str
    change: str


class Placement(Struct, frozen=True):
    """Where a table stands (`distributed`, `reference` or `local`), its parent, and what does not contain the merchant."""

    table: str
    place: str
    parent: str
    keys: tuple[KeyWithoutMerchant, ...]
    foreign_keys: tuple[str, ...]


def placements(schema: str) -> Iterator[Placement]:
    """Every table of the schema. Raises `ValueError` for a table that is not placed, and for a key that is not listed."""
    places = {
        table: _place(table, has_merchant=MERCHANT.search(body) is not None) for table, body in sorted(TABLE.findall(schema))
    }
    keys: dict[str, list[KeyWithoutMerchant]] = {}
    for table, columns in (*KEY.findall(schema), *INDEX.findall(schema)):
        if "merchant_id" not in columns and places[table] == "distributed":
            keys.setdefault(table, []).append(_key(table, columns.replace('"', "")))
    foreign_keys: dict[str, list[str]] = {}
    for table, columns, parent in FOREIGN_KEY.findall(schema):
        if not _holds(places[table], places[parent], columns):
            foreign_keys.setdefault(table, []).append(_foreign_key(table, columns, parent))
    for table, place in places.items():
        yield Placement(table, place, OWNED.get(table, ""), tuple(keys.get(table, ())), tuple(foreign_keys.get(table, ())))


def _place(table: str, *, has_merchant: bool) -> str:
    if table in REFERENCE:
        return "reference"
    if table in LOCAL:
        return "local"
    if has_merchant or table in OWNED:
        return "distributed"
    raise ValueError(f"{table} has no merchant_id: add one, or place the table in tests/placement.py")


def _key(table: str, columns: str) -> KeyWithoutMerchant:
    name = f"{table} ({columns})"
    if name in LOOKUP:
        return KeyWithoutMerchant(columns, "lookup")
    if table in OWNED:
        return KeyWithoutMerchant(columns, "column")
    if name in APPEND:
        return KeyWithoutMerchant(columns, "append")
    raise ValueError(f"the key {name} has no merchant_id: add it")


def _holds(place: str, parent_place: str, columns: str) -> bool:
    if place == parent_place == "distributed":
        return "merchant_id" in columns
    return parent_place in {place, "reference"}


def _foreign_key(table: str, columns: str, parent: str) -> str:
    if f"{table} ({columns}) {parent}" not in FOREIGN_KEYS:
        raise ValueError(f"the foreign key {table} ({columns}) to {parent} would not hold between nodes")
    return f"({columns}) {parent}"


def report(schema: str) -> str:
    """The tables as aligned lines."""
    rows = [("table", "place", "by its parent", "keys without merchant_id", "foreign keys that a node could not verify")]
    rows += [
        (table.table, table.place, table.parent, "; ".join(f"({key.columns}) {key.change}" for key in table.keys),
         "; ".join(table.foreign_keys))
        for table in placements(schema)
    ]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"
