"""Charges that may exceed the available balance: the remainder becomes the merchant's debt.

`ledger_post` repays debt from the next money credited to the available balance.
"""

from collections.abc import Sequence

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books import store
from tollhouse.ledger.books.model import Account, EntryType, Posting, available, debt
from tollhouse.platform.database.pool import Tx


class Charge(Struct, frozen=True):
    """An amount that a merchant owes to an account, whatever its balance."""

    type: EntryType
    amount_minor: int
    credit: Account


async def get_debt(tx: Tx, env: MerchantEnv, currency: str) -> int:
    """What the merchant owes in a currency. It is repaid from the next money that is credited."""
    return await store.get_debt(tx, env, currency)


async def charge_postings(tx: Tx, env: MerchantEnv, currency: str, charges: Sequence[Charge]) -> tuple[Posting, ...]:
    """Lock the available balance and split the charges, in order, into postings from it and from debt."""
    left_minor = await store.lock_available(tx, env, currency)
    postings: list[Posting] = []
    for charge in charges:
        covered_minor = min(left_minor, charge.amount_minor)
        left_minor -= covered_minor
        if covered_minor > 0:
            postings.append(Posting(charge.type, currency, covered_minor, available(env), charge.credit))
        if charge.amount_minor > covered_minor:
            postings.append(Posting(charge.type, currency, charge.amount_minor - covered_minor, debt(env), charge.credit))
    return tuple(postings)
