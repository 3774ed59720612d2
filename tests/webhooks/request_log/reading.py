"""Looking into the request log, which is written a moment behind the answers."""

import asyncio
import html
import re
import time

from tests.cast import Actor

ROW = re.compile(
    r'href="/(?:test|live)/developers/requests/([0-9a-f-]{36})"><span class="verb[^"]*">([A-Z]+)</span> <code>([^<]*)</code>'
)
KEPT = "SELECT count(*) FROM api_requests WHERE merchant_id = $1::uuid"
WITHIN_S = 30


async def listed(actor: Actor, query: str = "", mode: str = "test") -> list[tuple[str, str]]:
    """The requests that the page lists: id, and method with path."""
    page = (await actor.send("GET", f"/{mode}/developers/requests{query}", headers={"Accept": "text/html"})).ok()
    return [(found, f"{method} {html.unescape(path)}") for found, method, path in ROW.findall(page.text)]


async def written(actor: Actor, count: int, query: str = "", mode: str = "test") -> list[tuple[str, str]]:
    """The same, as soon as there are so many."""
    until = time.monotonic() + WITHIN_S
    while len(found := await listed(actor, query, mode)) < count:
        assert time.monotonic() < until, found
        await asyncio.sleep(0.05)
    assert len(found) == count, found
    return found


async def all_written(actor: Actor, count: int) -> None:
    """As soon as so many are kept, on however many pages."""
    until = time.monotonic() + WITHIN_S
    while (kept := await actor.sql(KEPT, actor.merchant_id))[0]["count"] < count:
        assert time.monotonic() < until, kept
        await asyncio.sleep(0.05)
