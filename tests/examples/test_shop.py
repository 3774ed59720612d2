"""The shop: an order is paid, its webhook is believed once, and it is refunded once."""

import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cast import Actor
from tests.examples.running import running, until
from tests.running import free_port

ADMIN = "an-administrator"


@pytest.fixture
async def shop(alice: Actor, tmp_path: Path) -> AsyncIterator[str]:
    """The shop's address; its database is in the folder of the test."""
    url = f"http://127.0.0.1:{free_port()}"
    secret = (await alice.post("/webhook/rotate-secret")).ok().body["secret"]
    settings = {
        "TOLLHOUSE_URL": alice.service.url,
        "TOLLHOUSE_KEY": await alice.key(),
        "TOLLHOUSE_WEBHOOK_SECRET": secret,
        "SHOP_URL": url,
        "SHOP_ADMIN_TOKEN": ADMIN,
        "SHOP_DATABASE": str(tmp_path / "shop.db"),
    }
    command = [sys.executable, "-m", "uvicorn", "--factory", "serve:app", "--port", url.rpartition(":")[2]]
    async with running("shop", *command, url=url, **settings):
        yield url


async def test_an_order_is_paid_and_refunded_once(shop: str, alice: Actor, tmp_path: Path) -> None:
    bought = (await alice.send("POST", f"{shop}/orders/beans")).ok(303)
    (link,) = (await alice.get("/payment-links")).ok().body["payment_links"]
    assert (bought.location, link["amount"]) == (link["url"], "14.90")
    order = link["external_id"]
    assert "Status: open" in (await alice.send("GET", f"{shop}/orders/{order}")).ok().text
    refund = f"{shop}/orders/{order}/refund"
    (await alice.send("POST", refund, headers=_bearer(ADMIN))).ok(409)

    (await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"})).ok()
    await until(lambda: _has_status(shop, alice, order, "paid"))
    for event in (await alice.get("/webhook-events")).ok().body["webhook_events"]:
        (await alice.post(f"/webhook-events/{event['id']}/redeliver", key=event["id"])).ok(202)

    (await alice.send("POST", refund)).ok(401)
    (await alice.send("POST", refund, headers=_bearer("somebody"))).ok(401)
    first = (await alice.send("POST", refund, headers=_bearer(ADMIN))).ok().body
    assert (await alice.send("POST", refund, headers=_bearer(ADMIN))).ok().body["refund_id"] == first["refund_id"]
    (await alice.post(f"/test/refunds/{first['refund_id']}/simulate", {"outcome": "succeed"})).ok()
    await until(lambda: _has_status(shop, alice, order, "refunded"))
    database = sqlite3.connect(tmp_path / "shop.db")
    assert database.execute("SELECT count(*), count(DISTINCT id) FROM orders").fetchone() == (1, 1)
    database.close()
    assert len((await alice.get("/refunds")).ok().body["refunds"]) == 1


@pytest.mark.long
async def test_a_webhook_of_somebody_else_is_refused(shop: str, mallory: Actor) -> None:
    bought = (await mallory.send("POST", f"{shop}/orders/cup")).ok(303)
    assert "/pay/" in bought.location
    forged: dict[str, Any] = {"id": "e-1", "type": "payment.succeeded", "sequence": 1, "data": {"object": {}}}
    async with aiohttp.ClientSession() as http:
        for headers in ({}, {"webhook-id": "e-1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}):
            async with http.post(f"{shop}/webhooks", json=forged, headers=headers) as response:
                assert response.status == 400
    (await mallory.send("GET", f"{shop}/orders/unknown")).ok(404)
    (await mallory.send("POST", f"{shop}/orders/unknown")).ok(404)


async def _has_status(shop: str, actor: Actor, order: str, status: str) -> bool:
    return f"Status: {status}" in (await actor.send("GET", f"{shop}/orders/{order}")).ok().text


def _bearer(token: str) -> dict[str, Any]:
    return {"Authorization": f"Bearer {token}"}
