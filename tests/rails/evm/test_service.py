"""A service with a rails file: its worker follows nodes, and its checkout shows what arrives."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cast import Actor, sign_up
from tests.invariants import broken_invariants
from tests.payments.shop import approve_project, choose, visit
from tests.rails.bitcoin.core import Core, serving
from tests.rails.bitcoin.wallet import ZPUB
from tests.rails.evm.anvil import CHAIN_ID, Anvil
from tests.rails.evm.receiving import ETHER, new_xpub
from tests.running import Service, settings_for
from tollhouse.instance.database import embedded

RAILS = """
[ethereum]
kind = "evm"
chain_id = {chain_id}
node_url_file = "{folder}/node"
xpub = "{xpub}"
poll_interval_s = 1
tip_age_max_s = 1000000000
[ethereum.tokens.USDC]
contract = "{token}"
decimals = 6
[bitcoin]
kind = "bitcoin"
network = "main"
node_url = "{core_url}"
xpub = "{zpub}"
poll_interval_s = 1
tip_age_max_s = 1000000000
"""
ENDS_WITHIN_S = 300
"""A worker that does not do its part ends the test, and not the whole run."""
BITCOIN_ADDRESS = re.compile(r"bitcoin:(bc1[0-9a-z]+)\?amount=0\.00150000")
ADDRESS = re.compile(r"ethereum:(?:0x[0-9a-fA-F]{40}@\d+/transfer\?address=)?(0x[0-9a-fA-F]{40})")


@pytest.fixture
async def core() -> AsyncIterator[Core]:
    """A node of Bitcoin. Its URL is in `url`."""
    core = Core()
    async with serving(core) as core.url:
        yield core


@pytest.fixture
async def shop(server: embedded.Server, chain: Anvil, core: Core, tmp_path: Path) -> AsyncIterator[Actor]:
    """A merchant of a service whose worker follows both nodes."""
    token = await chain.deploy("Token", "USD Coin", "USDC", 6)
    (tmp_path / "node").write_text(chain.url)
    rails = tmp_path / "rails.toml"
    values = {"chain_id": CHAIN_ID, "folder": tmp_path, "xpub": new_xpub(), "token": token.address}
    rails.write_text(RAILS.format(**values, core_url=core.url, zpub=ZPUB))
    settings = await asyncio.to_thread(settings_for, server.cluster.dsn, fresh=True, TOLLHOUSE_RAILS_FILE=str(rails))
    service = await asyncio.to_thread(Service(settings).start)
    try:
        async with sign_up(service, "alice", "Alice's Coffee") as alice:
            await approve_project(alice, "live")
            yield alice
        assert await broken_invariants(service.dsn) == []
    finally:
        await asyncio.to_thread(service.stop)


async def are_available(shop: Actor) -> bool:
    """Whether the worker has measured the rails."""
    listed = (await shop.get("/payment-methods", mode="live")).ok().body["payment_methods"]
    return all(method["available"] for method in listed if method["method_id"] in {"ethereum:ETH", "bitcoin:BTC"})


@pytest.mark.long
@pytest.mark.covers("P-162")
async def test_a_customer_pays_in_ether_and_another_in_bitcoin(shop: Actor, chain: Anvil, core: Core) -> None:
    async with asyncio.timeout(ENDS_WITHIN_S):
        while not await are_available(shop):
            await asyncio.sleep(0.1)
        body = {"display_name": "Coffee", "amount": "0.5", "currency": "ETH"}
        link = (await shop.post("/payment-links", body, mode="live")).ok(201).body
        (await choose(link, "ethereum:ETH")).ok(303)
        shown = html.unescape((await visit(link, shop, Accept="text/html")).ok().text)
        [address] = set(ADDRESS.findall(shown))
        assert f"{address[:6]} {address[6:10]} " in shown
        assert "0.5" in shown
        await chain.sent(address, ETHER // 2)
        statuses = list[str]()
        while "succeeded" not in statuses:
            [paid] = (await shop.get("/transactions", mode="live")).ok().body["transactions"]
            if paid["status"] not in statuses:
                statuses.append(paid["status"])
                if paid["status"] == "processing":
                    assert "confirmation" in (await visit(link, shop, Accept="text/html")).ok().text
                    await chain.finalize()
                assert paid["status"] != "succeeded" or paid["amount_received"] == "0.50000000"
            await asyncio.sleep(0.1)
        assert statuses[-2:] == ["processing", "succeeded"]
        await pay_in_bitcoin(shop, core)


async def pay_in_bitcoin(shop: Actor, core: Core) -> None:
    """The checkout shows the address, that the payment is on its way, and each confirmation."""
    body = {"display_name": "Coffee", "amount": "0.0015", "currency": "BTC"}
    link = (await shop.post("/payment-links", body, mode="live")).ok(201).body
    (await choose(link, "bitcoin:BTC")).ok(303)
    shown = html.unescape((await visit(link, shop, Accept="text/html")).ok().text)
    [address] = set(BITCOIN_ADDRESS.findall(shown))
    core.pay((address, 150_000))
    for expected in ("0 of 2 confirmations", "1 of 2 confirmations", "Payment received"):
        while expected not in (await visit(link, shop, Accept="text/html")).ok().text:
            await asyncio.sleep(0.1)
        core.mine()
    [paid] = [
        transaction
        for transaction in (await shop.get("/transactions", mode="live")).ok().body["transactions"]
        if transaction["currency"] == "BTC"
    ]
    assert (paid["status"], paid["amount_received"]) == ("succeeded", "0.00150000")
