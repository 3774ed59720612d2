"""Holds: money set aside, then taken or given back. The hold's row decides who was first, before anything is posted."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.ledger import store
from tollhouse.ledger.model import (
    Account,
    EntryType,
    Hold,
    HoldNotActive,
    Line,
    Posted,
    Posting,
    Source,
    available,
    reserved,
)
from tollhouse.ledger.post import post
from tollhouse.platform.db import Tx


class Part(Struct, frozen=True):
    """A part of what is held, and where it goes."""

    type: EntryType
    amount_minor: int
    to: Account


async def reserve(
    tx: Tx, env: MerchantEnv, source: Source, currency: str, amount_minor: int, now: datetime
) -> tuple[Hold, Posted]:
    """Set money of the available balance aside for `source`, which can hold once. Raises `InsufficientFunds`."""
    hold = Hold(new_id(), env, currency, source, amount_minor, 0, 0)
    line = Line("hold", currency, amount_minor, available(env), reserved(env))
    await store.insert_hold(tx, hold, now)
    return hold, await post(tx, Posting(env.mode, "hold", source, (line,), now))


async def capture(
    tx: Tx,
    env: MerchantEnv,
    hold_id: UUID,
    amount_minor: int,
    now: datetime,
    *,
    entry_type: EntryType,
    to: Account,
    along: tuple[Line, ...] = (),
) -> tuple[Hold, Posted]:
    """Pay `amount_minor` of the hold to an account, and post the lines `along` in the same ledger transaction.

    Raises `HoldNotActive` where somebody else was first.
    """
    return await spend(tx, env, hold_id, (Part(entry_type, amount_minor, to),), now, along=along)


async def spend(
    tx: Tx, env: MerchantEnv, hold_id: UUID, parts: Sequence[Part], now: datetime, *, along: tuple[Line, ...] = ()
) -> tuple[Hold, Posted]:
    """Pay these parts of the hold, each to its account, and post the lines `along`, all in one ledger transaction.

    Raises `HoldNotActive` where somebody else was first.
    """
    hold = await store.capture_hold(tx, env, hold_id, sum(part.amount_minor for part in parts), now)
    if hold is None:
        raise HoldNotActive
    lines = (Line(part.type, hold.currency, part.amount_minor, reserved(env), part.to) for part in parts)
    return hold, await post(tx, Posting(env.mode, parts[0].type, hold.source, (*lines, *along), now))


async def release(tx: Tx, env: MerchantEnv, hold_id: UUID, now: datetime) -> tuple[Hold, Posted]:
    """Give back what is still held. Raises `HoldNotActive` where somebody else was first."""
    hold = await store.release_hold(tx, env, hold_id, now)
    if hold is None:
        raise HoldNotActive
    line = Line("release", hold.currency, hold.released_minor, reserved(env), available(env))
    return hold, await post(tx, Posting(env.mode, "release", hold.source, (line,), now))


async def settle(tx: Tx, env: MerchantEnv, hold_id: UUID, parts: Sequence[Part], now: datetime) -> tuple[Hold, Posted]:
    """Pay these parts of the hold, each to its account, and give back the rest, all in one ledger transaction.

    Raises `HoldNotActive` where somebody else was first.
    """
    hold = await store.settle_hold(tx, env, hold_id, sum(part.amount_minor for part in parts), now)
    if hold is None:
        raise HoldNotActive
    lines = [Line(part.type, hold.currency, part.amount_minor, reserved(env), part.to) for part in parts]
    if hold.released_minor:
        lines.append(Line("release", hold.currency, hold.released_minor, reserved(env), available(env)))
    return hold, await post(tx, Posting(env.mode, parts[0].type, hold.source, tuple(lines), now))
