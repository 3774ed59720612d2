"""The dashboard's pages about payments, as a browser without scripts gets and posts them."""

import asyncio
import re
from uuid import uuid4

from tests.cast import Actor, Answer
from tests.forms import forms, hidden, post, refuses_foreign_forms, refuses_strangers, seen, wrong
from tests.invariants import broken_invariants
from tests.payments.bank import attempt, bank_says, fresh, play, purse, refund, sell
from tests.payments.shop import choose, let_expire, open_link

ROW = re.compile(r'<a class="hit" href="/(?:test|live)/payments/([0-9a-f-]{36})">')
BACK = {"amount": "4.00", "reason": "duplicate"}


async def rows(actor: Actor, query: str = "", mode: str = "test") -> list[str]:
    """The ids of the payments that the page lists."""
    return ROW.findall(await seen(actor, f"/{mode}/payments{query}"))


def at(payment: dict[str, str]) -> str:
    """The page of a payment."""
    return f"/test/payments/{payment['id']}"


async def reviewed(actor: Actor, payment: dict[str, str], status: int = 200, /, **changes: str) -> Answer:
    """The page that shows what a refund takes."""
    return await post(actor, f"{at(payment)}/refund", status, **BACK | changes)


async def test_they_are_listed_filtered_and_turned(alice: Actor) -> None:
    assert "No payments in test mode yet" in await seen(alice, "/test/payments")
    link = await open_link(alice, amount="10.00", external_id="seat <7>", customer_email="nina@example.com", max_payments=9)
    ids = [(await attempt(alice, link, outcome))["id"] for outcome in ("succeed", "fail", "succeed")]
    ids.append((await sell(alice, currency="USD"))["id"])
    ids.reverse()
    assert await rows(alice) == ids
    first = await seen(alice, "/test/payments?limit=3")
    assert ROW.findall(first) == ids[:3]
    assert f'href="/test/payments?limit=3&before={ids[2]}"' in first
    last = await seen(alice, f"/test/payments?limit=3&before={ids[2]}")
    assert ROW.findall(last) == ids[3:]
    assert 'href="/test/payments?limit=3" rel="prev">Newest' in last
    assert "seat <7>" in first
    for query, found in (
        ("status=failed", [ids[2]]),
        ("status=succeeded&currency=EUR", [ids[1], ids[3]]),
        ("method_id=sandbox%3AUSD", [ids[0]]),
        ("reference=seat+%3C7%3E", ids[1:]),
        ("reference=nina%40example.com", ids[1:]),
        (f"payment_link_id={link['id']}", ids[1:]),
        (f"project_id={link['project_id']}", ids),
        ("from=2020-01-01&to=2999-01-01", ids),
        ("to=2020-01-01", []),
        (f"before={uuid4()}", ids),
    ):
        assert await rows(alice, f"?{query}") == found, query
    assert "No payments match these filters." in await seen(alice, "/test/payments?status=chargeback")
    assert "There are no more entries." in await seen(alice, f"/test/payments?before={ids[3]}")
    assert await rows(alice, mode="live") == []


async def test_a_filter_that_says_nothing_is_reported(alice: Actor) -> None:
    for query, field, typed in (
        ("from=May", "from", "May"),
        ("to=2026-13-01", "to", "2026-13-01"),
        ("from=2026-05-02&to=2026-05-01", "to", "2026-05-01"),
    ):
        shown = (await alice.send("GET", f"/test/payments?{query}", headers={"Accept": "text/html"})).ok(422)
        assert wrong(shown).keys() == {field}
        assert f'value="{typed}"' in shown.text
    for query in ("project_id=mine", "payment_link_id=7", "status=lost", "before=7", "limit=0", "page=2"):
        await seen(alice, f"/test/payments?{query}", 422)


async def test_an_attempt_reads_as_it_stands(alice: Actor) -> None:
    """Nobody has written down yet that it is over."""
    link = await open_link(alice)
    (await choose(link)).ok(303)
    [one] = await rows(alice, "?status=pending")
    assert await rows(alice, "?status=expired") == []
    assert "No money has arrived yet." in await seen(alice, f"/test/payments/{one}")
    await let_expire(alice, link)
    assert await rows(alice, "?status=expired") == [one]
    assert await rows(alice, "?status=pending") == []


async def test_one_tells_its_story(alice: Actor) -> None:
    paid = await sell(alice, external_id="order-7", metadata={"table": "4 <b>"}, customer_email="nina@example.com")
    back = (await refund(alice, paid, "3.00", reason="service_issue")).ok(201).body
    (await bank_says(alice, back, "fail")).ok()
    one = await seen(alice, at(paid))
    for words in (
        "Payment of €10.00",
        "The payment was credited to your balance.",
        "Test payment in EUR",
        "order-7",
        "4 <b>",
        "nina@example.com",
        "Problem with the product or service",
        "The refund was declined.",
        f"{at(paid)}/refund?again={back['id']}",
        "Refund requested",
        "+€10.00",
        "\N{MINUS SIGN}€3.00",
        ">payment.succeeded<",
        f"?payment={paid['id']}",
    ):
        assert words in one, words
    [event] = re.findall(r'href="(/test/developers/events/[0-9a-f-]{36})"', one)
    assert paid["id"] in await seen(alice, event)


async def test_a_refund_step_by_step(alice: Actor) -> None:
    paid = await sell(alice)
    form = await seen(alice, f"{at(paid)}/refund")
    assert 'value="10.00"' in form
    page = await reviewed(alice, paid, external_id="r-1")
    assert "Refund €4.00" in page.text
    assert "Duplicate" in page.text
    assert await purse(alice) == (1_000, 0, 0)
    assert (await post(alice, f"{at(paid)}/refund/confirm", **hidden(page))).location == f"{at(paid)}?done=refund"
    [made] = (await fresh(alice, paid))["refunds"]
    assert (made["amount"], made["reason"], made["external_id"]) == ("4.00", "duplicate", "r-1")
    assert 'value="6.00"' in await seen(alice, f"{at(paid)}/refund")
    everything = await reviewed(alice, paid, amount="")
    assert "Refund €6.00" in everything.text
    kept = await post(alice, f"{at(paid)}/refund", 200, **hidden(everything) | {"change": "yes"})
    assert 'value="duplicate" selected' in kept.text
    assert await broken_invariants(alice.service.dsn) == []


async def test_the_amount_of_a_refund_may_have_a_decimal_comma(alice: Actor) -> None:
    assert "Refund €4.50" in (await reviewed(alice, await sell(alice), amount="4,50")).text


async def test_posted_twice_it_is_one_refund(alice: Actor) -> None:
    paid = await sell(alice)
    confirmed = hidden(await reviewed(alice, paid))
    responses = await asyncio.gather(*(post(alice, f"{at(paid)}/refund/confirm", **confirmed) for _ in range(4)))
    responses.append(await post(alice, f"{at(paid)}/refund/confirm", **confirmed))
    assert {answer.location for answer in responses} == {f"{at(paid)}?done=refund"}
    assert [one["amount"] for one in (await fresh(alice, paid))["refunds"]] == ["4.00"]
    reused = await post(alice, f"{at(paid)}/refund/confirm", 422, **confirmed | {"amount": "5.00"})
    assert "used for a different request" in reused.text
    assert len((await fresh(alice, paid))["refunds"]) == 1


async def test_two_open_beside_each_other_are_one_refund(alice: Actor) -> None:
    paid = await sell(alice)
    both = [hidden(await reviewed(alice, paid)) for _ in range(2)]
    responses = await asyncio.gather(*(alice.form(f"{at(paid)}/refund/confirm", fields) for fields in both))
    assert sorted(answer.status for answer in responses) == [303, 409]
    [again] = [answer for answer in responses if answer.status == 409]
    assert "The payment has changed since you opened this page." in again.text
    assert len((await fresh(alice, paid))["refunds"]) == 1
    await post(alice, f"{at(paid)}/refund/confirm", **hidden(again))
    assert len((await fresh(alice, paid))["refunds"]) == 2


async def test_what_is_wrong_with_a_refund_is_said_at_its_field(alice: Actor) -> None:
    paid = await sell(alice)
    for changes, field in (
        ({"amount": "ten"}, "amount"),
        ({"amount": "0"}, "amount"),
        ({"amount": "10.01"}, "amount"),
        ({"receiver": "sandbox-invalid"}, "receiver"),
        ({"external_id": "x" * 129}, "external_id"),
    ):
        page = await reviewed(alice, paid, 422, **changes)
        assert wrong(page).keys() == {field}
        assert "Check the highlighted fields and try again." in page.text
    (await alice.form(f"{at(paid)}/refund", BACK | {"reason": "bored"})).refused("validation_failed", 422)
    confirmed = hidden(await reviewed(alice, paid))
    assert "Confirm refund" in (await post(alice, f"{at(paid)}/refund/confirm", 200, **BACK)).text
    away = {"method_id": "sandbox:EUR", "amount": "8.00", "receiver": "Nina"}
    (await alice.post("/withdrawals", away, key=str(uuid4()))).ok(201)
    short = await post(alice, f"{at(paid)}/refund/confirm", 422, **confirmed)
    assert wrong(short) == {"amount": "The available balance does not cover this amount."}
    assert (await fresh(alice, paid))["refunds"] == []


async def test_a_failed_refund_is_tried_again(alice: Actor) -> None:
    paid = await sell(alice)
    first = (await refund(alice, paid, "2.50", reason="other", receiver="Nina", external_id="r-1")).ok(201).body
    (await bank_says(alice, first, "fail")).ok()
    form = await seen(alice, f"{at(paid)}/refund?again={first['id']}")
    for typed in ('value="2.50"', 'value="Nina"', 'value="r-1"', 'value="other" selected'):
        assert typed in form
    assert 'value="10.00"' in await seen(alice, f"{at(paid)}/refund?again={uuid4()}")


async def test_what_cannot_be_refunded_says_why(alice: Actor) -> None:
    failed = await sell(alice, "fail")
    disputed = await sell(alice, "chargeback")
    old = await sell(alice)
    await alice.sql(
        "UPDATE transactions SET succeeded_at = now() - interval '181 d' WHERE id = $1::uuid",
        old["id"],
    )
    for payment, words in (
        (failed, "Nothing of this payment"),
        (disputed, "was charged back"),
        (old, "for 180 days"),
    ):
        shown = await seen(alice, f"{at(payment)}/refund")
        assert words in shown
        assert forms(shown) == ["/signout"]
    assert "has reversed the payment" in await seen(alice, at(disputed))
    late = await post(alice, f"{at(failed)}/refund", 422, **BACK)
    assert "Nothing of this payment" in late.text


async def test_money_that_waits_is_taken_once(alice: Actor) -> None:
    short = await sell(alice, "underpay")
    await play(alice, short, "expire")
    one = await seen(alice, at(short))
    assert "The customer paid less than requested." in one
    assert "Accept €9.90" in one
    version = str((await fresh(alice, short))["version"])
    stale = await post(alice, f"{at(short)}/accept", 409, seen="1")
    assert "The payment has changed since you opened this page" in stale.text
    assert await purse(alice) == (0, 0, 0)
    responses = await asyncio.gather(*(post(alice, f"{at(short)}/accept", seen=version) for _ in range(3)))
    assert {answer.location for answer in responses} == {at(short)}
    assert await purse(alice) == (990, 0, 0)
    assert (await fresh(alice, short))["status"] == "succeeded"
    assert forms(await seen(alice, at(short))) == ["/signout", f"{at(short)}/receipt/email"]
    failed = await sell(alice, "fail")
    at_version = str((await fresh(alice, failed))["version"])
    assert "no money left to accept" in (await post(alice, f"{at(failed)}/accept", 409, seen=at_version)).text


async def test_money_that_waits_is_given_back(alice: Actor) -> None:
    link = await open_link(alice, amount="10.00")
    await attempt(alice, link)
    twice = await attempt(alice, link)
    one = await seen(alice, at(twice))
    assert "The link had already been paid." in one
    page = await reviewed(alice, twice, amount="")
    assert "From money awaiting a decision" in page.text
    await post(alice, f"{at(twice)}/refund/confirm", **hidden(page))
    assert await purse(alice) == (1_000, 0, 0)
    assert "A refund is pending." in await seen(alice, at(twice)) or (await fresh(alice, twice))["status"] == "refunded"


async def test_nobody_elses(alice: Actor, carol: Actor) -> None:
    paid = await sell(alice)
    await refuses_strangers(alice, carol, at(paid), f"{at(paid)}/refund")
    for path in (f"{at(paid)}/refund", f"{at(paid)}/refund/confirm", f"{at(paid)}/accept"):
        await post(carol, path, 404, **BACK | {"key": str(uuid4()), "seen": "2"})
    assert await rows(carol) == []
    assert await rows(carol, f"?payment_link_id={paid['payment_link_id']}") == []


async def test_who_may_post(alice: Actor) -> None:
    paid = await sell(alice)
    await refuses_foreign_forms(alice, f"{at(paid)}/refund", f"{at(paid)}/refund/confirm", f"{at(paid)}/accept")
    for path in ("/test/payments", at(paid), f"{at(paid)}/refund"):
        shown = await seen(alice, path)
        assert "This account is suspended." in shown
        assert forms(shown) == ["/signout"]
