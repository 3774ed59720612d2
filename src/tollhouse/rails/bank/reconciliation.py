"""The bank reconciliation, by currency. Everything is read in one snapshot, so that an import cannot make a difference."""

from collections.abc import Mapping, Sequence

from tollhouse.ledger.accounting import store as totals_store
from tollhouse.ledger.accounting.model import AccountTotal
from tollhouse.ledger.books.model import MERCHANT_CODES, bank_account, unapplied
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.bank import accounts_store
from tollhouse.rails.bank.accounts import DIFFERENCE, DISMISSED, FEE, IN_TRANSIT, OPENING, UNMATCHED
from tollhouse.rails.bank.accounts_store import OpenItems, ReconciledAccount, ReconciledPart, Reconciliation, StatedAccount
from tollhouse.rails.bank.files.transfer import NAME

PATHS: Mapping[str, str] = {
    IN_TRANSIT.code: "/operator/payouts?status=returned",
    UNMATCHED.code: "/operator/transfers",
    unapplied(NAME).code: "",
    DISMISSED.code: "/operator/transfers?outcome=dismissed",
    FEE.code: "/operator/transfers?outcome=fee",
    DIFFERENCE.code: "/operator/transfers?outcome=written_off",
    OPENING.code: "/operator/statements",
}
"""Accounts between the bank and the merchants, and where their items are listed."""
TRANSIT = "transit:"
"""How the codes of accounts of payouts begin that card providers have sent to the bank."""


async def reconcile(db: Pool) -> list[Reconciliation]:
    """The reconciliation of each currency that has a bank account."""
    async with db.connection() as tx, tx.snapshot():
        accounts = await accounts_store.list_stated(tx)
        open_items = await accounts_store.list_open(tx)
        totals = await totals_store.list_totals(tx, None)
    currencies = sorted({account.currency for account in accounts})
    return [reconcile_currency(code, accounts, totals, open_items) for code in currencies]


def reconcile_currency(
    currency: str,
    accounts: Sequence[StatedAccount],
    totals: Sequence[AccountTotal],
    open_items: Mapping[tuple[str, str], OpenItems],
) -> Reconciliation:
    """The reconciliation of one currency. All balances are zero together, so all but the merchants' make up theirs."""
    balances = {total.code: total.balance_minor for total in totals if total.currency == currency}
    merchants_minor = -sum(balances.pop(code, 0) for code in MERCHANT_CODES)
    stated = [account for account in accounts if account.currency == currency]
    reconciled = [ReconciledAccount(account, balances.pop(bank_account(account.iban).code, 0)) for account in stated]
    nothing = OpenItems()
    listed = {
        IN_TRANSIT.code: -open_items.get((currency, "returned"), nothing).amount_minor,
        UNMATCHED.code: -open_items.get((currency, "unmatched"), nothing).amount_minor,
    }
    parts = [ReconciledPart(code, balances.pop(code, 0), path, listed.get(code)) for code, path in PATHS.items()]
    transits = sorted(code for code in balances if code.startswith(TRANSIT))
    parts += [ReconciledPart(code, balances.pop(code)) for code in transits]
    parts.append(ReconciledPart("", sum(balances.values()), "/operator/books"))
    return Reconciliation(currency, reconciled, parts, merchants_minor, open_items.get((currency, "exported"), nothing))
