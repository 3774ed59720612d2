"""What refunds use of the signer's fees of a day: a merchant's refunds never stop the payouts of others."""

import msgspec
import pytest

from tests.cast import Actor
from tests.rails.evm.paying import Payer
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import PayoutOrder, RefundOrder, Submission
from tollhouse.rails.evm import network_fees
from tollhouse.rails.evm.payouts_model import ChainPayout
from tollhouse.rails.evm.signer.messages import WalletFacts

REFUNDS = 300
LEAST_MINOR = 1
"""0.000001 USDC."""


def of_refund(order: PayoutOrder) -> RefundOrder:
    return RefundOrder(order.id, "address", "USDC", order.amount_minor, order.receiver, order.amount_minor, clock.now())


@pytest.mark.long
async def test_three_hundred_small_refunds_leave_fees_for_others(payer: Payer, carol: Actor) -> None:
    """A day's fees are enough for forty payouts. A quarter of them are refunds of one merchant, and its others wait."""
    cost = await cost_of_a_refund(payer)
    limits = payer.signer.policy.networks[payer.name]
    per_day = f"{40 * cost / 10**18:.18f}"
    payer.signer.policy.networks[payer.name] = msgspec.structs.replace(limits, fees_per_day=per_day)
    orders = [await payer.order(LEAST_MINOR, "USDC", kind="refund") for _ in range(REFUNDS)]
    outcomes = [(await payer.network.refund(of_refund(order))).outcome for order in orders]
    accepted = outcomes.count("accepted")
    assert 5 <= accepted < 20  # the first transfer to an account needs the most gas
    assert outcomes == ["accepted"] * accepted + ["unknown"] * (REFUNDS - accepted)
    stored = [await payer.stored(order) for order in orders]
    assert cost + sum(payout.terms.cost for payout in stored if payout.terms is not None) <= 10 * cost
    assert {payout.reason for payout in stored if payout.status == "waiting"} == {
        "refunds of its merchant have used their share of the day's fees"
    }
    mine, payer.merchant_id = payer.merchant_id, carol.merchant_id
    for kind in ("refund", "withdrawal"):
        order = await payer.order(1_000_000, "USDC", kind=kind)
        done: Submission
        if kind == "refund":
            done = await payer.network.refund(of_refund(order))
        else:
            done = await payer.pay(order)
        assert done.outcome == "accepted"
    payer.merchant_id = mine
    assert (await payer.pay(await payer.order(1_000_000, "USDC"))).outcome == "accepted"


async def cost_of_a_refund(payer: Payer) -> int:
    """What one can cost at most now."""
    order = await payer.order(LEAST_MINOR, "USDC", kind="refund")
    assert (await payer.network.refund(of_refund(order))).outcome == "accepted"
    terms = (await payer.stored(order)).terms
    assert terms is not None
    return terms.cost


@pytest.mark.parametrize(
    ("kind", "used", "own", "cost", "waits"),
    [
        *(
            ("refund", 0, 0, 25, False),
            ("refund", 0, 0, 26, True),
            ("refund", 25, 25, 1, True),
            ("refund", 20, 0, 20, False),
        ),
        *(("refund", 20, 0, 21, True), ("refund", 75, 0, 1, True), ("refund", 74, 73, 1, True), ("refund", 70, 0, 5, False)),
        *(("withdrawal", 99, 0, 1, False), ("sweep", 99, 0, 1, False)),
    ],
)
def test_the_share(kind: str, used: int, own: int, cost: int, waits: bool) -> None:
    now = clock.now()
    payout = msgspec.convert(
        {"id": str(new_id()), "kind": kind, "rail": "r", "mode": "live", "chain_id": 1, "currency": "USDC", "contract": None}
        | {"receiver": "0x", "amount_units": 1, "status": "waiting", "reason": None, "wallet": None, "nonce": None}
        | {"terms": None, "tx_hash": None, "fee_wei": None, "refused_by_action_id": None, "exported_at": None}
        | {"created_at": now, "updated_at": now},
        ChainPayout,
        strict=False,
    )
    wallet = WalletFacts("0x", 1, 0, "0x", "100", str(used))
    assert (network_fees.obstacle(payout, wallet, own, cost) is not None) == waits
    unknown = WalletFacts("0x", 1, 0, "0x")  # a signer that does not say, as one that signs offline
    assert network_fees.obstacle(payout, unknown, own, cost) is None
