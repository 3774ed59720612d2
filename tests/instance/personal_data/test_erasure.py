"""An erasure removes an address wherever the list of personal data says so, once, without a finding of a check."""

import asyncio
import re
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from tests import personal_data
from tests.cast import Actor
from tests.command import tollhouse
from tests.instance.personal_data.test_export import exported, someone
from tests.payments.bank import sell
from tests.payments.shop import open_link
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email
from tollhouse.http.services import Services
from tollhouse.instance.personal_data.model import ErasureRecord, PersonErasure
from tollhouse.instance.personal_data.persons import email_mac, erase_person, find_to_repeat, list_erasures, plan
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.payments.receipts import mails
from tollhouse.payments.receipts.store import WaitingMail
from tollhouse.platform.database import digests_store

ERASED = re.compile(r"^\| `(\w+)` \|.*\| (?:deleted|removed)[^|]*\|$", re.MULTILINE)
LATER = timedelta(days=1)


async def erased(services: Services, email: str) -> tuple[OperatorAction | None, PersonErasure]:
    """Erase this address."""
    context = OperatorContext("olga", clock.now(), "Letter of May")
    return await services.transact(lambda work: erase_person(work, email, context), context.at, OPERATOR)


async def planned(services: Services, email: str) -> PersonErasure:
    """What would be erased."""
    return await plan(services, email, OperatorContext("olga", clock.now()))


async def tables_with(actor: Actor, text: str) -> set[str]:
    """The tables from which erasure removes addresses that still have this one."""
    tables = sorted(set(ERASED.findall(personal_data.DOCUMENT.read_text())))
    assert {"payment_links", "mails", "users"} <= set(tables)
    found = [
        (table, await actor.sql(f"SELECT FROM {table} t WHERE strpos(lower(t::text), lower($1)) > 0 LIMIT 1", text))
        for table in tables
    ]
    return {table for table, rows in found if rows}


async def second_user(actor: Actor) -> str:
    """Another user of the merchant, with a session."""
    email, user_id = someone("second"), new_id()
    await actor.sql(
        "INSERT INTO users (id, merchant_id, email, email_key, password_hash, created_at)"
        " VALUES ($1, $2::uuid, $3, $3, 'x', now())",
        user_id,
        actor.merchant_id,
        email,
    )
    await actor.sql(
        "INSERT INTO sessions (id_hash, user_id, created_at, last_seen_at, expires_at)"
        " VALUES (sha256($1::uuid::text::bytea), $1, now(), now(), now())",
        user_id,
    )
    return email


async def test_a_customer_is_erased_and_nobody_else(alice: Actor, services: Services) -> None:
    anna = someone("anna")
    joanna = f"jo{anna}"
    sale, open_one = await sell(alice, customer_email=anna), await open_link(alice, customer_email=anna.upper())
    kept = await open_link(alice, customer_email=joanna)
    for name, query in (("Anna", f"customer={anna.replace('@', '%40')}"), ("Joanna", f"customer={joanna}&status=paid")):
        await alice.sql(
            "INSERT INTO saved_filters (id, user_id, mode, list_name, name, query, created_at)"
            " SELECT gen_random_uuid(), id, 'test', 'payments', $2, $3, now() FROM users WHERE merchant_id = $1::uuid",
            alice.merchant_id,
            name,
            query,
        )
    now = clock.now()
    async with services.db.transaction() as tx:
        await outbox.enqueue(tx, Email("receipt", anna, "en"), now + LATER)
    expected = PersonErasure({"saved_filters": 1, "mails": 1}, {"payment_links.customer_email": 2}, [])
    plan_of = await planned(services, anna)
    assert msgspec.structs.replace(plan_of, kept=[]) == expected
    assert {table.table: table.rows for table in plan_of.kept}["transactions"] == 1
    assert await tables_with(alice, anna) >= {"payment_links", "mails", "saved_filters"}
    action, done = await erased(services, anna)
    assert action is not None
    assert msgspec.structs.replace(done, kept=[]) == expected
    assert {"payment_links", "transactions", "webhook_events"} <= {table.table for table in done.kept}
    assert await tables_with(alice, f",{anna}") == set()
    links = {link["id"]: link["customer_email"] for link in (await alice.get("/payment-links")).ok().body["payment_links"]}
    assert links == {sale["payment_link_id"]: None, open_one["id"]: None, kept["id"]: joanna}
    [row] = await alice.sql(
        "SELECT name FROM saved_filters s JOIN users u ON u.id = s.user_id WHERE u.email = $1", alice.email
    )
    assert row["name"] == "Joanna"
    async with services.db.connection() as tx:
        assert await digests_store.changes(tx, "link", [UUID(link) for link in links]) == []
    [row] = await alice.sql("SELECT row_to_json(a)::text AS text FROM operator_actions a WHERE id = $1", action.action_id)
    assert anna not in row["text"]
    assert await erased(services, anna) == (None, PersonErasure({}, {}, []))
    assert (await exported(services, anna)).data == {}


async def test_a_receipt_that_waits_is_withheld(alice: Actor, services: Services) -> None:
    anna = someone("anna")
    sale = await sell(alice, customer_email=anna)
    await alice.sql(
        "UPDATE receipt_mails SET handled_at = NULL, withheld = false, next_attempt_at = now() + interval '1 d'"
        " WHERE transaction_id = $1::uuid",
        sale["id"],
    )
    kept = "SELECT withheld, handled_at IS NOT NULL AS handled FROM receipt_mails WHERE transaction_id = $1::uuid"
    await erased(services, anna)
    assert [tuple(row) for row in await alice.sql(kept, sale["id"])] == [(True, True)]
    # The payment was credited while the link still had the address, and its receipt is found afterwards.
    await alice.sql("DELETE FROM receipt_mails WHERE transaction_id = $1::uuid", sale["id"])
    await alice.sql(
        "INSERT INTO receipt_mails (transaction_id, ordinal, merchant_id, mode, requested_by, requested_at, next_attempt_at)"
        " VALUES ($1::uuid, 1, $2::uuid, 'test', 'payment', now(), now() + interval '1 d')",
        sale["id"],
        alice.merchant_id,
    )
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test")
    await mails._send_waiting(services, WaitingMail(env, UUID(sale["id"]), "en", 0))  # pyright: ignore[reportPrivateUsage]
    assert [tuple(row) for row in await alice.sql(kept, sale["id"])] == [(True, True)]


async def test_of_two_users_one_can_be_erased(alice: Actor, services: Services) -> None:
    with pytest.raises(OperatorRefusedError, match="only owner"):
        await erased(services, alice.email)
    second = await second_user(alice)
    results = await asyncio.gather(*(erased(services, one) for one in (alice.email, second)), return_exceptions=True)
    refused = [result for result in results if isinstance(result, OperatorRefusedError)]
    assert len(refused) == 1, results
    [left] = await alice.sql("SELECT email FROM users WHERE merchant_id = $1::uuid", alice.merchant_id)
    gone = second if left["email"] == alice.email else alice.email
    assert await tables_with(alice, gone) == set()


async def test_an_operator_is_not_erased(service: Service, services: Services) -> None:
    email = someone("operator")
    await service.sql("INSERT INTO operators (id, email, email_key, created_at) VALUES ($1, $2, $2, now())", new_id(), email)
    with pytest.raises(OperatorRefusedError, match="operator"):
        await erased(services, email)


async def test_a_restored_database_knows_whom_to_erase_again(alice: Actor, services: Services) -> None:
    anna, berta = someone("anna"), someone("berta")
    for email in (anna, berta):
        await open_link(alice, customer_email=email)
    await erased(services, berta)
    [known] = [
        erasure for erasure in await list_erasures(services) if erasure.email_mac == email_mac(services.keys, berta).hex()
    ]
    missing = [
        ErasureRecord(new_id(), known.at, email_mac(services.keys, email).hex()) for email in (anna, alice.email, "x@y.z")
    ]
    assert await find_to_repeat(services, [known, *missing]) == sorted([anna, alice.email])
    assert await find_to_repeat(services, [known]) == []


@pytest.mark.long
async def test_the_command_wants_a_confirmation(service: Service, alice: Actor) -> None:
    anna = someone("anna")
    link = await open_link(alice, customer_email=anna)
    unconfirmed = await tollhouse(service, "person", "erase", anna)
    assert (unconfirmed.status, unconfirmed.out) == (2, "")
    dry = await tollhouse(service, "person", "erase", anna, "--dry-run")
    assert dry.status == 0
    assert dry.out.startswith("cleared  payment_links.customer_email  1\nkept  payment_links  1  Bookkeeping")
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["customer_email"] == anna
    done = await tollhouse(service, "person", "erase", anna, "--yes", "--json")
    assert done.json["cleared"] == {"payment_links.customer_email": 1}
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["customer_email"] is None
    assert (await tollhouse(service, "person", "erase", anna, "--yes")).out == "Nothing to erase.\n"
    listed = await tollhouse(service, "person", "erasures")
    assert all(msgspec.json.decode(line)["email_mac"] for line in listed.out.splitlines())


async def test_addresses_that_an_account_had_or_never_got(alice: Actor, carol: Actor, services: Services) -> None:
    """They are found by themselves, without the other address. Only what was never confirmed is erased by it."""
    asked, former = someone("asked"), someone("former")
    insert = """
        INSERT INTO address_changes (id, user_id, old_email, old_key, new_email, new_key, requested_at, expires_at,
                                     confirmed_at, undo_until)
        SELECT gen_random_uuid(), id, $2, $2, $3, $3, now(), now() + interval '1 day',
               $4::timestamptz, $4 + interval '3 days'
        FROM users WHERE email = $1
    """
    await alice.sql(insert, alice.email, alice.email, asked, None)
    await carol.sql(insert, carol.email, former, carol.email, clock.now() + LATER / 2)
    for email, own in ((asked, "new_email"), (former, "old_email")):
        [found] = (await exported(services, email)).data["address_changes"]
        assert found[own] == email
        assert not {alice.email, carol.email} & set(found.values())
    elsewhere = ErasureRecord(new_id(), clock.stamp(clock.now()), email_mac(services.keys, asked).hex())
    assert await find_to_repeat(services, [elsewhere]) == [asked]
    action, done = await erased(services, former)
    assert (action, done.deleted, [one.table for one in done.kept]) == (None, {}, ["address_changes"])
    assert (await erased(services, asked))[1] == PersonErasure({"address_changes": 1}, {}, [])
    assert await tables_with(alice, asked) == set()
