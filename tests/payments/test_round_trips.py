"""How often an action talks to the database, and that fewer talks are as safe: races, conflicts, lost connections."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest
from starlette.types import Message

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.payments.bank import attempt, fresh, sell
from tests.payments.shop import open_link
from tests.running import Service
from tollhouse.http.services import Services, Work
from tollhouse.instance import main
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.errors import OutcomeUnknown
from tollhouse.platform.database.partitions import Partitions
from tollhouse.platform.database.pool import DatabaseConnection, Pool, Tx
from tollhouse.rails.sandbox.simulator import Simulated

API = "/api/v2/integration"
LINK = {"display_name": "Coffee", "amount": "10.50", "currency": "EUR", "external_id": "order-1"}


class CountingConnection(DatabaseConnection):
    """A connection that keeps what it sends."""

    sent: list[str]
    lost_after: str | None = None
    """The connection is lost when a statement with this text has been run, before its answer arrives."""

    async def query(self, run: Callable[..., Any], sql: str, args: Sequence[object], *, custom_plan: bool = False) -> Any:
        """As ever, but kept."""
        return await self._kept(sql, super().query(run, sql, args, custom_plan=custom_plan))

    async def send(self, sql: str) -> None:
        """As ever, but kept."""
        await self._kept(sql, super().send(sql))

    async def _kept(self, sql: str, sending: Any) -> Any:
        response = await sending
        self.sent.append(sql)
        if CountingConnection.lost_after is not None and CountingConnection.lost_after in sql:
            self.raw.terminate()
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        return response


class CountingPool(Pool):
    """A pool of such connections."""

    def __init__(self, dsn: str, sent: list[str]) -> None:
        super().__init__(dsn, 1, partitions=Partitions())
        self._sent = sent

    async def acquire(self) -> DatabaseConnection:
        """As ever, but the connection counts."""
        connection = await super().acquire()
        if not isinstance(connection, CountingConnection):
            connection.__class__ = CountingConnection
            connection.sent = self._sent  # pyright: ignore[reportAttributeAccessIssue]
        return connection


@pytest.fixture
def sent() -> list[str]:
    """The statements of the services of this test."""
    return []


@pytest.fixture
async def services(service: Service, sent: list[str]) -> AsyncIterator[Services]:
    """Services in this process, with one connection."""
    services = service.create_services()
    pool = CountingPool(service.dsn, sent)
    yield msgspec.structs.replace(services, db=pool)
    await pool.close()
    await services.db.close()


class Api:
    """The application in this process, asked by a merchant."""

    def __init__(self, services: Services, key: str, sent: list[str]) -> None:
        self._asgi, self._key, self.sent = main.build(services), key, sent

    async def post(self, path: str, body: object, status: int, *, idempotency_key: str | None = None) -> int:
        """The number of round trips of this request, which is answered with this status."""
        self.sent.clear()
        headers = {"x-api-key": self._key, "content-type": "application/json", "host": "localhost"}
        if idempotency_key is not None:
            headers["idempotency-key"] = idempotency_key
        answered: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": msgspec.json.encode(body), "more_body": False}

        async def send(message: Message) -> None:
            answered.append(message)

        scope = {
            "type": "http", "method": "POST", "path": API + path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip
        await self._asgi(scope, receive, send)
        assert answered[0]["status"] == status, answered[1]
        return len(self.sent)


@pytest.fixture
async def api(services: Services, alice: Actor, sent: list[str]) -> Api:
    """Alice's requests. The first one records the use of her key and opens the connection."""
    asked = Api(services, await alice.key(), sent)
    await asked.post("/payment-links", LINK, 201)
    return asked


async def pending(actor: Actor, **changes: Any) -> str:
    """The ID of a payment that waits for its money."""
    link = await open_link(actor, amount="10.00", **changes)
    seen = await attempt(actor, link, "processing")
    return str(seen["id"])


async def test_a_payment_link(api: Api) -> None:
    assert await api.post("/payment-links", LINK, 201) <= 3
    assert await api.post("/payment-links", LINK, 201, idempotency_key=str(uuid4())) <= 4


async def test_a_repeated_request(api: Api) -> None:
    key = str(uuid4())
    await api.post("/payment-links", LINK, 201, idempotency_key=key)
    assert await api.post("/payment-links", LINK, 201, idempotency_key=key) <= 2
    assert await api.post("/payment-links", LINK | {"amount": "1.00"}, 422, idempotency_key=key) <= 2


async def test_a_capture(api: Api, alice: Actor) -> None:
    path = "/test/transactions/{}/simulate"
    body = {"outcome": "succeed"}
    assert await api.post(path.format(await pending(alice)), body, 200) <= 3
    assert await api.post(path.format(await pending(alice)), body, 200, idempotency_key=str(uuid4())) <= 4
    assert await api.post(path.format(await pending(alice, customer_email="a@example.com")), body, 200) <= 3
    assert await broken_invariants(alice.service.dsn) == []


async def test_a_refund(api: Api, alice: Actor) -> None:
    path = f"/transactions/{(await sell(alice))['id']}/refunds"
    assert await api.post(path, {"amount": "4.00"}, 201, idempotency_key=str(uuid4())) <= 6
    assert await broken_invariants(alice.service.dsn) == []


async def test_a_withdrawal(api: Api, alice: Actor) -> None:
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "100.00"})).ok(201)
    body = {"method_id": "sandbox:EUR", "amount": "10.00", "receiver": "Nina's account"}
    assert await api.post("/withdrawals", body, 201, idempotency_key=str(uuid4())) <= 5
    assert await api.post("/withdrawals", body | {"amount": "1000.00"}, 422, idempotency_key=str(uuid4())) <= 12
    assert await broken_invariants(alice.service.dsn) == []


async def test_a_refused_capture_writes_nothing(api: Api, alice: Actor) -> None:
    paid = await sell(alice)
    assert await api.post(f"/test/transactions/{paid['id']}/simulate", {"outcome": "succeed"}, 409) <= 2
    assert "BEGIN" not in api.sent


async def test_two_captures_of_one_payment_pay_once(alice: Actor) -> None:
    transaction_id = await pending(alice)
    path = f"/test/transactions/{transaction_id}/simulate"
    answers = await asyncio.gather(*(alice.post(path, {"outcome": "succeed"}) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7
    assert (await fresh(alice, {"id": transaction_id}))["amount_received"] == "10.00"
    assert await broken_invariants(alice.service.dsn) == []


async def test_captures_and_a_cancellation_leave_one_outcome(alice: Actor) -> None:
    for _ in range(6):
        link = await open_link(alice, amount="10.00")
        transaction = await attempt(alice, link, "processing")
        path = f"/test/transactions/{transaction['id']}/simulate"
        paid, canceled = await asyncio.gather(
            alice.post(path, {"outcome": "succeed"}), alice.post(f"/payment-links/{link['id']}/cancel", {})
        )
        assert paid.status == 200  # money that was seen before a cancellation is credited
        assert (canceled.status, (await fresh(alice, transaction))["status"]) in {(200, "succeeded"), (409, "succeeded")}
    assert await broken_invariants(alice.service.dsn) == []


@pytest.mark.long
async def test_many_payments_of_one_link_count_all(alice: Actor) -> None:
    link = await open_link(alice, amount="1.00", max_payments=None)
    waiting = [await attempt(alice, link, "processing") for _ in range(12)]
    answers = await asyncio.gather(
        *(alice.post(f"/test/transactions/{transfer['id']}/simulate", {"outcome": "succeed"}) for transfer in waiting)
    )
    assert [answer.status for answer in answers] == [200] * 12
    shown = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (shown["payments_count"], shown["amount_paid"]) == (12, "12.00")
    assert await broken_invariants(alice.service.dsn) == []


async def test_a_payment_that_changed_since_it_was_read_is_read_again(
    services: Services, alice: Actor, sent: list[str]
) -> None:
    transaction_id = await pending(alice)
    env, runs = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test"), 0

    async def action(work: Work) -> str:
        nonlocal runs
        runs += 1
        simulated = Simulated(work, env, UUID(transaction_id))
        await simulated.lock()
        if runs == 1:
            await attempt_failed(alice, transaction_id)
        return (await simulated.play("succeed")).status

    assert await services.transact(action, clock.now()) == "succeeded"
    assert runs == 2
    assert "ROLLBACK" not in sent  # the first run had begun nothing
    assert await broken_invariants(alice.service.dsn) == []


async def attempt_failed(actor: Actor, transaction_id: str) -> None:
    """One more confirmation is seen meanwhile."""
    (await actor.post(f"/test/transactions/{transaction_id}/simulate", {"outcome": "processing"})).ok()


async def test_a_connection_lost_before_the_answer_is_an_unknown_outcome(
    services: Services, alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction_id = await pending(alice)
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test")
    monkeypatch.setattr(CountingConnection, "lost_after", "transactions_change")
    with pytest.raises(OutcomeUnknown):
        await services.transact(lambda work: Simulated(work, env, UUID(transaction_id)).play("succeed"), clock.now())
    assert (await fresh(alice, {"id": transaction_id}))["status"] == "succeeded"
    assert await broken_invariants(alice.service.dsn) == []


async def test_deferred_writes_run_in_their_order_and_see_each_other(service: Service) -> None:
    pool = Pool(service.dsn, 1)
    await pool.execute("CREATE TABLE deferred_rows (n int PRIMARY KEY, before int)")
    await pool.execute(
        "CREATE FUNCTION deferred_add(p_n int) RETURNS void LANGUAGE sql AS "
        "'INSERT INTO deferred_rows SELECT p_n, count(*) FROM deferred_rows'"
    )

    async def action(tx: Tx) -> None:
        await tx.write("SELECT deferred_add($1)", 1)
        await tx.write("INSERT INTO deferred_rows (n, before) VALUES ($1, $2)", 2, 1)
        await tx.write("SELECT deferred_add($1)", 3)
        await tx.write("INSERT INTO deferred_rows (n, before) VALUES ($1, $2)", 4, 3)
        await tx.write("SELECT deferred_add($1)", 0, first=True)

    await pool.transact(action)
    rows = [tuple(row) for row in await pool.fetch("SELECT n, before FROM deferred_rows ORDER BY n")]
    assert rows == [(0, 0), (1, 1), (2, 1), (3, 3), (4, 3)]
    await pool.execute("DROP FUNCTION deferred_add")
    await pool.execute("DROP TABLE deferred_rows")
    await pool.close()


async def test_a_refused_deferred_write_runs_the_action_again_one_statement_at_a_time(service: Service) -> None:
    pool = Pool(service.dsn, 1)
    await pool.execute("CREATE TABLE refused_rows (n int PRIMARY KEY)")
    runs: list[bool] = []

    async def action(tx: Tx) -> None:
        runs.append(tx.is_optimistic)
        for n in (1, 2, 1):
            await tx.write("INSERT INTO refused_rows (n) VALUES ($1)", n)

    with pytest.raises(asyncpg.UniqueViolationError):
        await pool.transact(action)
    assert runs == [True, False]
    assert await pool.fetch("SELECT FROM refused_rows") == []
    await pool.execute("DROP TABLE refused_rows")
    await pool.close()


async def test_any_number_of_writes_can_be_deferred(service: Service) -> None:
    pool = Pool(service.dsn, 1)
    await pool.execute("CREATE TABLE many_rows (n int PRIMARY KEY)")

    async def action(tx: Tx) -> None:
        for n in range(2_000):
            await tx.write("INSERT INTO many_rows (n) VALUES ($1)", n)

    await pool.transact(action)
    assert [row["count"] for row in await pool.fetch("SELECT count(*) FROM many_rows")] == [2_000]
    with pytest.raises(asyncpg.UniqueViolationError):
        await pool.transact(action)
    await pool.execute("DROP TABLE many_rows")
    await pool.close()


async def test_an_update_cannot_be_deferred(service: Service) -> None:
    pool = Pool(service.dsn, 1)

    async def action(tx: Tx) -> None:
        await tx.write("UPDATE merchants SET business_name = $1", "x")

    with pytest.raises(ValueError, match="only an INSERT"):
        await pool.transact(action)
    await pool.close()


@pytest.mark.long
async def test_a_request_that_is_refused_by_what_its_first_one_did_gets_the_stored_response(alice: Actor) -> None:
    for _ in range(5):
        paid = await sell(alice)
        path, key = f"/transactions/{paid['id']}/refunds", str(uuid4())
        answers = await asyncio.gather(*(alice.post(path, {"amount": "10.00"}, key=key) for _ in range(6)))
        assert [answer.status for answer in answers] == [201] * 6
        assert len({answer.raw for answer in answers}) == 1
        path, key = f"/test/transactions/{await pending(alice)}/simulate", str(uuid4())
        answers = await asyncio.gather(*(alice.post(path, {"outcome": "succeed"}, key=key) for _ in range(6)))
        assert [answer.status for answer in answers] == [200] * 6
        assert len({answer.raw for answer in answers}) == 1
    assert await broken_invariants(alice.service.dsn) == []
