"""A member of a merchant that requires second factors keeps the last one."""

import asyncio

from tests.accounts.merchants.authenticator import ROOT, enrol, grow_old
from tests.accounts.passkeys.soft_authenticator import added, confirm
from tests.cast import Actor, join
from tests.forms import seen

REFUSED = "Coffee requires two-factor authentication. Add another factor first."
REQUIRED = {"second_factors_required": True}
LEFT = """
    SELECT (SELECT count(*) FROM passkeys WHERE holder_id = u.id)
         + (SELECT count(*) FROM second_factors WHERE holder_id = u.id) AS factors
    FROM users u WHERE u.email = $1
"""


async def passkey_ids(actor: Actor) -> list[str]:
    """The passkeys of this person, oldest first."""
    return [one["passkey_id"] for one in (await actor.dashboard("GET", "/passkeys")).ok().body["passkeys"]]


async def factors(actor: Actor) -> int:
    """How many factors the person has left."""
    [row] = await actor.sql(LEFT, actor.email)
    return int(row["factors"])


async def test_a_member_keeps_the_last_factor(alice: Actor) -> None:
    authenticator = await enrol(alice)
    assert f'href="{ROOT}/off"' in await seen(alice, ROOT)
    (await alice.dashboard("PUT", "/team", REQUIRED)).ok()
    assert REFUSED in (await alice.form(f"{ROOT}/off", {"code": authenticator.code()})).ok(409).text
    assert REFUSED in (await alice.form(f"{ROOT}/off", {"code": "wrong"})).ok(409).text, "before the code is looked at"
    assert f'href="{ROOT}/off"' not in (start := await seen(alice, ROOT))
    assert REFUSED in start
    assert f'action="{ROOT}/off"' not in (page := await seen(alice, f"{ROOT}/off"))
    assert REFUSED in page
    await added(alice)
    assert REFUSED not in await seen(alice, ROOT)
    assert f'action="{ROOT}/off"' in await seen(alice, f"{ROOT}/off")
    (await alice.form(f"{ROOT}/off", {"code": authenticator.code()})).ok(303)
    [passkey_id] = await passkey_ids(alice)
    refused = (await alice.dashboard("DELETE", f"/passkeys/{passkey_id}")).refused("last_second_factor", 409)
    assert REFUSED in refused.body["error_description"]
    assert REFUSED in (await alice.form(f"{ROOT}/passkeys/{passkey_id}/remove", {})).ok(409).text
    assert f'action="{ROOT}/passkeys/{passkey_id}/remove"' not in await seen(alice, ROOT)
    (await alice.dashboard("GET", "/api-keys")).ok()
    await added(alice)
    (await alice.dashboard("DELETE", f"/passkeys/{passkey_id}")).ok(204)
    (await alice.dashboard("PUT", "/team", {"second_factors_required": False})).ok()
    (await alice.dashboard("DELETE", f"/passkeys/{(await passkey_ids(alice))[0]}")).ok(204)


async def test_it_is_required_whichever_account_the_person_acts_for(alice: Actor, carol: Actor) -> None:
    own = carol.merchant_id
    passkey = await added(carol)
    await join(carol, alice, "finance")
    await alice.sql("UPDATE merchants SET second_factors_required_at = now() WHERE id = $1::uuid", alice.merchant_id)
    (await carol.dashboard("POST", "/session/merchant", {"merchant_id": own})).ok()
    [passkey_id] = await passkey_ids(carol)
    refused = (await carol.dashboard("DELETE", f"/passkeys/{passkey_id}")).refused("last_second_factor", 409)
    assert REFUSED in refused.body["error_description"]
    left = "UPDATE members SET removed_at = now() WHERE merchant_id = $1::uuid AND role = 'finance'"
    await grow_old(carol)
    (await carol.dashboard("DELETE", f"/passkeys/{passkey_id}")).refused("last_second_factor", 409)
    await alice.sql(left, alice.merchant_id)
    (await carol.dashboard("DELETE", f"/passkeys/{passkey_id}")).refused("recent_authentication_required", 403)
    (await confirm(carol, passkey)).ok()
    (await carol.dashboard("DELETE", f"/passkeys/{passkey_id}")).ok(204)


async def test_of_two_last_factors_at_once_one_stays(alice: Actor) -> None:
    authenticator = await enrol(alice)
    (await alice.dashboard("PUT", "/team", REQUIRED)).ok()
    for _ in range(4):
        await added(alice)
        [passkey_id] = await passkey_ids(alice)
        answers = await asyncio.gather(
            alice.dashboard("DELETE", f"/passkeys/{passkey_id}"),
            alice.form(f"{ROOT}/off", {"code": await authenticator.next_code(alice)}),
        )
        assert sorted(answer.status for answer in answers) in ([204, 409], [303, 409])
        assert await factors(alice) == 1
        if answers[1].status == 303:
            (await alice.dashboard("PUT", "/team", {"second_factors_required": False})).ok()
            (await alice.dashboard("DELETE", f"/passkeys/{passkey_id}")).ok(204)
            authenticator = await enrol(alice)
            (await alice.dashboard("PUT", "/team", REQUIRED)).ok()


async def test_removing_it_while_it_becomes_required(alice: Actor) -> None:
    for _ in range(4):
        await added(alice)
        [passkey_id] = await passkey_ids(alice)
        removed, required = await asyncio.gather(
            alice.dashboard("DELETE", f"/passkeys/{passkey_id}"), alice.dashboard("PUT", "/team", REQUIRED)
        )
        assert (removed.status, required.status) in {(204, 403), (409, 200)}
        (await alice.dashboard("PUT", "/team", {"second_factors_required": False})).ok()
        await alice.sql("DELETE FROM passkeys WHERE holder_id = (SELECT id FROM users WHERE email = $1)", alice.email)
