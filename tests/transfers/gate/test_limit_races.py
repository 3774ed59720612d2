"""Many at once at the edge of a limit, by several tokens at several processes; and processes that die in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import aiohttp
import msgspec
import pytest

from tests.cast import INTEGRATION, Actor, Answer, Application, application, every_scope, sign_up
from tests.invariants import broken_invariants
from tests.payments.bank import sell
from tests.payments.killing import FusedPool, every_row, fused_services, kill_everywhere
from tests.processes import Serving
from tests.running import KEY, Service, as_application, settings_for
from tests.transfers.balance_payments.test_crashes import TABLES
from tests.transfers.gate.test_limits import new_key, withdrawals
from tests.transfers.withdrawals.steps import TO_NINA, fund
from tollhouse.accounts.identity.model import Caller, ProposalRequired
from tollhouse.accounts.spending import limits as limiting
from tollhouse.accounts.spending import store as spent_store
from tollhouse.accounts.spending.limits import LimitsOwner
from tollhouse.accounts.spending.model import NO_LIMITS, ConnectionLimitExceeded, Limit, LimitKind, Limits
from tollhouse.http.services import Services, Work
from tollhouse.instance.database import embedded
from tollhouse.kernel import actor as acting
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, GrantId, MerchantId
from tollhouse.kernel.scopes import ALL
from tollhouse.transfers.balance_payments import actions as balance_payments
from tollhouse.transfers.balance_payments.model import NewBalancePayment
from tollhouse.transfers.gate import spending
from tollhouse.transfers.withdrawals import actions as withdrawing
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

pytestmark = pytest.mark.xdist_group("races")
KINDS: tuple[LimitKind, ...] = ("withdrawals", "refunds", "balance_payments", "conversions", "fulfillments")
AT_ONCE, LIMIT, LOWER = 20, 1_000, 500
ROUNDS, TURNS = 100, 40
"""TURNS: twice each of the 20 ways in which a turn's requests differ in amounts, tokens and the moment of a change."""
ANOTHER_DAY = "UPDATE limit_uses SET used_at = used_at - interval '25 hours' WHERE spender = $1"
OF_THE_DAY = """
    SELECT kind, sum(amount_minor - given_back_minor)::bigint AS spent, count(*) AS uses FROM limit_uses
    WHERE spender = $1 AND used_at > now() - interval '24 hours' GROUP BY kind
"""
GRANTS = "SELECT id FROM oauth_grants WHERE client_id = $1 ORDER BY id"
LIMITED = "UPDATE oauth_grants SET limits = $2::jsonb WHERE client_id = $1"


def per_day(*kinds: LimitKind, minor: int = LIMIT) -> Limits:
    """So much of each kind in a day."""
    return Limits(limits=tuple(Limit(kind=kind, currency="EUR", per_day_minor=minor) for kind in kinds))


@dataclass
class Crowd:
    """An application with three tokens of one connection of a merchant and one of another, at these servers."""

    app: Application
    payer: Actor
    tokens: list[str]
    urls: list[str]
    http: aiohttp.ClientSession
    sold: str = ""
    _turn: int = 0

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """A POST with the next token at the next server."""
        self._turn += 1
        token, url = self.tokens[self._turn % len(self.tokens)], self.urls[self._turn // len(self.tokens) % len(self.urls)]
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4())}
        async with self.http.post(url + INTEGRATION + path, json=body, headers=headers) as response:
            return Answer(response.status, response.headers, await response.read())

    async def spend(self, kind: LimitKind, amount_minor: int) -> Answer:
        """Ask for so much."""
        amount = f"{amount_minor / 100:.2f}"
        if kind == "withdrawals":
            return await self.post("/withdrawals", TO_NINA | {"amount": amount})
        if kind == "refunds":
            return await self.post(f"/transactions/{self.sold}/refunds", {"amount": amount})
        if kind == "balance_payments":
            return await self.post("/balance-payments", {"amount": amount, "currency": "EUR", "capture": self._turn % 2 > 0})
        if kind == "conversions":
            return await self.post("/conversions", {"from_currency": "EUR", "to_currency": "USD", "amount": amount})
        gems = {"product_id": "sandbox:gems", "quantity": amount_minor // 10, "recipient": {"player_id": "p-1"}}
        return await self.post("/fulfillments", gems)

    async def spent(self) -> dict[str, tuple[int, int]]:
        """What counts of each kind today, and how many uses that are."""
        return {row["kind"]: (row["spent"], row["uses"]) for row in await self.payer.sql(OF_THE_DAY, self.app.client_id)}

    async def another_day(self, limits: Limits) -> None:
        """Nothing counts any more, and all connections have these limits."""
        await self.payer.sql(ANOTHER_DAY, self.app.client_id)
        await self.payer.sql(LIMITED, self.app.client_id, limits.stored)

    async def owner(self) -> LimitsOwner:
        """The first connection."""
        row = (await self.payer.sql(GRANTS, self.app.client_id))[0]
        return LimitsOwner(env_of(self.payer), row["id"], False, "Northwind Ledger")


def env_of(actor: Actor) -> MerchantEnv:
    """The test environment of a merchant."""
    return MerchantEnv(MerchantId(UUID(actor.merchant_id)), "test")


async def gather(alice: Actor, bob: Actor, urls: list[str], http: aiohttp.ClientSession) -> Crowd:
    """Connect the application of Bob to Alice, twice; she has money enough for everything."""
    app = await application(bob)
    every = " ".join(await every_scope(bob))
    first = await app.connect(alice, every)
    second = (await app.refresh(first["refresh_token"])).ok().body
    scopes = " ".join(scope for scope in second["scope"].split() if scope.endswith(":write"))
    third = (await app.refresh(second["refresh_token"], scope=scopes)).ok().body
    other = await app.connect(alice, every)
    await fund(alice, "9000.00")
    tokens = [issued["access_token"] for issued in (first, second, third, other)]
    return Crowd(app, alice, tokens, urls, http)


@pytest.fixture(scope="module")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service without a worker, so that nothing is given back but what a test gives back."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def crowd(still: Service) -> AsyncIterator[Crowd]:
    """A crowd at one process; afterwards the books are in order."""
    async with (
        sign_up(still, "alice", "Alice") as alice,
        sign_up(still, "bob", "Bob") as bob,
        aiohttp.ClientSession() as http,
    ):
        yield await gather(alice, bob, [still.url], http)
    assert await broken_invariants(still.dsn) == []


@pytest.fixture
async def services(still: Service) -> AsyncIterator[Services]:
    """Services whose connections can be cut."""
    async with fused_services(still) as services:
        yield services


@pytest.fixture(scope="module")
async def two(still: Service, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[str]]:
    """Two web processes more on that database."""
    environment = {
        "DATABASE_URL": as_application(still.dsn),
        "TOLLHOUSE_SECRET_KEYS": KEY,
        "TOLLHOUSE_RATE_LIMITS": "off",
    }
    started = [await Serving(tmp_path_factory.mktemp("web"), "web", **environment).start() for _ in range(2)]
    yield [process.url for process in started]
    for process in started:
        assert process.stop() == []


async def crowd_at_the_edge(crowd: Crowd, turn: int) -> None:
    """All kinds at once: what is refused did not fit, what passed is counted, and nothing is beyond the limit."""
    await crowd.another_day(per_day(*KINDS))
    crowd.sold = (await sell(crowd.payer, amount="100.00"))["id"]  # a payment has 20 refunds at most
    asked: list[tuple[LimitKind, int]] = [(KINDS[n % 5], 100 * (2 + (n + turn) % 5)) for n in range(AT_ONCE)]
    answers = await asyncio.gather(*(crowd.spend(*each) for each in asked))
    passed: dict[LimitKind, list[int]] = {kind: [] for kind in KINDS}
    for (kind, amount), answer in zip(asked, answers, strict=True):
        if answer.status < 300:
            passed[kind].append(amount)
    for (kind, amount), answer in zip(asked, answers, strict=True):
        if answer.status >= 300:
            details = answer.refused("connection_limit_exceeded", 403).body["details"]
            assert (details["kind"], details["reason"]) == (kind, "amount")
            assert details["remaining_minor"] < amount
            assert sum(passed[kind]) + amount > LIMIT
    assert max(sum(amounts) for amounts in passed.values()) <= LIMIT
    assert await crowd.spent() == {kind: (sum(amounts), len(amounts)) for kind, amounts in passed.items()}


async def test_all_kinds_at_once(crowd: Crowd) -> None:
    await crowd_at_the_edge(crowd, 0)


@pytest.mark.long
async def test_all_kinds_at_once_at_two_processes(crowd: Crowd, two: list[str]) -> None:
    crowd.urls = two
    for turn in range(ROUNDS):
        await crowd_at_the_edge(crowd, turn)


async def lower_while_they_spend(crowd: Crowd, services: Services, turn: int) -> None:
    """Nothing passes by the old limits once they are replaced."""
    await crowd.another_day(per_day("withdrawals"))
    owner = await crowd.owner()

    async def lower(work: Work) -> int:
        await limiting.replace(work, owner, per_day("withdrawals", minor=LOWER))
        spent = await spent_store.get_spent(work.tx, owner.credential_id, work.now)
        return spent.get(("withdrawals", "EUR"), {}).get("day", 0)

    async def later() -> int:
        for _ in range(turn % 4):
            await asyncio.sleep(0)
        return await services.transact(lower, clock.now())

    crowd.tokens = crowd.tokens[:3]  # the other connection keeps its limits
    answers = await asyncio.gather(later(), *(crowd.spend("withdrawals", 100) for _ in range(AT_ONCE)))
    at_once, passed = answers[0], sum(answer.status == 201 for answer in answers[1:] if isinstance(answer, Answer))
    assert all(answer.status in {201, 403} for answer in answers[1:] if isinstance(answer, Answer))
    assert isinstance(at_once, int)
    assert passed * 100 == max(at_once, LOWER)
    assert await crowd.spent() == {"withdrawals": (passed * 100, passed)}


async def test_limits_are_lowered_meanwhile(crowd: Crowd, still: Service) -> None:
    services = still.create_services()
    await lower_while_they_spend(crowd, services, 1)
    await services.db.close()


@pytest.mark.long
async def test_limits_are_lowered_meanwhile_at_two_processes(crowd: Crowd, still: Service, two: list[str]) -> None:
    crowd.urls, services = two, still.create_services()
    for turn in range(TURNS):
        await lower_while_they_spend(crowd, services, turn)
    await services.db.close()


@pytest.mark.long
async def test_first_limits_meanwhile(crowd: Crowd, still: Service) -> None:
    """Who was let in without limits is asked to repeat where some were set; whatever comes afterwards counts."""
    services = still.create_services()
    owner = await crowd.owner()
    await crowd.another_day(NO_LIMITS)

    async def set_limits(work: Work) -> None:
        await limiting.replace(work, owner, per_day("withdrawals"))

    crowd.tokens = crowd.tokens[:3]
    answers = await asyncio.gather(
        *(crowd.spend("withdrawals", 100) for _ in range(AT_ONCE // 2)),
        services.transact(set_limits, clock.now()),
        *(crowd.spend("withdrawals", 100) for _ in range(AT_ONCE // 2)),
    )
    assert {answer.status for answer in answers if isinstance(answer, Answer)} <= {201, 403, 503}
    await asyncio.gather(*(crowd.spend("withdrawals", 100) for _ in range(LIMIT // 100)))
    assert await crowd.spent() == {"withdrawals": (LIMIT, LIMIT // 100)}
    await services.db.close()


async def test_standing_orders_against_first_limits(crowd: Crowd, still: Service) -> None:
    """What the service would do later, uncounted, is not set up by who was let in before there were limits."""
    services, owner = still.create_services(), await crowd.owner()
    await crowd.another_day(NO_LIMITS)
    by = acting.Actor("application", crowd.app.client_id, credential_id=owner.credential_id)
    env = owner.env

    async def check(work: Work) -> None:
        await spending.ensure_standing_order(work, env, "conversions", "EUR")

    await services.transact(check, clock.now(), by)
    await services.transact(lambda work: limiting.replace(work, owner, per_day("conversions")), clock.now())
    with pytest.raises(ConnectionLimitExceeded):
        await services.transact(check, clock.now(), by)
    await services.transact(lambda work: limiting.replace(work, owner, NO_LIMITS), clock.now())
    await crowd.payer.sql("UPDATE oauth_grants SET proposals_only = true WHERE id = $1::uuid", str(owner.credential_id))
    with pytest.raises(ProposalRequired):
        await services.transact(check, clock.now(), by)
    await services.db.close()


async def give_back_while_they_spend(crowd: Crowd) -> None:
    """What is canceled and released is given back once, and others use it at most once."""
    both: tuple[LimitKind, ...] = ("withdrawals", "balance_payments")
    await crowd.another_day(per_day(*both))
    made = [(await crowd.spend("withdrawals", 100)).ok(201).body["id"] for _ in range(10)]
    body = {"amount": "1.00", "currency": "EUR", "capture": False}
    reserved = [(await crowd.post("/balance-payments", body)).ok(201).body["id"] for _ in range(10)]
    ends: list[Awaitable[Answer]] = []
    for n in range(5):
        ends += [crowd.post(f"/withdrawals/{made[n]}/cancel", {}) for _ in range(2)]
        ends += [
            crowd.post(f"/balance-payments/{reserved[n]}/release", {}),
            crowd.post(f"/balance-payments/{reserved[n]}/capture", {"amount": "0.40"}),
        ]
    spending = [crowd.spend(kind, 100) for _ in range(AT_ONCE // 2) for kind in both]
    answers = await asyncio.gather(*ends, *spending)
    assert {answer.status for answer in answers} <= {200, 201, 403, 409}
    captured = sum(answer.status == 200 for answer in answers[3:20:4])
    assert [sum(answer.status == 200 for answer in answers[n : n + 2]) for n in range(0, 20, 4)] == [1] * 5
    assert [sum(answer.status == 200 for answer in answers[n + 2 : n + 4]) for n in range(0, 20, 4)] == [1] * 5
    passed = [sum(answer.status == 201 for answer in answers[20 + n :: 2]) for n in range(2)]
    spent = await crowd.spent()
    assert spent["withdrawals"] == (500 + 100 * passed[0], 10 + passed[0])
    assert spent["balance_payments"] == (500 + 40 * captured + 100 * passed[1], 10 + passed[1])
    assert max(amount for amount, _ in spent.values()) <= LIMIT


async def test_some_is_given_back_meanwhile(crowd: Crowd) -> None:
    await give_back_while_they_spend(crowd)


@pytest.mark.long
async def test_some_is_given_back_meanwhile_at_two_processes(crowd: Crowd, two: list[str]) -> None:
    crowd.urls = two
    for _ in range(TURNS // 2):
        await give_back_while_they_spend(crowd)


@pytest.mark.long
async def test_a_process_that_dies_has_counted_and_held_nothing(crowd: Crowd, services: Services) -> None:
    """At every statement from the first one to the commit."""
    assert isinstance(services.db, FusedPool)
    key = await new_key(crowd.payer, withdrawals(per_day="10.00"), {"kind": "balance_payments", "currency": "EUR"})
    await crowd.another_day(per_day("balance_payments"))
    owner, env = await crowd.owner(), env_of(crowd.payer)
    caller = Caller(env, "Alice", ALL, client_id=ClientId(crowd.app.client_id), grant_id=GrantId(owner.credential_id))
    withdrawal = msgspec.convert(TO_NINA, NewWithdrawal)
    payment = NewBalancePayment(amount="10.00", currency="EUR", capture=False)
    by_key = acting.Actor("api_key", key.made["api_key_id"], credential_id=UUID(key.made["api_key_id"]), is_limited=True)
    by_app = acting.Actor("application", crowd.app.client_id, credential_id=owner.credential_id, is_limited=True)
    actions: list[tuple[acting.Actor, Callable[[Work], Awaitable[Any]]]] = [
        (by_key, lambda work: withdrawing.request(work, env, withdrawal)),
        (by_app, lambda work: balance_payments.pay(work, caller, payment)),
    ]

    async def look() -> list[Any]:
        return await every_row(crowd.payer, ("limit_uses", "withdrawals", "outgoing_transfers", *TABLES))

    for by, action in actions:

        async def act(by: acting.Actor = by, action: Callable[[Work], Awaitable[Any]] = action) -> Any:
            return await services.transact(action, datetime.now(UTC), by)

        steps, _ = await kill_everywhere(services.db, act, look)
        assert steps >= 8
        with pytest.raises(Exception, match=r"left in 24 hours: 0\.00 of 10\.00 EUR"):
            await act()
