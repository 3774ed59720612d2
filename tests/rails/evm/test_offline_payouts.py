"""Payouts that are signed on a machine without network: exported once, imported once, only as they were exported."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.command import Outcome
from tests.invariants import broken_invariants, last_id
from tests.pages.console.commands import operator
from tests.rails.evm.paying import ETHER, MINOR, Payer
from tests.rails.evm.test_payouts import forget
from tests.rails.evm.test_rail_balances import Rail, rail
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import PayoutOrder
from tollhouse.kernel.rails.registry import Rails
from tollhouse.rails.bank import pauses
from tollhouse.rails.chains import following
from tollhouse.rails.evm import jobs
from tollhouse.rails.evm import offline as evm_offline
from tollhouse.rails.evm import operator_payouts as network_payouts
from tollhouse.rails.evm.network import signed as signed_bytes
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.signer.messages import GasTerms, SignedBatch, SignedTransfer, SignTransfer, UnsignedBatch
from tollhouse.rails.evm.signer.wallet import Wallet

__all__ = ["rail"]
RECORDED = "SELECT action, count(*) AS actions FROM operator_actions WHERE at >= $1 AND action LIKE 'network%' GROUP BY 1"
SUSPEND = "UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid"
REACTIVATE = "UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid"
DUE = "UPDATE chain_payouts SET check_at = now() - interval '1 s' WHERE rail = $1 AND status IN ('signed', 'mined')"
FORGET = """
    status = 'waiting', wallet = NULL, nonce = NULL, gas = NULL, fee_per_gas = NULL, tip_per_gas = NULL, exported_at = NULL
"""
OTHER_WALLET = Wallet("test test test test test test test test test test test junk")


class Offline:
    """A rail whose signer has no connection, and operators who export and import."""

    def __init__(self, payer: Payer, services: Services) -> None:
        self.payer = payer
        self.network = payer.network
        changes: dict[str, Any] = {"signer_socket": None, "offline_wallet": payer.signer.wallet.address}
        self.network.settings = msgspec.structs.replace(self.network.settings, **changes)
        self.services = msgspec.structs.replace(services, rails=Rails([self.network]))
        payer.payouts = self.payouts
        self.context = OperatorContext("olga@example.com", clock.now(), None, on_command_line=True)

    @property
    def payouts(self) -> ChainPayouts:
        """The payouts of the worker."""
        return evm_offline.find_payouts(self.services, None)

    async def orders(self, *amounts: int, currency: str = "ETH") -> list[PayoutOrder]:
        """Orders that the worker was asked to pay."""
        orders = [await self.payer.order(amount, currency) for amount in amounts]
        assert [(await self.payer.pay(order)).outcome for order in orders] == ["unknown"] * len(orders)
        return orders

    async def export(self) -> list[SignTransfer]:
        """What is to be signed."""
        shown = await evm_offline.preview(self.payouts, self.context)
        return [*(await evm_offline.export(self.services, self.network, shown, self.context))[1]]

    def sign(self, requests: list[SignTransfer]) -> list[SignedTransfer]:
        """As `tollhouse signer sign` does."""
        answers = [self.payer.signer.answer(request) for request in requests]
        return [answer for answer in answers if isinstance(answer, SignedTransfer)]

    async def take(self, *signed: SignedTransfer) -> int:
        """Import them, and say how many are new."""
        return (await evm_offline.import_signed(self.services, self.network, signed, self.context))[1]["added"]

    async def advance(self) -> None:
        """The worker looks after what is signed."""
        await self.payer.db.execute(DUE, self.payer.name)
        await jobs.advance_payouts(self.services)

    async def statuses(self, orders: list[PayoutOrder]) -> set[str]:
        """Their statuses."""
        return {(await self.payer.stored(order)).status for order in orders}


@pytest.fixture
def offline(payer: Payer, services: Services) -> Offline:
    """The rail."""
    return Offline(payer, services)


async def test_what_is_exported_is_paid_when_it_comes_back_signed(offline: Offline, service: Service) -> None:
    """Once, however often it is exported and imported. An exported payout cannot be refused."""
    since, payer = last_id(), offline.payer
    orders = [*await offline.orders(100_000_000, 50_000_000), *await offline.orders(120_000_000, currency="USDC")]
    waits = await payer.stored(orders[0])
    assert (waits.status, waits.reason) == ("waiting", "it waits to be exported and signed")
    assert (await payer.network.payout_state(orders[0], clock.now())).outcome == "absent"
    shown = await evm_offline.preview(offline.payouts, offline.context)
    assert [payout.id for payout in shown.leaving] == [order.id for order in orders]
    first, second = await asyncio.gather(offline.export(), offline.export())  # two operators at once
    assert first == second == await offline.export()
    assert [request.nonce for request in first] == [0, 1, 2]
    assert (await payer.network.payout_state(orders[0], clock.now())).outcome == "pending"
    assert (await payer.pay(orders[0])).outcome == "unknown"
    for refuse in (network_payouts.refuse, network_payouts.mark_refused):
        with pytest.raises(OperatorRefusedError):
            await offline.services.transact(
                lambda work, do=refuse: do(work, orders[0].id, offline.context), clock.now(), OPERATOR
            )
    with pytest.raises(OperatorRefusedError, match="was exported"):
        await network_payouts.ensure_unsigned(offline.services, orders[0].id)
    signed = offline.sign(first)
    assert sorted(await asyncio.gather(offline.take(*signed), offline.take(*reversed(signed)))) == [0, 3]
    assert await offline.take(*signed) == 0
    await offline.advance()
    assert await offline.statuses(orders) == {"signed"}
    await payer.settle()
    await offline.advance()
    assert await offline.statuses(orders) == {"completed"}
    assert await payer.received_wei() == 150_000_000 * MINOR
    assert await payer.chain.read(payer.token, "balanceOf", payer.receiver) == 120_000_000
    assert await offline.take(*signed) == 0
    with pytest.raises(OperatorRefusedError, match="No payouts wait"):
        await offline.export()
    recorded = await payer.db.fetch(RECORDED, offline.context.at)
    assert {row["action"]: row["actions"] for row in recorded} == {
        "network_payouts_exported": 3,
        "network_payouts_imported": 4,
    }
    await jobs.measure(offline.payouts, clock.now())
    assert [line for line in await broken_invariants(service.dsn, since) if "I20" in line] == []


async def test_the_rail_agrees_with_the_ledger_all_the_time(rail: Rail) -> None:
    """From the request of a withdrawal to its posting."""
    since = last_id()
    changes: dict[str, Any] = {"signer_socket": None, "offline_wallet": rail.wallet}
    rail.receiver.network.settings = msgspec.structs.replace(rail.receiver.network.settings, **changes)
    payouts = evm_offline.find_payouts(rail.services, rail.name)
    assert payouts.signer.is_offline
    await jobs.measure(payouts, clock.now())
    await following.refresh(rail.services)
    await rail.fund()
    asked = await rail.withdraw("0.5")
    context = OperatorContext("olga@example.com", clock.now(), None, on_command_line=True)
    shown = await evm_offline.preview(payouts, context)
    _, requests = await evm_offline.export(rail.services, payouts.network, shown, context)
    assert (await rail.balance()).in_flight == {}
    answers = [rail.payer.signer.answer(request) for request in requests]
    signed = [answer for answer in answers if isinstance(answer, SignedTransfer)]
    await evm_offline.import_signed(rail.services, payouts.network, signed, context)
    await jobs.advance_payouts(rail.services)
    await rail.payer.settle()
    await rail.receiver.look()
    assert (await rail.balance()).in_flight["payouts"] == -ETHER // 2
    await jobs.check(rail.services, payouts, await rail.payer.stored(asked.order), clock.now())
    await rail.finish(asked)
    assert (await rail.balance()).in_flight.keys() == {"rounding"}
    assert await broken_invariants(rail.receiver.actor.service.dsn, since) == []


async def test_only_what_was_exported_is_imported(offline: Offline) -> None:
    """Bytes that mean anything else are refused, with all that came in the same file."""
    good_order, order = await offline.orders(1_000_000, 2_000_000)
    good, request = await offline.export()
    [signed] = offline.sign([good])
    wallet, asked, terms = offline.payer.signer.wallet, request.order, request.terms

    def made(order: Any = asked, nonce: int = request.nonce, terms: GasTerms = terms, by: Wallet = wallet) -> SignedTransfer:
        tx_hash, raw = by.sign(order, nonce, terms)
        return SignedTransfer(asked.order_id, wallet.address, request.nonce, request.terms, tx_hash, raw)

    def changed(**members: Any) -> Any:
        return msgspec.structs.replace(asked, **members)

    right = made()
    cases = {
        "sender": made(by=OTHER_WALLET),
        "receiver or amount": made(changed(receiver="0x" + "22" * 20)),
        "amount": made(changed(amount="1")),
        "or amount": made(changed(contract=offline.payer.token.address)),
        "chain": made(changed(chain_id=1)),
        "nonce": made(nonce=request.nonce + 1),
        "gas": made(terms=GasTerms(terms.gas + 1, terms.fee_per_gas, terms.tip_per_gas)),
        "fee": made(terms=GasTerms(terms.gas, terms.fee_per_gas + 1, terms.tip_per_gas)),
        "no such payout": msgspec.structs.replace(right, order_id=new_id()),
        "cannot be decoded": msgspec.structs.replace(right, raw=right.raw + "00"),
        "does not begin": msgspec.structs.replace(right, raw=right.raw[2:]),
        "nonce, receiver": msgspec.structs.replace(signed, order_id=order.id),
    }
    for words, wrong in cases.items():
        with pytest.raises(OperatorRefusedError, match=words):
            await offline.take(signed, wrong)
    assert await offline.statuses([good_order, order]) == {"reserved"}
    lied = msgspec.structs.replace(right, tx_hash="0x" + "0" * 64, nonce=99, wallet="0x", terms=GasTerms(21_000, 1, 1))
    assert await offline.take(signed, lied) == 2  # only the bytes count
    assert await offline.payer.hashes(order) == [right.tx_hash]
    read = signed_bytes.read(right.raw)
    assert (read.tx_hash, read.fee_per_gas) == (right.tx_hash, terms.fee_per_gas)


async def test_an_export_that_pays_too_little_is_replaced(offline: Offline) -> None:
    """With the same nonce and a higher fee. Whichever is signed and mined, the order is paid once."""
    payer = offline.payer
    orders = await offline.orders(1_000_000, 2_000_000)
    cheap = await offline.export()
    assert await offline.take(offline.sign(cheap)[0]) == 1
    await offline.advance()
    await payer.chain.rpc("anvil_dropAllTransactions")
    await payer.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(cheap[0].terms.fee_per_gas + 10**9))
    await payer.chain.mine()
    dear = await offline.export()
    assert [transfer.order for transfer in dear] == [transfer.order for transfer in cheap]
    assert [transfer.nonce for transfer in dear] == [transfer.nonce for transfer in cheap]
    assert all(new.terms.fee_per_gas * 100 >= old.terms.fee_per_gas * 112 for new, old in zip(dear, cheap, strict=True))
    assert await offline.export() == dear
    old, new = offline.sign(cheap), offline.sign(dear)
    assert await offline.take(*new) == 2
    assert await offline.take(*old) == 1  # late, and the other one is sent all the same
    assert await payer.check(orders[0], timedelta(minutes=10)) == "signed"  # nobody signs a replacement by itself
    await offline.advance()
    await payer.settle()
    await offline.advance()
    assert await offline.statuses(orders) == {"completed"}
    assert [(await payer.stored(order)).tx_hash for order in orders] == [one.tx_hash for one in new]
    assert await payer.received_wei() == 3_000_000 * MINOR


async def test_a_restored_database_gets_what_was_signed_since(offline: Offline, service: Service) -> None:
    """Before anything is exported again: the payout has the nonce that it was signed with, and is paid once."""
    payer = offline.payer
    [order] = await offline.orders(1_000_000)
    signed = offline.sign(await offline.export())
    await offline.take(*signed)
    await offline.advance()
    await forget(service.dsn, payer, order)
    assert (await payer.pay(order)).outcome == "unknown"
    await payer.db.execute(SUSPEND, payer.merchant_id)
    assert await offline.take(*signed) == 0
    await payer.db.execute(REACTIVATE, payer.merchant_id)
    assert await offline.take(*signed) == 1
    [later] = await offline.orders(2_000_000)
    assert await offline.take(*offline.sign(await offline.export())) == 1
    await offline.advance()
    await payer.settle()
    await offline.advance()
    assert await offline.statuses([order, later]) == {"completed"}
    assert [(await payer.stored(one)).nonce for one in (order, later)] == [0, 1]
    assert await payer.received_wei() == 3_000_000 * MINOR


async def test_the_gate_holds_at_export(offline: Offline, alice: Actor) -> None:
    [order] = await offline.orders(1_000_000)
    poor = (await offline.orders(900_000_000_000))[0]
    db, now = offline.payer.db, clock.now()
    await db.execute(SUSPEND, alice.merchant_id)
    assert (await evm_offline.preview(offline.payouts, offline.context)).leaving == ()
    await db.execute(REACTIVATE, alice.merchant_id)
    users = OperatorContext(alice.email, now, None, on_command_line=True)
    assert (await evm_offline.preview(offline.payouts, users)).leaving == ()
    shown = await evm_offline.preview(offline.payouts, offline.context)
    assert "too little" in shown.drafted.left_out[poor.id]
    assert [payout.id for payout in shown.leaving] == [order.id]
    await db.execute(SUSPEND, alice.merchant_id)  # after it was shown
    with pytest.raises(OperatorRefusedError, match="No payouts wait"):
        await evm_offline.export(offline.services, offline.network, shown, offline.context)
    await db.execute(REACTIVATE, alice.merchant_id)
    reviewer = OperatorContext("olga@example.com", now, "Tested")
    await offline.services.transact(lambda work: pauses.pause(work, reviewer), now, OPERATOR)
    try:
        for action in (offline.export(), offline.take(), network_payouts.ensure_unsigned(offline.services, order.id)):
            with pytest.raises(OperatorRefusedError, match="paused"):
                await action
        with pytest.raises(OperatorRefusedError, match="paused"):
            await evm_offline.export(offline.services, offline.network, shown, offline.context)
    finally:
        await offline.services.transact(lambda work: pauses.resume(work, None, reviewer), now, OPERATOR)
    await network_payouts.ensure_unsigned(offline.services, order.id)
    assert (await offline.payer.stored(order)).status == "waiting"
    assert len(await offline.export()) == 1
    for change in (FORGET, "exported_at = NULL", "nonce = nonce + 1", "fee_per_gas = fee_per_gas - 1"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await db.execute(f"UPDATE chain_payouts SET {change} WHERE id = $1", order.id)  # noqa: S608 - of this test


@pytest.mark.long
async def test_commands_write_and_read_the_files(offline: Offline, service: Service, tmp_path: Path) -> None:
    """As operators run them."""
    payer, settings = offline.payer, offline.network.settings
    [order] = await offline.orders(123_000_000)
    rails, unsigned, signed = (tmp_path / name for name in ("rails.toml", "unsigned.json", "signed.json"))
    rails.write_text(
        f'[{payer.name}]\nkind = "evm"\nchain_id = 31337\nnode_url = "{settings.node_url}"\n'
        f'offline_wallet = "{settings.offline_wallet}"\n'
    )

    async def run(*words: object) -> Outcome:
        return await operator(service, "network-payouts", *map(str, words), TOLLHOUSE_RAILS_FILE=str(rails))

    done = await run("export", unsigned, "--yes", "--json")
    assert (done.status, done.json["action"]) == (0, "network_payouts_exported")
    assert f"{order.id} 1.23000000 ETH {payer.receiver} Total: 1.23000000 ETH" in done.talk
    assert unsigned.stat().st_mode & 0o777 == 0o600
    requests = msgspec.json.decode(unsigned.read_bytes(), type=UnsignedBatch).transfers
    assert [request.order.order_id for request in requests] == [order.id]
    signed.write_bytes(msgspec.json.encode(SignedBatch(tuple(offline.sign([*requests])))))
    done = await run("import", signed)
    assert (done.status, "1 payouts are new" in done.talk) == (0, True)
    assert (await payer.stored(order)).status == "signed"
