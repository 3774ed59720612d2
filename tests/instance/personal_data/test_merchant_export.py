"""The export of a merchant is complete, its own, without secrets, and never half a file."""

import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from tests import personal_data
from tests.cast import Actor
from tests.command import tollhouse
from tests.instance.personal_data.test_export import someone
from tests.payments.bank import refund, sell
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext, SubjectNotFoundError
from tollhouse.http.services import Services
from tollhouse.instance.personal_data import merchant_store
from tollhouse.instance.personal_data.merchants import export_merchant
from tollhouse.kernel import clock

LEFT_OUT = {
    "api_requests",
    "bank_payouts",
    "card_payments",
    "conversion_quotes",
    "idempotency_keys",
    "incoming_transfers",
    "limit_uses",
    "notification_digests",
    "notification_marks",
    "notification_preferences",
    "notification_reads",
    "oauth_codes",
    "oauth_requests",
    "operator_actions",
    "outgoing_transfers",
    "rail_observations",
    "receipt_counters",
    "receipt_mails",
    "running_series",
    "sandbox_plans",
    "sessions",
    "test_clocks",
    "webhook_deliveries",
    "webhook_deliveries_later",
    "webhook_event_statuses",
    "webhook_failures",
    "webhook_feeds",
    "webhook_redelivery_runs",
    "webhook_replays",
    "webhook_secrets",
    "webhook_unnumbered",
    "withdrawal_days",
    "withdrawal_quotes",
    "value_releases",
}
"""Tables with a merchant that are no data of it: secrets, queues, totals, counters, and what the platform keeps."""
SECRETS = """
    SELECT encode(key_hash, 'hex') AS secret FROM api_keys WHERE merchant_id = $1::uuid
    UNION ALL SELECT password_hash FROM users WHERE merchant_id = $1::uuid
    UNION ALL SELECT token FROM payment_links WHERE merchant_id = $1::uuid
    UNION ALL SELECT encode(ciphertext, 'hex') FROM webhook_secrets WHERE merchant_id = $1::uuid
"""


async def test_a_merchants_data_is_complete_and_its_own(
    alice: Actor, bob: Actor, services: Services, tmp_path: Path
) -> None:
    anna, name = someone("anna"), 'Coffee "to go" \\ =1+1'
    sale = await sell(alice, customer_email=anna, metadata={"note": name})
    (await refund(alice, sale, "2.00")).ok(201)
    foreign = await sell(bob, customer_email=someone("berta"))
    file, seen = tmp_path / "alice.zip", Counter[str]()
    context = OperatorContext("olga", clock.now())
    action, contents = await export_merchant(
        services, UUID(alice.merchant_id), file, context, lambda table, rows: seen.update({table: rows})
    )
    assert (action.action, str(action.merchant_id)) == ("merchant_exported", alice.merchant_id)
    assert file.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        text = {name: archive.read(name).decode() for name in archive.namelist()}
    tables = {one.removesuffix(".jsonl"): _rows(raw) for one, raw in text.items() if one != "export.json"}
    assert set(tables) == set(merchant_store.TABLES)
    assert {table: len(rows) for table, rows in tables.items()} == contents.rows
    assert msgspec.json.decode(text["export.json"])["rows"] == contents.rows
    [link] = tables["payment_links"]
    assert (link["customer_email"], link["metadata"], link["amount_minor"]) == (anna, {"note": name}, 1000)
    assert [one["transaction_id"] for one in tables["refunds"]] == [sale["id"]]
    assert sum(ledger_entry["delta"] for ledger_entry in tables["ledger_entries"]) == sum(
        ledger_account["balance"] for ledger_account in tables["ledger_accounts"] if ledger_account["account"] != "debt"
    )
    whole = "".join(text.values())
    secrets = [row["secret"] for row in await alice.sql(SECRETS, alice.merchant_id)]
    assert len(secrets) > 2
    assert not [secret for secret in secrets if secret in whole]
    assert not [one for one in (bob.merchant_id, bob.email, foreign["id"]) if one in whole]
    assert seen["payment_links"] == 1
    with pytest.raises(FileExistsError):
        await export_merchant(services, UUID(alice.merchant_id), file, context)
    assert zipfile.is_zipfile(file)


async def test_an_export_that_fails_leaves_no_file(alice: Actor, services: Services, tmp_path: Path) -> None:
    file, context = tmp_path / "nobody.zip", OperatorContext("olga", clock.now())
    with pytest.raises(SubjectNotFoundError):
        await export_merchant(services, uuid4(), file, context)
    assert not file.exists()

    def stop(*_: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await export_merchant(services, UUID(alice.merchant_id), file, context, stop)
    assert not file.exists()


async def test_the_command_exports(alice: Actor, service: Service, tmp_path: Path) -> None:
    file = tmp_path / "alice.zip"
    done = await tollhouse(service, "merchant", "export", alice.merchant_id, "--output", str(file))
    assert (done.status, done.out) == (0, f"{file}\n")
    assert zipfile.is_zipfile(file)
    again = await tollhouse(service, "merchant", "export", alice.merchant_id, "--output", str(file))
    assert again.status == 1


def test_every_table_with_a_merchant_is_exported_or_left_out() -> None:
    schema = (personal_data.DOCUMENT.parent.parent / "schema.sql").read_text()
    owned = {table for table, body in personal_data.TABLE.findall(schema) if " merchant_id uuid" in body}
    read = {table for table in owned if any(re.search(rf"\b{table}\b", sql) for sql in merchant_store.TABLES.values())}
    assert owned - read == LEFT_OUT


def _rows(raw: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in raw.split("\n") if line]
