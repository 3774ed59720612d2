"""The dashboard's pages about balance payments, for who pays and for who is paid, as a browser without scripts has them."""

import re

from tests.cast import Actor, application
from tests.forms import forms, post, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.payments.bank import purse
from tests.transfers.balance_payments.till import Till, let_expire

PAID, RECEIVED = "/test/balance-payments", "/test/balance-payments/received"
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/balance-payments/(?:received/thc_[0-9A-Za-z]{22}/)?([0-9a-f-]{36})">')


async def rows(actor: Actor, path: str) -> list[str]:
    """The ids of the payments that a page lists."""
    return ROW.findall(await seen(actor, path))


def owners(till: Till, payment: dict[str, str]) -> str:
    """The owner's page of a payment."""
    return f"{RECEIVED}/{till.app.client_id}/{payment['id']}"


async def test_who_pays_sees_what_was_taken(till: Till) -> None:
    payer = till.payer
    assert "No balance payments in test mode yet" in await seen(payer, PAID)
    first = await till.reserve(description="Seat 7 <b>")
    (await till.act(first, "capture", "4.00")).ok()
    second = await till.reserve("2.00")
    assert await rows(payer, PAID) == [second["id"], first["id"]]
    assert await rows(payer, f"{PAID}?limit=1&page=2") == [first["id"]]
    assert await rows(payer, f"{PAID}?status=captured") == [first["id"]]
    assert await rows(payer, f"{PAID}?status=expired") == []
    assert "No balance payments match these filters." in await seen(payer, f"{PAID}?status=refunded")
    assert "Page 9 has no entries." in await seen(payer, f"{PAID}?page=9")
    await seen(payer, f"{PAID}?status=lost", 422)
    one = await seen(payer, f"{PAID}/{first['id']}")
    for words in (
        "€10.00 to Northwind Ledger",
        "The application captured the payment.",
        "€4.00",
        "€6.00",
        "Seat 7 <b>",
    ):
        assert words in one
    assert forms(one) == ["/signout"]
    assert "The amount is reserved until" in await seen(payer, f"{PAID}/{second['id']}")
    await let_expire(payer, second)
    assert "The reservation expired." in await seen(payer, f"{PAID}/{second['id']}")
    assert await rows(payer, f"{PAID}?status=expired") == [second["id"]]
    assert await rows(payer, "/live/balance-payments") == []


async def test_the_owner_captures_a_part(till: Till) -> None:
    owner = till.app.owner
    reserved = await till.reserve()
    assert await rows(owner, RECEIVED) == [reserved["id"]]
    at = owners(till, reserved)
    assert 'value="10.00"' in await seen(owner, at)
    for amount in ("", "0", "ten", "10.01"):
        assert wrong(await post(owner, f"{at}/capture", 422, amount=amount)).keys() == {"amount"}
    assert await till.purses() == (9_000, 1_000, 0)
    assert (await post(owner, f"{at}/capture", amount="4.00")).location == at
    again = (await post(owner, f"{at}/capture", 409, amount="4.00")).text
    assert "This payment is no longer reserved." in again
    assert "no longer reserved" in (await post(owner, f"{at}/release", 409)).text
    shown = await seen(owner, at)
    assert "The payment was captured and added to your balance." in shown
    assert forms(shown) == ["/signout", f"{at}/refund"]
    assert await till.purses() == (9_600, 0, 400)
    assert (await post(owner, f"{at}/refund")).location == at
    assert "no amount left to refund" in (await post(owner, f"{at}/refund", 409)).text
    assert await till.purses() == (10_000, 0, 0)


async def test_the_owner_releases(till: Till) -> None:
    owner = till.app.owner
    at = owners(till, await till.reserve())
    assert (await post(owner, f"{at}/release")).location == at
    assert "The reservation was released to the merchant." in await seen(owner, at)
    assert await till.purses() == (10_000, 0, 0)


async def test_what_a_revoked_application_reserved_is_only_given_back(till: Till) -> None:
    owner = till.app.owner
    at = owners(till, await till.reserve())
    await owner.sql("UPDATE oauth_clients SET status = 'revoked', revoked_at = now() WHERE id = $1", till.app.client_id)
    assert forms(await seen(owner, at)) == ["/signout", f"{at}/release"]
    assert "can only be released" in (await post(owner, f"{at}/capture", 409, amount="10.00")).text
    await post(owner, f"{at}/release")
    assert await till.purses() == (10_000, 0, 0)


async def test_the_owner_chooses_among_applications(till: Till, carol: Actor) -> None:
    owner = till.app.owner
    reserved = await till.reserve()
    other = await application(owner, name="Second Shelf")
    of_first, of_other = (f"{RECEIVED}?client_id={client_id}" for client_id in (till.app.client_id, other.client_id))
    assert "No payments to Second Shelf in test mode yet" in await seen(owner, RECEIVED)
    assert "No payments to Second Shelf in test mode yet" in await seen(owner, of_other)
    assert await rows(owner, of_first) == [reserved["id"]]
    assert await rows(owner, f"{of_first}&status=reserved") == [reserved["id"]]
    assert "No balance payments match these filters." in await seen(owner, f"{of_first}&status=captured")
    assert await rows(owner, of_first.replace("/test/", "/live/")) == []
    assert "No applications yet" in await seen(carol, RECEIVED)
    for client_id in (till.app.client_id, "thc_nothing", "%00"):
        await seen(carol, f"{RECEIVED}?client_id={client_id}", 400 if client_id == "%00" else 404)


async def test_nobody_elses(till: Till, mallory: Actor) -> None:
    reserved = await till.reserve()
    at = owners(till, reserved)
    await refuses_strangers(till.payer, mallory, f"{PAID}/{reserved['id']}")
    await refuses_strangers(till.app.owner, mallory, at)
    for actor, path in ((mallory, at), (till.payer, at), (till.app.owner, at.replace("/test/", "/live/"))):
        await post(actor, f"{path}/capture", 404, amount="10.00")
        await post(actor, f"{path}/release", 404)
    await seen(till.app.owner, f"{PAID}/{reserved['id']}", 404)
    assert await till.purses() == (9_000, 1_000, 0)


async def test_who_may_post(till: Till) -> None:
    owner = till.app.owner
    at = owners(till, await till.reserve())
    await refuses_foreign_forms(owner, f"{at}/capture", f"{at}/release")
    for path in (RECEIVED, at):
        shown = await seen(owner, path)
        assert "This account is suspended." in shown
        assert forms(shown) == ["/signout"]
    assert (await purse(till.payer))[:2] == (9_000, 1_000)
