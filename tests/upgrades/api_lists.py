"""What the API says about a merchant, by its lists. It imports nothing of the project, so that every release can use it."""

import re
from collections.abc import Iterable
from typing import Any, cast

import aiohttp

Json = dict[str, Any]
PATHS = (
    "account",
    "balances",
    "ledger",
    "payment-links",
    "transactions",
    "refunds",
    "withdrawals",
    "conversions",
    "conversion-rules",
    "balance-payments",
    "fulfillments",
    "webhook-events",
    "webhook",
    "projects",
    "settings",
)
HOST = re.compile(r"^http://[^/]+")
OPEN = {"active", "pending", "processing", "reserved", "pending_review", "approved"}
"""Statuses that end by the clock or by a worker."""


async def read_lists(http: aiohttp.ClientSession, url: str, key: str, paths: Iterable[str] = PATHS) -> Json:
    """The body of each list by its path, without lists that are empty."""
    found: Json = {}
    for path in paths:
        query = "" if path in {"account", "webhook", "settings"} else "?limit=100"
        async with http.get(f"{url}/api/v2/integration/{path}{query}", headers={"X-API-Key": key}) as response:
            assert response.status == 200, (path, await response.text())
            body = await response.json()
        if body is not None and body.get(path.replace("-", "_")) != []:
            found[path] = body
    return found


def differences(before: Any, now: Any, where: str = "") -> list[str]:
    """What the API said of what is over, and says otherwise now, as lines.

    What was not said before is no difference, nor are the words of messages and the host.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        then, after = cast(Json, before), cast(Json, now)
        if then.get("status") in OPEN:
            return []
        members = (name for name in then if not name.endswith("_message"))
        return [line for name in members for line in differences(then[name], after.get(name), f"{where}.{name}")]
    if isinstance(before, list) and isinstance(now, list) and len(cast(list[Any], before)) == len(cast(list[Any], now)):
        pairs = enumerate(zip(cast(list[Any], before), cast(list[Any], now), strict=True))
        return [line for place, (one, other) in pairs for line in differences(one, other, f"{where}[{place}]")]
    if isinstance(before, str) and isinstance(now, str) and where.endswith(".url"):
        before, now = HOST.sub("", before), HOST.sub("", now)
    if before is None or before == now:
        return []
    return [f"{where}: {before!r} is {now!r}"]
