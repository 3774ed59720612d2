"""What tests of refunds, disputes and the simulator do again and again."""

import asyncio
from typing import Any
from uuid import uuid4

from tests.cast import Actor, Answer
from tests.payments.shop import open_link


async def play(actor: Actor, transaction: dict[str, Any], outcome: str, **changes: Any) -> Answer:
    """Let the simulator do something to a transaction."""
    return await actor.post(f"/test/transactions/{transaction['id']}/simulate", {"outcome": outcome} | changes)


async def sell(actor: Actor, outcome: str = "succeed", amount: str = "10.00", **changes: Any) -> dict[str, Any]:
    """A link for this amount, and what comes of its first attempt."""
    link = await open_link(actor, amount=amount, **changes)
    return await attempt(actor, link, outcome)


async def attempt(actor: Actor, link: dict[str, Any], outcome: str = "succeed", **changes: Any) -> dict[str, Any]:
    """One more customer at a link: the transaction."""
    return (await actor.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": outcome} | changes)).ok().body


async def refund(
    actor: Actor, transaction: dict[str, Any], amount: str | None = None, *, mode: str = "test", **changes: Any
) -> Answer:
    """Ask for a refund, with a key of its own."""
    key = changes.pop("key", str(uuid4()))
    body = changes | ({} if amount is None else {"amount": amount})
    return await actor.post(f"/transactions/{transaction['id']}/refunds", body, key=key, mode=mode)


async def bank_says(actor: Actor, refunded: dict[str, Any], outcome: str) -> Answer:
    """Let the bank decide a refund."""
    return await actor.post(f"/test/refunds/{refunded['id']}/simulate", {"outcome": outcome})


async def fresh(actor: Actor, transaction: dict[str, Any], *, mode: str = "test") -> dict[str, Any]:
    """The transaction as it is now."""
    return (await actor.get(f"/transactions/{transaction['id']}", mode=mode)).ok().body


async def until(actor: Actor, path: str, status: str, seconds: int = 30, *, mode: str = "test") -> dict[str, Any]:
    """The object of this address, as soon as it has this status."""
    for _ in range(seconds * 20):
        found = (await actor.get(path, mode=mode)).ok().body
        if found["status"] == status:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"{path} does not become {status}")


async def purse(actor: Actor, currency: str = "EUR", *, mode: str = "test") -> tuple[int, int, int]:
    """What is available, reserved and owed."""
    found = (await actor.get(f"/balances/{currency}", mode=mode)).ok().body
    assert (
        found["total_minor"]
        == found["available_minor"] + found["pending_minor"] + found["reserved_minor"] - found["debt_minor"]
    )
    return found["available_minor"], found["reserved_minor"], found["debt_minor"]
