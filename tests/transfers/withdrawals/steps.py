"""What tests of withdrawals do again and again: have money, and ask for it to be sent."""

from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.cast import Actor, Answer
from tests.payments.shop import events
from tests.running import CATALOGUE
from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.withdrawals import changes as reviewing
from tollhouse.transfers.withdrawals import jobs
from tollhouse.transfers.withdrawals.model import Withdrawal

ROUNDS = 100
TO_NINA: dict[str, Any] = {"method_id": "sandbox:EUR", "amount": "10.00", "receiver": "Nina's account"}
BY_SEPA: dict[str, Any] = {
    "method_id": "sepa:EUR",
    "amount": "10.00",
    "receiver": "NL91ABNA0417164300",
    "provider_fields": {"account_holder_name": "Nina"},
}


async def fund(actor: Actor, amount: str = "100.00", currency: str = "EUR") -> None:
    """Have test money."""
    (await actor.post("/test/balances/fund", {"currency": currency, "amount": amount})).ok(201)


async def withdraw(
    actor: Actor, changes: dict[str, Any] | None = None, *, mode: str = "test", key: str | None = None
) -> Answer:
    """Ask for a withdrawal, with a key of its own."""
    return await actor.post("/withdrawals", TO_NINA | (changes or {}), key=key or str(uuid4()), mode=mode)


async def asked(actor: Actor, changes: dict[str, Any] | None = None, *, mode: str = "test") -> dict[str, Any]:
    """A withdrawal that was accepted."""
    return (await withdraw(actor, changes, mode=mode)).ok(201).body


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


async def reported(actor: Actor) -> list[str]:
    """The events of withdrawals, oldest first."""
    return [name for name, _ in await events(actor) if name.startswith("withdrawal.")]


async def let_due(actor: Actor) -> None:
    """Turn the clock: the worker's time to look after this merchant's withdrawals has come."""
    await actor.sql(
        "UPDATE withdrawals SET next_look_at = now() - interval '1 s'"
        " WHERE merchant_id = $1::uuid AND next_look_at IS NOT NULL",
        actor.merchant_id,
    )


async def leave_unsent(actor: Actor) -> None:
    """Let no worker look after this merchant's withdrawals any more: those of other tests are sent instead."""
    await actor.sql("UPDATE withdrawals SET next_look_at = NULL WHERE merchant_id = $1::uuid", actor.merchant_id)


async def carry(actor: Actor, services: Services) -> None:
    """Let the worker do its round."""
    await let_due(actor)
    await jobs.advance_withdrawals(services)


async def settled(actor: Actor, services: Services, withdrawal: dict[str, Any]) -> dict[str, Any]:
    """The withdrawal once a worker has looked at it: the service's own one may be about to."""
    for _ in range(ROUNDS):
        await carry(actor, services)
        if (now := await fresh(actor, withdrawal))["status"] != "approved":
            return now
    raise AssertionError("no worker looks at it")


async def review(
    services: Services, withdrawal: dict[str, Any], operator: str = "olga", rejected: str | None = None
) -> Withdrawal:
    """Decide as an operator."""
    now = clock.now()

    async def decide(tx: Tx) -> Withdrawal:
        current = await reviewing.lock(tx, UUID(withdrawal["id"]))
        if rejected is None:
            return await reviewing.approve(tx, current, Reviewer(operator), None, now)
        return await reviewing.reject(Work(tx, services, now), current, rejected)

    return await services.db.transact(decide)


async def purse_live(actor: Actor) -> tuple[int, int]:
    """What is available and reserved in live mode."""
    found = (await actor.get("/balances/EUR", mode="live")).ok().body
    return found["available_minor"], found["reserved_minor"]


def priced(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """The sandbox's method for EUR, as an operator's catalogue changes it."""
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sandbox:EUR"], **changes)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sandbox:EUR", method)
