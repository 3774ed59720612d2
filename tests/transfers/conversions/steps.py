"""What tests of conversions do again and again."""

from typing import Any
from uuid import uuid4

from tests.cast import Actor, Answer
from tests.payments.shop import events

EURO_TO_DOLLAR: dict[str, Any] = {"from_currency": "EUR", "to_currency": "USD", "amount": "10.00"}
PAID_INTO_DOLLARS: dict[str, Any] = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment"}


async def fund(actor: Actor, amount: str = "100.00", currency: str = "EUR") -> None:
    """Have test money."""
    (await actor.post("/test/balances/fund", {"currency": currency, "amount": amount})).ok(201)


async def convert(actor: Actor, body: dict[str, Any] | None = None, *, mode: str = "test") -> Answer:
    """Convert, with a key of its own."""
    return await actor.post("/conversions", EURO_TO_DOLLAR if body is None else body, key=str(uuid4()), mode=mode)


async def quote(actor: Actor, body: dict[str, Any] | None = None) -> Answer:
    """Ask what it brings."""
    return await actor.post("/conversion-quotes", EURO_TO_DOLLAR if body is None else body)


async def rule(actor: Actor, **changes: Any) -> Answer:
    """Make a rule."""
    return await actor.post("/conversion-rules", PAID_INTO_DOLLARS | changes)


async def conversions(actor: Actor, **filters: str) -> list[dict[str, Any]]:
    """What was converted, newest first."""
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    return (await actor.get(f"/conversions?{query}")).ok().body["conversions"]


async def available(actor: Actor, currency: str) -> int:
    """What is there."""
    return (await actor.get(f"/balances/{currency}")).ok().body["available_minor"]


async def reported(actor: Actor, event_type: str) -> int:
    """How many events of this type there are."""
    return [name for name, _ in await events(actor)].count(event_type)
