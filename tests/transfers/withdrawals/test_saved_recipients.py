"""Saved recipients: they can be paid after a cooling time, and a merchant can allow no others."""

import asyncio
import re
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, refuses_foreign_forms, seen, wrong
from tests.payments.bank import refund, sell
from tests.transfers.withdrawals.steps import BY_SEPA, asked, fund, withdraw
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.actor import Actor as By
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.dashboard.balances import recipients as recipient_choices
from tollhouse.transfers.withdrawals import recipients
from tollhouse.transfers.withdrawals.recipients import NewRecipient, NewWithdrawalSettings

PATH, SETTINGS, PAGE = "/withdrawal-recipients", "/settings/withdrawals", "/test/withdrawals/recipients"
NINA: dict[str, Any] = {
    "name": "Nina Bo",
    "method_id": "sandbox:EUR",
    "receiver": "Nina's account",
    "provider_fields": {"account_holder_name": "Nina"},
}
DAY = 86_400


async def saved(actor: Actor, **changes: Any) -> dict[str, Any]:
    """A recipient that was added."""
    return (await actor.post(PATH, NINA | changes)).ok(201).body


async def wait_a_day(actor: Actor) -> None:
    """Turn the test clock past the cooling time."""
    (await actor.post("/test/clock/advance", {"seconds": DAY})).ok()


async def allow_only_saved(actor: Actor, allowed: bool = True) -> dict[str, Any]:
    """Turn the rule on, or off."""
    return (await actor.call("PUT", SETTINGS, {"saved_recipients_only": allowed})).ok().body


def by_id(recipient: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A withdrawal to it."""
    return {"method_id": "sandbox:EUR", "amount": "1.00", "recipient_id": recipient["id"]} | changes


async def test_a_recipient_is_paid_after_a_day(shop: Actor, neighbour: Actor) -> None:
    await fund(shop)
    nina = await saved(shop)
    assert nina["object"] == "withdrawal_recipient"
    assert {name: nina[name] for name in NINA} == NINA
    assert (nina["mode"], nina["livemode"]) == ("test", False)
    new = by_id(nina)
    early = await shop.post("/withdrawals", new, key=str(uuid4()))
    early.refused("recipient_not_active", 422)
    assert early.body["details"] == {"active_at": nina["active_at"]}
    await wait_a_day(shop)
    made = (await shop.post("/withdrawals", new | {"provider_fields": {"reference": "May"}}, key=str(uuid4()))).ok(201).body
    assert (made["receiver"], made["recipient_id"]) == (NINA["receiver"], nina["id"])
    assert made["provider_fields"] == {"account_holder_name": "Nina", "reference": "May"}
    assert (await shop.get(PATH)).ok().body["withdrawal_recipients"] == [nina]
    assert (await shop.get(f"{PATH}?method_id=sandbox:USD")).ok().body["withdrawal_recipients"] == []
    for stranger in (neighbour,):
        (await stranger.get(f"{PATH}/{nina['id']}")).refused("not_found", 404)
        (await stranger.post("/withdrawals", new, key=str(uuid4()))).refused("not_found", 404)
        (await stranger.call("DELETE", f"{PATH}/{nina['id']}")).refused("not_found", 404)
    (await shop.call("DELETE", f"{PATH}/{nina['id']}")).ok()
    (await shop.post("/withdrawals", new, key=str(uuid4()))).refused("not_found", 404)
    kept = (await shop.get(f"/withdrawals/{made['id']}")).ok().body
    assert (kept["status"], kept["recipient_id"]) == ("approved", nina["id"])


async def test_what_is_wrong_is_named_at_its_member(shop: Actor) -> None:
    await fund(shop)
    faulty = {"name": " ", "provider_fields": {"reference": "May", "x": 1}}
    assert (await shop.post(PATH, NINA | faulty)).field_errors() == {
        "name": "invalid_value",
        "provider_fields.reference": "invalid_value",
        "provider_fields.x": "unknown_field",
    }
    (await shop.post(PATH, NINA | {"receiver": "sandbox-invalid"})).refused("invalid_receiver", 422)
    (await shop.post(PATH, NINA | {"method_id": "nothing:EUR"})).refused("method_unavailable", 422)
    nina = await saved(shop)
    again = await shop.post(PATH, NINA | {"name": "Another"})
    again.refused("recipient_exists", 409)
    assert again.body["details"] == {"existing_id": nina["id"]}
    await wait_a_day(shop)
    both = by_id(nina, receiver="x", provider_fields={"account_holder_name": "Else"})
    assert (await shop.post("/withdrawals", both, key=str(uuid4()))).field_errors() == {
        "receiver": "invalid_value",
        "provider_fields.account_holder_name": "invalid_value",
    }
    other = by_id(nina, method_id="sandbox:USD")
    assert (await shop.post("/withdrawals", other, key=str(uuid4()))).field_errors() == {"method_id": "recipient_mismatch"}
    neither = {"method_id": "sandbox:EUR", "amount": "1.00"}
    assert (await shop.post("/withdrawals", neither, key=str(uuid4()))).field_errors() == {"receiver": "missing"}


async def test_added_twice_at_once_it_is_one(shop: Actor) -> None:
    answers = await asyncio.gather(*(shop.post(PATH, NINA) for _ in range(3)))
    assert sorted(answer.status for answer in answers) == [201, 409, 409]


async def test_only_saved_recipients(shop: Actor) -> None:
    await fund(shop)
    paid = await sell(shop)
    assert (await allow_only_saved(shop))["turns_off_at"] is None
    (await withdraw(shop)).refused("recipient_not_saved", 422)
    (await refund(shop, paid, amount="1.00", receiver="Nina's account")).refused("recipient_not_saved", 422)
    (await refund(shop, paid, amount="1.00")).ok(201)
    await saved(shop)
    (await withdraw(shop)).refused("recipient_not_active", 422)
    await wait_a_day(shop)
    await asked(shop)
    (await refund(shop, paid, amount="1.00", receiver="Nina's account")).ok(201)
    off = await allow_only_saved(shop, False)
    assert off["saved_recipients_only"] is True
    assert (await allow_only_saved(shop, False)) == off, "saved again, it does not take longer"
    (await withdraw(shop, {"receiver": "Mallory"})).refused("recipient_not_saved", 422)
    await wait_a_day(shop)
    assert await allow_only_saved(shop, False) == off | {"saved_recipients_only": False, "turns_off_at": None}
    await asked(shop, {"receiver": "Mallory", "amount": "1.00"})
    await allow_only_saved(shop)
    (await withdraw(shop, {"receiver": "Mallory"})).refused("recipient_not_saved", 422)


async def test_the_database_refuses_the_same(shop: Actor) -> None:
    await fund(shop)
    nina, new = await saved(shop), await asked(shop)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await shop.sql("UPDATE withdrawal_recipients SET active_at = now() WHERE id = $1::uuid", nina["id"])
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await shop.sql("UPDATE withdrawals SET recipient_id = $2::uuid WHERE id = $1::uuid", new["id"], nina["id"])
    await allow_only_saved(shop)
    copy = (
        "INSERT INTO outgoing_transfers (id, kind, merchant_id, mode, rail, currency, amount_minor, receiver, review,"
        " created_at) SELECT $2::uuid, kind, merchant_id, mode, rail, currency, amount_minor, receiver, review, created_at"
        " FROM outgoing_transfers WHERE id = $1::uuid"
    )
    with pytest.raises(asyncpg.SerializationError):
        await shop.sql(copy, new["id"], str(uuid4()))


@pytest.mark.usefixtures("bank")
async def test_in_live_mode_every_user_gets_an_email(rich: Actor, services: Services) -> None:
    env = MerchantEnv(MerchantId(UUID(rich.merchant_id)), "live")
    new = NewRecipient(name="Nina", **{name: BY_SEPA[name] for name in ("method_id", "receiver", "provider_fields")})
    now, by = clock.now(), By("api_key", str(uuid4()))

    async def change(work: Work) -> None:
        await recipients.add(work, env, new)
        await recipients.save_settings(work, env, NewWithdrawalSettings(True))
        await recipients.save_settings(work, env, NewWithdrawalSettings(False))

    await services.transact(change, now, by)
    mails = await rich.sql(
        "SELECT about, recipient, facts FROM mails WHERE recipient = $1 AND about LIKE 'recipient%' ORDER BY about",
        rich.email,
    )
    assert [(row["about"], row["recipient"]) for row in mails] == [
        ("recipient_added", rich.email),
        ("recipients_only_off", rich.email),
    ]
    facts = msgspec.json.decode(mails[0]["facts"], type=dict[str, str])
    assert (facts["name"], facts["account"], facts["by_kind"]) == ("Nina", "NL91 ABNA 0417 •••• 00", "api_key")
    (await withdraw(rich, BY_SEPA | {"amount": "1.00"}, mode="live")).refused("recipient_not_active", 422)
    events = await rich.sql(
        "SELECT deed FROM audit_lines WHERE merchant_id = $1::uuid AND deed LIKE 'recipient.%' ORDER BY deed",
        rich.merchant_id,
    )
    assert [row["deed"] for row in events] == ["recipient.added", "recipient.only_saved_off", "recipient.only_saved_on"]


async def test_in_test_mode_nobody_gets_an_email(shop: Actor) -> None:
    await saved(shop)
    assert await shop.sql("SELECT FROM mails WHERE recipient = $1 AND about = 'recipient_added'", shop.email) == []


async def test_an_older_recipient_is_listed_when_it_is_chosen(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_choices, "SAVED_SHOWN_MAX", 1)
    older, newer = await saved(shop, name="Nina"), await saved(shop, name="Otto", receiver="Otto")
    dollars = await saved(shop, method_id="sandbox:USD")
    await wait_a_day(shop)
    new = "/test/withdrawals/new/sandbox:EUR"
    assert older["id"] not in await seen(shop, new)
    for chosen, shown in ((older, [older, newer]), (newer, [newer]), (dollars, [newer]), ({"id": str(uuid4())}, [newer])):
        form = await seen(shop, f"{new}?to={chosen['id']}")
        choices = re.findall(r'name="to" id="to-[0-9]+" value="([0-9a-f-]{36})"( checked)?', form)
        assert choices == [(recipient["id"], " checked" if recipient is chosen else "") for recipient in shown], shown


async def test_the_pages(shop: Actor) -> None:
    await fund(shop)
    assert "No recipients in test mode yet" in await seen(shop, PAGE)
    page = await post(shop, f"{PAGE}/new/sandbox:EUR", 422, name="", receiver="Nina")
    assert set(wrong(page)) == {"name"}
    for _ in range(2):
        answer = await shop.form(f"{PAGE}/new/sandbox:EUR", {"name": "Nina Bo", "receiver": "Nina"})
        assert answer.status in {303, 409}
    [nina] = (await shop.get(PATH)).ok().body["withdrawal_recipients"]
    assert "Can be paid from" in await seen(shop, PAGE)
    new = "/test/withdrawals/new/sandbox:EUR"
    assert f'value="{nina["id"]}" disabled' in await seen(shop, new)
    (await shop.form(f"{PAGE}/only-saved", {"only_saved": "yes"})).ok(303)
    await wait_a_day(shop)
    form = await seen(shop, f"{new}?to={nina['id']}")
    assert f'value="{nina["id"]}" checked' in form
    assert 'name="receiver"' not in form
    review = await post(shop, new, 200, to=nina["id"], amount="1.00", network_fee_mode="deduct")
    at = (await post(shop, f"{new}/confirm", **hidden(review))).location
    made = (await shop.get(at.removeprefix("/test"))).ok().body
    assert (made["receiver"], made["recipient_id"]) == ("Nina", nina["id"])
    refused = await post(shop, new, 422, to="new", receiver="Mallory", amount="1.00", network_fee_mode="deduct")
    assert "only to saved recipients" in refused.text
    (await shop.form(f"{PAGE}/only-saved", {"only_saved": "no"})).ok(303)
    assert "After that, withdrawals can go to any recipient." in await seen(shop, PAGE)
    for _ in range(2):
        await post(shop, f"{PAGE}/{nina['id']}/delete")
    assert (await shop.get(PATH)).ok().body["withdrawal_recipients"] == []
    await refuses_foreign_forms(shop, f"{PAGE}/only-saved", f"{PAGE}/{nina['id']}/delete")
