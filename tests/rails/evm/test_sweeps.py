"""Sweeps on a real node: deposits are collected once, gas is an expense, and nothing of ours is taken for a deposit."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.rails.evm.anvil import Anvil
from tests.rails.evm.conftest import is_listening
from tests.rails.evm.paying import BOOKED, make_signer
from tests.rails.evm.receiving import ETHER, Receiver, address
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.payments.transactions.model import Transaction
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.chains import store
from tollhouse.rails.chains.model import HOLDER, LEASE
from tollhouse.rails.evm import jobs, payouts_store, sweeps, sweeps_store
from tollhouse.rails.evm import operator_payouts as network_payouts
from tollhouse.rails.evm.network import sending
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.signer.client import SignerClient
from tollhouse.rails.evm.signer.rules import Signer
from tollhouse.rails.evm.signer.server import serve

PAID_MINOR = 150_000_000
ROWS = """
    SELECT p.id, p.kind, p.status, p.currency, p.amount_units, p.gas, p.fee_per_gas, p.nonce, p.reason, p.fee_minor
    FROM chain_payouts p WHERE p.rail = $1 ORDER BY p.created_at, p.id
"""
ANOTHER = """
    INSERT INTO chain_payouts (id, kind, rail, mode, chain_id, currency, receiver, amount_units, deposit_index, status,
                               created_at, updated_at)
    SELECT gen_random_uuid(), {}, rail, mode, chain_id, currency, receiver, 1, {}, 'waiting', now(), now()
    FROM chain_payouts WHERE id = $1
"""
PAYMENTS = "SELECT count(*) AS payments FROM transactions WHERE rail = $1"


class Collector(Receiver):
    """A rail that collects, with a signer."""

    def __init__(self, actor: Actor, services: Services, chain: Anvil, signer: Signer, **settings: Any) -> None:
        super().__init__(actor, services, chain, settings.pop("token"), **settings)
        self.signer = signer
        signer.policy.networks[self.name] = signer.policy.networks["any"]
        client = SignerClient(signer.policy.socket)
        self.payouts = ChainPayouts(self.services.db, self.services.catalogue, self.network, chain.url, client)

    async def collect(self) -> None:
        """The worker collects once."""
        await jobs.collect_once(self.services, self.network, clock.now())

    async def sweeps(self) -> list[dict[str, Any]]:
        """What was sent to collect, oldest first."""
        return [dict(row) for row in await self.services.db.fetch(ROWS, self.name)]

    async def shown(self) -> list[tuple[str, str, str]]:
        """The same: kind, currency and status."""
        return [(sweep["kind"], sweep["currency"], sweep["status"]) for sweep in await self.sweeps()]

    async def hashes(self, currency: str) -> list[str]:
        """The hashes of what was signed to collect a currency."""
        ids = [sweep["id"] for sweep in await self.sweeps() if (sweep["kind"], sweep["currency"]) == ("sweep", currency)]
        return [
            transaction.tx_hash
            for id_ in ids
            for transaction in await payouts_store.list_transactions(self.services.db, id_)
        ]

    async def check(self) -> None:
        """The worker looks after what has not ended."""
        for sweep in await self.sweeps():
            payout = await payouts_store.get(self.services.db, sweep["id"])
            assert payout is not None
            await jobs.check(self.services, self.payouts, payout, clock.now())

    async def finish(self) -> None:
        """What was sent is mined and final, and the worker knows."""
        await self.chain.mine()
        await self.settle()
        await self.check()

    async def pay_ether(self, wei: int = 3 * ETHER // 2) -> Transaction:
        """A payment of 1.5 ether."""
        paid = await self.offer()
        await self.chain.sent(address(paid), wei)
        return paid

    async def pay_dollars(self, paid: Transaction | None = None) -> Transaction:
        """A payment of 20 dollars, or as much again at its address."""
        paid = paid or await self.offer("USDC", "20")
        await self.chain.transact(self.token, "mint", self.chain.accounts[0], 20_000_000)
        await self.chain.transact(self.token, "transfer", address(paid), 20_000_000)
        return paid

    async def dollars(self, account: str) -> int:
        """The tokens of an account."""
        return await self.chain.read(self.token, "balanceOf", account)

    async def count_payments(self) -> int:
        """Payments of the rail, also those without a link."""
        [row] = await self.services.db.fetch(PAYMENTS, self.name)
        return row["payments"]


@pytest.fixture
async def collector(alice: Actor, services: Services, chain: Anvil, tmp_path: Path) -> AsyncIterator[Collector]:
    """Its wallet has 10 ether; what has 0.05 ether or 5 dollars is collected there. The invariants hold after each test."""
    since, stop = last_id(), asyncio.Event()
    token = await chain.deploy("Token", "USD Coin", "USDC", 6)
    signer = make_signer(tmp_path, "any", token.address)
    await chain.sent(signer.wallet.address, 10 * ETHER)
    settings = {"xpub": signer.wallet.xpub, "signer_socket": str(signer.policy.socket)}
    above = {"ETH": "0.05", "USDC": "5"}
    made = Collector(alice, services, chain, signer, token=token, sweep_above=above, **settings)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(signer, signer.policy.socket, stop))
        while not await is_listening(made.payouts.signer, made.name):
            await asyncio.sleep(0.01)
        await made.look()
        yield made
        stop.set()
    signer.journal.close()
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_ether_of_closed_payments_is_collected(collector: Collector) -> None:
    """Exactly the gas stays; what comes later is credited, and collected with the next nonce."""
    paid, half, dust = await collector.pay_ether(), await collector.pay_ether(ETHER // 2), await collector.pay_ether(ETHER)
    await collector.settle()
    assert [await collector.status(one) for one in (paid, half)] == [("succeeded", PAID_MINOR), ("pending", PAID_MINOR // 3)]
    await collector.chain.sent(address(dust), ETHER // 2)  # not final yet
    before = await collector.chain.balance_wei(collector.signer.wallet.address)
    for _ in range(2):
        await collector.collect()
    [swept] = await collector.sweeps()
    assert swept["amount_units"] + swept["gas"] * swept["fee_per_gas"] == 3 * ETHER // 2
    await collector.chain.mine()
    await collector.collect()
    await collector.finish()
    assert await collector.shown() == [("sweep", "ETH", "completed")]
    assert await collector.chain.balance_wei(collector.signer.wallet.address) - before == swept["amount_units"]
    [booked] = await collector.services.db.fetch(BOOKED, f"rail:{collector.name}")
    assert booked["booked"] == (await collector.sweeps())[0]["fee_minor"] > 0
    assert await collector.rows(paid) == [("confirmed", PAID_MINOR)]
    await collector.chain.sent(address(paid), ETHER)  # too much now: it is the customer's
    await collector.settle()
    assert await collector.rows(paid) == [("confirmed", PAID_MINOR), ("confirmed", 100_000_000)]
    await collector.collect()
    await collector.finish()
    assert sorted(sweep["nonce"] for sweep in await collector.sweeps()) == [0, 0, 1]
    assert {sweep["status"] for sweep in await collector.sweeps()} == {"completed"}
    assert await collector.chain.balance_wei(address(half)) == ETHER // 2  # its payment is open
    listed = await network_payouts.list_sweeps(collector.services)
    assert [sweep.address for sweep in listed if sweep.rail == collector.name][-1] == address(paid)


async def test_tokens_get_gas_first_and_the_gas_is_no_deposit(collector: Collector) -> None:
    """A customer who pays in the block of the sweep is credited in full."""
    paid = await collector.pay_dollars()
    await collector.chain.transact(collector.token, "mint", collector.chain.accounts[0], 20_000_000)
    await collector.settle()
    assert await collector.status(paid) == ("succeeded", 20_000_000)
    payments = await collector.count_payments()
    await collector.collect()
    await collector.collect()
    assert await collector.shown() == [("gas", "ETH", "signed")]
    await collector.chain.mine()
    await collector.look()
    await collector.collect()  # the gas is not final
    await collector.finish()
    await collector.collect()
    assert await collector.shown() == [("gas", "ETH", "completed"), ("sweep", "USDC", "signed")]
    assert await collector.count_payments() == payments
    token, [sent] = collector.token, await collector.hashes("USDC")
    late = await collector.chain.transact(token, "transfer", address(paid), 20_000_000)
    assert late.block_hash == (await collector.chain.receipt(sent)).block_hash
    await collector.finish()
    assert (await collector.shown())[1] == ("sweep", "USDC", "completed")
    assert await collector.dollars(collector.signer.wallet.address) == 20_000_000
    assert await collector.dollars(address(paid)) == 20_000_000
    assert await collector.rows(paid) == [("confirmed", 20_000_000)] * 2
    coins = "SELECT count(*) AS coins FROM chain_deposits WHERE rail = $1 AND currency = 'ETH'"
    assert (await collector.services.db.fetch(coins, collector.name))[0]["coins"] == 0


class KilledError(BaseException):
    """The process ends here."""


async def kill(*_: object) -> None:
    raise KilledError


async def test_killed_at_any_line_one_sweep_is_sent(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is committed is continued like a payout; a deposit is taken by one sweep."""
    paid = list[Transaction]()
    for place, line in (
        (sweeps_store, "take"),
        (payouts_store, "reserve"),
        (SignerClient, "sign"),
        (payouts_store, "add_transaction"),
        (sending, "send"),
        (payouts_store, "record_sent"),
    ):
        paid.append(await collector.pay_ether())
        await collector.settle()
        with monkeypatch.context() as patched:
            patched.setattr(place, line, kill)
            with pytest.raises(KilledError):
                await collector.collect()
        await collector.check()
        await collector.collect()
        signed = (await collector.shown())[len(paid) - 1 :]
        assert signed == [("sweep", "ETH", "signed")]
        await collector.finish()
    await collector.collect()
    assert await collector.shown() == [("sweep", "ETH", "completed")] * len(paid)
    assert len(collector.signer.journal.entries) == len(paid)
    assert [await collector.rows(payment) for payment in paid] == [[("confirmed", PAID_MINOR)]] * len(paid)


async def test_two_workers_collect_once_and_a_reorganized_sweep_comes_again(collector: Collector) -> None:
    """Also one that read the balance before the other's sweep was final."""
    paid = await collector.pay_ether()
    await collector.settle()
    _, cursor = await store.lease(collector.services.db, collector.name, "live", HOLDER, clock.now(), LEASE)
    assert cursor is not None
    both = (sweeps.collect(collector.payouts, cursor, clock.now()) for _ in range(2))
    await asyncio.gather(*both)
    assert await collector.shown() == [("sweep", "ETH", "signed")]
    await collector.chain.mine()
    await collector.check()
    await collector.chain.reorganize(1)
    await collector.check()
    assert await collector.shown() == [("sweep", "ETH", "signed")]
    stale = await sweeps_store.list_collectable(
        collector.services.db, collector.name, "live", "ETH", cursor.block.number, "", 1, 1
    )
    assert stale == []
    await collector.finish()
    assert await collector.shown() == [("sweep", "ETH", "completed")]

    async def take_again(tx: Tx) -> int:
        return await sweeps_store.take(
            tx, collector.name, "live", "ETH", cursor.block.number, address(paid), (await collector.sweeps())[0]["id"]
        )

    assert await collector.services.db.transact(take_again) == 0
    assert not (await store.lease(collector.services.db, collector.name, "live", paid.id, clock.now(), LEASE))[0]


async def test_what_the_signer_refuses_waits_and_is_tried_again(collector: Collector) -> None:
    """Nothing is collected while gas is too expensive; a sweep that would be reverted is not signed."""
    services, settings = collector.services, collector.network.settings
    ether, dollars = await collector.pay_ether(), await collector.pay_dollars()
    await collector.settle()
    collector.network.settings = msgspec.structs.replace(settings, sweep_fee_per_gas_max_gwei=1)
    await collector.collect()
    assert await collector.shown() == []
    collector.network.settings = settings
    policy = collector.signer.policy.networks[collector.name]
    collector.signer.policy.networks[collector.name] = msgspec.structs.replace(policy, fee_per_gas_max_gwei=1)
    for _ in range(2):
        await collector.collect()
    shown = [("gas", "ETH", "waiting"), ("sweep", "ETH", "waiting")]
    assert await collector.shown() == shown
    assert "at most 1 gwei" in str((await collector.sweeps())[1]["reason"])
    collector.signer.policy.networks[collector.name] = policy
    await jobs.collect_once(services, collector.network, clock.now() + 2 * sweeps.AGAIN_AFTER)
    await collector.finish()
    ended = [
        ("gas", "ETH", "failed"),
        ("sweep", "ETH", "failed"),
        ("gas", "ETH", "completed"),
        ("sweep", "ETH", "completed"),
    ]
    assert sorted(await collector.shown()) == sorted(ended)
    await collector.chain.transact(collector.token, "setBlocked", collector.signer.wallet.address, True)
    await collector.collect()
    assert sorted(await collector.shown()) == sorted(ended)
    assert await collector.dollars(address(dollars)) == 20_000_000
    assert await collector.chain.balance_wei(address(ether)) < ETHER // 100


async def test_the_database_keeps_sweeps_to_deposit_addresses(collector: Collector) -> None:
    """Whatever a faulty program writes."""
    await collector.pay_ether()
    await collector.settle()
    await collector.collect()
    [swept] = await collector.sweeps()
    for statement in (
        "UPDATE chain_payouts SET deposit_index = deposit_index + 1 WHERE id = $1",
        "UPDATE chain_payouts SET kind = 'refund' WHERE id = $1",
        ANOTHER.format("'gas'", "0"),  # the receiver is no deposit address
        ANOTHER.format("kind", "deposit_index"),  # two for one address
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await collector.services.db.execute(statement, swept["id"])
