"""What is measured: opening a payment link with a key, and capturing a payment; of a thousand merchants, and of one."""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

import msgspec

from benchmarks.money.seed import PAYMENT, Shop, numbered
from benchmarks.oauth.actions import CONNECTIONS, KEEP_ALIVE, Job

Action = Literal["link", "capture"]
Crowd = Literal["spread", "hot"]
ACTIONS: tuple[Action, ...] = ("link", "capture")
CROWDS: tuple[Crowd, ...] = ("spread", "hot")
INTEGRATION = "/api/v2/integration"
LINK = msgspec.json.encode(
    {"display_name": "Coffee", "amount": "10.50", "currency": "EUR", "external_id": "order-1"}
).decode()
CAPTURE = '{"outcome":"succeed"}'
PATHS = {"link": f"{INTEGRATION}/payment-links", "capture": f"{INTEGRATION}/test/transactions/{{}}/simulate"}


def owners(shops: Sequence[Shop], crowd: Crowd) -> list[Shop]:
    """Whose turn it is, in turn."""
    return list(shops) if crowd == "spread" else [shops[0]]


def job(action: Action, shops: list[Shop], numbers: range, port: int, seconds: float) -> Job:
    """A request for each number, for the server on this port; merchants take turns."""
    body = LINK if action == "link" else CAPTURE
    head = f"{KEEP_ALIVE}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    keys = [shops[number % len(shops)].api_key for number in numbers]
    if action == "link":
        before = f"POST {PATHS['link']} HTTP/1.1\r\nX-API-Key: "
        items = [f"{key}\r\nIdempotency-Key: {key_of(number)}" for number, key in zip(numbers, keys, strict=True)]
        return Job(port, seconds, CONNECTIONS, before, f"\r\n{head}", items, once=True)
    before, _, after = PATHS["capture"].partition("{}")
    items = [f"{payment_of(number)}{after} HTTP/1.1\r\nX-API-Key: {key}" for number, key in zip(numbers, keys, strict=True)]
    return Job(port, seconds, CONNECTIONS, f"POST {before}", f"\r\n{head}", items, once=True)


def key_of(number: int) -> str:
    """An Idempotency-Key."""
    return f"order-{number:012d}"


def payment_of(number: int) -> UUID:
    """The payment of this number."""
    return numbered(PAYMENT, number)
