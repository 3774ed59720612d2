"""A merchant makes a payment link by API key, a customer pays it at the checkout, and the webhook arrives."""

import hmac
from typing import Any

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.receiver import Receiver
from tests.running import Service

COFFEE = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}


async def activate_secret(actor: Actor, mode: str = "test") -> str:
    """Generate and activate a signing secret in the settings area; the secret."""
    secret = (await actor.dashboard("POST", "/webhook-secret/generate", {"mode": mode})).ok().body["secret"]
    (await actor.dashboard("POST", "/webhook-secret/activate", {"mode": mode})).ok()
    return secret


async def pay(actor: Actor, link: dict[str, Any], outcome: str = "succeed") -> None:
    """Pay a link in the simulator, as a customer without an account."""
    path = link["url"].removeprefix(actor.service.url)
    actor.http.cookie_jar.clear()
    (await actor.send("GET", path)).ok()
    (await actor.form(f"{path}/method", {"method_id": "sandbox:EUR"})).ok(303)
    (await actor.send("GET", path)).ok()
    (await actor.form(f"{path}/simulate", {"outcome": outcome})).ok(303)


async def test_a_payment_is_taken_and_reported(service: Service, alice: Actor, receiver: Receiver) -> None:
    secret = await activate_secret(alice)
    assert (await alice.get("/balances")).ok().body["balances"] in ([], _untouched(await alice.get("/balances")))
    made = (await alice.post("/payment-links", COFFEE | {"webhook_url": receiver.url}, key="coffee-1")).ok(201)
    link = made.body
    assert link["url"].startswith(f"{service.url}/pay/")
    assert (link["status"], link["amount"], link["amount_minor"], link["mode"]) == ("active", "4.20", 420, "test")

    again = (await alice.post("/payment-links", COFFEE | {"webhook_url": receiver.url}, key="coffee-1")).ok(201)
    assert again.raw == made.raw
    assert again.headers["Idempotency-Replayed"] == "true"

    await pay(alice, link)

    link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (link["status"], link["payments_count"], link["amount_paid_minor"]) == ("completed", 1, 420)
    transaction = (await alice.get(f"/transactions/{link['latest_transaction_id']}")).ok().body
    assert (transaction["status"], transaction["net_minor"]) == ("succeeded", 420)
    balance = next(
        balance for balance in (await alice.get("/balances")).ok().body["balances"] if balance["currency"] == "EUR"
    )
    assert (balance["available"], balance["available_minor"]) == ("4.20", 420)

    await receiver.wait("payment.succeeded")
    [reported] = receiver.of_type("payment.succeeded")
    assert reported.headers["X-Service-Signature"] == hmac.digest(secret.encode(), reported.raw, "sha256").hex()
    assert reported.headers["X-Service-Event-Id"] == reported.body["id"]
    assert reported.headers["X-Service-Mode"] == "test"
    assert reported.body["data"]["object"] == transaction
    await receiver.wait("balance.updated")

    event = (await alice.get(f"/webhook-events/{reported.body['id']}")).ok().body
    for _ in range(200):
        if event["status"] == "delivered":
            break
        event = (await alice.get(f"/webhook-events/{reported.body['id']}")).ok().body
    assert event["status"] == "delivered"
    [attempt] = event["delivery_history"]
    assert (attempt["attempt"], attempt["status"], attempt["error"]) == (1, "succeeded", None)
    assert event["payload"] == reported.body
    assert len(receiver.of_type("payment.succeeded")) == 1
    assert await broken_invariants(service.dsn) == []


async def test_a_failed_payment_can_be_tried_again(alice: Actor) -> None:
    link = (await alice.post("/payment-links", COFFEE)).ok(201).body
    await pay(alice, link, "fail")
    link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (link["status"], link["payments_count"]) == ("active", 0)
    await pay(alice, link)
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["status"] == "completed"


def _untouched(answer: Any) -> list[Any]:
    """Balances that all stand at zero."""
    balances = answer.ok().body["balances"]
    assert all(balance["total_minor"] == 0 for balance in balances)
    return balances
