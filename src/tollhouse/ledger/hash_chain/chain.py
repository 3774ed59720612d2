"""Adding blocks to the hash chain, also by a job, its heads, and comparing heads that were kept elsewhere."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.clock import stamp
from tollhouse.ledger.hash_chain import model, store
from tollhouse.ledger.hash_chain.model import Block, CoveredRow, Head
from tollhouse.ledger.hash_chain.store import SignedBlock, Snapshot
from tollhouse.platform.database.pool import Tx, connected
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.log.events import log

SETTINGS = {"statement_timeout": "3600s", "idle_in_transaction_session_timeout": "0", "lock_timeout": "5s"}
"""The first block of a large database reads all of it."""


async def append(dsn: str, keys: KeyRing, now: datetime) -> list[Head]:
    """Cover new rows with blocks, in one transaction; returns their heads.

    The first block of a day (UTC) exists even if there is nothing new, so that every day has a head.
    """
    async with connected(dsn, settings=SETTINGS) as tx, tx.raw.transaction(isolation="repeatable_read"):
        return await _append(tx, keys, now)


async def _append(tx: Tx, keys: KeyRing, now: datetime) -> list[Head]:
    snapshot = await store.lock(tx)
    last = await store.last(tx, snapshot)
    block = None if last is None else last.block
    heads: list[Head] = []
    async for rows in store.new_rows(tx, None if last is None else last.visible):
        block, head = await _insert(tx, keys, block, rows, snapshot, now)
        heads.append(head)
    if not heads and (block is None or block.created_at.date() < now.date()):
        heads.append((await _insert(tx, keys, block, (), snapshot, now))[1])
    return heads


async def _insert(
    tx: Tx, keys: KeyRing, previous: Block | None, rows: Sequence[CoveredRow], snapshot: Snapshot, now: datetime
) -> tuple[Block, Head]:
    number, previous_hash = (1, None) if previous is None else (previous.number + 1, previous.hash)
    ids: tuple[list[UUID], list[UUID]] = (
        [row.id for row in rows if row.kind == "ledger"],
        [row.id for row in rows if row.kind == "operator_action"],
    )
    block = Block(number, await store.hash_of(tx, previous_hash, number, now, ids), now)
    signed = SignedBlock(block, *model.sign(block, keys))
    await store.insert(tx, signed, ids, snapshot)
    return block, model.head(block, signed.public_key, signed.signature)


async def list_heads(tx: Tx, since: datetime | None) -> list[Head]:
    """The last head, or every head since a time."""
    return [model.head(signed.block, signed.public_key, signed.signature) for signed in await store.signed_blocks(tx, since)]


async def compare(tx: Tx, kept: Sequence[Head]) -> list[str]:
    """A line for each head, kept outside of the database, that does not match the chain."""
    ours = await store.blocks(tx, [head.number for head in kept])
    return [line for head in kept if (line := _difference(head, ours.get(head.number)))]


def _difference(kept: Head, ours: Block | None) -> str | None:
    name = f"the head of block {kept.number} of {kept.created_at}"
    if not kept.is_signed:
        return f"{name} does not have a valid signature: the file was changed"
    if ours is None:
        return f"{name} has no block in the database: the chain was cut"
    if (ours.hash.hex(), stamp(ours.created_at)) != (kept.hash, kept.created_at):
        return f"{name} differs from the database: rows or blocks were changed after it was signed"
    return None


async def append_blocks(services: Services) -> None:
    """Cover what is new since the last block, and log each head: logs are often kept on another machine."""
    dsn = services.settings.database_url
    if dsn is None:
        raise AssertionError("services have a database URL")
    for head in await append(dsn, services.keys, clock.now()):
        log.info("hash_chain_block_signed", head=msgspec.json.encode(head).decode())
