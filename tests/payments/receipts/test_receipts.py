"""Receipts: numbers without gaps, who can read them, and what they say, as page and as file."""

import asyncio
import re
import threading
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, seen
from tests.invariants import broken_invariants
from tests.payments.receipts.paying import paid, pay_once_more, payment_id, pdf, pdf_path, read, text_of
from tests.payments.shop import choose, let_expire, open_link, simulate, visit
from tests.running import Service
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.receipts import mails
from tollhouse.payments.receipts.mails import load_receipt

NUMBER = re.compile(r"No\. ([0-9]{4}-[0-9]{6})")
HOSTILE = "<script>alert(1)</script> (\\) Tj ET %%EOF endstream 漢字 🎉 שלום"


async def number(actor: Actor, page: str) -> str:
    """The number on the page."""
    return NUMBER.findall((await read(actor, page)).ok().text)[0]


@pytest.mark.long
async def test_numbers_follow_each_other(alice: Actor, carol: Actor, service: Service) -> None:
    year = clock.now().year
    pages = [await paid(alice) for _ in range(3)]
    assert [await number(alice, page) for page in reversed(pages)] == [f"{year}-{n:06d}" for n in (1, 2, 3)]
    assert await number(alice, pages[0]) == f"{year}-000003", "it stays"
    assert await number(carol, await paid(carol)) == f"{year}-000001"
    assert f"{year}-000002" in await seen(alice, f"/test/payments/{payment_id(pages[1])}")
    assert f"Receipt {year}-000002" in await text_of(alice, pages[1])
    assert await broken_invariants(service.dsn) == []


async def test_many_requests_at_once_get_one_number_each_without_gaps(alice: Actor, service: Service) -> None:
    pages = [await paid(alice) for _ in range(4)]
    found = await asyncio.gather(*(number(alice, page) for page in pages * 6))
    assert [set(found[place :: len(pages)]) for place in range(len(pages))] == [{found[place]} for place in range(4)]
    assert sorted(set(found)) == [f"{clock.now().year}-{n:06d}" for n in (1, 2, 3, 4)]
    assert await broken_invariants(service.dsn) == []


@pytest.mark.long
async def test_the_year_is_that_of_the_payment_where_the_merchant_is(alice: Actor, service: Service) -> None:
    await alice.sql("UPDATE merchants SET time_zone = 'Asia/Tokyo' WHERE id = $1::uuid", alice.merchant_id)
    pages = [await paid(alice), await paid(alice)]
    for page, at in zip(pages, ("2024-12-31T14:59:59Z", "2024-12-31T15:00:00Z"), strict=True):
        await alice.sql(f"UPDATE transactions SET succeeded_at = '{at}' WHERE id = $1::uuid", payment_id(page))  # noqa: S608 - a constant
    assert [await number(alice, page) for page in pages] == ["2024-000001", "2025-000001"]
    assert "31 December 2024" in await text_of(alice, pages[0])
    assert "1 January 2025" in await text_of(alice, pages[1])
    assert await broken_invariants(service.dsn) == []


async def test_a_booking_does_not_wait_for_the_counter(alice: Actor, service: Service) -> None:
    await number(alice, await paid(alice))
    link = await open_link(alice)
    await choose(link)
    connection = await asyncpg.connect(service.dsn)
    try:
        async with connection.transaction():
            await connection.execute(
                "SELECT FROM receipt_counters WHERE merchant_id = $1::text::uuid FOR UPDATE", alice.merchant_id
            )
            await asyncio.wait_for(simulate(link), 20)
    finally:
        await connection.close()


@pytest.mark.parametrize("outcome", ["fail", "underpay", "processing", "expire"])
async def test_what_is_not_paid_has_no_receipt(alice: Actor, outcome: str) -> None:
    page = await paid(alice, outcome)
    assert "Receipt" not in (await read(alice, page)).text
    assert (await read(alice, pdf_path(page))).status == 404
    assert (await alice.send("GET", f"/test/payments/{payment_id(page)}/receipt.pdf")).status == 404
    assert await alice.sql("SELECT FROM receipts WHERE merchant_id = $1::uuid", alice.merchant_id) == []


async def test_a_canceled_or_expired_link_has_none(alice: Actor) -> None:
    for end in ("cancel", "expire"):
        link = await open_link(alice)
        page = (await choose(link)).location
        if end == "cancel":
            (await alice.post(f"/payment-links/{link['id']}/cancel")).ok()
        else:
            await let_expire(alice, link)
        assert (await read(alice, pdf_path(page))).status == 404


async def test_nobody_reaches_the_receipt_of_another_payment(alice: Actor, carol: Actor) -> None:
    link = await open_link(alice, max_payments=None)
    mine, theirs = await pay_once_more(link), await pay_once_more(link)
    assert await number(alice, mine) != await number(alice, theirs)
    base = mine.partition("?")[0]
    for closed in (False, True):
        if closed:
            await let_expire(alice, link)
        page = await visit(link, alice)
        assert payment_id(mine) not in page.text
        assert payment_id(theirs) not in page.text
        assert (await read(alice, f"{base}/receipt.pdf")).status == 404
    other = await paid(alice)
    assert (await read(alice, pdf_path(f"{base}?payment={payment_id(other)}"))).status == 404
    assert (await read(alice, pdf_path(f"{other.partition('?')[0]}?payment={payment_id(mine)}"))).status == 404
    assert (await read(alice, pdf_path(f"/pay/{'a' * 26}?payment={payment_id(mine)}"))).status == 404
    assert (await carol.send("GET", f"/test/payments/{payment_id(mine)}/receipt.pdf")).status == 404
    assert (await alice.send("GET", f"/live/payments/{payment_id(mine)}/receipt.pdf")).status == 404
    assert (await alice.anonymously("GET", f"/test/payments/{payment_id(mine)}/receipt.pdf")).status == 303


async def test_a_single_payment_is_shown_on_a_second_device(alice: Actor) -> None:
    page = await paid(alice)
    path = page.partition("?")[0]
    assert await number(alice, path) == await number(alice, page)
    (await read(alice, f"{path}/receipt.pdf")).ok()


async def set_legal_details(actor: Actor, **changes: str) -> None:
    fields = hidden((await actor.send("GET", "/settings/business")).ok())
    typed = {"business_name": "Alice's Coffee", "time_zone": "Europe/Berlin", "legal_name": "Alice Coffee GmbH"}
    typed |= {"address_line1": "Marktstraße 4", "postal_code": "90403", "city": "Nürnberg", "country": "DE"}
    await post(
        actor, "/settings/business", **fields | typed | {"tax_id": "DE123456789", "register_entry": "HRB 7"} | changes
    )


TAXED: dict[str, Any] = {
    "display_name": "Collector's edition",
    "amount": "64.90",
    "external_id": "1847",
    "tax_lines": [{"name": "VAT 19%", "amount": "10.36"}],
}


@pytest.mark.long
async def test_a_receipt_says_what_was_paid_and_who_sold_it(alice: Actor) -> None:
    await set_legal_details(alice)
    page = await paid(alice, **TAXED)
    html = (await read(alice, page)).ok().text
    file = await text_of(alice, page)
    for shown in ("Net amount", "€54.54", "VAT 19%", "€10.36", "Total paid", "€64.90", "1847", "Alice Coffee GmbH"):
        assert shown in html, shown
        assert shown in file, shown
    for line in ("Marktstraße 4", "90403 Nürnberg", "Germany", "DE123456789", "HRB 7", "Test payment"):
        assert line in html, line
        assert line in file, line
    assert "This is a test payment." in file
    await set_legal_details(alice, legal_name="Another GmbH", city="Fürth")
    assert "90403 Nürnberg" in await text_of(alice, page), "a receipt that was issued stays as it is"
    assert "90403 Fürth" in await text_of(alice, await paid(alice))


async def test_a_receipt_is_in_the_language_of_its_reader(alice: Actor) -> None:
    await set_legal_details(alice)
    page = await paid(alice, **TAXED)
    reader = await pdf(alice, page, "de")
    assert reader.root_object["/Lang"] == "de"
    assert reader.metadata is not None
    assert str(reader.metadata.title).startswith("Beleg 20")
    file = await text_of(alice, page, "de")
    for shown in ("Nettobetrag", "54,54", "Gesamt bezahlt", "64,90", "Verkauft von", "Deutschland"):
        assert shown in file, shown
    assert "Nettobetrag" in (await read(alice, page, "de")).ok().text
    assert (await pdf(alice, page)).root_object["/Lang"] == "en"
    width, height = (float(side) for side in reader.pages[0].mediabox[2:])
    assert (round(width), round(height)) == (595, 842)


async def says(actor: Actor, page: str, words: str) -> str:
    """The text of the file, as soon as it says this."""
    for _ in range(300):
        if words in (file := await text_of(actor, page)):
            return file
        await asyncio.sleep(0.1)
    raise AssertionError(words)


@pytest.mark.long
async def test_returned_money_is_on_the_receipt(alice: Actor) -> None:
    page = await paid(alice, **TAXED)
    before = await number(alice, page)
    (
        await alice.post(
            f"/transactions/{payment_id(page)}/refunds", {"amount": "4.90", "reason": "customer_request"}, key="part"
        )
    ).ok(201)
    file = await says(alice, page, "Part of this payment was refunded.")
    assert await number(alice, page) == before
    for shown in ("Refunded", "\N{MINUS SIGN}€4.90", "€60.00"):
        assert shown in file, shown
    (await alice.post(f"/transactions/{payment_id(page)}/refunds", {"reason": "customer_request"}, key="rest")).ok(201)
    assert "€0.00" in await says(alice, page, "This payment was fully refunded.")
    assert await number(alice, page) == before
    disputed = await paid(alice)
    await simulate({"url": f"{alice.service.url}{disputed.partition('?')[0]}"}, "chargeback", payment=payment_id(disputed))
    assert "The customer's bank has reversed this payment." in await text_of(alice, disputed)


async def test_more_than_was_asked_is_on_the_receipt(alice: Actor) -> None:
    page = await paid(alice, "overpay", **TAXED)
    assert "Overpaid" in await text_of(alice, page)
    assert "Overpaid" in (await read(alice, page)).text


@pytest.mark.parametrize(("currency", "amount", "shown"), [("JPY", "1500", "¥1,500"), ("USDC", "7.000001", "7.000001 USDC")])
async def test_every_currency_has_its_decimals(alice: Actor, currency: str, amount: str, shown: str) -> None:
    page = await paid(alice, currency=currency, amount=amount)
    assert shown in await text_of(alice, page)


async def test_hostile_names_are_text(alice: Actor) -> None:
    await alice.sql("UPDATE merchants SET business_name = $1 WHERE id = $2::uuid", HOSTILE, alice.merchant_id)
    lines = [{"name": f"{n} " + "W" * 57, "amount": "0.01"} for n in range(10)]
    page = await paid(alice, display_name="W" * 120, external_id=HOSTILE, tax_lines=lines)
    html = (await read(alice, page)).ok().text
    assert "<script>alert" not in html
    reader = await pdf(alice, page)
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    assert "<script>alert(1)</script> (\\) Tj ET %%EOF endstream ?? ? ????" in text
    assert "A question mark stands for" in text
    assert "W" * 20 in text
    assert reader.metadata is not None
    assert reader.metadata.author == HOSTILE
    assert "/JavaScript" not in str(reader.root_object)


async def test_a_name_of_300_characters_has_a_file(alice: Actor) -> None:
    page = await paid(alice)
    for name in ("W" * 300, "漢" * 300, "a\u202eb" * 100, "Ǆ ﬁ Ž ß ẞ Ж" * 25):
        await alice.sql("UPDATE payment_links SET display_name = $1 WHERE merchant_id = $2::uuid", name, alice.merchant_id)
        assert "Receipt 20" in await text_of(alice, page)


async def test_the_same_receipt_is_the_same_file(alice: Actor) -> None:
    from tollhouse.payments.receipts import pdf as pdf_module  # noqa: PLC0415 - slow to import

    page = await paid(alice, **TAXED)
    first = (await read(alice, pdf_path(page))).ok()
    assert first.headers["Content-Disposition"] == f'attachment; filename="receipt-{await number(alice, page)}.pdf"'
    assert first.headers["Cache-Control"] == "private, no-store"
    pdf_module.render_pdf.cache_clear()
    assert (await read(alice, pdf_path(page))).ok().raw == first.raw


async def test_no_other_work_waits_for_files(alice: Actor, service: Service) -> None:
    page, env = await paid(alice), MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test")
    services, done = service.create_services(connections=1), threading.Event()
    try:
        receipt = await load_receipt(services.db, env, UUID(payment_id(page)), clock.now())
        assert receipt is not None
        mails.RENDERER.submit(done.wait)
        making = asyncio.gather(*(mails.receipt_file(receipt, "en", services.catalogue) for _ in range(100)))
        await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.to_thread(int), 20)
        assert not making.done()
        done.set()
        assert len(set(await making)) == 1
    finally:
        done.set()
        await services.db.close()


async def test_the_database_keeps_numbers(alice: Actor, service: Service) -> None:
    page = await paid(alice)
    await number(alice, page)
    unpaid = await paid(alice, "fail")
    for statement in (
        "UPDATE receipts SET number = 7 WHERE transaction_id = $1::uuid",
        "DELETE FROM receipts WHERE transaction_id = $1::uuid",
    ):
        with pytest.raises(asyncpg.PostgresError):
            await alice.sql(statement, payment_id(page))
    with pytest.raises(asyncpg.UniqueViolationError):
        await alice.sql(
            "INSERT INTO receipts SELECT $2::uuid, merchant_id, mode, year, number, seller, issued_at FROM receipts"
            " WHERE transaction_id = $1::uuid",
            payment_id(page),
            payment_id(unpaid),
        )
    services = service.create_services(connections=1)
    try:
        env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test")
        assert await load_receipt(services.db, env, UUID(payment_id(unpaid)), clock.now()) is None
    finally:
        await services.db.close()
