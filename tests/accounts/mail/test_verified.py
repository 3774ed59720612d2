"""Where a relay sends mails, live keys, live consent and live links wait until an address is verified."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.accounts.mail.mail_worker import MailWorker
from tests.cast import Actor, Answer, Application, application, consent, join, sign_up
from tests.payments.shop import COFFEE, approve_project
from tests.running import Service
from tollhouse.instance.api import OPERATIONS

KEYS, LINKS = "/live/developers/keys", "/live/payment-links/new"
KEY = {"name": "Till", "mode": "live"}
LINK = COFFEE | {"max_payments": "1"}
SCOPES: str = "payments:write payments:read"
BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
ADDRESS = "/settings/security/address"
MADE = """
    SELECT (SELECT count(*) FROM api_keys WHERE mode = 'live' AND merchant_id = $1::uuid)
         + (SELECT count(*) FROM oauth_codes WHERE mode = 'live' AND merchant_id = $1::uuid)
         + (SELECT count(*) FROM payment_links WHERE mode = 'live' AND merchant_id = $1::uuid)
"""
WAYS = {
    "POST /api/v2/integration/payment-links",
    "POST /api/v2/merchant/api-keys",
    "POST /oauth/consent/{request_id}",
    "POST /{mode}/developers/keys",
    "POST /{mode}/payment-links/new",
}


@pytest.fixture
async def dora(mail_worker: MailWorker) -> AsyncIterator[Actor]:
    """Somebody who has just signed up, and may sell in live mode."""
    async with sign_up(mail_worker.service, "dora", "Dora's Deli") as actor:
        await approve_project(actor, "live")
        yield actor


async def verify(mail_worker: MailWorker, actor: Actor) -> None:
    """By the link that was mailed."""
    assert "is verified" in (await actor.form((await mail_worker.last_to(actor)).path, {})).ok().text


async def unverify(actor: Actor) -> None:
    """As if the relay had been set up later, when keys and connections were there already."""
    await actor.sql("UPDATE users SET verified_at = NULL WHERE merchant_id = $1::uuid", actor.merchant_id)


async def made(actor: Actor) -> int:
    """How many live keys, codes and links there are."""
    [row] = await actor.sql(MADE, actor.merchant_id)
    return int(row[0])


async def browse(actor: Actor, path: str, fields: dict[str, str]) -> Answer:
    """Post a form as a browser does that wants a page."""
    return await actor.send("POST", path, data=fields, headers=BROWSER)


async def live_code(app: Application, merchant: Actor, scope: str = SCOPES) -> Answer:
    """Ask for live consent and allow it."""
    started = (await merchant.send("GET", app.authorize_path(scope, mode="live"))).ok(303)
    return await consent(merchant, started.location, scope.split())


def test_what_needs_a_verified_address_is_declared() -> None:
    ways = {
        f"{operation.method} {operation.full_path}"
        for operation in OPERATIONS
        if "email_unverified" in {kind.code for kind in operation.errors}
    }
    assert ways == WAYS


async def test_a_live_key_by_json(mail_worker: MailWorker, dora: Actor) -> None:
    (await dora.dashboard("POST", "/api-keys", KEY)).refused("email_unverified", 403)
    (await dora.dashboard("POST", "/api-keys", KEY | {"name": ""})).refused("validation_failed", 422)
    (await dora.dashboard("POST", "/api-keys", KEY | {"mode": "test"})).ok(201)
    assert await made(dora) == 0
    await verify(mail_worker, dora)
    (await dora.dashboard("POST", "/api-keys", KEY)).ok(201)


async def test_a_live_key_by_the_page(mail_worker: MailWorker, dora: Actor) -> None:
    refused = (await browse(dora, KEYS, {"name": "Till"})).ok(403)
    assert "require a verified email address" in refused.text
    assert f'action="/live{ADDRESS}"' in refused.text
    assert "th_live_" not in refused.text
    assert await made(dora) == 0
    (await dora.form(ADDRESS, {})).ok(303)
    assert len(await mail_worker.mail_to(dora)) == 2
    await verify(mail_worker, dora)
    assert "th_live_" in (await browse(dora, KEYS, {"name": "Till"})).ok().text


async def test_live_consent_even_to_read(mail_worker: MailWorker, dora: Actor) -> None:
    app = await application(dora)
    for scope in (SCOPES, "account:read"):
        (await live_code(app, dora, scope)).refused("email_unverified", 403)
    started = (await dora.send("GET", app.authorize_path(SCOPES, mode="live"))).ok(303)
    (await consent(dora, started.location, [SCOPES])).ok(422)
    (await consent(dora, started.location, SCOPES.split())).refused("email_unverified", 403)
    assert await made(dora) == 0
    await verify(mail_worker, dora)
    assert "code" in (await consent(dora, started.location, SCOPES.split())).ok(303).query, "the same request still waits"


async def test_live_consent_is_denied_and_test_consent_given_without(mail_worker: MailWorker, dora: Actor) -> None:
    app = await application(dora)
    started = (await dora.send("GET", app.authorize_path(SCOPES, mode="live"))).ok(303)
    assert (await consent(dora, started.location, [], "deny")).ok(303).query["error"] == "access_denied"
    token = (await app.connect(dora, SCOPES))["access_token"]
    (await app.api(token, "POST", "/payment-links", COFFEE)).ok(201)
    assert await mail_worker.sql("SELECT FROM users WHERE email = $1 AND verified_at IS NULL", dora.email)


async def test_a_live_link_by_the_page(mail_worker: MailWorker, dora: Actor) -> None:
    fields = LINK | {"key": str(uuid4())}
    refused = (await browse(dora, LINKS, fields)).ok(403)
    assert "require a verified email address" in refused.text
    assert f'action="/live{ADDRESS}"' in refused.text
    (await dora.form(LINKS, fields)).refused("email_unverified", 403)
    (await dora.form("/test/payment-links/new", fields)).ok(303)
    assert await made(dora) == 0
    await verify(mail_worker, dora)
    (await dora.form(LINKS, fields)).ok(303)
    assert await made(dora) == 1


async def test_a_live_link_by_the_page_needs_the_own_address(mail_worker: MailWorker, dora: Actor) -> None:
    async with sign_up(mail_worker.service, "emil", "Emil's Eggs") as emil:
        await verify(mail_worker, emil)
        await join(emil, dora, "owner")
        fields = LINK | {"key": str(uuid4())}
        (await dora.form(LINKS, fields)).refused("email_unverified", 403)
        (await emil.form(LINKS, fields)).ok(303)


async def test_a_live_link_by_key(mail_worker: MailWorker, dora: Actor) -> None:
    await verify(mail_worker, dora)
    await dora.key("live")
    before = (await dora.post("/payment-links", COFFEE, key="before", mode="live")).ok(201).body
    await unverify(dora)
    (await dora.post("/payment-links", COFFEE, key="now", mode="live")).refused("email_unverified", 403)
    (await dora.post("/payment-links", {}, key="now", mode="live")).refused("validation_failed", 422)
    replayed = (await dora.post("/payment-links", COFFEE, key="before", mode="live")).ok(201).body
    assert replayed["id"] == before["id"]
    (await dora.get(f"/payment-links/{before['id']}", mode="live")).ok()
    (await dora.post("/payment-links", COFFEE)).ok(201)
    await dora.sql("UPDATE users SET verified_at = now() WHERE merchant_id = $1::uuid", dora.merchant_id)
    (await dora.post("/payment-links", COFFEE, key="now", mode="live")).ok(201)


async def test_a_live_link_by_token(mail_worker: MailWorker, dora: Actor) -> None:
    app = await application(dora)
    await verify(mail_worker, dora)
    code = (await live_code(app, dora)).ok(303).query["code"]
    token = (await app.exchange(code)).ok().body["access_token"]
    await unverify(dora)
    async with sign_up(mail_worker.service, "emil", "Emil's Eggs") as emil:
        await verify(mail_worker, emil)
        (await app.api(token, "POST", "/payment-links", COFFEE)).refused("email_unverified", 403)
    await dora.sql("UPDATE users SET verified_at = now() WHERE merchant_id = $1::uuid", dora.merchant_id)
    (await app.api(token, "POST", "/payment-links", COFFEE)).ok(201)


async def test_without_a_relay_nothing_needs_it(service: Service) -> None:
    async with sign_up(service, "dora", "Dora's Deli") as dora:
        await approve_project(dora, "live")
        app = await application(dora)
        (await dora.post("/payment-links", COFFEE, mode="live")).ok(201)
        assert "th_live_" in (await browse(dora, KEYS, {"name": "Till"})).ok().text
        (await dora.form(LINKS, LINK | {"key": str(uuid4())})).ok(303)
        token = (await app.exchange((await live_code(app, dora)).ok(303).query["code"])).ok().body["access_token"]
        (await app.api(token, "POST", "/payment-links", COFFEE)).ok(201)
        assert "need a verified" not in (await dora.send("GET", ADDRESS)).ok().text
