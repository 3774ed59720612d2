"""What tests of withdrawals do again and again: have money, and ask for it to be sent."""

from typing import Any
from uuid import uuid4

from tests.cast import Actor, Answer
from tests.payments.shop import events

TO_NINA = {"method_id": "sandbox:EUR", "amount": "10.00", "receiver": "Nina's account"}


async def fund(actor: Actor, amount: str = "100.00", currency: str = "EUR") -> None:
    """Have test money."""
    (await actor.post("/test/balances/fund", {"currency": currency, "amount": amount})).ok(201)


async def withdraw(actor: Actor, *, mode: str = "test", key: str | None = None, **changes: Any) -> Answer:
    """Ask for a withdrawal, with a key of its own."""
    return await actor.post("/withdrawals", TO_NINA | changes, key=key or str(uuid4()), mode=mode)


async def asked(actor: Actor, *, mode: str = "test", **changes: Any) -> dict[str, Any]:
    """A withdrawal that was accepted."""
    return (await withdraw(actor, mode=mode, **changes)).ok(201).body


async def quote(actor: Actor, **changes: Any) -> Answer:
    """Ask what it costs."""
    return await actor.post("/withdrawal-quotes", {"method_id": "sandbox:EUR", "amount": "10.00"} | changes)


async def fresh(actor: Actor, withdrawal: dict[str, Any], *, mode: str = "test") -> dict[str, Any]:
    """The withdrawal as it is now."""
    return (await actor.get(f"/withdrawals/{withdrawal['id']}", mode=mode)).ok().body


async def play(actor: Actor, withdrawal: dict[str, Any], outcome: str) -> Answer:
    """Let the simulator do something to it."""
    return await actor.post(f"/test/withdrawals/{withdrawal['id']}/simulate", {"outcome": outcome})


async def cancel(actor: Actor, withdrawal: dict[str, Any], *, mode: str = "test") -> Answer:
    """Cancel it."""
    return await actor.post(f"/withdrawals/{withdrawal['id']}/cancel", key=str(uuid4()), mode=mode)


async def told(actor: Actor) -> list[str]:
    """The events of withdrawals, oldest first."""
    return [name for name, _ in await events(actor) if name.startswith("withdrawal.")]
