"""API keys: made once, shown once, fixed to an environment, revoked for ever."""

import re
from typing import Any
from uuid import uuid4

from tests.cast import Actor
from tests.forms import post, seen, wrong
from tests.oauth.test_changing_limits import saved
from tollhouse.kernel import tokens

FIELDS = {
    *("api_key_id", "name", "mode", "livemode", "scopes", "hint", "status", "created_at", "last_used_at"),
    *("limits", "recipients", "expires_at", "allowed_networks", "proposals_only"),
}


async def test_a_key_is_shown_once(alice: Actor) -> None:
    made = (await alice.dashboard("POST", "/api-keys", {"name": "shop", "mode": "live"})).ok(201).body
    assert set(made) == FIELDS | {"api_key"}
    assert made["api_key"].startswith("th_live_")
    assert tokens.is_well_formed("th_live", made["api_key"])
    assert made["hint"] == made["api_key"][-4:]
    assert "offline_access" not in made["scopes"]
    assert len(made["scopes"]) == 18
    [listed] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert listed == {name: value for name, value in made.items() if name != "api_key"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"mode": "sandbox"}, "mode"),
    ({"name": ""}, "name"),
    ({"name": "x" * 101}, "name"),
    ({"scopes": []}, "scopes"),
    ({"scopes": ["offline_access"]}, "scopes"),
    ({"scopes": ["account:read", "offline_access"]}, "scopes"),
    ({"scopes": ["Account:read"]}, "scopes"),
    ({"expires": 1}, "expires"),
]


async def test_a_refused_key_names_its_field(alice: Actor) -> None:
    for change, field in REFUSED:
        assert set((await alice.dashboard("POST", "/api-keys", {"name": "k", "mode": "test"} | change)).field_errors()) == {
            field
        }


async def test_a_key_does_what_its_scopes_say(alice: Actor) -> None:
    key = await alice.key("test", ["payments:read"])
    refused = await alice.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": key})
    assert refused.refused("missing_scope", 403).body["scope"] == "account:read"
    assert 'scope="account:read"' in refused.headers["WWW-Authenticate"]


async def test_a_revoked_key_is_dead_at_once_and_stays_listed(alice: Actor, carol: Actor) -> None:
    key = await alice.key()
    [record] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    (await carol.dashboard("DELETE", f"/api-keys/{record['api_key_id']}")).refused("not_found", 404)
    (await alice.dashboard("DELETE", "/api-keys/no-uuid")).refused("not_found", 404)
    (await alice.get("/account")).ok()
    revoked = (await alice.dashboard("DELETE", f"/api-keys/{record['api_key_id']}")).ok().body
    assert revoked["status"] == "revoked"
    assert revoked["last_used_at"] is not None
    dead = await alice.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": key})
    dead.refused("invalid_api_key", 401)
    (await alice.dashboard("DELETE", f"/api-keys/{record['api_key_id']}")).ok()
    [listed] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert listed["status"] == "revoked"


async def test_a_suspended_merchant_can_look_but_not_call(alice: Actor) -> None:
    (await alice.get("/account")).ok()
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    (await alice.get("/account")).refused("account_suspended", 403)
    assert (await alice.dashboard("GET", "/session")).ok().body["merchant"]["status"] == "suspended"


PAGE = "/test/developers/keys"
KEY = re.compile(r"th_test_\w+")


async def test_a_form_limits_a_key(alice: Actor) -> None:
    nina = await saved(alice)
    fields = {"name": "Till", "preset": "everything", "choice": "scopes", "recipients": "selected", "recipient": nina}
    again = await post(alice, PAGE, 422, **fields, expires_on="soon")
    assert set(wrong(again)) == {"expires_on"}
    assert f'value="{nina}" checked' in again.text
    foreign = await post(alice, PAGE, 422, **fields | {"recipient": str(uuid4())})
    assert set(wrong(foreign)) == {"recipients"}
    await post(alice, PAGE, 200, **fields, expires_on="2999-01-01", proposals_only="on")
    [key] = [key for key in (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"] if key["name"] == "Till"]
    assert (key["recipients"], key["expires_at"], key["proposals_only"]) == ([nina], "2999-01-01T00:00:00.000Z", True)


async def test_a_form_offers_what_keys_are_for(alice: Actor) -> None:
    page = await seen(alice, PAGE)
    assert 'value="payments" checked' in page
    assert page.count('name="preset"') == 4
    for preset, reads, writes, withdraws in (
        ("read", 200, 403, 403),
        ("payments", 200, 422, 403),
        ("everything", 200, 422, 400),
    ):
        made = await post(alice, PAGE, 200, name=f"The {preset} key", preset=preset, choice="scopes")
        headers = {"X-API-Key": KEY.findall(made.text)[0]}
        for method, path, status in (
            ("GET", "payment-links", reads),
            ("POST", "payment-links", writes),
            ("POST", "withdrawals", withdraws),
        ):
            answer = await alice.anonymously(
                method, f"/api/v2/integration/{path}", body={} if method == "POST" else None, headers=headers
            )
            assert answer.status == status, (preset, path)


async def test_what_a_key_may_do_is_shown_later(alice: Actor) -> None:
    await post(alice, PAGE, 200, name="Reports", preset="read", choice="scopes")
    await alice.key(scopes=["reports:read", "payments:read"])
    shown = (await seen(alice, PAGE)).partition("<tbody")[2].partition("</tbody>")[0]
    assert "Read only" in shown
    assert "2 permissions" in shown
    assert "Read payments" in shown


async def test_nothing_ticked_is_wrong_and_the_list_stays_open(alice: Actor) -> None:
    answer = await post(alice, PAGE, 422, name="None", preset="custom", choice="scopes")
    assert 'value="custom" checked' in answer.text
    assert '<details class="disclose" open>' in answer.text
    assert "`errors`" not in answer.text
