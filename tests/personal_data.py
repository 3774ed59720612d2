"""Columns that can hold personal data: `docs/personal-data.md` lists them, this file those of the other text columns.

A column is personal if its values can name or describe a person: names, addresses, accounts, free text, bodies.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "personal-data.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \|", re.MULTILINE)
TABLE = re.compile(r"CREATE (?:UNLOGGED )?TABLE public\.(\w+) \((.*?)\n\)", re.DOTALL)
COLUMN = re.compile(r'^ +"?(\w+)"? (?:text|jsonb?|bytea|inet|cidr|xml|character)\b', re.MULTILINE)
CODES = """
    cancel_url challenge client_id created_by_client_id created_by_type currency failure_code from_currency id_hash
    key_hash key_id kind mac_key_id method_id mode network_fee_mode outcome provider_reference rail redirect_uri resource
    revoked_because settlement side source_type status success_url to_currency trigger type webhook_url
"""
"""Codes, settings of applications and hashes, whatever the table."""
NOT_PERSONAL: Mapping[str, str] = {
    "api_keys": "hint limits",
    "api_requests": "method error credential",
    "audit_lines": "deed author_kind",
    "bank_accounts": "iban",
    "bank_announcements": "identity iban",
    "bank_batches": "iban bic",
    "bank_entries": "identity batch_reference bank_reference",
    "bank_entry_parts": "reference end_to_end_id return_reason",
    "bank_fetches": "error",
    "bank_import_statements": "iban name",
    "bank_imports": "because",
    "bank_reports": "message_id reason",
    "bank_sendings": "error",
    "bank_statements": "iban statement_id digest",
    "chain_deposits": "address currency tx_hash block_hash reported_block_hash reversal_ref",
    "bitcoin_batch_coins": "txid",
    "bitcoin_batches": "reason txid",
    "bitcoin_outputs": "address txid",
    "bitcoin_payouts": "txid",
    "bitcoin_transactions": "psbt raw txid",
    "chain_payout_health": "currencies_down facts reason",
    "chain_payouts": "contract fee_currency reason waits_for wallet block_hash tx_hash",
    "chain_transactions": "raw tx_hash",
    "chain_wallets": "address",
    "chargebacks": "reason response",
    "check_state": "again_kind",
    "conversion_prices": "source",
    "currency_scales": "code",
    "database_identity": "identity",
    "deposit_addresses": "address",
    "fulfillments": "product_id server",
    "hash_chain_blocks": "hash public_key signature",
    "idempotency_keys": "fingerprint",
    "incoming_transfers": "transfer_ref",
    "invariant_watch": "broken failure",
    "invitations": "role",
    "ledger_accounts": "code normal_side",
    "ledger_daily_totals": "debit_code credit_code",
    "ledger_entries": "account",
    "ledger_transaction_applications": "oauth_client_id",
    "ledger_release_kinds": "source_type released_by",
    "limit_uses": "spender",
    "logos": "digest media_type",
    "mail_kinds": "about",
    "mails": "about error occasion",
    "notification_preferences": "mail",
    "notifications": "event occasion subject",
    "members": "role",
    "merchant_settings": "default_currency payment_methods overpayment late_payments confirmations additional_currencies",
    "merchants": "time_zone",
    "oauth_access_tokens": "dpop_jkt token_hash",
    "oauth_clients": "document_url id client_type connection_webhook_url grant_types redirect_uris secret_hash secret_hint "
    "jwks jwks_uri token_endpoint_auth_method",
    "oauth_codes": "code_hash dpop_jkt limits",
    "oauth_documents": "url body",
    "oauth_grants": "dpop_jkt refresh_hash limits",
    "oauth_refresh_retries": "request_hash token_hash encrypted_tokens",
    "oauth_requests": "dpop_jkt limits state decision device_code_hash user_code",
    "operator_action_kinds": "action",
    "operator_actions": "action",
    "operator_approvals": "terms",
    "outgoing_transfers": "review",
    "passkeys": "holder_kind rp_id transports",
    "payment_links": "token payment_method_ids tax_lines line_items",
    "payout_pauses": "cause",
    "price_feed": "error",
    "price_rejections": "reason",
    "provider_balance_transactions": "external_id category source payment_intent posted_currency",
    "provider_events": "event_id object_id",
    "rail_balances": "facts",
    "rail_cursors": "cursor",
    "rail_health": "facts reason",
    "rail_measurements": "failure",
    "payment_reversals": "external_ref reversal_ref reason",
    "rail_observations": "external_ref",
    "receipt_mails": "requested_by",
    "proposals": "operation",
    "refunds": "reason",
    "row_digests": "digest",
    "running_series": "measure",
    "saved_filters": "list_name",
    "schema_migrations": "name digest",
    "scope_bits": "scope",
    "secret_keys": "check_value",
    "state_transitions": "record from_status to_status",
    "transaction_steps": "detail",
    "transactions": "method_type rail_reference instructions refund_required_reason price_currency rate_source",
    "used_jtis": "jti_hash",
    "webhook_attempts": "error",
    "webhook_deliveries": "sending",
    "webhook_environments": "url event_types",
    "webhook_events": "destination_url destination_source",
    "webhook_redelivery_runs": "ended_because",
    "webhook_replays": "url error",
    "webhook_secrets": "state nonce ciphertext",
    "withdrawal_schedules": "frequency status",
    "withdrawals": "submission tx_hash",
    "worker_signs": "host version",
}
"""By table: what else names nobody."""


def listed() -> set[tuple[str, str]]:
    """The personal columns, as table and column, of the document."""
    return {(table, name) for table, names in ROW.findall(DOCUMENT.read_text()) for name in re.findall(r"`(\w+)`", names)}


def columns(schema: str) -> Iterator[tuple[str, str]]:
    """Every column of the schema that can hold a text, as table and column."""
    for table, body in TABLE.findall(schema):
        yield from ((table, name) for name in COLUMN.findall(body))


def is_technical(table: str, name: str) -> bool:
    """Whether the column is known to name nobody."""
    return name in CODES.split() or name in NOT_PERSONAL.get(table, "").split()
