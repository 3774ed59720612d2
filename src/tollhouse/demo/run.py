"""Runs the demo: the service, then the sample data, then the receiver, and prints what to open."""

import asyncio

import aiohttp
from rich.console import Console

from tollhouse import supervisor
from tollhouse.demo.receiver import WebhookReceiver
from tollhouse.demo.seed import EMAIL, PASSWORD, DemoError, create_payment_link, load_or_create
from tollhouse.http.templates import Templates
from tollhouse.platform.config import Settings

READY_WITHIN_S = 60
out = Console(highlight=False, soft_wrap=True)


async def run(settings: Settings, how: supervisor.Serve, receiver_port: int, starter: supervisor.Starter) -> int:
    """Serve until stopped; the exit status. Raises `DemoError` when the sample cannot be made."""
    watcher = WebhookReceiver(settings.base_url, Templates())
    await watcher.start(receiver_port)
    serving = asyncio.create_task(supervisor.serve(settings, how, starter))
    try:
        showing = asyncio.create_task(_show(settings, watcher, receiver_port))
        await asyncio.wait({serving, showing}, return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            showing.result()
        else:
            showing.cancel()
        return await serving
    finally:
        await watcher.stop()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def _show(settings: Settings, watcher: WebhookReceiver, receiver_port: int) -> None:
    receiver_url = f"http://127.0.0.1:{receiver_port}"
    async with aiohttp.ClientSession() as http:
        await _ready(http, settings.base_url)
        watcher.sample = await load_or_create(http, settings.base_url, settings.data_dir / "demo.json", receiver_url)
        link = await create_payment_link(http, settings.base_url, watcher.sample.api_key, f"{receiver_url}/hook")
    out.print("\n[bold]Tollhouse is running. Open these:[/bold]")
    for label, value in (
        ("Dashboard", f"{settings.base_url}/signin"),
        ("  email", EMAIL),
        ("  password", PASSWORD),
        ("API key (test)", watcher.sample.api_key),
        ("Payment link", link),
        ("Webhooks arrive at", f"{receiver_url}/"),
        ("Connect an application", watcher.sample.authorize_url(settings.base_url)),
    ):
        out.print(f"{label:<24}{value}", markup=False)
    out.print("\nCtrl-C stops everything.", markup=False)


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
