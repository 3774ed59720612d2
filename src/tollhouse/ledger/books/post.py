"""Posting: the only way money moves. PostgreSQL enforces the rules; its constraint violations become API errors here."""

from collections.abc import Sequence

import asyncpg

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books import store
from tollhouse.ledger.books.model import (
    AlreadyPosted,
    BalanceLimitExceeded,
    InsufficientFunds,
    JournalEntry,
    LedgerTransaction,
    PostedTransaction,
)
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log import changed_objects

ERROR_BY_CONSTRAINT = {
    "ledger_accounts_floor": InsufficientFunds,
    "ledger_accounts_limit": BalanceLimitExceeded,
    "ledger_transactions_once": AlreadyPosted,
}


async def post(work: Work, journal_entry: JournalEntry) -> PostedTransaction:
    """Write a journal entry in one round trip. An application that acts is recorded with it.

    Raises `InsufficientFunds`, `BalanceLimitExceeded` and `AlreadyPosted`; each aborts the transaction.
    """
    changed_objects.note(journal_entry.source.id)
    try:
        return await store.post(work.tx, journal_entry, work.actor.client_id, work.now)
    except (asyncpg.CheckViolationError, asyncpg.UniqueViolationError) as violation:
        error = ERROR_BY_CONSTRAINT.get(str(violation.constraint_name))
        if error is None:
            raise
        raise error from violation


async def post_platform(work: Work, journal_entries: Sequence[JournalEntry]) -> None:
    """Write journal entries between accounts of the platform, all in one round trip. No application is recorded with them.

    Raises `AlreadyPosted`, which aborts the transaction, and `ValueError` if an account is a merchant's or the modes differ.
    """
    if not journal_entries:
        return
    try:
        await store.post_platform(work.tx, journal_entries, work.now)
    except asyncpg.UniqueViolationError as violation:
        error = ERROR_BY_CONSTRAINT.get(str(violation.constraint_name))
        if error is None:
            raise
        raise error from violation


async def defer_post(work: Work, journal_entry: JournalEntry) -> LedgerTransaction:
    """Write a journal entry with the deferred writes, or now if this run does not defer. Raises what `post` raises."""
    if work.tx.is_optimistic:
        changed_objects.note(journal_entry.source.id)
        return await store.defer_post(work.tx, journal_entry, work.actor.client_id, work.now)
    return await post(work, journal_entry)


async def fits_balance_limit(tx: Tx, env: MerchantEnv, currency: str, amount_minor: int) -> bool:
    """Whether the balance limit allows this credit. The answer holds until the transaction ends."""
    return await store.lock_headroom(tx, env, currency) >= amount_minor


async def ensure_balance_limit(tx: Tx, env: MerchantEnv, currency: str, amount_minor: int) -> None:
    """Raise `BalanceLimitExceeded` before anything is written, so that `tx` stays usable."""
    if not await fits_balance_limit(tx, env, currency, amount_minor):
        raise BalanceLimitExceeded
