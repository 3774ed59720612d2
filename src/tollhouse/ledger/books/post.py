"""Posting: the only way money moves. PostgreSQL enforces the rules; its constraint violations become API errors here.

A charge may exceed the available balance: the remainder becomes the merchant's debt. `ledger_post` repays it from the next
money that is credited.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import asyncpg
from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books import store
from tollhouse.ledger.books.model import (
    Account,
    AlreadyPosted,
    BalanceLimitExceeded,
    EntryType,
    InsufficientFunds,
    JournalEntry,
    LedgerTransaction,
    PostedTransaction,
    Posting,
    available,
    debt,
)
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log import changed_objects

ERROR_BY_CONSTRAINT = {
    "ledger_accounts_floor": InsufficientFunds,
    "ledger_accounts_limit": BalanceLimitExceeded,
    "ledger_transactions_once": AlreadyPosted,
}


@contextmanager
def _api_errors() -> Iterator[None]:
    """Raises the error of the constraint that refuses a posting."""
    try:
        yield
    except (asyncpg.CheckViolationError, asyncpg.UniqueViolationError) as violation:
        error = ERROR_BY_CONSTRAINT.get(str(violation.constraint_name))
        if error is None:
            raise
        raise error from violation


async def post(work: Work, journal_entry: JournalEntry) -> LedgerTransaction:
    """Write a journal entry. An application that acts is recorded with it.

    Raises `InsufficientFunds`, `BalanceLimitExceeded` and `AlreadyPosted`; each aborts the transaction.
    """
    changed_objects.note(journal_entry.source.id)
    with _api_errors():
        return await store.post(work.tx, journal_entry, work.actor.client_id, work.now)


async def post_now(work: Work, journal_entry: JournalEntry) -> PostedTransaction:
    """Write a journal entry at once, and return it with the balances after it. Raises what `post` raises."""
    changed_objects.note(journal_entry.source.id)
    with _api_errors():
        return await store.post_now(work.tx, journal_entry, work.actor.client_id, work.now)


async def post_platform(work: Work, journal_entries: Sequence[JournalEntry]) -> None:
    """Write journal entries between accounts of the platform, all in one round trip. No application is recorded with them.

    Raises `AlreadyPosted`, which aborts the transaction, and `ValueError` if an account is a merchant's or the modes differ.
    """
    if journal_entries:
        with _api_errors():
            await store.post_platform(work.tx, journal_entries, work.now)


async def fits_balance_limit(tx: Tx, env: MerchantEnv, currency: str, amount_minor: int) -> bool:
    """Whether the balance limit, which a constraint enforces too, allows this credit until the transaction ends."""
    headroom_minor = await store.lock_headroom(tx, env, currency)
    return headroom_minor is None or amount_minor <= headroom_minor


async def ensure_balance_limit(tx: Tx, env: MerchantEnv, currency: str, amount_minor: int) -> None:
    """Raise `BalanceLimitExceeded` before anything is written, so that `tx` stays usable."""
    if not await fits_balance_limit(tx, env, currency, amount_minor):
        raise BalanceLimitExceeded


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
