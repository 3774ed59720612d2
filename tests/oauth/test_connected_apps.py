"""The pages of connected apps, without JavaScript."""

import re
from typing import Any

import pytest

from tests.cast import Actor, Application, application
from tests.forms import FOREIGN, forms, post, seen, signed_out

APPS = "/settings/connected-apps"
ROW = re.compile(r'<a class="hit" href="/settings/connected-apps/([0-9a-f-]{36})">')
SCOPE = "account:read payments:write offline_access"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def rows(actor: Actor, query: str = "") -> list[str]:
    """The grants on the page."""
    return ROW.findall(await seen(actor, APPS + query))


async def grants(actor: Actor) -> list[dict[str, Any]]:
    return (await actor.dashboard("GET", "/oauth/grants")).ok().body["grants"]


async def test_list_of_connected_apps(app: Application, alice: Actor) -> None:
    assert "No connected applications yet." in await seen(alice, APPS)
    await app.connect(alice, SCOPE)
    await app.connect(alice, "account:read", mode="live")
    newest, oldest = [grant["grant_id"] for grant in await grants(alice)]
    assert await rows(alice) == [newest, oldest]
    assert await rows(alice, "?limit=1") == [newest]
    assert await rows(alice, "?limit=1&page=2") == [oldest]
    assert await rows(alice, "?status=ended") == []
    assert "No connected applications match this filter." in await seen(alice, f"{APPS}?status=ended")
    assert "Page 5 has no entries." in await seen(alice, f"{APPS}?page=5")
    await seen(alice, f"{APPS}?status=lost", 422)
    page = await seen(alice, APPS)
    assert "Test environment. No real money moves." not in page
    one = await seen(alice, f"{APPS}/{oldest}")
    for words in ("Northwind Ledger", "Bob's Books", "payments:write", "are not reversed", "stay reserved", "Never"):
        assert words in one
    link = '<a href="/{}/balance-payments">Check your balance payments</a>'
    for mode, grant in (("test", oldest), ("live", newest)):
        assert link.format(mode) in await seen(alice, f"/{mode}{APPS}/{grant}")
        assert "Check your balance payments" not in await seen(
            alice, f"/{mode}{APPS}/{newest if grant == oldest else oldest}"
        )


async def test_disconnect(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    [grant] = await rows(alice, "?status=active")
    done = [await post(alice, f"{APPS}/{grant}/disconnect") for _ in range(2)][-1]
    page = await seen(alice, done.location)
    assert "Application disconnected." in page
    assert "You disconnected this application." in page
    assert forms(page) == ["/signout"]
    assert await rows(alice, "?status=active") == []
    assert await rows(alice, "?status=ended") == [grant]
    (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/status", {"enabled": False, "version": 1}, "The owner of the application paused it."),
        ("/rotate-secret", {"revoke_grants": True, "version": 1}, "rotated its client secret"),
    ],
)
async def test_reason_of_revocation_is_shown(
    app: Application, alice: Actor, path: str, body: dict[str, Any], words: str
) -> None:
    await app.connect(alice, SCOPE)
    (await app.owner.dashboard("POST", f"/oauth/clients/{app.client_id}{path}", body)).ok()
    [grant] = await rows(alice, "?status=ended")
    assert words in await seen(alice, f"{APPS}/{grant}")


async def test_expired_connection(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    await alice.sql(
        "UPDATE oauth_grants SET created_at = now() - interval '31 days', expires_at = now() - interval '1 day'"
        " WHERE merchant_id = $1::uuid",
        alice.merchant_id,
    )
    [grant] = await rows(alice, "?status=ended")
    assert "The connection has expired." in await seen(alice, f"{APPS}/{grant}")


async def test_other_merchants_get_404(app: Application, alice: Actor, mallory: Actor) -> None:
    await app.connect(alice, SCOPE)
    [grant] = await rows(alice)
    for actor in (mallory, app.owner):
        await seen(actor, f"{APPS}/{grant}", 404)
        await post(actor, f"{APPS}/{grant}/disconnect", 404)
        assert await rows(actor) == []
    for path in (APPS, f"{APPS}/{grant}"):
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)
    (await alice.send("POST", f"{APPS}/{grant}/disconnect", data={}, headers=FOREIGN)).refused("cross_origin_forbidden", 403)
    assert (await grants(alice))[0]["status"] == "active"


async def test_suspended_merchant_can_disconnect(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    [grant] = await rows(alice)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    assert "This account is suspended." in await seen(alice, f"{APPS}/{grant}")
    await post(alice, f"{APPS}/{grant}/disconnect")
    assert await rows(alice, "?status=active") == []


async def test_a_verified_application_has_its_badge_in_both_lists(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    assert "Verified" not in await seen(alice, APPS)
    await alice.sql("UPDATE oauth_clients SET verified_at = now() WHERE id = $1", app.client_id)
    assert "Verified" in await seen(alice, APPS)
    assert "Verified" in await seen(app.owner, "/developers/apps")
    assert (await grants(alice))[0]["application"]["verified"] is True
