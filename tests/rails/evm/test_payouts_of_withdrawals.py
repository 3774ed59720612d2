"""Withdrawals by a real node: from request to block, unavailable while they cannot be paid, refused by operators."""

from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.evm.paying import ETHER, MINOR, Payer, make_network, make_payouts
from tests.transfers.withdrawals.steps import review
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.chain import Measured
from tollhouse.kernel.rails.registry import Rails
from tollhouse.ledger.books.model import JournalEntry, Posting, Source, available, equity
from tollhouse.ledger.books.post import post_now
from tollhouse.rails.chains import following
from tollhouse.rails.evm import jobs as evm_jobs
from tollhouse.rails.evm import operator_payouts as network_payouts
from tollhouse.rails.evm import payouts_store as store
from tollhouse.rails.evm.payouts import ChainPayouts
from tollhouse.rails.evm.signer.client import SignerUnavailable
from tollhouse.rails.evm.signer.messages import SignedTransfer, SigningRefused
from tollhouse.rails.evm.signer.policy import AssetPolicy, NetworkPolicy
from tollhouse.transfers.withdrawals import actions, jobs
from tollhouse.transfers.withdrawals import store as withdrawal_store
from tollhouse.transfers.withdrawals.model import Withdrawal
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal, NewWithdrawalQuote
from tollhouse.transfers.withdrawals.views import withdrawal_quote_view

RESERVE_ANYHOW = """
    UPDATE chain_payouts SET status = 'reserved', wallet = receiver, nonce = 99, gas = 1, fee_per_gas = 1, tip_per_gas = 1
    WHERE id = $1
"""
REFUSED_BY = (
    "SELECT action, operator, reason FROM operator_actions WHERE subject_id = $1 AND action LIKE 'payout%' ORDER BY at"
)


async def test_a_withdrawal_is_paid_from_request_to_block(payer: Payer, alice: Actor, services: Services) -> None:
    """Through the gate and the ledger, with the fee that the network took."""
    since = last_id()
    on_chain, payouts, env = await live(payer, alice, services)
    new = NewWithdrawalQuote(method_id="ethereum:ETH", amount="1.5")
    quote = await on_chain.transact(lambda work: actions.quote(work, env, new), clock.now())
    estimate = withdrawal_quote_view(quote, on_chain.rails, on_chain.catalogue).network_fee_estimate
    asked = await withdraw(on_chain, env, "1.5", payer.receiver)
    assert asked.status == "processing"
    await payer.settle()
    current = await store.get(services.db, asked.id)
    assert current is not None
    await evm_jobs.check(services, payouts, current, clock.now())
    await jobs.advance_one(on_chain, asked, clock.now())
    completed = await withdrawal_store.get(services.db, env, asked.id)
    stored = await store.get(services.db, asked.id)
    assert stored is not None
    assert (completed.status, completed.tx_hash) == ("completed", stored.tx_hash)
    assert stored.fee_wei is not None
    assert estimate is not None
    assert estimate.currency == "ETH"
    assert estimate.amount_minor >= (completed.network_paid_minor or 0)  # empty blocks make gas cheaper
    assert completed.network_paid_minor == -(-stored.fee_wei // MINOR) > 0
    assert await payer.received_wei() == 150_000_000 * MINOR
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_withdrawals_are_unavailable_while_the_rail_cannot_pay(payer: Payer, services: Services) -> None:
    """Without a signer, with an empty wallet, while an order waits for more money, and while gas is too expensive."""
    rails = Rails([payer.network])
    on_chain = msgspec.structs.replace(services, rails=rails)
    payer.network.measured = Measured(True, clock.now(), {})

    async def errors() -> tuple[str | None, str | None]:
        await evm_jobs.measure(payer.payouts, clock.now())
        await following.refresh(on_chain)
        return rails.payout_error(payer.name, "live", "ETH"), rails.payout_error(payer.name, "live", "USDC")

    assert rails.payout_error(payer.name, "live", "ETH") == "provider_down"  # nothing is measured
    assert await errors() == (None, None)
    fees = [rails.payout_fee(payer.name, "live", currency) for currency in ("ETH", "USDC")]
    assert [fee.currency for fee in fees if fee] == ["ETH", "ETH"]
    assert fees[0] is not None
    assert fees[1] is not None
    assert 0 < fees[0].amount_minor < fees[1].amount_minor
    assert rails.payout_fee("sandbox", "test", "EUR") is None
    for nobody in ("0x" + "0" * 40, payer.token.address, payer.signer.wallet.address):
        assert "Nobody can be paid" in str(payer.network.receiver_error(nobody))
    assert payer.network.receiver_error(payer.receiver) is None
    poor = await payer.order(2_000_000_000, "USDC")
    assert (await payer.pay(poor)).outcome == "unknown"
    assert "too little USDC" in str((await payer.stored(poor)).reason)
    assert await errors() == (None, "provider_down")
    await payer.chain.transact(payer.token, "mint", payer.signer.wallet.address, 5000 * 10**6)
    assert (await payer.pay(poor)).outcome == "unknown"  # now it waits for the signer, which pays 500 at most
    assert "limited to 500" in str((await payer.stored(poor)).reason)
    assert await errors() == (None, None)
    payer.network.settings = msgspec.structs.replace(payer.network.settings, fee_per_gas_max_gwei=1)
    waits = await payer.order(1_000_000)
    assert (await payer.pay(waits)).outcome == "unknown"
    assert "more than the maximum" in str((await payer.stored(waits)).reason)
    assert await errors() == ("provider_down", "provider_down")
    payer.payouts.signer.socket = payer.payouts.signer.socket.with_name("nobody")
    assert await errors() == ("provider_down", "provider_down")


async def test_an_operator_refuses_what_waits(payer: Payer, alice: Actor, services: Services) -> None:
    """The merchant has the money again. What is signed may have been sent, and cannot be refused."""
    on_chain, payouts, env = await live(payer, alice, services)
    context = OperatorContext("olga@example.com", clock.now(), "The address is blocked.", on_command_line=True)
    waits, sent = [await withdraw(on_chain, env, amount, payer.receiver) for amount in ("9", "1")]
    assert [one.status for one in (waits, sent)] == ["processing", "processing"]
    listed = {one.id: one for one in await network_payouts.list_open(services.db, services.catalogue)}
    assert (listed[waits.id].amount, listed[waits.id].nonce) == ("9.00000000", None)
    assert "limited to 5" in str(listed[waits.id].reason)
    assert listed[sent.id].tx_hash
    with pytest.raises(OperatorRefusedError, match="is signed"):
        await network_payouts.ensure_unsigned(on_chain, sent.id)
    with pytest.raises(OperatorRefusedError, match="does not wait"):
        await services.transact(lambda work: network_payouts.refuse(work, sent.id, context), clock.now(), OPERATOR)
    with pytest.raises(OperatorRefusedError, match="does not wait"):
        await services.transact(lambda work: network_payouts.mark_refused(work, sent.id, context), clock.now(), OPERATOR)
    await network_payouts.ensure_unsigned(on_chain, waits.id)
    await services.transact(lambda work: network_payouts.mark_refused(work, waits.id, context), clock.now(), OPERATOR)
    socket = payouts.signer.socket
    payouts.network.settings = msgspec.structs.replace(payouts.network.settings, signer_socket=f"{socket}-of-nobody")
    await network_payouts.refuse_marked(on_chain)
    ether = AssetPolicy(per_transfer="20", per_day="50", others_per_transfer="20", others_per_day="50")
    payer.signer.policy.networks["ethereum"] = NetworkPolicy(chain_id=31337, assets={"ETH": ether})
    await payer.chain.sent(payer.signer.wallet.address, 10 * ETHER)  # it could be paid now
    assert (await payouts.submit("withdrawal", waits.order)).outcome == "unknown"
    assert (await payer.stored(waits.order)).reason == "an operator wants it refused"
    with pytest.raises(asyncpg.CheckViolationError, match="chain_payouts_refused"):
        await services.db.execute(RESERVE_ANYHOW, waits.id)
    assert (await withdrawal_store.get(services.db, env, waits.id)).status == "processing"
    payouts.network.settings = msgspec.structs.replace(payouts.network.settings, signer_socket=str(socket))
    await network_payouts.refuse_marked(on_chain)
    await network_payouts.refuse_marked(on_chain)  # there is nothing left to refuse
    rows = await services.db.fetch(REFUSED_BY, waits.id)
    assert [tuple(row) for row in rows] == [
        ("payout_to_be_refused", "olga@example.com", "The address is blocked."),
        ("payout_refused", "olga@example.com", "The address is blocked."),
    ]
    async with signed_in_operator(alice.service) as olga:  # the history leads to the withdrawal
        page = f"/operator/withdrawals/{waits.id}"
        assert f'href="{page}"' in (await olga.send("GET", "/operator/history")).ok().text
        (await olga.send("GET", page)).ok()
    ended = await withdrawal_store.get(services.db, env, waits.id)
    assert (ended.status, ended.failure_code) == ("failed", "payout_declined")
    assert (await payouts.submit("withdrawal", waits.order)).outcome == "rejected"
    assert waits.id not in payer.signer.journal.by_order
    payouts.signer.socket = payouts.signer.socket.with_name("nobody")
    with pytest.raises(OperatorRefusedError, match="no such payout"):
        await network_payouts.ensure_unsigned(on_chain, uuid4())


async def test_the_jobs_of_the_worker_finish_what_was_begun(
    payer: Payer, alice: Actor, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what was interrupted between nonce and signature, while the signer did not answer."""
    on_chain, payouts, env = await live(payer, alice, services)
    sent = await withdraw(on_chain, env, "1", payer.receiver)
    socket = payouts.signer.socket
    payouts.signer.socket = socket.with_name("nobody")
    unsent = await withdraw(on_chain, env, "0.5", payer.receiver)
    stored = await store.get(services.db, unsent.id)
    assert stored is not None
    assert stored.status == "waiting"
    assert stored.reason
    payouts.signer.socket = socket

    async def lose(_: object) -> SignedTransfer | SigningRefused:
        raise SignerUnavailable

    monkeypatch.setattr(payouts.signer, "sign", lose)
    await jobs.advance_one(on_chain, unsent, clock.now())
    stored = await store.get(services.db, unsent.id)
    assert stored is not None
    assert stored.status == "reserved"
    monkeypatch.undo()
    await services.db.execute("UPDATE chain_payouts SET check_at = now() - interval '1 s' WHERE id = $1", unsent.id)
    await evm_jobs.advance_payouts(on_chain)
    await payer.settle()
    await services.db.execute(
        "UPDATE chain_payouts SET check_at = now() - interval '1 s' WHERE id = ANY ($1)", [sent.id, unsent.id]
    )
    await evm_jobs.advance_payouts(on_chain)
    await evm_jobs.measure_payouts(on_chain)
    for one in (sent, unsent):
        ended = await store.get(services.db, one.id)
        assert ended is not None
        assert ended.status == "completed"
    assert await payer.received_wei() == 150_000_000 * MINOR


async def live(payer: Payer, alice: Actor, services: Services) -> tuple[Services, ChainPayouts, MerchantEnv]:
    """Services whose rail is `ethereum`, and Alice with 20 ether."""
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "live")
    network = make_network("ethereum", payer.chain.url, payer.token.address, str(payer.signer.policy.socket))
    payouts = make_payouts(services.db, services.catalogue, network, payer.signer.policy.socket)
    payer.signer.policy.networks["ethereum"] = payer.signer.policy.networks[payer.name]
    network.measured = Measured(True, clock.now(), {})
    await evm_jobs.measure(payouts, clock.now())
    on_chain = msgspec.structs.replace(services, rails=Rails([network]))
    await following.refresh(on_chain)

    async def fund(work: Work) -> None:
        posting = Posting("adjustment", "ETH", 2_000_000_000, equity("adjustment"), available(env))
        await post_now(work, JournalEntry("live", "adjustment", Source("test", uuid4()), (posting,)))

    await services.transact(fund, clock.now())
    return on_chain, payouts, env


async def withdraw(on_chain: Services, env: MerchantEnv, amount: str, receiver: str) -> Withdrawal:
    """A withdrawal that operators have approved, a large one two of them, and a worker has submitted."""
    new = NewWithdrawal(method_id="ethereum:ETH", amount=amount, receiver=receiver)
    asked = await on_chain.transact(lambda work: actions.request(work, env, new), clock.now())
    for name in ("olga", "otto"):
        if (await review(on_chain, {"id": str(asked.id)}, name)).status == "approved":
            break
    approved = await withdrawal_store.get(on_chain.db, env, asked.id)
    await jobs.advance_one(on_chain, approved, clock.now())
    return await withdrawal_store.get(on_chain.db, env, asked.id)
