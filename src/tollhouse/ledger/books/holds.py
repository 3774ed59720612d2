"""Holds: reserved money that is captured or released. Compare-and-set of the hold's row comes before posting."""

from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books import store
from tollhouse.ledger.books.model import (
    Account,
    EntryType,
    Hold,
    HoldNotActive,
    JournalEntry,
    LedgerTransaction,
    Posting,
    Source,
    available,
    reserved,
)
from tollhouse.ledger.books.post import post


class HoldCapture(Struct, frozen=True):
    """An amount captured from a hold, and the account it is credited to."""

    type: EntryType
    amount_minor: int
    credit: Account


async def reserve(
    work: Work, env: MerchantEnv, source: Source, currency: str, amount_minor: int
) -> tuple[Hold, LedgerTransaction]:
    """Reserve money of the available balance for `source`, which can have one hold. Raises `InsufficientFunds`."""
    hold = Hold(new_id(), env, currency, source, amount_minor, 0, 0)
    posting = Posting("hold", currency, amount_minor, available(env), reserved(env))
    await store.insert_hold(work.tx, hold, work.now)
    return hold, await post(work, JournalEntry(env.mode, "hold", source, (posting,)))


async def capture(
    work: Work, env: MerchantEnv, hold_id: UUID, captures: Sequence[HoldCapture], *, extra_postings: tuple[Posting, ...] = ()
) -> tuple[Hold, LedgerTransaction]:
    """Capture these amounts, and post `extra_postings` in the same ledger transaction. Raises `HoldNotActive`."""
    hold = await store.capture_hold(work.tx, env, hold_id, sum(part.amount_minor for part in captures), work.now)
    return await _post(work, env, hold, captures, extra_postings)


async def capture_and_release(
    work: Work, env: MerchantEnv, hold_id: UUID, captures: Sequence[HoldCapture]
) -> tuple[Hold, LedgerTransaction]:
    """Capture these amounts and release the rest in one ledger transaction. Raises `HoldNotActive`."""
    hold = await store.settle_hold(work.tx, env, hold_id, sum(part.amount_minor for part in captures), work.now)
    return await _post(work, env, hold, captures, _release_postings(hold))


async def release(work: Work, env: MerchantEnv, hold_id: UUID) -> tuple[Hold, LedgerTransaction]:
    """Release what is still held. Raises `HoldNotActive`."""
    hold = await store.release_hold(work.tx, env, hold_id, work.now)
    return await _post(work, env, hold, (), _release_postings(hold))


def _release_postings(hold: Hold | None) -> tuple[Posting, ...]:
    if hold is None or not hold.released_minor:
        return ()
    return (Posting("release", hold.currency, hold.released_minor, reserved(hold.env), available(hold.env)),)


async def _post(
    work: Work, env: MerchantEnv, hold: Hold | None, captures: Sequence[HoldCapture], extra_postings: tuple[Posting, ...]
) -> tuple[Hold, LedgerTransaction]:
    if hold is None:
        raise HoldNotActive
    captured = (Posting(part.type, hold.currency, part.amount_minor, reserved(env), part.credit) for part in captures)
    postings = (*captured, *extra_postings)
    return hold, await post(work, JournalEntry(env.mode, postings[0].type, hold.source, postings))
