"""The page where a person of several merchants changes the one that the session acts for."""

from uuid import uuid4

from tests.cast import Actor, join, suspend
from tests.forms import post, seen

PAGE = "/settings/merchants"
MENU = f'{PAGE}">'


async def switch(actor: Actor, merchant_id: str) -> None:
    """Change the merchant by the page, whose forms then name it."""
    assert (await post(actor, PAGE, merchant_id=merchant_id)).location == "/"
    actor.acting_for = merchant_id


async def test_a_member_of_two_merchants_changes_by_the_page(alice: Actor, bob: Actor) -> None:
    own, page = bob.merchant_id, await seen(bob, "/settings/business")
    assert MENU not in page
    await join(bob, alice, "support")
    page = await seen(bob, "/test/home")
    assert MENU in page
    assert "Alice's Coffee" in page
    shown = await seen(bob, PAGE)
    assert f'name="merchant_id" value="{own}"' in shown
    assert f'name="merchant_id" value="{alice.merchant_id}"' not in shown
    await switch(bob, own)
    assert "Alice's Coffee" not in await seen(bob, "/test/home")
    assert alice.email not in await seen(bob, "/settings/members")
    await switch(bob, alice.merchant_id)
    assert alice.email in await seen(bob, "/settings/members")


async def test_nobody_changes_to_the_merchant_of_a_stranger(alice: Actor, bob: Actor, carol: Actor) -> None:
    await join(bob, alice, "support")
    for stranger in (carol.merchant_id, str(uuid4()), "x", ""):
        await post(bob, PAGE, 404, merchant_id=stranger)
    assert alice.email in await seen(bob, "/settings/members")


async def test_who_acts_for_a_suspended_merchant_changes_to_another(alice: Actor, bob: Actor) -> None:
    own = bob.merchant_id
    await join(bob, alice, "support")
    await suspend(alice)
    await post(bob, PAGE, merchant_id=own)
    assert (await bob.dashboard("GET", "/session")).ok().body["merchant"]["merchant_id"] == own
