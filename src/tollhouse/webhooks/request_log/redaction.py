"""Redaction of logged requests: members stay, values that may be secret or personal are replaced by `HIDDEN`.

A value is hidden if its member's name means a secret or personal data. Otherwise it is shown if the name is in `SHOWN`,
or if the value can be neither: booleans, small numbers, words such as a status, ids and times. Anything that looks like a
credential is hidden everywhere, in paths, queries and texts.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import islice
from typing import Any, cast
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from tollhouse.http.forms import parse_form
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.ids import ID_PATTERN

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
NAME_CHARS_MAX = 40
NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_CHARS_MAX}}}")
"""Member names that are shown. Keys and tokens are longer."""
NAMES_KEPT = 2_000
"""Judged names that are remembered: those of the API, and as many that callers made up."""

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
NOT_SHOWN = SECRET_WORDS | PRIVATE_WORDS
WORD_BOUNDARY = re.compile(r"[_.\-]|(?<=[a-z0-9])(?=[A-Z])")
VOCABULARY = re.compile(r"[a-z]{1,24}(?:[_.:-][a-z]{1,24}){0,4}")
ID_OR_TIME = re.compile(ID_PATTERN + r"|\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z?)?")
NUMBER_MAX = 1_000_000
"""Account, card and telephone numbers are above it."""
SHOWN = frozenset(
    {
        "active", "amount", "amount_paid", "amount_received", "amount_refunded", "attempts", "balance_payment_id",
        "cancelable", "captured", "client_id", "confirmations", "conversion_id", "cost", "count", "created_from",
        "created_to", "currency", "debit", "default_currency", "doc_url", "enabled", "error", "error_description",
        "event_types", "expires_in", "failure_code", "fee", "from_amount", "from_currency", "fulfillment_id", "group_by",
        "has_more",
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
ADDRESSES = frozenset(
    {
        "url",
        "webhook_url",
        "success_url",
        "cancel_url",
        "website_url",
        "destination_url",
        "logo_uri",
        "policy_uri",
        "tos_uri",
        "connection_webhook_url",
    }
)
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
        (_name(name).text, _text(name, value) if name in declared else _of_vocabulary(name, value))
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


class Name(Struct, frozen=True):
    """How a name is shown, and what it says about its value: `is_private` means a secret or personal data."""

    text: str
    is_private: bool
    is_harmless: bool


def _judge(name: str) -> Name:
    is_valid = NAME.fullmatch(name) is not None
    is_private = not is_valid or name in ADDRESSES or any(word.lower() in NOT_SHOWN for word in WORD_BOUNDARY.split(name))
    return Name(name if is_valid else HIDDEN, is_private, name in SHOWN or name.endswith(SUFFIXES))


def is_private(name: str) -> bool:
    """Whether the values of a member with this name may be secret or personal."""
    return _name(name).is_private


_judge_once = lru_cache(maxsize=NAMES_KEPT)(_judge)


def _name(name: str) -> Name:
    """Names that are too long to be shown are not remembered."""
    return _judge_once(name) if len(name) <= NAME_CHARS_MAX else _judge(name)


def _redacted(value: Any, name: str, *, shown: bool, depth: int) -> Any:
    if isinstance(value, str):
        if not shown:
            return HIDDEN
        return _field(value) if name == "field" else _text(name, value)
    if value is None:
        return None
    if isinstance(value, dict):
        shown = shown and (depth == 0 or name in OPEN or not _name(name).is_private)
        return _members(cast("dict[str, Any]", value), shown=shown, depth=depth)
    if isinstance(value, list):
        items = cast("list[Any]", value)[:ITEMS_MAX]
        return HIDDEN if depth == NESTING_MAX else [_redacted(item, name, shown=shown, depth=depth + 1) for item in items]
    judged = _name(name)
    return value if shown and (judged.is_harmless or (_is_small(value) and not judged.is_private)) else HIDDEN


def _is_small(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < NUMBER_MAX)


def _members(values: dict[str, Any], *, shown: bool, depth: int) -> Any:
    if depth == NESTING_MAX:
        return HIDDEN
    members = islice(values.items(), MEMBERS_MAX)
    return {_name(name).text: _redacted(value, name, shown=shown, depth=depth + 1) for name, value in members}


def _text(name: str, value: str) -> str:
    if name in ADDRESSES:
        return _host(value)
    return _plain(value, TEXT_CHARS_MAX) if _name(name).is_harmless else _of_vocabulary(name, value)


def _of_vocabulary(name: str, value: str) -> str:
    """A vocabulary word, id or time; everything else is hidden."""
    if _name(name).is_private:
        return HIDDEN
    return value if VOCABULARY.fullmatch(value) or ID_OR_TIME.fullmatch(value) else HIDDEN


def _field(path: str) -> str:
    """The path of a field error, without names that may be secrets."""
    return ".".join(_name(part).text for part in path.split(".")[:NESTING_MAX])


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return HIDDEN
    return f"{parts.scheme}://{_plain(host, TEXT_CHARS_MAX)}/…" if parts.scheme in {"http", "https"} and host else HIDDEN


def _plain(text: str, chars_max: int) -> str:
    """Without secrets and control characters, truncated. Secrets are hidden first: a part of one is one too."""
    hidden = (SECRET.sub(HIDDEN, text) if "_" in text else text)[:chars_max]
    return (
        hidden
        if hidden.isprintable()
        else "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in hidden)
    )
