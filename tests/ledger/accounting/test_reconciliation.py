"""The bank reconciliation: what the bank stated, what the ledger has, and what is open in between."""

from uuid import uuid4

from tests.cast import Actor
from tests.rails.bank.camt import IBAN, Line
from tests.rails.bank.steps import Bank, earned, withdrawn
from tests.rails.bank.test_payouts import back
from tollhouse.ledger.accounting.model import AccountTotal
from tollhouse.ledger.books.model import bank_account
from tollhouse.rails.bank import actions
from tollhouse.rails.bank.accounts_store import OpenItems, Reconciliation
from tollhouse.rails.bank.reconciliation import reconcile, reconcile_currency


async def reconciled(bank: Bank) -> Reconciliation:
    """The reconciliation in euros, which agrees."""
    [found] = [one for one in await reconcile(bank.services.db) if one.currency == "EUR"]
    assert not found.is_wrong
    return found


def parts(found: Reconciliation) -> dict[str, int]:
    """The amounts between the bank and the merchants."""
    return {part.code: part.amount_minor for part in found.parts}


async def test_open_items_explain_the_difference(alice: Actor, bank: Bank, olga: Actor) -> None:
    await earned(alice, bank, "20.00")
    before = await reconciled(bank)
    mark = uuid4().hex
    await bank.shows(Line(900, words=mark), Line(90, "DBIT", words=mark), Line(40, "DBIT", words=mark))
    waiting = {transfer.amount: transfer.id for transfer in await bank.waiting(mark)}
    await bank.decide(actions.record_fee, waiting["0.90"])
    await bank.decide(actions.write_off, waiting["0.40"])
    payout_id = await withdrawn(alice, bank, "5.00")
    await bank.export(payout_id)
    found = await reconciled(bank)
    assert found.bank_minor - before.bank_minor == 900 - 90 - 40
    changed = {code: minor - parts(before)[code] for code, minor in parts(found).items()}
    assert {code: minor for code, minor in changed.items() if minor} == {
        "unmatched:bank": -900,
        "expense:bank_fee": 90,
        "expense:bank_difference": 40,
    }
    assert found.merchants_minor == before.merchants_minor
    assert found.exported == OpenItems(before.exported.count + 1, before.exported.amount_minor + 500)
    await bank.shows(back(payout_id, 500))
    returned = await reconciled(bank)
    assert parts(returned)["rail:bank"] == parts(before)["rail:bank"] - 500
    assert returned.exported == before.exported

    shown = (await olga.send("GET", "/operator/books/bank")).ok().text
    assert " ".join(IBAN[at : at + 4] for at in range(0, len(IBAN), 4)) in shown
    for words in ("Agrees", "Unmatched transfers: bank", "/operator/transfers?outcome=fee", "Balances of the merchants"):
        assert words in shown, words
    assert "Differs" not in shown
    for outcome, amount in (("unmatched", "€9.00"), ("fee", "\N{MINUS SIGN}€0.90"), ("written_off", "\N{MINUS SIGN}€0.40")):
        assert amount in (await olga.send("GET", f"/operator/transfers?outcome={outcome}")).ok().text
    (await olga.send("GET", "/operator/transfers?outcome=payment")).refused("validation_failed", 422)


async def test_what_differs_is_marked(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    [found] = await reconcile(bank.services.db)
    stated = [account.stated for account in found.accounts]
    totals = [
        AccountTotal("EUR", bank_account(IBAN).code, found.bank_minor + 5, 0),
        AccountTotal("EUR", "unmatched:bank", 0, 7),
        AccountTotal("EUR", "available", 0, found.bank_minor - 2),
    ]
    wrong = reconcile_currency("EUR", stated, totals, {("EUR", "unmatched"): OpenItems(1, 8)})
    assert [(account.difference_minor, account.is_wrong) for account in wrong.accounts] == [(5, True)]
    assert [part.code for part in wrong.parts if part.is_wrong] == ["unmatched:bank"]
    assert wrong.is_wrong
    right = reconcile_currency("EUR", stated, totals, {("EUR", "unmatched"): OpenItems(1, 7)})
    assert [part.code for part in right.parts if part.is_wrong] == []
    assert right.is_wrong  # the account still differs
