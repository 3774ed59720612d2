"""A crash at every single step of paying, refunding and disputing: afterwards all of it is there, or nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest
from starlette.types import Message

from tests.cast import Actor, sign_up
from tests.invariants import broken_invariants
from tests.payments.bank import refund, sell
from tests.payments.killing import FusedPool, every_row, fused_services, kill_everywhere
from tests.payments.shop import events
from tests.running import CATALOGUE, Service, settings_for
from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.http.services import Services, Work
from tollhouse.instance import main
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.methods import Fees
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.refunds import actions as refund_actions
from tollhouse.payments.refunds import chargebacks
from tollhouse.payments.refunds import review as refund_review
from tollhouse.payments.transactions import settlement
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.sandbox.simulator import Simulated

pytestmark = pytest.mark.long

TABLES = (
    "payment_links", "transactions", "transaction_steps", "receipt_mails", "rail_observations", "refunds", "chargebacks",
    "outgoing_transfers", "withdrawal_days",
    "ledger_accounts",
    "ledger_transactions", "ledger_postings", "ledger_entries", "ledger_holds", "webhook_events", "webhook_deliveries",
    "webhook_deliveries_later",
    "idempotency_keys", "sandbox_plans",
)  # fmt: skip


@pytest.fixture(scope="module")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, so that nothing happens but what the test does."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def shop(still: Service) -> AsyncIterator[Actor]:
    """A merchant there."""
    async with sign_up(still, "shop", "The Shop") as actor:
        yield actor


@pytest.fixture(params=[False, True], ids=["statement by statement", "deferred"])
async def services(still: Service, request: pytest.FixtureRequest) -> AsyncIterator[Services]:
    """Services whose connections can be cut."""
    async with fused_services(still, defers=request.param) as services:
        yield services


async def look(actor: Actor) -> list[Any]:
    """Everything there is, but for when a key was last used."""
    return await every_row(actor, TABLES)


def env_of(actor: Actor) -> MerchantEnv:
    """The merchant's test environment."""
    return MerchantEnv(MerchantId(UUID(actor.merchant_id)), "test")


async def survive(actor: Actor, services: Services, action: Callable[[Tx], Awaitable[Any]], *, at_least: int) -> None:
    """Kill the action at every fault point, then let it be; the books are in order."""
    assert isinstance(services.db, FusedPool)
    steps, _ = await kill_everywhere(services.db, lambda: services.db.transact(action), lambda: look(actor))
    assert steps >= (2 if services.db.defers else at_least)
    assert await broken_invariants(actor.service.dsn) == []


async def reported(actor: Actor) -> list[str]:
    """The events, by type."""
    return sorted(name for name, _ in await events(actor))


async def test_paying(shop: Actor, services: Services) -> None:
    part = await sell(shop, "underpay")
    await survive(
        shop,
        services,
        lambda tx: Simulated(Work(tx, services, clock.now()), env_of(shop), UUID(part["id"])).play("succeed"),
        at_least=8,
    )
    assert await reported(shop) == ["balance.updated", "payment.succeeded"]


async def test_accepting(shop: Actor, services: Services) -> None:
    late = await sell(shop, "late")
    await survive(
        shop,
        services,
        lambda tx: settlement.accept(Work(tx, services, clock.now()), env_of(shop), UUID(late["id"])),
        at_least=7,
    )
    assert await reported(shop) == ["balance.updated", "payment.expired", "payment.refund_required", "payment.succeeded"]


@pytest.mark.covers("P-32")
async def test_asking_for_a_refund_with_a_key(shop: Actor, services: Services) -> None:
    """By the front door, so that the key's claim and the kept answer are among the steps."""
    paid = await sell(shop)
    asgi = main.build(services)
    path = f"/api/v2/integration/transactions/{paid['id']}/refunds"
    key = await shop.key()

    async def action() -> int:
        headers = {"x-api-key": key, "idempotency-key": "k1", "content-type": "application/json"}
        status = await post(asgi, path, b'{"amount": "4.00"}', headers)
        assert status in {201, 503}
        if status == 503:
            raise KilledNowError
        return status

    assert isinstance(services.db, FusedPool)
    before = await look(shop)
    for step in range(1, 100):
        services.db.fuse.left = step
        try:
            await action()
        except KilledNowError:
            assert await look(shop) == before, step
            continue
        finally:
            services.db.fuse.left = None
        assert step > (2 if services.db.defers else 8)
        break
    assert await action() == 201
    assert len((await shop.get("/refunds")).ok().body["refunds"]) == 1
    assert await broken_invariants(shop.service.dsn) == []
    assert (await reported(shop)).count("balance.updated") == 2


class KilledNowError(Exception):
    """The front answered that it lost its database."""


async def post(asgi: Any, path: str, body: bytes, headers: dict[str, str]) -> int:
    """POST to the application itself: the status."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "scheme": "http", "http_version": "1.1",
    }  # fmt: skip
    await asgi(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_reviewing_a_refund(shop: Actor, services: Services, decision: str) -> None:
    back = (await refund(shop, await sell(shop), "4.00", receiver="Nina")).ok(201).body
    refund_id, now = UUID(back["id"]), clock.now()

    async def approve(tx: Tx) -> Any:
        return await refund_review.approve(tx, await refund_review.lock(tx, refund_id), Reviewer("olga"), None, now)

    async def reject(tx: Tx) -> Any:
        return await refund_review.reject(Work(tx, services, now), await refund_review.lock(tx, refund_id), "No")

    await survive(shop, services, approve if decision == "approve" else reject, at_least=5)
    shown = (await shop.get(f"/refunds/{refund_id}")).ok().body
    assert (shown["review"], shown["status"]) == {"approve": ("approved", "pending"), "reject": ("rejected", "failed")}[
        decision
    ]


@pytest.mark.parametrize("ends", ["succeed", "fail", "come_back"])
async def test_ending_a_refund(shop: Actor, services: Services, ends: str) -> None:
    back = (await refund(shop, await sell(shop), "4.00")).ok(201).body
    env, refund_id, now = env_of(shop), UUID(back["id"]), clock.now()
    if ends == "come_back":
        await services.transact(lambda work: refund_actions.succeed(work, env, refund_id), now)
    actions_listed: dict[str, Callable[[Tx], Awaitable[Any]]] = {
        "succeed": lambda tx: refund_actions.succeed(Work(tx, services, now), env, refund_id),
        "fail": lambda tx: refund_actions.fail(Work(tx, services, now), env, refund_id, "refund_declined"),
        "come_back": lambda tx: refund_actions.reverse(Work(tx, services, now), env, refund_id),
    }
    await survive(shop, services, actions_listed[ends], at_least=8)


async def test_a_dispute(shop: Actor, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    dear = msgspec.structs.replace(CATALOGUE.methods["sandbox:EUR"], fees=Fees(chargeback_minor=1_500))
    monkeypatch.setitem(CATALOGUE.methods, "sandbox:EUR", dear)
    paid = await sell(shop)
    (await refund(shop, paid, "4.00")).ok(201)
    env, transaction_id = env_of(shop), UUID(paid["id"])
    await survive(
        shop,
        services,
        lambda tx: chargebacks.open_chargeback(Work(tx, services, clock.now()), env, transaction_id),
        at_least=14,
    )
    [balance] = [balance for balance in (await shop.get("/balances")).ok().body["balances"] if balance["currency"] == "EUR"]
    assert (balance["available_minor"], balance["reserved_minor"], balance["debt_minor"]) == (0, 0, 1_500)
    await survive(
        shop,
        services,
        lambda tx: chargebacks.decide(Work(tx, services, clock.now()), env, transaction_id, won=True),
        at_least=7,
    )
    [balance] = [balance for balance in (await shop.get("/balances")).ok().body["balances"] if balance["currency"] == "EUR"]
    assert (balance["available_minor"], balance["debt_minor"]) == (0, 500)
