"""The dashboard's pages of customers, as a browser without scripts gets and posts them."""

import re

from tests.cast import Actor
from tests.forms import forms, hidden, post, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.instance.personal_data.test_export import someone
from tests.payments.bank import attempt, refund, sell
from tests.payments.shop import open_link

LIST = "/test/customers"
ROW = re.compile(r'<a class="hit" href="/test/customers/([0-9a-f-]{36})">')
PAYMENT = re.compile(r'<a class="hit" href="/test/payments/([0-9a-f-]{36})">')


async def test_payments_the_list_and_the_search_lead_to_a_customer(alice: Actor, carol: Actor) -> None:
    assert "No customers in test mode yet" in await seen(alice, LIST)
    anna = someone("anna")
    payment = await sell(alice, customer_email=anna, external_id="order-1")
    (await refund(alice, payment, "4.00", reason="customer_request")).ok(201)
    page = f"{LIST}/{payment['payment_link_id']}"
    for path in (
        LIST,
        "/test/payments",
        f"/test/payments/{payment['id']}",
        f"/test/search?q={anna}",
        f"{LIST}?search={anna}",
    ):
        assert f'href="{page}"' in await seen(alice, path), path
    shown = await seen(alice, page)
    for words in (anna, "€10.00", "€4.00", "Succeeded", "Requested by customer", "1 payment in EUR", "order-1"):
        assert words in shown, words
    assert "No customers begin like this." in await seen(alice, f"{LIST}?search=nobody")
    await seen(alice, f"{LIST}?kind=name", 422)
    await refuses_strangers(alice, carol, page)
    assert ROW.findall(await seen(carol, LIST)) == []


async def test_an_external_id_alone_is_a_customer_too(alice: Actor) -> None:
    link = await open_link(alice, external_id="seat 7/<b>", max_payments=None)
    payment = await attempt(alice, link)
    assert ROW.findall(await seen(alice, f"{LIST}?kind=external_id")) == [link["id"]]
    assert ROW.findall(await seen(alice, LIST)) == []
    assert "seat 7/<b>" in await seen(alice, f"{LIST}/{link['id']}")
    assert f'href="{LIST}/{link["id"]}"' in await seen(alice, f"/test/payments/{payment['id']}")


async def test_lists_are_paged(alice: Actor) -> None:
    link = await open_link(alice, customer_email=someone("a"), max_payments=None)
    others = [await open_link(alice, customer_email=someone(name)) for name in ("b", "c")]
    first = await seen(alice, f"{LIST}?limit=2")
    assert ROW.findall(first) == [link["id"], others[0]["id"]]
    assert f"{LIST}?limit=2&before={others[0]['id']}" in first
    assert ROW.findall(await seen(alice, f"{LIST}?limit=2&before={others[0]['id']}")) == [others[1]["id"]]
    paid = [(await attempt(alice, link))["id"] for _ in range(3)][::-1]
    page = f"{LIST}/{link['id']}?limit=2"
    assert PAYMENT.findall(await seen(alice, page)) == paid[:2]
    assert PAYMENT.findall(await seen(alice, f"{page}&before={paid[1]}")) == paid[2:]


async def test_a_note_is_added_once_and_deleted(alice: Actor, carol: Actor) -> None:
    link = await open_link(alice, customer_email=someone("anna"))
    page = f"{LIST}/{link['id']}"
    fields = hidden((await alice.send("GET", page)).ok())
    for text in ("", "  ", "x" * 2_001):
        refused = await post(alice, f"{page}/notes", 422, **fields, note=text)
        assert "2,000" in wrong(refused)["note"]
    for _ in range(2):
        assert (
            await post(alice, f"{page}/notes", **fields, note="Called.\r\n<i>Twice</i>")
        ).location == f"{page}?done=added#notes"
    assert "already added" in (await post(alice, f"{page}/notes", 422, **fields, note="Another")).text
    shown = (await alice.send("GET", page)).ok().text
    assert shown.count("Called.<br>&lt;i&gt;Twice&lt;/i&gt;") == 1
    assert alice.email in shown
    await post(alice, f"{page}/notes", 200, note="Without a key")
    [delete] = [path for path in forms(shown) if path.endswith("/delete")]
    await post(carol, delete)
    assert "Called." in await seen(alice, page)
    for _ in range(2):
        assert (await post(alice, delete)).location == f"{page}?done=deleted#notes"
    assert "Called." not in await seen(alice, page)
    await post(carol, f"{page}/notes", 404, **fields, note="Mine")
    await refuses_foreign_forms(alice, f"{page}/notes", delete)
    assert forms(await seen(alice, page)) == ["/signout"]
