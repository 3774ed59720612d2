"""What tests of payments do again and again: open a link, and be the customer at its checkout."""

from typing import Any
from uuid import uuid4

from tests.cast import Actor, Answer, post_form

COFFEE = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}


async def open_link(actor: Actor, **changes: Any) -> dict[str, Any]:
    """A link for a coffee, changed so."""
    return (await actor.post("/payment-links", COFFEE | changes)).ok(201).body


async def visit(link: dict[str, Any], actor: Actor, **headers: str) -> Answer:
    """Open the checkout page as somebody unknown."""
    return await actor.anonymously(
        "GET", link["url"].removeprefix(actor.service.url), headers={"Accept": "text/html", **headers}
    )


async def choose(link: dict[str, Any], method_id: str | None = None) -> Answer:
    """Choose how to pay."""
    return await post_form(f"{link['url']}/method", {"method_id": method_id or f"sandbox:{link['currency']}"})


async def simulate(link: dict[str, Any], outcome: str = "succeed", *, payment: str = "", **fields: str) -> Answer:
    """Press a button of the simulator: on the customer's own page, where `payment` says whose."""
    named = f"?payment={payment}" if payment else ""
    return await post_form(f"{link['url']}/simulate{named}", {"outcome": outcome} | fields)


async def pay(link: dict[str, Any], outcome: str = "succeed") -> Answer:
    """Choose and simulate."""
    (await choose(link)).ok(303)
    return (await simulate(link, outcome)).ok(303)


async def balance(actor: Actor, currency: str = "EUR") -> dict[str, Any]:
    """The balance in one currency."""
    return (await actor.get(f"/balances/{currency}")).ok().body


async def events(actor: Actor) -> list[tuple[str, int]]:
    """Type and sequence of every event of the merchant, oldest first."""
    rows = await actor.sql(
        "SELECT type, sequence FROM webhook_events WHERE merchant_id = $1::uuid ORDER BY created_at, id", actor.merchant_id
    )
    return [(row["type"], row["sequence"]) for row in rows]


async def approve_project(actor: Actor, mode: str) -> None:
    """One more approved project, as an operator would approve it."""
    await actor.sql(
        "INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)"
        " VALUES ($1::uuid, $2::uuid, $3, 'Another', 'approved', now(), now())",
        str(uuid4()),
        actor.merchant_id,
        mode,
    )


async def let_expire(actor: Actor, link: dict[str, Any]) -> None:
    """Turn the link's clock: it was made long ago."""
    await actor.sql(
        "UPDATE payment_links SET created_at = now() - interval '2 d', expires_at = now() - interval '1 s'"
        " WHERE id = $1::uuid",
        link["id"],
    )
