"""Receipts by email: to the customer of a link, from the paid page, and from the dashboard."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.mail.postbox import Received
from tests.cast import Actor, Answer, post_form, sign_up
from tests.forms import refuses_foreign_forms, seen
from tests.payments.killing import FusedPool, KilledError
from tests.payments.receipts.paying import paid, payment_id
from tests.payments.shop import choose, open_link, simulate
from tests.running import Service
from tollhouse.accounts.mail.model import mail_name
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.receipts import mails, store
from tollhouse.rails.sandbox.simulator import Simulated

MAILS = "SELECT recipient, language, facts FROM mails WHERE about = 'receipt' ORDER BY created_at, id"


@pytest.fixture
async def seller(mailing: Service, mail_worker: MailWorker) -> AsyncIterator[Actor]:
    """A merchant whose address is verified."""
    async with sign_up(mailing, "seller", "Shop") as actor:
        await mail_worker.sql("DELETE FROM mails")
        await actor.sql("UPDATE users SET verified_at = now() WHERE email = $1", actor.email)
        yield actor


async def enter(page: str, actor: Actor, email: str, language: str = "en") -> Answer:
    """Enter an address on the paid page."""
    path = page.replace("?", "/receipt/email?")
    return await post_form(actor.service.url + path, {"email": email}, Accept_Language=language, Accept="text/html")


def words(mail: Received) -> str:
    """What the email says, in one line."""
    return " ".join(mail.text.split())


async def queued(actor: Actor) -> list[Any]:
    return await actor.sql(MAILS)


async def send_until_queued(mail_worker: MailWorker, actor: Actor, number: int) -> None:
    """Send what waits, also what other tests left, until this many emails of the actor are queued."""
    async with asyncio.timeout(30):
        while len(await queued(actor)) < number:
            await mails.send_waiting(mail_worker.services)


async def test_the_customer_of_a_link_gets_the_receipt_once(seller: Actor, mail_worker: MailWorker) -> None:
    page = await paid(seller, customer_email=seller.email)
    assert "Sent to the customer of the link." not in await seen(seller, f"/test/payments/{payment_id(page)}")
    for _ in range(3):
        await asyncio.gather(*(mails.send_waiting(mail_worker.services) for _ in range(2)))
    [mail] = await mail_worker.mail_to(seller)
    assert mail.subject.startswith("Receipt 20")
    assert mail.subject.endswith(" from Shop")
    assert f"{mail_worker.service.url}{page}" in words(mail)
    for shown in ("€4.20", "Coffee", "This is a test payment."):
        assert shown in words(mail)
    assert "Sent to the customer of the link." in await seen(seller, f"/test/payments/{payment_id(page)}")


async def test_nothing_is_requested_where_no_email_arrives(seller: Actor, mail_worker: MailWorker) -> None:
    env = MerchantEnv(MerchantId(UUID(seller.merchant_id)), "test")
    for iban, requested in ((None, 1), ("DE89370400440532013000", 0)):
        settings = msgspec.structs.replace(mail_worker.services.settings, smtp=None, bank_iban=iban)
        services: Services = msgspec.structs.replace(mail_worker.services, settings=settings)
        attempt_id = UUID(payment_id((await choose(await open_link(seller, customer_email=seller.email))).location))
        paying = services.transact(lambda work: Simulated(work, env, attempt_id).play("succeed", None), clock.now())  # noqa: B023 - awaited here
        assert (await paying).status == "succeeded"
        rows = await seller.sql("SELECT FROM receipt_mails WHERE transaction_id = $1::uuid", str(attempt_id))
        assert len(rows) == requested


async def test_the_receipt_is_in_the_language_of_the_customer(seller: Actor, mail_worker: MailWorker) -> None:
    link = await open_link(seller, customer_email=seller.email)
    chosen = (await post_form(f"{link['url']}/method", {"method_id": "sandbox:EUR"}, Accept_Language="de")).ok(303).location
    await simulate(link, payment=payment_id(chosen))
    await mails.send_waiting(mail_worker.services)
    mail = await mail_worker.last_to(seller)
    assert mail.subject.startswith("Beleg 20")
    assert "Vielen Dank für Ihre Zahlung von 4,20" in words(mail)


async def test_a_worker_that_dies_sends_it_once(seller: Actor, mail_worker: MailWorker) -> None:
    pool = FusedPool(mail_worker.service.dsn)
    services: Services = msgspec.structs.replace(mail_worker.services, db=pool)
    try:
        for step in range(1, 12):
            page = await paid(seller, customer_email=seller.email)
            pool.fuse.left = step
            try:
                for waiting in await store.list_waiting_mails(pool, 10, clock.now()):
                    await mails._send_waiting(services, waiting)  # pyright: ignore[reportPrivateUsage]
            except (KilledError, asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError):
                pass
            pool.fuse.left = None
            for _ in range(2):
                await mails.send_waiting(mail_worker.services)
            facts = [msgspec.json.decode(row["facts"])["path"] for row in await queued(seller)]
            assert facts.count(page) == 1, step
    finally:
        await pool.close()


async def test_a_receipt_that_cannot_be_made_is_tried_later(
    seller: Actor, mail_worker: MailWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = payment_id(await paid(seller, customer_email=seller.email))
    monkeypatch.setattr(mails, "BATCH", 1)
    load_receipt = mails.load_receipt

    async def fail(db: Any, env: MerchantEnv, transaction_id: UUID, now: datetime) -> Any:
        if str(transaction_id) == broken:
            raise RuntimeError("no paper")
        return await load_receipt(db, env, transaction_id, now)

    monkeypatch.setattr(mails, "load_receipt", fail)
    page = await paid(seller, customer_email=seller.email)
    await send_until_queued(mail_worker, seller, 1)
    assert [msgspec.json.decode(row["facts"])["path"] for row in await queued(seller)] == [page]
    waiting = "FROM receipt_mails WHERE transaction_id = $1::uuid AND handled_at IS NULL"
    [row] = await seller.sql(f"SELECT attempts, next_attempt_at > now() + interval '50 s' AS later {waiting}", broken)
    assert dict(row) == {"attempts": 1, "later": True}
    monkeypatch.setattr(mails, "load_receipt", load_receipt)
    await seller.sql(
        "UPDATE receipt_mails SET next_attempt_at = now() - interval '1 ms' WHERE transaction_id = $1::uuid", broken
    )
    await send_until_queued(mail_worker, seller, 2)


async def test_in_test_mode_the_address_is_the_one_that_was_verified(seller: Actor, mail_worker: MailWorker) -> None:
    verified = f"strasse@{seller.merchant_id}.example"
    await seller.sql(
        "UPDATE users SET email = $1, email_key = $1 WHERE merchant_id = $2::uuid", verified, seller.merchant_id
    )
    page = await paid(seller, customer_email=verified.replace("ss", "ß", 1))
    await mails.send_waiting(mail_worker.services)
    assert (await enter(page, seller, verified.replace("ss", "ß", 1))).status == 303
    assert [row["recipient"] for row in await queued(seller)] == [verified] * 2


async def test_in_test_mode_strangers_get_nothing(seller: Actor, mail_worker: MailWorker) -> None:
    page = await paid(seller, customer_email="victim@example.com")
    await mails.send_waiting(mail_worker.services)
    answer = await enter(page, seller, "victim@example.com")
    assert answer.status == 422
    assert "only to verified email addresses" in answer.text
    form = f"/test/payments/{payment_id(page)}/receipt/email"
    assert (await seller.form(form, {"email": "victim@example.com"})).status == 422
    assert await queued(seller) == []
    assert "Not sent to the customer" in await seen(seller, f"/test/payments/{payment_id(page)}")
    await seller.sql("UPDATE users SET verified_at = NULL WHERE email = $1", seller.email)
    assert (await enter(page, seller, seller.email)).status == 422
    async with sign_up(mail_worker.service, "other", "Other") as other:
        await other.sql("UPDATE users SET verified_at = now() WHERE email = $1", other.email)
        assert (await enter(page, seller, other.email)).status == 422


async def test_a_receipt_is_sent_at_most_three_times(seller: Actor) -> None:
    page = await paid(seller)
    dashboard = f"/test/payments/{payment_id(page)}"
    (await enter(page, seller, seller.email.upper())).ok(303)
    answers = await asyncio.gather(*(seller.form(f"{dashboard}/receipt/email", {"email": seller.email}) for _ in range(6)))
    assert sorted(answer.status for answer in answers) == [303, 303, 422, 422, 422, 422]
    assert "already sent 3 times" in (await enter(page, seller, seller.email)).text
    assert len(await queued(seller)) == 3
    shown = await seen(seller, dashboard)
    assert "Sent from the checkout page." in shown
    assert "Sent from the dashboard." in shown
    with pytest.raises(asyncpg.CheckViolationError):
        await seller.sql("UPDATE receipt_mails SET ordinal = ordinal + 3 WHERE transaction_id = $1::uuid", payment_id(page))


async def test_requests_from_one_address_are_limited(seller: Actor) -> None:
    page = await paid(seller)
    answers = [await enter(page, seller, seller.email) for _ in range(4)]
    assert [answer.status for answer in answers] == [303, 303, 303, 429]
    assert "Too many requests" in answers[-1].text
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 15 * 60


async def test_a_stranger_cannot_try_out_many_addresses(seller: Actor) -> None:
    page = await paid(seller)
    answers = [await enter(page, seller, email) for email in ("a@b.example", "c@d.example", "e@f.example", seller.email)]
    assert [answer.status for answer in answers] == [422, 422, 422, 429]
    assert await queued(seller) == []


async def test_only_a_paid_payment_of_the_link_is_sent(seller: Actor) -> None:
    unpaid = (await choose(await open_link(seller, customer_email=seller.email))).location
    assert (await enter(unpaid, seller, seller.email)).status == 404
    assert (await seller.form(f"/test/payments/{payment_id(unpaid)}/receipt/email", {"email": seller.email})).status == 404
    mine, other = await paid(seller), await paid(seller)
    mixed = f"{mine.partition('?')[0]}?payment={payment_id(other)}"
    assert (await enter(mixed, seller, seller.email)).status == 404
    foreign = await post_form(
        seller.service.url + mine.replace("?", "/receipt/email?"), {"email": seller.email}, Sec_Fetch_Site="cross-site"
    )
    assert foreign.status == 403
    assert await queued(seller) == []
    await refuses_foreign_forms(seller, f"/test/payments/{payment_id(mine)}/receipt/email")


@pytest.mark.parametrize(
    "email", ["", "nobody", "a@b c", "a@b.c\r\nBcc: victim@example.com", "x" * 250 + "@b.c", "a\u202e@b.c"]
)
async def test_an_address_is_valid(seller: Actor, email: str) -> None:
    page = await paid(seller)
    answer = await enter(page, seller, email)
    assert answer.status == 422
    assert 'id="email-wrong"' in answer.text
    assert await queued(seller) == []


async def test_hostile_names_stay_harmless(seller: Actor, mail_worker: MailWorker) -> None:
    name = "Shop\r\nBcc: victim@example.com\r\n\r\nhttps://evil.example/login <b>now</b> \u202e" + "W" * 200
    await seller.sql("UPDATE merchants SET business_name = $1 WHERE id = $2::uuid", name, seller.merchant_id)
    await paid(seller, customer_email=seller.email, display_name="Win at www.evil.example or //evil.example now")
    await mails.send_waiting(mail_worker.services)
    mail = await mail_worker.last_to(seller)
    assert mail.message["Bcc"] is None
    assert len(mail.subject) < 120
    for link in ("evil.example", "://evil", "victim@example", "//evil"):
        assert link not in words(mail), link
        assert link not in mail.html, link
    assert "<b>" not in mail.html
    assert mail.html.count("<a ") == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Bernds Spieleladen", "Bernds Spieleladen"),
        ("Dr. Oetker 2.0", "Dr. Oetker 2.0"),
        ("shop.example", "shop. example"),
        ("https://shop.example/pay?x=1", "https shop. example/pay?x=1"),
        ("me@shop.example", "me@ shop. example"),
        ("shop\uff0eexample \u3002com", "shop. example 。 com"),
        ("a\u200b.b\u202e\x00", "a . b"),
        ("漢字 🎉", "漢字 🎉"),
        ("x" * 61, "x" * 59 + "…"),
    ],
)
def test_a_name_has_no_links(text: str, name: str) -> None:
    assert mail_name(text) == name


async def test_a_payment_is_requested_once(seller: Actor, mail_worker: MailWorker) -> None:
    page = await paid(seller, customer_email=seller.email)
    await mails.send_waiting(mail_worker.services)
    env = MerchantEnv(MerchantId(UUID(seller.merchant_id)), "test")
    async with mail_worker.services.db.transaction() as tx:
        await store.request_mail(tx, env, UUID(payment_id(page)), clock.now())
    await mails.send_waiting(mail_worker.services)
    assert len(await queued(seller)) == 1
