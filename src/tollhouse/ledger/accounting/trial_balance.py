"""The trial balance: what each account of the chart was debited and credited until the end of a day, by currency."""

from collections.abc import Iterable, Iterator
from datetime import date
from itertools import groupby

from tollhouse.http.csv_table import lines
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.ledger.accounting import store
from tollhouse.ledger.accounting.labels import account_name, account_order
from tollhouse.ledger.accounting.model import AccountTotal, TrialBalance
from tollhouse.platform.database.pool import Pool

HEADER = ("until", "currency", "account", "name", "debit", "credit", "balance")


async def trial_balances(db: Pool, day: date | None) -> list[TrialBalance]:
    """The trial balance of each currency at the end of a day (UTC), or now."""
    async with db.connection() as tx, tx.snapshot():
        return by_currency(await store.list_totals(tx, day))


def by_currency(totals: Iterable[AccountTotal]) -> list[TrialBalance]:
    """The accounts of each currency, in order."""
    ordered = sorted(totals, key=lambda one: (one.currency, account_order(one.code)))
    return [TrialBalance(code, tuple(accounts)) for code, accounts in groupby(ordered, key=lambda one: one.currency)]


def as_csv(found: Iterable[TrialBalance], until: date, catalogue: Catalogue) -> str:
    """A header line, and a line for each account with amounts in major units; credits are negative in `balance`."""
    return lines([HEADER, *(_cells(one, until, catalogue) for balance in found for one in balance.accounts)])


def _cells(one: AccountTotal, until: date, catalogue: Catalogue) -> Iterator[str]:
    yield from (until.isoformat(), one.currency, one.code, str(account_name(one.code)))
    for minor in (one.debit_minor, one.credit_minor, one.balance_minor):
        yield catalogue.format_amount(minor, one.currency)
