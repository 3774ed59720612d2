"""JSON of others: too deep, cut off or no text at all is one error, wherever it comes from."""

import ast
from pathlib import Path

import pytest
from msgspec import Raw, Struct

from tollhouse.conversions.price_feed import FeedError, read_prices
from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.platform.outbound import Outcome
from tollhouse.rails import game_server
from tollhouse.rails.grants import UNKNOWN
from tollhouse.rails.stripe import client

SOURCES = Path(__file__).parent.parent / "src" / "tollhouse"
DEEP = b'{"type":"x","data":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
HOSTILE = [DEEP, b"[" * 1_000_000, b"{", b"\xff", b"", b'"\xed\xa0\x80"']
OWN = {
    "audit_log/store.py", "bank/payouts_store.py", "chains/balances_store.py", "chains/payouts_store.py", "chains/store.py",
    "console/rails_store.py", "console/store.py", "disputes/store.py", "environments/payment_settings.py", "mail/store.py",
    "rail_balances/store.py", "receipts/store.py", "refunds/chargeback_notes_store.py",
    "refunds/chargeback_responses_store.py",
    "webhooks/store.py", "withdrawals/by_bank_store.py", "platform/records.py", "kernel/stored_text.py",
    "personal_data/export.py",  # columns of our own tables
    "api/reference.py", "http/openapi_schemas.py", "catalogue/provider_fields.py", "dashboard/event_subjects.py",
    "request_log/recorder.py",  # what this program wrote a moment before
    "platform/backup.py", "platform/wal_archive.py", "signer/journal.py", "platform/forks.py",  # its own files and pipes
    "demo/seed.py", "demo/wallet.py",  # the demo talks to this program
    "signer/messages.py",  # the decoders of both sides, with `UNREADABLE`
    "http/json_text.py", "request_log/redaction.py",  # they name each error themselves
    "kernel/foreign_json.py",
}  # fmt: skip
"""The modules that decode JSON on their own, and why they may."""


class Named(Struct):
    """A type that a document can have."""

    name: str


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: repr(raw[:12]))
def test_whatever_is_wrong_is_one_error(raw: bytes) -> None:
    for kind in (Named, dict[str, Raw], list[Raw], object):
        with pytest.raises(ForeignJsonError):
            foreign_json.decode(raw, kind)


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: repr(raw[:12]))
def test_providers_and_servers_cannot_break_a_job(raw: bytes) -> None:
    assert client._error(raw).type == ""  # pyright: ignore[reportPrivateUsage]
    for status in (200, 404):
        outcome = Outcome(None if status == 200 else "http_status", status, 1, body=raw)
        assert game_server.read(outcome, 1) == UNKNOWN
    with pytest.raises(FeedError):
        read_prices(raw, "/rates", ["USD"])


def test_nobody_decodes_json_of_others_on_their_own() -> None:
    decoding = set[str]()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {
                "msgspec.json.decode",
                "msgspec.json.Decoder",
                "json.loads",
            }:
                decoding.add(str(path.relative_to(SOURCES)))
    assert decoding == OWN
