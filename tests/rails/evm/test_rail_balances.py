"""A network beside the ledger: whatever is on its way is named, and what nobody can explain is a difference."""

from pathlib import Path

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.evm.paying import Payer, make_payouts
from tests.rails.evm.receiving import CATALOGUE, ETHER, MINOR, Receiver, address
from tests.rails.evm.test_sweeps import Collector, collector
from tests.transfers.withdrawals.steps import review
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance import catalogue_file
from tollhouse.instance.monitoring.database_metrics import read_metrics
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.pages.console.actions import change_rail_float, ensure_measured
from tollhouse.rails.balances import measuring, store
from tollhouse.rails.balances.model import RailBalance, RailStatus
from tollhouse.rails.chains import following
from tollhouse.rails.evm import jobs
from tollhouse.rails.evm.reports import Reporter
from tollhouse.transfers.withdrawals import actions
from tollhouse.transfers.withdrawals import jobs as withdrawal_jobs
from tollhouse.transfers.withdrawals import store as withdrawal_store
from tollhouse.transfers.withdrawals.model import Withdrawal
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

__all__ = ["collector"]
WITHDRAWALS = """
[withdrawal_methods."{name}:ETH"]
name = "Ether"
rail = "{name}"
receiver_type = "evm_address"
provider_fields = {{ type = "object", additionalProperties = false }}
"""


class Rail:
    """A network that takes deposits and pays out by the wallet of `payer`: 10 ether and 1,000 dollars of the operator."""

    def __init__(self, payer: Payer, receiver: Receiver) -> None:
        self.receiver, self.name, self.chain = receiver, receiver.name, receiver.chain
        described = (CATALOGUE + WITHDRAWALS).format(name=self.name)
        self.services = msgspec.structs.replace(receiver.services, catalogue=catalogue_file.read(described.encode()))
        receiver.services = self.services
        socket = payer.signer.policy.socket
        receiver.network.settings = msgspec.structs.replace(receiver.network.settings, signer_socket=str(socket))
        payer.signer.policy.networks[self.name] = payer.signer.policy.networks[payer.name]
        self.payouts = make_payouts(self.services.db, self.services.catalogue, receiver.network, socket)
        self.payer = Payer(payer.merchant_id, self.services, self.payouts, self.chain, payer.signer, payer.token)
        self.wallet = payer.signer.wallet.address

    async def status(self, currency: str = "ETH") -> RailStatus:
        """What is measured now."""
        await measuring.measure(self.services, self.receiver.network, clock.now())
        [found] = [
            one
            for one in await store.list_latest(self.services.db)
            if (one.balance.rail, one.balance.currency) == (self.name, currency)
        ]
        return found

    async def balance(self, currency: str = "ETH") -> RailBalance:
        """The same, where everything is explained."""
        found = await self.status(currency)
        assert (found.failure, found.balance.difference_units, found.differs_since) == (None, 0, None)
        return found.balance

    async def put(self, amount_minor: int, currency: str = "ETH") -> None:
        """Book money of the operator."""
        known = self.services.catalogue.currencies[currency]
        ensure_measured(self.services, self.name, currency)
        await book(self.services, self.name, known, amount_minor)

    async def fund(self) -> None:
        """Book the money in the wallet, and let a customer pay 1.5 ether."""
        await self.put(1_000_000_000)
        await self.put(1_000_000_000, "USDC")
        paid = await self.receiver.offer()
        await self.chain.sent(address(paid), 3 * ETHER // 2)
        await self.receiver.settle()
        await self.receiver.settle()

    async def withdraw(self, amount: str) -> Withdrawal:
        """A withdrawal that was sent to the network."""
        env, new = (
            self.receiver.env,
            NewWithdrawal(method_id=f"{self.name}:ETH", amount=amount, receiver=self.payer.receiver),
        )
        asked = await self.services.transact(lambda work: actions.request(work, env, new), clock.now())
        await review(self.services, {"id": str(asked.id)})
        approved = await withdrawal_store.get(self.services.db, env, asked.id)
        await withdrawal_jobs.advance_one(self.services, approved, clock.now())
        return await withdrawal_store.get(self.services.db, env, asked.id)

    async def finish(self, asked: Withdrawal) -> None:
        """Post it."""
        await withdrawal_jobs.advance_one(self.services, asked, clock.now())
        ended = await withdrawal_store.get(self.services.db, self.receiver.env, asked.id)
        assert ended.status == "completed"


@pytest.fixture
async def rail(payer: Payer, alice: Actor, services: Services) -> Rail:
    """The worker has looked once, and the operator has booked the money in the wallet."""
    made = Rail(payer, Receiver(alice, services, payer.chain, payer.token))
    await made.chain.finalize()
    await made.receiver.look()
    await jobs.measure(made.payouts, clock.now())
    await following.refresh(made.services)
    return made


async def test_deposits_are_in_flight_until_they_are_credited(rail: Rail, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each moment the difference is zero, to the wei, once the operator's own money is booked."""
    since = last_id()
    alone = (await rail.status()).balance
    assert (alone.places, alone.difference_units, alone.differs) == (
        {"wallet": 10 * ETHER},
        10 * ETHER,
        True,
    )
    await rail.put(1_100_000_000)
    await rail.put(-100_000_000)
    await rail.put(1_000_000_000, "USDC")
    assert (await rail.balance("USDC")).ledger_units == 10**9
    assert (await rail.balance()).in_flight == {}
    paid, dust = await rail.receiver.offer(), await rail.receiver.offer()
    await rail.chain.sent(address(paid), 3 * ETHER // 2 + 5)
    await rail.chain.sent(address(dust), MINOR - 1)
    await rail.chain.finalize()
    assert (await rail.balance()).places == {"wallet": 10 * ETHER}  # at the block that the ledger has reached
    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "report", _do_nothing)
        await rail.receiver.look()
    found = await rail.balance()
    assert found.in_flight == {"deposits_not_credited": 3 * ETHER // 2 + 5, "deposits_ignored": MINOR - 1}
    await rail.receiver.look()
    found = await rail.balance()
    assert found.in_flight == {"deposits_ignored": MINOR - 1, "rounding": 5}
    assert found.ledger_units == 23 * ETHER // 2
    assert await broken_invariants(rail.receiver.actor.service.dsn, since) == []


async def test_payouts_are_in_flight_between_their_block_and_the_ledger(rail: Rail) -> None:
    """Whichever of the two is first."""
    since = last_id()
    await rail.fund()
    asked = await rail.withdraw("0.5")
    assert (await rail.balance()).in_flight == {}
    await rail.payer.settle()
    await rail.receiver.look()
    left = await rail.balance()  # nobody has looked the payout up yet
    assert (left.in_flight["payouts"], left.in_flight["network_fees"] < 0) == (-ETHER // 2, True)
    await jobs.check(rail.services, rail.payouts, await rail.payer.stored(asked.order), clock.now())
    assert (await rail.balance()).in_flight == left.in_flight  # final, and not in the ledger
    await rail.finish(asked)
    assert (await rail.balance()).in_flight.keys() == {"rounding"}
    ahead, fee = await rail.withdraw("0.25"), await rail.payer.order(10_000_000, "USDC")
    assert (await rail.payer.pay(fee)).outcome == "accepted"
    await rail.payer.settle()
    for order in (ahead.order, fee):
        await jobs.check(rail.services, rail.payouts, await rail.payer.stored(order), clock.now())
    await rail.finish(ahead)
    early = await rail.balance()
    assert (early.in_flight["payouts"], early.in_flight["network_fees"] > 0) == (ETHER // 4, True)
    await rail.receiver.look()
    assert (await rail.balance()).in_flight.keys() == {"rounding"}
    assert (await rail.balance("USDC")).in_flight == {"payouts": -10_000_000}  # the order of no withdrawal
    assert [
        broken_invariant
        for broken_invariant in await broken_invariants(rail.receiver.actor.service.dsn, since)
        if "I23 a transfer" not in broken_invariant
    ] == []


async def test_sweeps_move_money_within_the_rail(collector: Collector) -> None:
    """Only their fees leave."""
    await book(collector.services, collector.name, collector.services.catalogue.currencies["ETH"], 1_000_000_000)
    await collector.pay_ether()
    await collector.pay_dollars()
    await collector.settle()
    payouts, network = collector.payouts, collector.network
    await jobs.measure(payouts, clock.now())

    async def measured() -> dict[str, RailBalance]:
        await measuring.measure(collector.services, network, clock.now())
        found = [one.balance for one in await store.list_latest(collector.services.db) if one.balance.rail == network.name]
        assert {balance.currency: balance.difference_units for balance in found} == {"ETH": 0, "USDC": 0}
        return {balance.currency: balance for balance in found}

    assert (await measured())["ETH"].places == {"wallet": 10 * ETHER, "deposit_addresses": 3 * ETHER // 2}
    for _ in range(2):  # the ether and gas for the dollars; the dollars
        await collector.collect()
        await collector.chain.mine()
        await collector.settle()
        assert "network_fees" in (await measured())["ETH"].in_flight  # the worker has not looked them up
        await collector.check()
        await measured()
    swept = await measured()
    assert [sweep["status"] for sweep in await collector.sweeps()] == ["completed"] * 3
    assert swept["USDC"].places == {"wallet": 20_000_000}
    assert 0 < swept["ETH"].places["deposit_addresses"] < ETHER // 100  # gas that was not used
    assert swept["ETH"].in_flight.keys() <= {"rounding"}


async def test_what_nobody_explains_is_a_difference(rail: Rail) -> None:
    """Money that came or went without this program, since when, and that a rail that is down keeps its last measurement."""
    await rail.put(1_000_000_000)
    await rail.put(1_000_000_000, "USDC")
    paid = await rail.receiver.offer()
    await rail.chain.sent(address(paid), 3 * ETHER // 2)
    await rail.receiver.settle()
    await rail.receiver.settle()
    await rail.balance()
    await rail.chain.rpc("anvil_setBalance", address(paid), "0x0")
    await rail.receiver.settle()
    first = await rail.status()
    assert (first.balance.difference_units, first.differs_since) == (-3 * ETHER // 2, first.balance.measured_at)
    again = await rail.status()
    assert (again.differs_since, again.balance.measured_at > first.balance.measured_at) == (first.differs_since, True)
    assert await find_differences(rail) == []  # it may be on its way
    await rail.status()
    [lasting] = await find_differences(rail)
    assert f"{rail.name} ETH differs by -1.5 since" in lasting
    assert (("rail", rail.name), ("currency", "ETH"), -1.5) in await scrape(rail, "tollhouse_rail_difference")
    again = await rail.status()
    async with signed_in_operator(rail.receiver.actor.service) as olga:
        listed = (await olga.send("GET", "/operator/books/rails")).ok().text
        detail = (await olga.send("GET", f"/operator/books/rails/{rail.name}/ETH")).ok().text
        (await olga.send("GET", f"/operator/books/rails/{rail.name}/EUR")).refused("not_found", 404)
    assert f"/operator/books/rails/{rail.name}/USDC" in listed
    for words in ("Differs", "Agrees", "\N{MINUS SIGN}1.50"):
        assert words in listed
        assert words in detail
    assert ("Deposit addresses" in detail, "Wallet that pays" in detail) == (False, True)
    settings = rail.receiver.network.settings
    rail.receiver.network.settings = msgspec.structs.replace(settings, node_url="http://127.0.0.1:9")
    down = await rail.status()
    assert down.failure
    assert down.balance == again.balance
    rail.receiver.network.settings = settings
    await rail.chain.rpc("anvil_setBalance", address(paid), hex(3 * ETHER // 2))
    await rail.receiver.settle()
    await rail.balance()
    history = await store.list_history(rail.services.db, rail.name, "live", "ETH", 10)
    assert [measurement.differs for measurement in history] == [False, True, True, True, True, False]
    assert await find_differences(rail) == []
    claims = [await store.claim(rail.services.db, rail.name, "live", clock.now(), measuring.INTERVAL) for _ in range(2)]
    assert claims == [False, False]  # measured just now
    later = clock.now() + 2 * measuring.INTERVAL
    assert [await store.claim(rail.services.db, rail.name, "live", later, measuring.INTERVAL) for _ in range(2)] == [
        True,
        False,
    ]


async def test_operators_book_their_own_money_by_command(rail: Rail, tmp_path: Path) -> None:
    """With a reason, on a rail that is compared with the ledger; the list has every part."""
    service, rails_file = rail.receiver.actor.service, tmp_path / "rails.toml"
    rails_file.write_text(f'[{rail.name}]\nkind = "evm"\nchain_id = 31337\n')
    environment = {"TOLLHOUSE_RAILS_FILE": str(rails_file)}
    unclear = (rail.name, "ETH", "0.000000001", "--reason", "Fees")
    refused = await operator(service, "rail-balances", "float", *unclear, **environment)
    assert (refused.status, "at most 8 decimals" in refused.talk) == (2, True)
    for name, currency, error in (("nothing", "ETH", "no rail that is compared"), (rail.name, "EUR", "does not carry EUR")):
        with pytest.raises(OperatorRefusedError, match=error):
            ensure_measured(rail.services, name, currency)
    await rail.status()
    booking = (rail.name, "ETH", "10", "--reason", "Coins for fees", "--json")
    done = await operator(service, "rail-balances", "float", *booking, **environment)
    assert (done.status, done.json["action"], done.json["reason"]) == (0, "rail_float_changed", "Coins for fees")
    soon = clock.now() + store.AFTER_FLOAT
    assert await store.claim(rail.services.db, rail.name, "live", soon, measuring.INTERVAL)  # measured again
    await rail.put(1_000_000_000, "USDC")
    await rail.balance()
    listed = (await operator(service, "rail-balances", "list", "--json")).json["rail_balances"]
    [ether] = [balance for balance in listed if (balance["rail"], balance["currency"]) == (rail.name, "ETH")]
    assert (ether["outside"], ether["ledger"], ether["difference"], ether["differs"]) == ("10", "10", "0", False)
    assert ether["places"] == {"wallet": "10"}


async def find_differences(rail: Rail) -> list[str]:
    """The lines of the invariant about measured balances of this rail."""
    lines = await broken_invariants(rail.receiver.actor.service.dsn, last_id())
    return [line for line in lines if f"has outside what the ledger has: {rail.name} " in line]


async def scrape(rail: Rail, name: str) -> list[tuple[tuple[str, str], tuple[str, str], float]]:
    """The samples of a metric of this rail."""
    [family] = [metric for metric in await read_metrics(rail.services.db) if metric.name == name]
    samples = [
        (("rail", sample.labels["rail"]), ("currency", sample.labels["currency"]), sample.value) for sample in family.samples
    ]
    return [sample for sample in samples if sample[0][1] == rail.name]


async def book(services: Services, name: str, currency: Currency, amount_minor: int) -> None:
    """Book money of the operator on a rail."""
    context = OperatorContext("olga@example.com", clock.now(), "Coins for fees.", on_command_line=True)
    await services.transact(
        lambda work: change_rail_float(work, name, currency, amount_minor, context), context.at, OPERATOR
    )


async def _do_nothing(_: Reporter) -> None:
    """As if the worker had died before it reported."""
