"""Redaction of logged requests: members stay, values that may be secret or personal are replaced by `HIDDEN`.

A value is hidden if its member's name means a secret or personal data. Otherwise it is shown if the name is in `SHOWN`,
or if the value can be neither: booleans, small numbers, words such as a status, ids and times. Anything that looks like a
credential is hidden everywhere, in paths, queries and texts.
"""

import re
from collections.abc import Collection
from typing import Any, cast
from urllib.parse import quote, urlsplit

import msgspec

from tollhouse.http.forms import parse_form
from tollhouse.kernel.errors import InvalidRequest

HIDDEN = "[redacted]"
BODY_BYTES_READ_MAX = 16 * 1024
BODY_CHARS_MAX = 4_000
TEXT_CHARS_MAX = 200
PATH_CHARS_MAX = 300
MEMBERS_MAX = 50
ITEMS_MAX = 20
NESTING_MAX = 4
SECRET = re.compile(r"(?:th_live|th_test|that|thrt|thac|thcs)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/=]{16,}")
SPELT_OUT = ":,/[]"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""Member names that are shown. Keys and tokens are longer."""

SECRET_WORDS = frozenset(
    {
        "auth", "authorization", "challenge", "codes", "cookie", "credential", "credentials", "csrf", "cvc", "cvv", "hash",
        "hint", "key", "keys", "mac", "nonce", "otp", "passcode", "passphrase", "password", "pin", "private", "secret",
        "secrets", "seed", "session", "sig", "signature", "token", "tokens", "totp", "verifier",
    }
)  # fmt: skip
PRIVATE_WORDS = frozenset(
    {
        "account", "address", "bic", "birth", "birthday", "business", "card", "city", "comment", "company", "contact",
        "content", "country", "customer", "data", "description", "email", "external", "field", "fields", "holder", "iban",
        "ip", "label", "mail", "memo", "metadata", "name", "note", "owner", "pan", "payer", "person", "phone", "player",
        "postcode", "receiver", "recipient", "reference", "street", "subject", "tax", "text", "title", "user", "username",
        "value", "zip",
    }
)  # fmt: skip
WORD_BOUNDARY = re.compile(r"[_.\-]|(?<=[a-z0-9])(?=[A-Z])")
VOCABULARY = re.compile(r"[a-z]{1,24}(?:[_.:-][a-z]{1,24}){0,4}")
ID_OR_TIME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z?)?")
NUMBER_MAX = 1_000_000
"""Account, card and telephone numbers are above it."""
SHOWN = frozenset(
    {
        "active", "amount", "amount_paid", "amount_received", "amount_refunded", "attempts", "balance_payment_id",
        "cancelable", "captured", "client_id", "confirmations", "conversion_id", "cost", "count", "created_from",
        "created_to", "currency", "debit", "default_currency", "enabled", "error", "error_description", "event_types",
        "expires_in", "failure_code", "fee", "from_amount", "from_currency", "fulfillment_id", "group_by", "has_more",
        "has_secret", "hold_id", "id", "late_monitoring_days", "limit", "link_expiry_minutes", "livemode", "max_cost",
        "max_payments", "message", "method_id", "method_type", "min_to_amount", "mode", "network", "network_fee",
        "network_fee_mode", "object", "outcome", "overpayment", "page", "payment_link_id", "payment_method_ids",
        "payments_count", "percent", "percent_bps", "product_id", "project_id", "quantity", "quote_id", "rate", "reason",
        "receive", "received", "refundable", "refundable_amount", "refunded", "released", "request_id",
        "required_confirmations", "rule_id", "scope", "seconds", "sequence", "source_id", "source_type", "status", "step",
        "system_fee", "threshold", "to_amount", "to_currency", "transaction_id", "trigger", "type", "unavailable_reason",
        "unit_price", "underpayment_tolerance_bps", "version", "withdrawal_id",
    }
)  # fmt: skip
SUFFIXES = ("_at", "_minor")
ADDRESSES = frozenset({"url", "webhook_url", "success_url", "cancel_url", "website_url", "destination_url"})
"""Only the host of these is kept: paths may contain tokens."""
OPEN = frozenset({"errors", "details"})
"""Error lists, shown completely. Nothing within private members such as `metadata` is."""


def redact_path(path: str) -> str:
    """A path without secrets."""
    return _plain(path, PATH_CHARS_MAX)


def redact_query(raw: bytes, declared: Collection[str]) -> str:
    """A query with its harmless values. Undeclared parameters keep only vocabulary, ids and times."""
    if not raw:
        return ""
    try:
        pairs = parse_form(raw).pairs
    except InvalidRequest:
        return HIDDEN
    redacted = (
        (_name(name), _text(name, value) if name in declared else _of_vocabulary(name, value))
        for name, value in pairs[:ITEMS_MAX]
    )
    return "&".join(f"{name}={quote(value, safe=SPELT_OUT)}" for name, value in redacted)[:PATH_CHARS_MAX]


def redact_body(raw: bytes) -> str | None:
    """A JSON body with all members and its harmless values; None without a body."""
    if not raw:
        return None
    if len(raw) > BODY_BYTES_READ_MAX:
        return f"{len(raw):,} bytes"
    try:
        text = msgspec.json.encode(_redacted(msgspec.json.decode(raw), "", shown=True, depth=0)).decode()
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "no JSON"
    return text if len(text) <= BODY_CHARS_MAX else f"{len(raw):,} bytes"


def _redacted(value: Any, name: str, *, shown: bool, depth: int) -> Any:
    if isinstance(value, dict):
        return _members(
            cast("dict[str, Any]", value), shown=shown and (depth == 0 or name in OPEN or not _private(name)), depth=depth
        )
    if isinstance(value, list):
        items = cast("list[Any]", value)[:ITEMS_MAX]
        return HIDDEN if depth == NESTING_MAX else [_redacted(one, name, shown=shown, depth=depth + 1) for one in items]
    if value is None:
        return None
    if not shown:
        return HIDDEN
    if isinstance(value, str):
        return _field(value) if name == "field" else _text(name, value)
    return value if _harmless(name) or (_is_small(value) and not _private(name)) else HIDDEN


def _is_small(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < NUMBER_MAX)


def _members(values: dict[str, Any], *, shown: bool, depth: int) -> Any:
    if depth == NESTING_MAX:
        return HIDDEN
    members = list(values.items())[:MEMBERS_MAX]
    return {_name(name): _redacted(value, name, shown=shown, depth=depth + 1) for name, value in members}


def _text(name: str, value: str) -> str:
    if name in ADDRESSES:
        return _host(value)
    return _plain(value, TEXT_CHARS_MAX) if _harmless(name) else _of_vocabulary(name, value)


def _of_vocabulary(name: str, value: str) -> str:
    """A vocabulary word, id or time; everything else is hidden."""
    plain = VOCABULARY.fullmatch(value) or ID_OR_TIME.fullmatch(value)
    return value if plain and not _private(name) else HIDDEN


def _private(name: str) -> bool:
    """Whether the name means a secret or personal data."""
    words = {word.lower() for word in WORD_BOUNDARY.split(name)}
    return not NAME.fullmatch(name) or name in ADDRESSES or bool(words & (SECRET_WORDS | PRIVATE_WORDS))


def _harmless(name: str) -> bool:
    return name in SHOWN or name.endswith(SUFFIXES)


def _field(path: str) -> str:
    """The path of a field error, without names that may be secrets."""
    return ".".join(_name(part) for part in path.split(".")[:NESTING_MAX])


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else HIDDEN


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return HIDDEN
    return f"{parts.scheme}://{_plain(host, TEXT_CHARS_MAX)}/…" if parts.scheme in {"http", "https"} and host else HIDDEN


def _plain(text: str, chars_max: int) -> str:
    """Without secrets and control characters, truncated. Secrets are hidden first: a part of one is one too."""
    hidden = SECRET.sub(HIDDEN, text)[:chars_max]
    return (
        hidden
        if hidden.isprintable()
        else "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in hidden)
    )
