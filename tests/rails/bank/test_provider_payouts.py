"""A payout of the card provider arrives in the bank account: what was on its way is there, once."""

import asyncio
from uuid import uuid4

import pytest

from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import ACCOUNT
from tests.rails.bank.steps import Bank, Line
from tests.rails.bank.test_decisions import unmatched
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.kernel import clock
from tollhouse.rails.bank import actions
from tollhouse.rails.cards import balance_store, balances
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import StripeAccount
from tollhouse.rails.cards.stripe.observed import BalanceTransaction

CARDS = StripeCards(StripeAccount(rail="card", secret_key="", webhook_secrets=()))
MOVED = """
    SELECT coalesce(sum(CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END), 0)::bigint AS minor
    FROM ledger_accounts a JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
    WHERE (a.mode, a.currency, a.code) = ('live', 'EUR', $1)
"""


async def pay_out(bank: Bank, amount_minor: int, source: str | None = None) -> str:
    """The provider pays out, and the worker reads it. A payout below zero came back. Returns its ID."""
    source, now = source or f"po_{uuid4().hex}", clock.now()
    made = BalanceTransaction(
        external_id=f"txn_{uuid4().hex}",
        kind="payout",
        category="payout",
        source=source,
        payment_intent=None,
        object_id=None,
        currency="EUR",
        amount_minor=-amount_minor,
        fee_minor=0,
        created_at=now,
        available_at=now,
    )
    await balance_store.insert(bank.services.db, CARDS.name, CARDS.mode, [made])
    await balances.settle(bank.services, CARDS, now)
    return source


async def transit(bank: Bank) -> int:
    """What is on its way from the provider."""
    [row] = await bank.services.db.fetch(MOVED, "transit:card")
    return row["minor"]


async def test_a_payout_arrives_once(bank: Bank) -> None:
    before = await transit(bank)
    payout = await pay_out(bank, 12_345)
    assert await transit(bank) == before + 12_345
    first, second = await unmatched(bank, Line(12_345)), await unmatched(bank, Line(12_345))
    decided = await bank.decide(actions.receive, first, None)
    assert (decided.outcome, await transit(bank)) == ("provider_payout", before)
    with pytest.raises(OperatorRefusedError, match="No payout of a card provider"):
        await bank.decide(actions.receive, second, payout)
    await bank.decide(actions.reopen, first)
    assert await transit(bank) == before + 12_345
    await bank.decide(actions.receive, second, payout)
    assert await transit(bank) == before


async def test_only_what_is_on_its_way_arrives(bank: Bank) -> None:
    """Not another amount, one that failed, an outgoing transfer; of several alike, the one that is named."""
    await pay_out(bank, -22_222, await pay_out(bank, 22_222))
    payouts = [await pay_out(bank, 33_333) for _ in range(2)]
    failed, other = await unmatched(bank, Line(22_222)), await unmatched(bank, Line(33_334))
    alike, debit = await unmatched(bank, Line(33_333)), await unmatched(bank, Line(33_333, "DBIT"))
    for transfer_id, source, says in (
        (failed, None, "No payout of a card provider"),
        (other, payouts[0], "No payout of a card provider"),
        (alike, "po_unknown", "No payout of a card provider"),
        (alike, None, "Name the one that arrived"),
        (debit, payouts[0], "An outgoing transfer"),
    ):
        with pytest.raises(OperatorRefusedError, match=says):
            await bank.decide(actions.receive, transfer_id, source)
    await bank.decide(actions.receive, alike, payouts[1])
    await bank.decide(actions.receive, await unmatched(bank, Line(33_333)), None)


async def test_two_transfers_bring_one_payout(bank: Bank) -> None:
    payout = await pay_out(bank, 44_444)
    transfers = [await unmatched(bank, Line(44_444)) for _ in range(3)]
    done = await asyncio.gather(
        *(bank.decide(actions.receive, transfer, payout) for transfer in transfers), return_exceptions=True
    )
    assert sorted(isinstance(outcome, OperatorRefusedError) for outcome in done) == [False, True, True]


async def test_on_the_page_and_by_command(bank: Bank, service: Service) -> None:
    payouts = [await pay_out(bank, amount) for amount in (55_555, 66_666)]
    transfer_id, by_command = await unmatched(bank, Line(55_555)), await unmatched(bank, Line(66_666))
    async with signed_in_operator(service) as olga:
        path = f"/operator/transfers/{transfer_id}"
        assert payouts[0] in (await olga.send("GET", path)).ok().text
        answer = await olga.form(f"{path}/receive", {"received": payouts[0], "received_why": "It is there."})
        shown = (await olga.send("GET", answer.ok(303).location)).ok().text
        assert "Payout from the card provider" in shown
        assert "Reopen transfer" in shown
        assert "Payouts from the provider on their way: card" in (await olga.send("GET", "/operator/books/bank")).ok().text
    words = ("receive", str(by_command), payouts[1], "--reason", "It is there.")
    done = await operator(service, "statements", *words, **ACCOUNT)
    assert (done.status, done.out) == (0, f"provider_payout {by_command}\n")
