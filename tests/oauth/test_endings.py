"""Every way in which a connection ends, and the reason that its owner and its merchant see."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor, Application, application, suspend
from tests.oauth.test_changes import change, save
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.accounts.identity import users_store
from tollhouse.http.services import Services
from tollhouse.instance.personal_data.merchants import erase_merchant
from tollhouse.kernel import clock
from tollhouse.kernel.ids import MerchantId

SCOPE = "account:read payments:read offline_access"
End = Callable[[Application, Actor, dict[str, Any], Services], Awaitable[object]]


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


def _id(actor: Actor) -> MerchantId:
    return MerchantId(UUID(actor.merchant_id))


async def both_views(app: Application, alice: Actor) -> tuple[dict[str, Any], dict[str, Any]]:
    """The connection as the owner and as the merchant sees it."""
    [connection] = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}/connections")).ok().body["connections"]
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    return connection, grant


async def by_the_merchant(_app: Application, alice: Actor, grant: dict[str, Any], _services: Services) -> None:
    """The merchant disconnects."""
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()


async def by_stopping_everything(_app: Application, alice: Actor, _grant: dict[str, Any], _services: Services) -> None:
    """The merchant stops everything."""
    (await alice.dashboard("POST", "/stop-everything", {"mode": "test"})).ok()


async def by_a_password_reset(_app: Application, alice: Actor, _grant: dict[str, Any], services: Services) -> None:
    """The password of an address that was never verified is reset."""
    now = clock.now()
    await services.transact(lambda work: users_store.revoke_grants(work.tx, _id(alice), "password_reset", now), now)


async def by_the_owner(app: Application, _alice: Actor, grant: dict[str, Any], _services: Services) -> None:
    """The owner disconnects this merchant."""
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections/{grant['grant_id']}")).ok()


async def by_the_owner_at_once(app: Application, _alice: Actor, _grant: dict[str, Any], _services: Services) -> None:
    """The owner disconnects all merchants."""
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections")).ok()


async def by_revocation_of_the_access_token(
    app: Application, _alice: Actor, grant: dict[str, Any], _services: Services
) -> None:
    """The application revokes the access token."""
    (await app.revoke(grant["tokens"]["access_token"])).ok()


async def by_revocation_of_the_refresh_token(
    app: Application, _alice: Actor, grant: dict[str, Any], _services: Services
) -> None:
    """The application revokes the refresh token."""
    (await app.revoke(grant["tokens"]["refresh_token"])).ok()


async def by_time(_app: Application, alice: Actor, grant: dict[str, Any], _services: Services) -> None:
    """Thirty days pass."""
    await alice.sql("UPDATE oauth_grants SET expires_at = now() WHERE id::text = $1", grant["grant_id"])


async def by_a_replayed_refresh_token(app: Application, _alice: Actor, grant: dict[str, Any], _services: Services) -> None:
    """A refresh token is used twice."""
    (await app.refresh(grant["tokens"]["refresh_token"])).ok()
    (await app.refresh(grant["tokens"]["refresh_token"])).refused("invalid_grant", 400)


async def by_a_replayed_code(app: Application, _alice: Actor, grant: dict[str, Any], _services: Services) -> None:
    """The code is exchanged twice."""
    (await app.exchange(grant["code"])).refused("invalid_grant", 400)


async def by_rotation(app: Application, _alice: Actor, _grant: dict[str, Any], _services: Services) -> None:
    """The owner rotates the secret, and ends all connections."""
    (await change(app, "rotate-secret", revoke_grants=True)).ok()


async def by_pausing(app: Application, _alice: Actor, _grant: dict[str, Any], _services: Services) -> None:
    """The owner pauses the application."""
    (await change(app, "status", enabled=False)).ok()


async def by_revoking(app: Application, _alice: Actor, _grant: dict[str, Any], _services: Services) -> None:
    """The owner revokes the application."""
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}")).ok()


async def by_removing_scopes(app: Application, _alice: Actor, _grant: dict[str, Any], _services: Services) -> None:
    """The application keeps no permission that was granted."""
    (await save(app, scopes=["webhooks:read"])).ok()


async def by_closing_the_merchant(_app: Application, alice: Actor, _grant: dict[str, Any], services: Services) -> None:
    """An operator closes the merchant."""
    await suspend(alice)
    await erase_merchant(services, _id(alice), OperatorContext("olga", clock.now(), "Letter of May"))


async def by_closing_the_owner(app: Application, _alice: Actor, _grant: dict[str, Any], services: Services) -> None:
    """An operator closes the owner of the application."""
    await suspend(app.owner)
    await erase_merchant(services, _id(app.owner), OperatorContext("olga", clock.now(), "Letter of May"))


WAYS: list[tuple[str, End]] = [
    ("merchant", by_the_merchant),
    ("merchant", by_stopping_everything),
    ("merchant", by_a_password_reset),
    ("owner", by_the_owner),
    ("owner", by_the_owner_at_once),
    ("revoke_endpoint", by_revocation_of_the_access_token),
    ("revoke_endpoint", by_revocation_of_the_refresh_token),
    ("expired", by_time),
    ("refresh_replayed", by_a_replayed_refresh_token),
    ("code_replayed", by_a_replayed_code),
    ("secret_rotated", by_rotation),
    ("paused", by_pausing),
    ("revoked", by_revoking),
    ("no_scopes", by_removing_scopes),
]


async def connected(app: Application, alice: Actor) -> dict[str, Any]:
    """A connection, with the code and the tokens that it began with."""
    code = await app.code(alice, SCOPE)
    tokens = (await app.exchange(code)).ok().body
    connection, grant = await both_views(app, alice)
    assert (connection["ended_reason"], grant["ended_reason"]) == (None, None)
    return grant | {"code": code, "tokens": tokens}


@pytest.mark.parametrize(("reason", "end"), WAYS, ids=[end.__name__ for _, end in WAYS])
async def test_reason_of_every_way(app: Application, alice: Actor, services: Services, reason: str, end: End) -> None:
    grant = await connected(app, alice)
    await end(app, alice, grant, services)
    connection, ended = await both_views(app, alice)
    assert (connection["ended_reason"], ended["ended_reason"]) == (reason, reason)
    assert connection["status"] == ended["status"] == ("expired" if reason == "expired" else "revoked")
    owners = (await app.owner.send("GET", f"/developers/apps/{app.client_id}/connections/{grant['grant_id']}")).ok().text
    merchants = (await alice.send("GET", f"/settings/connected-apps/{grant['grant_id']}")).ok().text
    assert 'class="ended"' in owners
    assert 'class="ended"' in merchants
    # Whatever comes later does not change why it ended.
    await by_the_owner_at_once(app, alice, grant, services) if reason != "revoked" else None
    assert [view["ended_reason"] for view in await both_views(app, alice)] == [reason, reason]


async def test_closing_a_merchant_ends_its_connections(app: Application, alice: Actor, services: Services) -> None:
    grant = await connected(app, alice)
    await by_closing_the_merchant(app, alice, grant, services)
    [connection] = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}/connections")).ok().body["connections"]
    assert (connection["status"], connection["ended_reason"]) == ("revoked", "merchant_closed")
    (await app.api(grant["tokens"]["access_token"], "GET", "/account")).refused("invalid_token", 401)


async def test_closing_an_owner_revokes_its_applications(app: Application, alice: Actor, services: Services) -> None:
    grant = await connected(app, alice)
    await by_closing_the_owner(app, alice, grant, services)
    [ended] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert (ended["ended_reason"], ended["application"]["status"]) == ("revoked", "revoked")
