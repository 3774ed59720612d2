"""The page on which an owner sets where events about connections go, without JavaScript; and what those events say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.accounts.merchants.test_stepup import BROWSER, grow_old
from tests.cast import PASSWORD, Actor, Application, application
from tests.forms import hidden, post, seen, wrong
from tests.oauth.test_announcements import verify
from tests.oauth.test_app_pages import record, url_of, version
from tests.oauth.test_changes import save
from tests.receiver import Receiver

CHAPTER = Path(__file__).parents[2] / "docs/oauth.md"
SCOPE = "account:read payments:write withdrawals:write offline_access"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
LIMITS = [{"kind": "withdrawals", "currency": "EUR", "per_day": "200.00"}]


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application, without an address."""
    return await application(bob)


def examples() -> dict[str, dict[str, Any]]:
    """The payloads in the chapter, by type."""
    blocks = re.findall(r"```json\n(.*?)```", CHAPTER.read_text(), re.DOTALL)
    return {read["type"]: read for block in blocks if "type" in (read := json.loads(block))}


async def test_the_secret_is_shown_once_and_rotated(app: Application, alice: Actor, receiver: Receiver) -> None:
    page = url_of(app, "/events")
    assert "Rotate signing secret" not in await seen(app.owner, page)
    first = await post(app.owner, page, 200, connection_webhook_url=f" {receiver.url} ", **await version(app))
    [secret] = {*SECRET.findall(first.text)}
    shown = await seen(app.owner, page)
    assert receiver.url in shown
    assert not SECRET.search(shown)
    await post(app.owner, page, connection_webhook_url=receiver.url, **await version(app))
    before = await version(app)
    rotated = await post(app.owner, f"{page}/secret", 200, **before)
    [latest] = {*SECRET.findall(rotated.text)}
    assert latest != secret
    assert not SECRET.search((await post(app.owner, f"{page}/secret", 409, **before)).text)
    await app.connect(alice, SCOPE)
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections")).ok()
    [received] = await receiver.wait("connection.ended")
    verify(received, latest)
    await post(app.owner, page, connection_webhook_url="", **await version(app))
    assert (await record(app))["connection_webhook_url"] is None


async def test_the_page_changes_nothing_else(app: Application, receiver: Receiver) -> None:
    (await save(app, policy_uri="https://northwind.example/privacy", require_par=True)).ok()
    before = await record(app)
    await post(app.owner, url_of(app, "/events"), 200, connection_webhook_url=receiver.url, **await version(app))
    after = await record(app)
    differing = {name for name in after if after[name] != before[name]}
    assert differing <= {"connection_webhook_url", "version", "updated_at"}
    assert after["connection_webhook_url"] == receiver.url


async def test_errors_are_shown(app: Application, alice: Actor) -> None:
    page = url_of(app, "/events")
    refused = await post(app.owner, page, 422, connection_webhook_url="http://app.example/x", **await version(app))
    assert wrong(refused).keys() == {"connection_webhook_url"}
    assert 'value="http://app.example/x"' in refused.text
    stale = await post(app.owner, page, 409, connection_webhook_url="https://app.example/x", version="7")
    assert "has changed since you opened this form" in stale.text
    await post(app.owner, f"{page}/secret", 422, **await version(app))
    await seen(alice, page, 404)
    await post(alice, page, 404, connection_webhook_url="https://evil.example/x", version="1")
    await post(alice, f"{page}/secret", 404, version="1")
    (await app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}")).ok()
    assert "Save URL" not in await seen(app.owner, page)


async def test_events_say_what_the_chapter_says(app: Application, alice: Actor, receiver: Receiver) -> None:
    (await save(app, connection_webhook_url=receiver.url)).ok()
    await app.connect(alice, SCOPE)
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    path = f"/oauth/grants/{grant['grant_id']}"
    change = {"scopes": ["account:read", "withdrawals:write"], "limits": LIMITS}
    changed = (await alice.dashboard("PATCH", path, change)).ok().body
    (await alice.dashboard("DELETE", path)).ok()
    for event_type, example in examples().items():
        [received] = await receiver.wait(event_type)
        fact, shown = received.body["data"]["object"], example["data"]["object"]
        assert received.body.keys() == example.keys()
        assert received.body["api_version"] == example["api_version"]
        assert fact.keys() == shown.keys()
        for name in ("scopes", "limits", "recipients", "limits_expire_at", "proposals_only"):
            assert fact[name] == changed[name], name
    changes = examples()["connection.changed"]["data"]["object"]
    assert (changes["limits"], changes["scopes"]) == (changed["limits"], changed["scopes"])


async def test_another_url_needs_recent_authentication(app: Application, receiver: Receiver) -> None:
    await grow_old(app.owner)
    (await save(app, connection_webhook_url=receiver.url)).refused("recent_authentication_required", 403)
    (await save(app, connection_webhook_url=None)).ok()
    page, fields = url_of(app, "/events"), {"connection_webhook_url": receiver.url, **await version(app)}
    asked = await app.owner.send("POST", page, data=fields, headers=BROWSER)
    assert "stepup_password" in asked.ok(403).text
    saved = await post(app.owner, page, 200, **hidden(asked), stepup_password=PASSWORD)
    assert SECRET.search(saved.text)
