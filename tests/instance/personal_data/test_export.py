"""An export has what is kept about one person, and nothing of another, and no secret."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from tests.cast import Actor
from tests.command import tollhouse
from tests.payments.bank import refund, sell
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance.personal_data.model import PersonExport
from tollhouse.instance.personal_data.persons import export_person
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR

SECRETS = """
    SELECT password_hash AS secret FROM users WHERE email = $1
    UNION ALL SELECT encode(s.id_hash, 'hex') FROM users u JOIN sessions s ON s.user_id = u.id WHERE u.email = $1
    UNION ALL SELECT encode(d.device_hash, 'hex') FROM users u JOIN known_devices d ON d.user_id = u.id WHERE u.email = $1
    UNION ALL SELECT encode(k.key_hash, 'hex') FROM users u JOIN api_keys k USING (merchant_id) WHERE u.email = $1
"""


def someone(name: str) -> str:
    """An address of this test alone."""
    return f"{name}-{uuid4().hex[:8]}@customers.example"


async def exported(services: Services, email: str, reason: str | None = None, **options: bool) -> PersonExport:
    """The export of an address."""
    context = OperatorContext("olga", clock.now(), reason)
    _, export = await services.transact(lambda work: export_person(work, email, context, **options), context.at, OPERATOR)
    return export


async def test_a_customer_is_exported_without_anybody_else(alice: Actor, services: Services) -> None:
    anna, berta = someone("Anna"), someone("Berta")
    sold = [
        await sell(alice, amount="12.34", customer_email=email, metadata={"seat": email}, display_name=f"Ticket of {email}")
        for email in (anna, berta)
    ]
    (await refund(alice, sold[0], "2.00")).ok(201)
    export = await exported(services, anna.upper())
    text = msgspec.json.encode(export).decode()
    [link] = export.data["payment_links"]
    assert (link["customer_email"], link["amount"], link["metadata"]) == (anna, "12.34", {"seat": anna})
    assert [transaction["id"] for transaction in export.data["transactions"]] == [sold[0]["id"]]
    assert [(one["transaction_id"], one["amount"]) for one in export.data["refunds"]] == [(sold[0]["id"], "2.00")]
    assert {webhook_event["source_id"] for webhook_event in export.data["webhook_events"]} <= {link["id"], sold[0]["id"]}
    for other in (berta, sold[1]["id"], sold[1]["payment_link_id"], alice.email):
        assert other.lower() not in text.lower()
    assert "accounts" in export.not_included
    assert "rail_observations" not in export.data


async def test_evidence_is_exported_when_it_is_submitted(alice: Actor, services: Services) -> None:
    anna = someone("anna")
    disputed = await sell(alice, "chargeback", customer_email=anna)
    dispute = f"/disputes/{disputed['chargeback']['id']}"
    (await alice.call("PUT", f"{dispute}/evidence", {"shipping_carrier": "Pigeon post"})).ok()
    [draft] = (await exported(services, anna)).data["chargebacks"]
    assert draft["evidence"] == {}
    (await alice.post(f"{dispute}/submit")).ok()
    [submitted] = (await exported(services, anna)).data["chargebacks"]
    assert submitted["evidence"] == {"shipping_carrier": "Pigeon post"}


async def test_a_user_is_exported_without_secrets_and_without_another_user(
    alice: Actor, bob: Actor, services: Services
) -> None:
    await alice.key()
    text = msgspec.json.encode(export := await exported(services, alice.email)).decode()
    [user] = export.data["users"]
    assert user["email"] == alice.email
    [merchant] = export.data["merchants"]
    assert (merchant["id"], merchant["role"]) == (alice.merchant_id, "owner")
    assert export.data["sessions"][0]["address"]
    assert {line["deed"] for line in export.data["audit_lines"]} >= {"account.opened", "api_key.made"}
    assert export.data["mails"][0]["recipient"] == alice.email
    assert bob.email not in text
    assert bob.merchant_id not in text
    secrets = [row["secret"] for row in await alice.sql(SECRETS, alice.email)]
    assert len(secrets) == 4
    assert not [secret for secret in secrets if secret in text]


async def test_accounts_are_exported_when_they_are_wanted(alice: Actor, services: Services) -> None:
    anna = someone("anna")
    sale = await sell(alice, customer_email=anna)
    await alice.sql(
        "INSERT INTO rail_observations (rail, mode, external_ref, outcome, confirmations, merchant_id, transaction_id,"
        " currency, amount_minor, payer_account, payer_name, at) VALUES ('bank', 'test', $1, 'seen', 0, $2::uuid,"
        " $3::uuid, 'EUR', 1000, 'DE02120300000000202051', 'Anna Muster', now())",
        uuid4().hex,
        alice.merchant_id,
        sale["id"],
    )
    assert "Anna Muster" not in msgspec.json.encode(await exported(services, anna)).decode()
    export = await exported(services, anna, with_accounts=True)
    assert "Anna Muster" in {rail_observation.get("payer_name") for rail_observation in export.data["rail_observations"]}
    assert "accounts" not in export.not_included


async def test_what_is_refused(services: Services) -> None:
    for email, reason in (("anna", None), ("anna@customers.example", "Letter of Anna@customers.example")):
        with pytest.raises(OperatorRefusedError):
            await exported(services, email, reason)


async def test_the_command_writes_a_file_of_its_owner_once(service: Service, tmp_path: Path) -> None:
    file, email, before = tmp_path / "anna.json", someone("anna"), datetime.now(UTC)
    first = await tollhouse(service, "person", "export", email, "--output", str(file), "--reason", "Letter of May")
    assert (first.status, first.out) == (0, f"{file}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    written = await asyncio.to_thread(file.read_bytes)
    assert msgspec.json.decode(written)["data"] == {}
    assert (await tollhouse(service, "person", "export", email, "--output", str(file))).status == 1
    assert await asyncio.to_thread(file.read_bytes) == written
    kept = await service.sql(
        "SELECT a.action, a.reason, row_to_json(a)::text AS text FROM operator_actions a JOIN data_subject_requests r"
        " ON r.id = a.subject_id WHERE a.at > $1 AND r.kind = 'export' AND a.reason = 'Letter of May'",
        before,
    )
    assert [row["action"] for row in kept] == ["person_exported"]
    assert email not in kept[0]["text"]
