"""The page of the team settings does what `PUT /api/v2/merchant/team` does."""

from tests.accounts.merchants.authenticator import grow_old
from tests.cast import Actor, member
from tests.forms import post, seen, wrong

PAGE = "/settings/team"


async def test_an_owner_sets_what_support_refunds(alice: Actor) -> None:
    assert 'settings/team">' in await seen(alice, "/settings/members")
    await post(alice, PAGE, refund_EUR="50,00", refund_USD=" ", refund_JPY="1000")
    saved = (await alice.dashboard("GET", "/team")).ok().body
    limits = {limit["currency"]: limit["amount"] for limit in saved["support_refunds"]}
    assert limits == {"EUR": "50.00", "JPY": "1000"}
    assert 'value="50.00"' in await seen(alice, f"{PAGE}?done=saved")
    refused = await post(alice, PAGE, 422, refund_EUR="1.001", refund_USD="0", refund_JPY="5")
    assert wrong(refused).keys() == {"refund_EUR", "refund_USD"}
    assert 'value="1.001"' in refused.text
    assert (await alice.dashboard("GET", "/team")).ok().body == saved
    await post(alice, PAGE)
    assert (await alice.dashboard("GET", "/team")).ok().body["support_refunds"] == []


async def test_who_requires_second_factors_has_one(alice: Actor) -> None:
    refused = await post(alice, PAGE, 403, second_factors_required="on", refund_EUR="5")
    assert "Turn it on under Security" in wrong(refused)["second_factors_required"]
    assert (await alice.dashboard("GET", "/team")).ok().body["support_refunds"] == []


async def test_only_an_owner_who_was_just_authenticated_sees_and_saves(alice: Actor) -> None:
    async with member(alice, "administrator") as ada:
        await seen(ada, PAGE, 403)
        await post(ada, PAGE, 403, refund_EUR="5")
        assert 'settings/team">' not in await seen(ada, "/settings/members")
    await grow_old(alice)
    await post(alice, PAGE, 403, refund_EUR="5")
    assert (await alice.dashboard("GET", "/team")).ok().body["support_refunds"] == []
