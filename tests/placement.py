"""Where each table would stand if merchants were divided among database nodes, as Citus does it: made from `schema.sql`.

A table is distributed by merchant, a reference (a copy on every node), or local (on one node). A row without `merchant_id`
that belongs to a merchant stands where its parent stands, and would get the column.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE public\.(\w+) \((.*?)\n\)", re.DOTALL)
MERCHANT = re.compile(r"^\s+merchant_id uuid", re.MULTILINE)
KEY = re.compile(r"ALTER TABLE (?:ONLY )?public\.(\w+)\s+ADD CONSTRAINT \w+ (?:PRIMARY KEY|UNIQUE)[^(]*\(([^)]*)\)")
INDEX = re.compile(r"CREATE UNIQUE INDEX \w+ ON (?:ONLY )?public\.(\w+) USING btree \((.*?)\)(?: INCLUDE| WHERE| NULLS|;)")
OWNED: Mapping[str, str] = {
    "api_key_activity": "api_keys",
    "backup_codes": "users",
    "chargeback_notes": "chargebacks",
    "known_devices": "users",
    "ledger_postings": "ledger_transactions",
    "ledger_transaction_applications": "ledger_transactions",
    "ledger_transactions": "transactions",
    "oauth_access_tokens": "oauth_grants",
    "oauth_grant_activity": "oauth_grants",
    "running_totals": "running_series",
    "saved_filters": "users",
    "second_factors": "users",
    "sessions": "users",
    "transaction_steps": "transactions",
    "webhook_attempts": "webhook_events",
    "webhook_event_keys": "webhook_events",
}
"""Tables whose rows belong to a merchant by their parent."""
REFERENCE = {
    "conversion_prices",
    "currency_scales",
    "merchants",
    "oauth_clients",
    "oauth_grant_cutoffs",
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
    "bank_import_entries",
    "bank_import_pieces",
    "bank_import_statements",
    "bank_imports",
    "bank_payouts",
    "bank_reports",
    "bank_statements",
    "check_state",
    "conversion_positions",
    "database_identity",
    "failed_attempts",
    "hash_chain_blocks",
    "invariant_watch",
    "ledger_daily_totals",
    "ledger_daily_totals_state",
    "mails",
    "operator_actions",
    "operator_sessions",
    "operators",
    "outgoing_transfers",
    "payout_pauses",
    "rail_observations",
    "row_digests",
    "schema_migrations",
    "secret_keys",
    "worker_signs",
}
"""Of the instance as a whole: what operators, its bank account and its workers have."""


class Placement(Struct, frozen=True):
    """Where a table stands (`distributed`, `reference` or `local`), its parent, and its keys without the merchant."""

    table: str
    place: str
    parent: str
    keys: tuple[str, ...]


def placements(schema: str) -> Iterator[Placement]:
    """Every table of the schema. Raises `ValueError` for one that nobody has placed."""
    keys: dict[str, list[str]] = {}
    for table, columns in (*KEY.findall(schema), *INDEX.findall(schema)):
        if "merchant_id" not in columns:
            keys.setdefault(table, []).append(columns.replace('"', ""))
    for table, body in sorted(TABLE.findall(schema)):
        place = _place(table, has_merchant=MERCHANT.search(body) is not None)
        yield Placement(table, place, OWNED.get(table, ""), tuple(keys.get(table, ())) if place == "distributed" else ())


def _place(table: str, *, has_merchant: bool) -> str:
    if table in REFERENCE:
        return "reference"
    if table in LOCAL:
        return "local"
    if has_merchant or table in OWNED:
        return "distributed"
    raise ValueError(f"{table} has no merchant_id: add one, or place the table in tests/placement.py")


def report(schema: str) -> str:
    """The tables as aligned lines."""
    rows = [("table", "place", "by its parent", "keys without merchant_id")]
    rows += [(one.table, one.place, one.parent, "; ".join(f"({key})" for key in one.keys)) for one in placements(schema)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"
