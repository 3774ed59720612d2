"""JSON of others: too deep, cut off or no text at all is one error, wherever it comes from."""

import ast

import pytest
from msgspec import Raw, Struct

from tests.sources import OF_THE_SOURCE, PACKAGE, modules_below, nodes_of
from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.rails.grants import UNKNOWN
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.rails.cards.stripe import client
from tollhouse.transfers.conversions.prices import FeedError, read_prices
from tollhouse.transfers.fulfillments import jobs

DEEP = b'{"type":"x","data":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
HOSTILE = [DEEP, b"[" * 1_000_000, b"{", b"\xff", b"", b'"\xed\xa0\x80"']
OWN = {
    "accounts/audit/store.py", "rails/bank/payouts_store.py", "rails/evm/balances_store.py", "rails/chains/store.py",
    "pages/console/overview_store.py", "pages/console/store.py", "payments/disputes/store.py",
    "accounts/mail/store.py", "accounts/mail/contents.py", "accounts/notifications/store.py",
    "rails/balances/store.py", "payments/receipts/store.py", "payments/refunds/chargeback_responses_store.py",
    "webhooks/endpoints/store.py", "rails/bank/orders_store.py", "platform/database/records.py",
    "kernel/text.py",
    "instance/personal_data/persons.py", "oauth/keys_store.py", "accounts/spending/model.py",  # columns of our own tables
    "instance/api/reference.py", "http/openapi_schemas.py", "kernel/catalogue/provider_fields.py",
    "pages/dashboard/developers/webhooks.py",
    "webhooks/request_log/recorder.py",  # what this program wrote a moment before
    "instance/backup/archive.py", "instance/backup/wal_archive.py", "rails/evm/signer/journal.py",
    "instance/forks.py",  # its own files and pipes
    "instance/mcp/calls.py", "instance/mcp/results.py",  # responses of this program
    "instance/demo/seed.py", "instance/demo/wallet.py",  # the demo talks to this program
    "rails/evm/signer/messages.py",  # the decoders of both sides, with `UNREADABLE`
    "http/json_text.py", "webhooks/request_log/redaction.py", "accounts/identity/jose.py",  # they name each error themselves
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
        assert jobs.read(outcome, 1) == UNKNOWN
    with pytest.raises(FeedError):
        read_prices(raw, "/rates", ["USD"])


@OF_THE_SOURCE
def test_nobody_decodes_json_of_others_on_their_own() -> None:
    decoding = set[str]()
    for path in modules_below(PACKAGE):
        for node in nodes_of(path):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {
                "msgspec.json.decode",
                "msgspec.json.Decoder",
                "json.loads",
            }:
                decoding.add(str(path.relative_to(PACKAGE)))
    assert decoding == OWN
