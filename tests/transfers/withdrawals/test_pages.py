"""The dashboard's pages about withdrawals, as a browser without scripts gets and posts them."""

import asyncio
import re
from uuid import uuid4

import pytest

from tests.cast import Actor, Answer
from tests.forms import forms, hidden, left_s, post, refuses_foreign_forms, refuses_strangers, seen, signed_out, wrong
from tests.payments.bank import purse
from tests.transfers.withdrawals.steps import asked, fund, play, priced, purse_live

NEW = "/test/withdrawals/new/sandbox:EUR"
SEPA = "/live/withdrawals/new/sepa:EUR"
TO_NINA = {"amount": "10.00", "network_fee_mode": "deduct", "receiver": "Nina's account"}
ROW = re.compile(r'<a class="hit" href="/(?:test|live)/withdrawals/([0-9a-f-]{36})">')


async def rows(actor: Actor, query: str = "", mode: str = "test") -> list[str]:
    """The ids of the withdrawals that the page lists."""
    return ROW.findall(await seen(actor, f"/{mode}/withdrawals{query}"))


async def reviewed(actor: Actor, path: str = NEW, **changes: str) -> Answer:
    """The page that shows what it costs."""
    return await post(actor, path, 200, **TO_NINA | changes)


async def test_a_withdrawal_step_by_step(shop: Actor) -> None:
    assert "No withdrawals in test mode yet" in await seen(shop, "/test/withdrawals")
    await fund(shop)
    choices = await seen(shop, "/test/withdrawals/new")
    assert choices.index("sandbox:EUR") < choices.index("sandbox:USD")
    assert "Available €100.00" in await seen(shop, NEW)
    fields = {"provider_fields.reference": "Rent <b>", "description": "May", "external_id": "rent-5"}
    page = await reviewed(shop, **fields)
    assert "Withdraw €10.00" in page.text
    assert "Rent &lt;b&gt;" in page.text
    assert await purse(shop) == (10_000, 0, 0)
    at = (await post(shop, f"{NEW}/confirm", **hidden(page))).location
    [made] = await rows(shop)
    assert at == f"/test/withdrawals/{made}"
    one = await seen(shop, at)
    for words in ("Nina's account", "rent-5", "May", "is about to be sent", "Cancel withdrawal", "€10.00"):
        assert words in one
    kept = (await shop.get(f"/withdrawals/{made}")).ok().body
    assert kept["provider_fields"] == {"reference": "Rent <b>"}
    assert kept["quote_id"] == hidden(page)["quote_id"]


async def test_posted_twice_it_is_one_withdrawal(shop: Actor) -> None:
    await fund(shop, "15.00")
    confirmed = hidden(await reviewed(shop))
    responses = await asyncio.gather(*(post(shop, f"{NEW}/confirm", **confirmed) for _ in range(4)))
    responses.append(await post(shop, f"{NEW}/confirm", **confirmed))
    [made] = await rows(shop)
    assert {answer.location for answer in responses} == {f"/test/withdrawals/{made}"}
    assert (await purse(shop))[:2] == (500, 1_000)


async def test_a_quote_that_is_over_is_made_anew(shop: Actor) -> None:
    await fund(shop)
    first = hidden(await reviewed(shop))
    await shop.sql(
        "UPDATE withdrawal_quotes SET created_at = now() - interval '2 m', expires_at = now() - interval '1 m'"
        " WHERE id = $1::uuid",
        first["quote_id"],
    )
    for quote_id in (first["quote_id"], str(uuid4())):
        again = await post(shop, f"{NEW}/confirm", 409, **first | {"quote_id": quote_id})
        assert "The quote has expired." in again.text
    assert hidden(again)["quote_id"] != first["quote_id"]
    assert await rows(shop) == []
    review = (await post(shop, f"{NEW}/confirm", 200, **TO_NINA)).text
    assert "Confirm withdrawal" in review
    assert left_s(review) == 60
    assert await rows(shop) == []
    await post(shop, f"{NEW}/confirm", **hidden(again))
    assert len(await rows(shop)) == 1


async def test_what_was_confirmed_is_what_was_quoted(shop: Actor) -> None:
    await fund(shop)
    confirmed = hidden(await reviewed(shop))
    said = wrong(await post(shop, f"{NEW}/confirm", 422, **confirmed | {"amount": "20.00"}))
    assert said == {"amount": "This must be the same as in the quote."}
    assert await rows(shop) == []


async def test_what_is_wrong_is_said_at_its_field(shop: Actor) -> None:
    await fund(shop)
    await asked(shop, {"external_id": "used"})
    for changes, at in (
        ({"amount": "ten"}, {"amount"}),
        ({"amount": ""}, {"amount"}),
        ({"amount": "1000.00"}, {"amount"}),
        ({"receiver": ""}, {"receiver"}),
        ({"receiver": "sandbox-invalid"}, {"receiver"}),
        ({"external_id": "used"}, {"external_id"}),
        ({"webhook_url": "ftp://host/"}, {"webhook_url"}),
        ({"provider_fields.reference": "x" * 141, "amount": "0"}, {"amount", "provider_fields.reference"}),
    ):
        page = await post(shop, NEW, 409 if at == {"external_id"} else 422, **TO_NINA | {"description": "Kept"} | changes)
        assert wrong(page).keys() == at, changes
        assert "Check the highlighted fields and try again." in page.text
        assert 'value="Kept"' in page.text
        assert 'aria-invalid="true"' in page.text
    page = await post(shop, NEW, 422, **TO_NINA | {"network_fee_mode": "twice"})
    assert "This must be one of: deduct, add." in page.text
    assert len(await rows(shop)) == 1


async def test_the_limits_of_the_method_are_shown_and_reported(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    priced(monkeypatch, minimum_minor=200, maximum_minor=5_000, daily_limit_minor=3_000, network_fee_minor=50)
    assert "At least €2.00, at most €50.00. At most €30.00 per day." in await seen(shop, NEW)
    assert wrong(await post(shop, NEW, 422, **TO_NINA | {"amount": "1.99"})).keys() == {"amount"}
    assert wrong(await post(shop, NEW, 422, **TO_NINA | {"amount": "50.01"})).keys() == {"amount"}
    confirmed = hidden(await reviewed(shop, amount="30.01", network_fee_mode="add"))
    assert "daily limit" in wrong(await post(shop, f"{NEW}/confirm", 422, **confirmed))["amount"]
    page = await reviewed(shop, network_fee_mode="add")
    assert "€10.50" in page.text
    assert await rows(shop) == []


async def test_going_back_keeps_what_was_typed(shop: Actor) -> None:
    await fund(shop)
    page = await reviewed(shop, network_fee_mode="add", description="May")
    form = (await post(shop, NEW, 200, **hidden(page) | {"change": "yes"})).text
    for typed in ('value="10.00"', 'value="May"', 'value="add" id="add" checked'):
        assert typed in form


@pytest.mark.usefixtures("line")
async def test_a_live_one_waits_for_its_review(rich: Actor) -> None:
    form = await seen(rich, SEPA)
    assert 'id="provider_fields.account_holder_name"' in form
    to_nina = {"amount": "10.00", "receiver": "NL91ABNA0417164300", "network_fee_mode": "deduct"}
    assert wrong(await post(rich, SEPA, 422, **to_nina)) == {
        "provider_fields.account_holder_name": "This field is required."
    }
    page = await post(rich, SEPA, 200, **to_nina | {"provider_fields.account_holder_name": "Nina"})
    assert "An operator reviews the withdrawal before it is sent" in page.text
    at = (await post(rich, f"{SEPA}/confirm", **hidden(page))).location
    assert "An operator reviews the withdrawal before it is sent" in await seen(rich, at)
    assert await purse_live(rich) == (9_000, 1_000)
    assert await rows(rich) == []
    for _ in range(2):
        assert (await post(rich, f"{at}/cancel")).location == at
    assert await purse_live(rich) == (10_000, 0)
    assert "The withdrawal was canceled" in await seen(rich, at)


async def test_methods_that_cannot_be_used_are_listed_with_the_reason(shop: Actor) -> None:
    assert "Only available in live mode." in await seen(shop, "/test/withdrawals/new")
    live = await seen(shop, "/live/withdrawals/new")
    assert "No withdrawal methods are available in live mode." in live
    assert "Not configured yet." in await seen(shop, SEPA)
    assert forms(await seen(shop, SEPA)) == ["/signout"]
    assert (
        "not available in this environment"
        in (await post(shop, SEPA, 422, amount="1.00", receiver="x", **{"provider_fields.account_holder_name": "N"})).text
    )
    for path in ("/live/withdrawals/new/sandbox:EUR", "/test/withdrawals/new/nothing:EUR"):
        await seen(shop, path, 404)
        await post(shop, path, 404)


async def test_what_was_sent_is_not_canceled(shop: Actor) -> None:
    await fund(shop)
    made = await asked(shop)
    (await play(shop, made, "process")).ok()
    at = f"/test/withdrawals/{made['id']}"
    assert "can no longer be canceled" in await seen(shop, at)
    assert forms(await seen(shop, at)) == ["/signout"]
    assert "can no longer be canceled" in (await post(shop, f"{at}/cancel", 409)).text
    (await play(shop, made, "return")).ok()
    ended = await seen(shop, at)
    assert "The withdrawal was sent and then returned." in ended
    assert "returned" in ended


async def test_they_are_listed_filtered_and_paged(shop: Actor) -> None:
    await fund(shop, "100.00")
    ids = [(await asked(shop, {"amount": "1.00"}))["id"] for _ in range(3)][::-1]
    assert await rows(shop) == ids
    assert await rows(shop, "?limit=2") == ids[:2]
    assert 'href="?limit=2&page=2"' in await seen(shop, "/test/withdrawals?limit=2")
    assert await rows(shop, "?limit=2&page=2") == ids[2:]
    await post(shop, f"/test/withdrawals/{ids[1]}/cancel")
    assert await rows(shop, "?status=canceled") == [ids[1]]
    assert await rows(shop, "?status=approved&method_id=sandbox%3AEUR") == [ids[0], ids[2]]
    assert "No withdrawals match these filters." in await seen(shop, "/test/withdrawals?status=failed")
    assert "No withdrawals match these filters." in await seen(shop, "/test/withdrawals?method_id=nonsense")
    assert "Page 9 has no entries." in await seen(shop, "/test/withdrawals?page=9")
    for query in ("?status=lost", "?page=0", "?state=failed"):
        await seen(shop, f"/test/withdrawals{query}", 422)
    assert await rows(shop, mode="live") == []


async def test_nobody_elses(shop: Actor, neighbour: Actor) -> None:
    await fund(shop)
    made = await asked(shop)
    at = f"/test/withdrawals/{made['id']}"
    await refuses_strangers(shop, neighbour, at)
    await post(neighbour, f"{at}/cancel", 404)
    confirmed = hidden(await reviewed(shop))
    await fund(neighbour)
    assert "The quote has expired." in (await post(neighbour, f"{NEW}/confirm", 409, **confirmed)).text
    assert await rows(neighbour) == []
    assert (await shop.anonymously("GET", "/test/withdrawals")).ok(303).location == signed_out("/test/withdrawals")


async def test_who_may_post(shop: Actor) -> None:
    await fund(shop)
    made = await asked(shop)
    at = f"/test/withdrawals/{made['id']}"
    await refuses_foreign_forms(shop, NEW, f"{NEW}/confirm", f"{at}/cancel")
    for path in ("/test/withdrawals", "/test/withdrawals/new", NEW, at):
        shown = await seen(shop, path)
        assert "This account is suspended." in shown
        assert forms(shown) == ["/signout"]
