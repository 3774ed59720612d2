"""Runs the demo: the service, then the sample data, then the receiver, and prints what to open."""

import asyncio
import os
from contextlib import AsyncExitStack

import aiohttp
from rich.console import Console

from tollhouse.http.templates import Templates
from tollhouse.instance import supervisor
from tollhouse.instance.demo import network, programs
from tollhouse.instance.demo.programs import DemoError
from tollhouse.instance.demo.receiver import WebhookReceiver
from tollhouse.instance.demo.seed import (
    EMAIL,
    PASSWORD,
    create_live_links,
    create_payment_link,
    create_project,
    load_or_create,
)
from tollhouse.instance.forks import Starter
from tollhouse.platform.settings.config import Settings

READY_WITHIN_S = 60
PRICES = {f"{network.RAIL}:USDC": "12.50", f"{network.RAIL}:ETH": "0.0215"}
"""The live links, by method."""
out = Console(highlight=False, soft_wrap=True)


async def run(
    settings: Settings, how: supervisor.Serve, receiver_port: int, node_program: str | None, starter: Starter
) -> int:
    """Serve until stopped, with a test network if there is a program for its node; the exit status.

    Raises `DemoError` when the sample cannot be made, or the network does not start.
    """
    watcher = WebhookReceiver(settings.base_url, Templates())
    await watcher.start(receiver_port)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(watcher.stop)
        if node_program is not None:
            await stack.enter_async_context(network.running(settings.data_dir, node_program))
        serving = asyncio.create_task(supervisor.serve(settings, how, starter))
        stack.push_async_callback(_end, serving)
        showing = asyncio.create_task(_show(settings, watcher, receiver_port, with_network=node_program is not None))
        await asyncio.wait({serving, showing}, return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            showing.result()
        else:
            showing.cancel()
        return await serving


async def _end(serving: asyncio.Task[int]) -> None:
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def _show(settings: Settings, watcher: WebhookReceiver, receiver_port: int, *, with_network: bool) -> None:
    receiver_url = f"http://127.0.0.1:{receiver_port}"
    live_links: dict[str, str] = {}
    async with aiohttp.ClientSession() as http:
        await _ready(http, settings.base_url)
        watcher.sample = await load_or_create(http, settings.base_url, settings.data_dir / "demo.json", receiver_url)
        link = await create_payment_link(http, settings.base_url, watcher.sample.api_key, f"{receiver_url}/hook")
        if with_network:
            await _operate(settings, await create_project(http, settings.base_url))
            live_links = await create_live_links(http, settings.base_url, PRICES, READY_WITHIN_S)
    out.print("\n[bold]Tollhouse is running. Open these:[/bold]")
    for label, value in (
        ("Dashboard", f"{settings.base_url}/signin"),
        ("  email", EMAIL),
        ("  password", PASSWORD),
        ("API key (test)", watcher.sample.api_key),
        ("Payment link", link),
        ("Webhooks arrive at", f"{receiver_url}/"),
        ("Connect an application", watcher.sample.authorize_url(settings.base_url)),
        *((f"Live link, {method_id}", url) for method_id, url in live_links.items()),
    ):
        out.print(f"{label:<26}{value}", markup=False)
    if with_network:
        out.print(
            f"\nThe live links are paid on a test network with a block every {network.BLOCK_TIME_S} s. Open one, and"
            " run in another terminal:\n  tollhouse demo pay URL",
            markup=False,
        )
    out.print("\nCtrl-C stops everything.", markup=False)


async def _operate(settings: Settings, project_id: str) -> None:
    """Do what operators do: approve the merchant's project, and book the money in the wallet, which is their own."""
    environment = {**os.environ, "TOLLHOUSE_DATA_DIR": str(settings.data_dir)}
    commands = [("projects", "approve", project_id)]
    commands += [("rail-balances", "float", network.RAIL, code, str(amount)) for code, amount in network.FUNDS.items()]
    for words in commands:
        reason = ("--reason", "Sample of the demo")
        await programs.output_of(*programs.TOLLHOUSE, "operator", *words, *reason, **environment)


async def _ready(http: aiohttp.ClientSession, base_url: str) -> None:
    for _ in range(READY_WITHIN_S * 10):
        try:
            async with http.get(f"{base_url}/readyz") as response:
                if response.ok:
                    return
        except aiohttp.ClientError:
            pass
        await asyncio.sleep(0.1)
    raise DemoError(f"the service was not ready within {READY_WITHIN_S} s")
