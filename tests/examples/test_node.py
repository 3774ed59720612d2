"""The examples for Node: a connection from the first click to its end, and purchases that survive kills."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor, application, consent
from tests.examples.running import install, running, until
from tests.running import free_port

pytestmark = [pytest.mark.xdist_group("npm"), pytest.mark.usefixtures("node")]
TOKEN = "of-the-game-server"  # noqa: S105 - of a game that does not exist
GAME = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def balances_app(alice: Actor, bob: Actor, tmp_path: Path) -> AsyncIterator[str]:
    """The application on a server, which bob has registered."""
    install("oauth-server")
    url = f"http://127.0.0.1:{free_port()}"
    app = await application(bob, redirect_uris=[f"{url}/callback"])
    settings = {
        "TOLLHOUSE_URL": alice.service.url,
        "CLIENT_ID": app.client_id,
        "CLIENT_SECRET": app.client_secret or "",
        "APP_URL": url,
        "DATA": str(tmp_path / "data"),
    }
    async with running("oauth-server", "node", "server.mjs", url=url, **settings):
        yield url


async def test_a_merchant_connects_and_disconnects(balances_app: str, alice: Actor, tmp_path: Path) -> None:
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "12.50"})).ok(201)
    assert "Connect your account" in (await alice.send("GET", balances_app)).ok().text
    callback = await _authorized(balances_app, alice, "allow")
    (await alice.send("GET", callback)).ok(303)
    shown = (await alice.send("GET", balances_app)).ok().text
    assert "Alice&#39;s Coffee" in shown
    assert "12.50 EUR" in shown
    (stored,) = (tmp_path / "data").iterdir()
    assert stored.stat().st_mode & 0o777 == 0o600

    (await alice.send("GET", callback)).ok(400)
    (await alice.send("POST", f"{balances_app}/disconnect")).ok(303)
    assert "Connect your account" in (await alice.send("GET", balances_app)).ok().text
    (grant,) = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert grant["status"] == "revoked"


async def test_a_denial_and_a_foreign_callback_are_explained(balances_app: str, alice: Actor, mallory: Actor) -> None:
    denied = (await alice.send("GET", await _authorized(balances_app, alice, "deny"))).ok(400)
    assert "Connect again" in denied.text
    other = await _authorized(balances_app, alice, "allow")
    (await mallory.send("GET", other)).ok(400)
    (await alice.send("GET", re.sub("state=[^&]*", "state=other", other))).ok(400)
    (await alice.send("GET", f"{balances_app}/other")).ok(404)


@pytest.mark.long
async def test_purchases_are_delivered_once(alice: Actor, tmp_path: Path) -> None:
    install("game")
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "500.00"})).ok(201)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {
        "TOLLHOUSE_URL": alice.service.url,
        "TOLLHOUSE_KEY": await alice.key(),
        "GAME_TOKEN": TOKEN,
        "PORT": str(port),
        "JOURNAL": str(tmp_path / "purchases.jsonl"),
        "POLL_MS": "50",
    }
    for number in range(3):
        async with running("game", "node", "server.mjs", url=url, **settings) as process:
            body = {"purchase_id": f"p-{number}", "player_id": "nina-7", "gems": 10}
            (await alice.send("POST", f"{url}/purchases", headers=GAME, json=body)).ok(202)
            process.kill()
    async with running("game", "node", "server.mjs", url=url, **settings):
        for number in range(3):
            await until(lambda number=number: _is_completed(alice, url, f"p-{number}"))
        (await alice.send("GET", f"{url}/purchases/p-9", headers=GAME)).ok(404)
        (await alice.send("GET", f"{url}/purchases/p-1")).ok(401)
        (await alice.send("POST", f"{url}/purchases", headers=GAME, json={"player_id": "nina-7", "gems": 0})).ok(422)
    assert sorted(order["external_id"] for order in await _ordered(alice)) == ["p-0", "p-1", "p-2"]


async def _authorized(balances_app: str, merchant: Actor, decision: str) -> str:
    """The callback after the merchant's answer."""
    sent = (await merchant.send("GET", f"{balances_app}/connect")).ok(303)
    started = (await merchant.send("GET", sent.location)).ok(303)
    granted = ["account:read", "balances:read", "offline_access"]
    return (await consent(merchant, started.location, granted, decision)).ok(303).location


async def _ordered(alice: Actor) -> list[Any]:
    return (await alice.get("/fulfillments")).ok().body["fulfillments"]


async def _purchase(alice: Actor, url: str, purchase: str) -> Any:
    return (await alice.send("GET", f"{url}/purchases/{purchase}", headers=GAME)).ok().body


async def _is_completed(alice: Actor, url: str, purchase: str) -> bool:
    return (await _purchase(alice, url, purchase))["status"] == "completed"
