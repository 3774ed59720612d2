"""What applications hear of their connections: every end and change once, signed with a secret of their own."""

import asyncio
from typing import Any
from uuid import UUID

import pytest
import standardwebhooks
from aiohttp import web

from tests.cast import Actor, Answer, Application, application
from tests.oauth.test_changes import change, record, save
from tests.oauth.test_endings import WAYS, End, by_a_password_reset, connected
from tests.receiver import Received, Receiver
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.ids import MerchantId
from tollhouse.oauth import connections
from tollhouse.oauth.slice import announce_expired
from tollhouse.webhooks.delivery.signed_request import signature
from tollhouse.webhooks.events.record import EVENT_TYPES

SCOPE = "account:read payments:read offline_access"
EVENTS = "SELECT id, type, sequence, status FROM webhook_events WHERE source_id::text = $1 ORDER BY id"


@pytest.fixture
async def app(bob: Actor, receiver: Receiver) -> Application:
    """Bob's application, with an address for events about its connections."""
    return await application(bob, connection_webhook_url=receiver.url)


async def rotate(app: Application, **body: Any) -> Answer:
    """Rotate the signing secret."""
    return await app.owner.dashboard("POST", f"/oauth/clients/{app.client_id}/rotate-webhook-secret", body)


def verify(received: Received, secret: str) -> None:
    """The public library and our own header accept the signature."""
    standardwebhooks.Webhook(secret).verify(received.raw, {name.lower(): value for name, value in received.headers.items()})
    assert received.headers["X-Service-Signature"] == signature(secret, received.raw)


BY_ACTIONS = [way for way in WAYS if way[1] is not by_a_password_reset]
"""The reset has a test of its own, with its email."""


@pytest.mark.parametrize(("reason", "end"), BY_ACTIONS, ids=[end.__name__ for _, end in BY_ACTIONS])
async def test_every_end_is_announced_once(
    app: Application, alice: Actor, receiver: Receiver, services: Services, reason: str, end: End
) -> None:
    grant = await connected(app, alice)
    await end(app, alice, grant, services)
    await asyncio.gather(*(announce_expired(services) for _ in range(3)))
    [received] = await receiver.wait("connection.ended")
    fact = received.body["data"]["object"]
    assert {name: fact[name] for name in ("grant_id", "client_id", "merchant_id", "mode", "reason")} == {
        "grant_id": grant["grant_id"],
        "client_id": app.client_id,
        "merchant_id": alice.merchant_id,
        "mode": "test",
        "reason": reason,
    }
    assert (received.body["type"], received.body["mode"], received.body["livemode"]) == ("connection.ended", "test", False)
    assert received.headers["X-Service-Event-Type"] == "connection.ended"
    assert "X-Service-Position" not in received.headers
    await announce_expired(services)
    assert [row["type"] for row in await alice.sql(EVENTS, grant["grant_id"])] == ["connection.ended"]


async def test_secret_is_shown_once_and_verifies(bob: Actor, alice: Actor, receiver: Receiver) -> None:
    app = await application(bob)
    assert "webhook_secret" not in (saved := (await save(app)).ok().body)
    assert saved["connection_webhook_url"] is None
    first = (await save(app, connection_webhook_url=receiver.url)).ok().body
    secret = first["webhook_secret"]
    assert secret.startswith("whsec_")
    assert first["connection_webhook_url"] == receiver.url
    kept = (await save(app, name="Southwind")).ok().body
    assert (kept["connection_webhook_url"], "webhook_secret" in kept) == (receiver.url, False)
    await app.connect(alice, SCOPE)
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections")).ok()
    [received] = await receiver.wait("connection.ended")
    verify(received, secret)
    version = (await record(app))["version"]
    (await rotate(app)).refused("validation_failed", 422)
    (await rotate(app, version=version - 1)).refused("application_changed", 409)
    rotated = (await rotate(app, version=version)).ok().body
    assert (rotated["version"], rotated["webhook_secret"] != secret) == (version + 1, True)
    await app.connect(alice, SCOPE)
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections")).ok()
    latest = (await receiver.wait("connection.ended", 2))[-1]
    verify(latest, rotated["webhook_secret"])
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        verify(latest, secret)


async def test_null_ends_the_events(app: Application, alice: Actor, receiver: Receiver) -> None:
    assert (await save(app, connection_webhook_url=None)).ok().body["connection_webhook_url"] is None
    grant = await connected(app, alice)
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()
    assert await alice.sql(EVENTS, grant["grant_id"]) == []
    again = (await save(app, connection_webhook_url=receiver.url)).ok().body
    assert "webhook_secret" not in again
    other = await connected_again(app, alice)
    (await alice.dashboard("DELETE", f"/oauth/grants/{other}")).ok()
    [received] = await receiver.wait("connection.ended")
    assert received.body["data"]["object"]["grant_id"] == other


async def connected_again(app: Application, alice: Actor) -> str:
    """Another connection."""
    await app.connect(alice, SCOPE)
    return (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]["grant_id"]


async def test_changes_are_announced_in_order(app: Application, alice: Actor, receiver: Receiver) -> None:
    grant_id = (await connected(app, alice))["grant_id"]
    (await alice.dashboard("PATCH", f"/oauth/grants/{grant_id}", {"scopes": ["account:read", "payments:read"]})).ok()
    (await save(app, scopes=["account:read"])).ok()
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant_id}")).ok()
    changes = await receiver.wait("connection.changed", 2)
    [ended] = await receiver.wait("connection.ended")
    facts = {received.body["sequence"]: received.body["data"]["object"] for received in [*changes, ended]}
    assert [(facts[number]["reason"], facts[number]["scopes"]) for number in sorted(facts)] == [
        ("merchant", ["account:read", "payments:read"]),
        ("owner", ["account:read"]),
        ("merchant", ["account:read"]),
    ]


async def test_no_merchant_sees_them(app: Application, alice: Actor, receiver: Receiver) -> None:
    grant = await connected(app, alice)
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()
    await receiver.wait("connection.ended")
    for actor in (alice, app.owner):
        for path in ("/webhook-events", "/events"):
            listed = (await actor.get(path)).ok()
            assert "connection.ended" not in listed.text
        [row] = await alice.sql(EVENTS, grant["grant_id"])
        (await actor.get(f"/webhook-events/{row['id']}")).refused("not_found", 404)
    assert not [name for name in EVENT_TYPES if name.startswith("connection.")]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://app.example/hook", "https_required"),
        ("https://app.example/hook#part", "fragment_forbidden"),
        ("https://user@app.example/hook", None),
        ("https://10.0.0.1/hook", "invalid_url"),
        (7, "invalid_type"),
    ],
)
async def test_refused_addresses(bob: Actor, url: object, code: str | None) -> None:
    app = await application(bob)
    refused = (await save(app, connection_webhook_url=url)).refused("validation_failed", 422)
    [error] = refused.body["errors"]
    assert error["field"] == "connection_webhook_url"
    assert code is None or error["code"] == code
    (await rotate(app, version=1)).refused("validation_failed", 422)


async def test_others_cannot_rotate(app: Application, alice: Actor) -> None:
    path = f"/oauth/clients/{app.client_id}/rotate-webhook-secret"
    (await alice.dashboard("POST", path, {"version": 1})).refused("not_found", 404)
    (await alice.anonymously("POST", f"/api/v2/merchant{path}", {"version": 1})).refused("authentication_required", 401)


class LostError(Exception):
    """The process ends before the commit."""


async def test_an_end_and_its_event_are_one_transaction(app: Application, alice: Actor, services: Services) -> None:
    grant = await connected(app, alice)

    async def interrupted(work: Work) -> None:
        await connections.revoke_grant(work, MerchantId(UUID(alice.merchant_id)), UUID(grant["grant_id"]))
        raise LostError

    with pytest.raises(LostError):
        await services.transact(interrupted, clock.now())
    assert await alice.sql(EVENTS, grant["grant_id"]) == []
    (await app.api(grant["tokens"]["access_token"], "GET", "/account")).ok()


async def test_live_events_are_retried(app: Application, alice: Actor, receiver: Receiver) -> None:
    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    receiver.answer = refuse
    await app.connect(alice, SCOPE, mode="live")
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()
    await receiver.wait("connection.ended")
    while (row := (await alice.sql(EVENTS, grant["grant_id"]))[0])["status"] == "pending":
        await asyncio.sleep(0)
    assert row["status"] == "retrying"


@pytest.mark.long
async def test_exchanges_against_pausing(app: Application, alice: Actor, receiver: Receiver) -> None:
    for _ in range(10):
        code = await app.code(alice, SCOPE)
        exchanged, paused = await asyncio.gather(app.exchange(code), change(app, "status", enabled=False))
        paused.ok()
        if exchanged.status == 200:
            (await app.api(exchanged.body["access_token"], "GET", "/account")).refused("invalid_token", 401)
        (await change(app, "status", enabled=True)).ok()
    grants = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert {grant["ended_reason"] for grant in grants} <= {"paused"}
    if grants:
        received = await receiver.wait("connection.ended", len(grants))
        heard = sorted(each.body["data"]["object"]["grant_id"] for each in received)
        assert heard == sorted(grant["grant_id"] for grant in grants)
