"""A merchant is reminded of each live connection once, seven days before it expires, and renews it from the application."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.accounts.mail.test_notifications import mails
from tests.cast import Actor, Application, application
from tests.forms import seen
from tollhouse.accounts.mail.notices import path_of
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import GrantId
from tollhouse.oauth import reminders_store
from tollhouse.oauth.reminders import send_expiring

SCOPE = "account:read payments:read payments:write offline_access"
MOVE = """
    UPDATE oauth_grants SET expires_at = now() + $2::interval, created_at = now() + $2::interval - interval '30 days'
    WHERE id = $1::uuid
"""
LIMITS = [{"kind": "refunds", "currency": "EUR", "per_day": "20.00"}]


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob, name="Northwind")


async def expiring(app: Application, alice: Actor, in_: timedelta = timedelta(days=6), mode: str = "live") -> str:
    """A new connection that expires then."""
    await app.connect(alice, SCOPE, mode=mode)
    grant_id = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]["grant_id"]
    await alice.sql(MOVE, grant_id, in_)
    return grant_id


async def reminders(alice: Actor) -> list[dict[str, Any]]:
    """The values of the emails."""
    return [facts for kind, facts in await mails(alice) if kind == "application_expiring"]


async def test_each_connection_is_announced_once(app: Application, alice: Actor, services: Services) -> None:
    grant_id = await expiring(app, alice)
    await asyncio.gather(*(send_expiring(services) for _ in range(3)))
    await send_expiring(services)
    [facts] = await reminders(alice)
    [row] = await alice.sql("SELECT expires_at FROM oauth_grants WHERE id::text = $1", grant_id)
    assert (facts["name"], facts["subject"], facts["day"]) == ("Northwind", grant_id, stamp(row["expires_at"]))
    link = path_of("application_expiring", facts["mode"], facts["subject"])
    assert link == f"/settings/connected-apps/{grant_id}#renew"


async def test_who_needs_no_email_gets_none(app: Application, alice: Actor, services: Services) -> None:
    await expiring(app, alice, timedelta(days=7, minutes=1))
    await expiring(app, alice, timedelta(seconds=-1))
    await expiring(app, alice, mode="test")
    ended = await expiring(app, alice)
    (await alice.dashboard("DELETE", f"/oauth/grants/{ended}")).ok()
    short = await expiring(app, alice)
    await alice.sql("UPDATE oauth_grants SET created_at = expires_at - interval '7 days' WHERE id = $1::uuid", short)
    await send_expiring(services)
    assert await reminders(alice) == []


async def test_a_renewed_connection_needs_none_until_its_successor_ends(
    app: Application, alice: Actor, services: Services
) -> None:
    await expiring(app, alice)
    await app.connect(alice, SCOPE, mode="live")
    await send_expiring(services)
    assert await reminders(alice) == []
    newest = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]["grant_id"]
    (await alice.dashboard("PATCH", f"/oauth/grants/{newest}", {"scopes": ["account:read"]})).ok()
    await send_expiring(services)
    assert len(await reminders(alice)) == 1, "what is left is less than what expires"


async def test_a_paused_application_cannot_be_renewed(app: Application, alice: Actor, services: Services) -> None:
    grant_id = await expiring(app, alice)
    (await app.owner.dashboard("POST", f"/oauth/clients/{app.client_id}/status", {"enabled": False, "version": 1})).ok()
    await send_expiring(services)
    assert await reminders(alice) == []
    assert 'id="renew"' not in await seen(alice, f"/settings/connected-apps/{grant_id}")


class LostError(Exception):
    """The process ends before the commit."""


async def test_a_worker_that_dies_leaves_it_to_the_next(app: Application, alice: Actor, services: Services) -> None:
    grant_id = await expiring(app, alice)

    async def interrupted(work: Work) -> None:
        claimed = await reminders_store.claim_expiring(work.tx, work.now, work.now + timedelta(days=7), 100)
        assert GrantId(UUID(grant_id)) in {connection.grant_id for connection in claimed}
        raise LostError

    with pytest.raises(LostError):
        await services.transact(interrupted, clock.now())
    await send_expiring(services)
    assert len(await reminders(alice)) == 1


async def test_the_page_and_the_consent_help_to_renew(app: Application, alice: Actor) -> None:
    grant_id = await expiring(app, alice, timedelta(days=20), "test")
    (await alice.dashboard("PATCH", f"/oauth/grants/{grant_id}", {"limits": LIMITS})).ok()
    path = f"/settings/connected-apps/{grant_id}"
    assert 'id="renew"' not in await seen(alice, path)
    await alice.sql(MOVE, grant_id, timedelta(days=6))
    page = await seen(alice, path)
    assert "Access ends on" in page
    assert "Go to northwind.example" in page
    await alice.sql(MOVE, grant_id, timedelta(seconds=-1))
    assert "Access ended on" in await seen(alice, path)
    consent = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
    page = await seen(alice, consent)
    assert "You connected this application before." in page
    assert "These are the limits of your last connection" in page
    assert 'value="20.00"' in page
    asking = app.authorize_path(SCOPE, authorization_details='[{"type": "tollhouse_limits", "limits": []}]')
    assert 'value="20.00"' in await seen(alice, (await alice.send("GET", asking)).ok(303).location)
