"""Deposits as the node's wallet lists them: confirmations, replaced and lost transactions, reorganisations, lost looks.

`TOLLHOUSE_BITCOIN_BLOCKS` sets the length of the random chain.
"""

import os
import random
from collections import Counter

import msgspec

from tests.extent import EXTENT
from tests.rails.bitcoin.core import Core
from tests.rails.bitcoin.wallet import ACCOUNT, THEIRS
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.node import WalletEntries
from tollhouse.rails.bitcoin.network.transfers import (
    RELISTED_BLOCKS,
    Confirmations,
    DepositOutput,
    DepositReport,
    Outpoint,
    changes,
    unconfirmed,
    unlisted,
)

BLOCKS = int(os.environ.get("TOLLHOUSE_BITCOIN_BLOCKS", EXTENT.of(300, short=80)))
ADDRESSES = keys.addresses(ACCOUNT, keys.DEPOSITS, range(20))
DEPOSIT, OTHER = ADDRESSES[:2]
DEPTH = 6


class Follower:
    """Somebody who looks at a node from time to time, and remembers what was known and reported."""

    def __init__(self, needed: Confirmations | None = None) -> None:
        self.core = Core()
        self.core.exists = self.core.loaded = True
        self.core.watched[keys.descriptor(ACCOUNT, keys.DEPOSITS)] = len(ADDRESSES) - 1
        self.needed = needed or Confirmations()
        self.known: dict[Outpoint, DepositOutput] = {}
        self.cursor = ""
        self.reports: list[DepositReport] = []

    def look(self) -> list[tuple[str, int, int]]:
        """Compare once. Returns outcome, amount and confirmations of what is reported."""
        answer = self.core.answer("listsinceblock", [self.cursor, RELISTED_BLOCKS, True, False, True])
        listed = msgspec.json.decode(msgspec.json.encode(answer), type=WalletEntries)
        asked = {txid: self.core.place(txid)[0] for txid in unlisted(self.known.values(), listed.transactions)}
        mempool = {txid for txid in unconfirmed(listed.transactions, asked) if txid in self.core.mempool}
        found = changes(self.known, listed.transactions, asked, mempool, self.needed)
        self.known |= {change.output.outpoint: change.output for change in found}
        self.cursor = listed.lastblock
        reports = [change.report for change in found if change.report is not None]
        self.reports += reports
        return [(report.outcome, report.amount_minor, report.confirmations) for report in reports]

    def credited(self) -> dict[str, int]:
        """The amounts that were credited and not taken back, by outpoint. Each is credited and reversed in turn."""
        balance = Counter[str]()
        for report in self.reports:
            name = report.external_ref.partition("/")[0]
            if report.outcome in {"confirmed", "reinstated"}:
                balance[name] += report.amount_minor
            elif report.outcome == "reversed":
                balance[name] -= report.amount_minor
            assert balance[name] in {0, report.amount_minor}
        return {name: amount_minor for name, amount_minor in balance.items() if amount_minor}


def test_a_deposit_is_seen_and_credited_with_its_confirmations() -> None:
    """Once, however often it is looked at; two outputs to one address are two deposits."""
    follower = Follower()
    follower.core.pay((DEPOSIT, 100), (THEIRS, 7), (DEPOSIT, 200), (OTHER, 300))
    assert follower.look() == [("seen", 100, 0), ("seen", 200, 0), ("seen", 300, 0)]
    assert follower.look() == []
    follower.core.mine()
    assert follower.look() == [("seen", 100, 1), ("seen", 200, 1), ("seen", 300, 1)]
    follower.core.mine()
    assert follower.look() == [("confirmed", 100, 2), ("confirmed", 200, 2), ("confirmed", 300, 2)]
    follower.core.mine(3)
    assert follower.look() == []
    assert len({report.external_ref for report in follower.reports}) == len(follower.reports)
    small = Follower(Confirmations(required=3, small_required=1, small_up_to_minor=150))
    small.core.pay((DEPOSIT, 150), (OTHER, 151))
    small.core.mine()
    assert small.look() == [("confirmed", 150, 1), ("seen", 151, 1)]


def test_small_amounts_to_one_address_count_together() -> None:
    """Fifteen outputs of 10,000 satoshis need the confirmations of 150,000, at once or one after the other."""
    needed = Confirmations(required=3, small_required=1, small_up_to_minor=100_000)
    at_once, in_turn = Follower(needed), Follower(needed)
    at_once.core.pay(*[(DEPOSIT, 10_000)] * 15)
    at_once.core.pay((OTHER, 10_000))
    at_once.core.mine()
    assert Counter(at_once.look()) == {("seen", 10_000, 1): 15, ("confirmed", 10_000, 1): 1}
    at_once.core.mine(2)
    assert Counter(at_once.look()) == {("confirmed", 10_000, 3): 15}
    for number in range(15):
        in_turn.core.pay((DEPOSIT, 10_000))
        in_turn.core.mine()
        in_turn.look()
        credited = sum(in_turn.credited().values())
        assert credited == (10_000 * (number + 1) if number < 10 else max(100_000, 10_000 * (number - 1)))


def test_a_replaced_transaction_vanishes_and_the_new_one_is_seen() -> None:
    """The new one is reported first, so the payment of the same address stays on its way; spent elsewhere, it vanishes."""
    follower = Follower()
    first = follower.core.pay((DEPOSIT, 100))
    follower.look()
    second = follower.core.pay((DEPOSIT, 90), replaces=first)
    assert follower.look() == [("seen", 90, 0), ("vanished", 100, 0)]
    follower.core.pay((THEIRS, 80), replaces=second)
    assert follower.look() == [("vanished", 90, 0)]
    follower.core.mine(8)
    assert follower.look() == []
    assert follower.credited() == {}


def test_a_transaction_that_left_the_mempool_can_come_again() -> None:
    """It is seen a second time, and credited once; a child with a higher fee (CPFP) changes nothing."""
    follower = Follower()
    txid = follower.core.pay((DEPOSIT, 100), (THEIRS, 1))
    follower.look()
    follower.core.evict(txid)
    assert follower.look() == [("vanished", 100, 0)]
    assert follower.look() == []
    follower.core.take(follower.core.txs[txid])
    assert follower.look() == [("seen", 100, 0)]
    follower.core.pay((THEIRS, 1), spends=[(txid, 1)])
    assert follower.look() == []
    follower.core.mine(2)
    assert follower.look() == [("confirmed", 100, 2)]
    assert len({report.external_ref for report in follower.reports}) == len(follower.reports)


def test_after_a_reorganisation_a_credited_deposit_waits_returns_or_is_reversed() -> None:
    """In the mempool or in another block it stays credited; replaced it is reversed, and reinstated if it comes back."""
    follower = Follower()
    txid = follower.core.pay((DEPOSIT, 100))
    follower.core.mine(2)
    follower.look()
    follower.core.reorganize(2)
    assert follower.look() == []
    follower.core.mine()
    assert follower.look() == []
    follower.core.reorganize(1, keep=False)
    assert follower.look() == [("reversed", 100, 2)]
    assert follower.credited() == {}
    follower.core.take(follower.core.txs[txid])
    follower.core.mine()
    assert follower.look() == []
    follower.core.mine()
    assert follower.look() == [("reinstated", 100, 2)]
    follower.core.reorganize(2, keep=False)
    follower.core.pay((THEIRS, 99), replaces=txid)
    follower.core.mine()
    assert follower.look() == [("reversed", 100, 2)]
    assert len({(report.outcome, report.external_ref, report.reversal_ref) for report in follower.reports}) == len(
        follower.reports
    )


def test_mined_coins_count_when_they_can_be_spent() -> None:
    """After 100 blocks; amounts of nothing and what was never on its way are left out."""
    follower = Follower()
    follower.core.mine(1, coinbase=DEPOSIT)
    follower.core.pay((OTHER, 0))
    gone = follower.core.pay((OTHER, 5))
    follower.core.evict(gone)
    assert follower.look() == []
    follower.core.mine(99)
    assert follower.look() == []
    follower.core.mine(1)
    assert follower.look() == [("confirmed", 312_500_000, 101)]


def test_on_a_random_chain_each_final_deposit_is_credited_once() -> None:
    """Payments, replacements, lost transactions, reorganisations, and looks that are missed or repeated."""
    chance = random.Random(19)  # noqa: S311 - a history that can be repeated
    follower = Follower()
    core = follower.core
    while len(core.blocks) < BLOCKS:
        match chance.choices(("pay", "replace", "evict", "return", "mine", "reorganize"), (4, 2, 1, 1, 6, 1))[0]:
            case "pay":
                core.pay(*((chance.choice(ADDRESSES), chance.randint(1, 10**9)) for _ in range(chance.randint(1, 3))))
            case "replace" if core.mempool:
                core.pay(
                    (chance.choice([*ADDRESSES, THEIRS]), chance.randint(1, 10**9)), replaces=chance.choice(core.mempool)
                )
            case "evict" if core.mempool:
                core.evict(chance.choice(core.mempool))
            case "return":
                lost = [txid for txid in [*core.txs][-20:] if core.place(txid)[0] == 0]
                if lost:
                    core.take(core.txs[chance.choice(lost)])
            case "reorganize" if len(core.blocks) > DEPTH + 1:
                core.reorganize(chance.randint(1, DEPTH), keep=chance.random() < 0.8)
            case _:
                core.mine(1, *chance.sample(core.mempool, chance.randint(0, len(core.mempool))))
        for _ in range(chance.choice((0, 1, 1, 2))):
            follower.look()
    core.mine(DEPTH)
    follower.look()
    expected = {
        f"{txid}:{vout}": amount_minor
        for txid, outputs in core.own.items()
        for vout, _, amount_minor in outputs
        if txid in core.heights and core.place(txid)[0] >= follower.needed.required
    }
    assert follower.credited() == expected
    assert len({(report.outcome, report.external_ref, report.reversal_ref) for report in follower.reports}) == len(
        follower.reports
    )
    assert {report.outcome for report in follower.reports} == {"seen", "vanished", "confirmed", "reversed", "reinstated"}
