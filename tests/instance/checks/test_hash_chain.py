"""The hash chain covers everything that committed, once; and whoever changes the past, digests included, is found."""

import asyncio
from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.command import tollhouse
from tests.payments.bank import sell
from tests.running import KEY, Service
from tollhouse.instance.checks.run import Scope, check
from tollhouse.kernel import clock
from tollhouse.ledger.hash_chain import chain, store
from tollhouse.ledger.hash_chain.model import Head
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.settings import config

FULL = Scope(full=True)
KEYS = KeyRing(config.load({"TOLLHOUSE_SECRET_KEYS": KEY}).secret_keys)
NOW = clock.now()
COVERED = "SELECT unnest(ledger_transactions || operator_actions) FROM hash_chain_blocks ORDER BY 1"
RECORDED = "SELECT id FROM row_digests WHERE kind IN ('ledger', 'operator_action') ORDER BY 1"
CHANGE = "UPDATE ledger_transactions SET created_at = created_at - interval '1 us'"
HIDE = "UPDATE row_digests d SET digest = row_digest(t) FROM ledger_transactions t WHERE d.kind = 'ledger' AND d.id = t.id"
REWRITE = """
    UPDATE hash_chain_blocks SET hash = hash_chain_hash(NULL, number, created_at, ledger_transactions, operator_actions)
"""


async def append(service: Service, days: int = 0) -> list[Head]:
    """New blocks, `days` from now."""
    return await chain.append(service.dsn, KEYS, NOW + timedelta(days=days))


async def broken(service: Service) -> list[str]:
    """What a full check finds."""
    report = await check(service.dsn, FULL)
    assert report is not None
    return report.broken


async def test_blocks_cover_each_row_once_and_every_day_has_a_head(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    assert [head.number for head in await append(quiet)] == [1]
    assert await append(quiet) == []
    await sell(seller)
    assert [head.number for head in await append(quiet)] == [2]
    assert [head.number for head in await append(quiet, days=1)] == [3]
    assert await append(quiet, days=1) == []
    assert await forger.fetch(COVERED) == await forger.fetch(RECORDED)
    assert await broken(quiet) == []


async def test_a_transaction_that_commits_late_is_covered_by_the_next_block(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    late = forger.transaction()
    await late.start()
    await forger.execute("INSERT INTO row_digests (kind, id, digest) VALUES ('ledger', gen_random_uuid(), $1)", bytes(32))
    await sell(seller)
    await append(quiet)
    await late.commit()
    await append(quiet)
    assert await forger.fetch(COVERED) == await forger.fetch(RECORDED)


async def test_workers_that_append_at_once_do_not_cover_a_row_twice(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "ROWS_MAX", 1)
    await sell(seller)
    await asyncio.gather(*(append(quiet) for _ in range(4)))
    assert await forger.fetch(COVERED) == await forger.fetch(RECORDED)
    assert await forger.fetchval("SELECT count(*) FROM hash_chain_blocks") == 2
    assert await broken(quiet) == []


async def test_after_a_restore_into_another_cluster_the_chain_goes_on(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await append(quiet)
    await forger.execute("UPDATE hash_chain_blocks SET cluster = 1")
    await forger.execute("UPDATE row_digests SET xact = '1000000000'")  # of the other cluster, which was ahead
    await sell(seller)
    assert await append(quiet)
    assert await append(quiet) == []
    assert await forger.fetch(COVERED) == await forger.fetch(RECORDED)
    assert await broken(quiet) == []


@pytest.mark.usefixtures("seller")
async def test_a_change_of_row_and_digest_is_found(quiet: Service, forger: "asyncpg.Connection[asyncpg.Record]") -> None:
    await append(quiet)
    await forger.execute(CHANGE)
    await forger.execute(HIDE)
    assert await broken(quiet) == [
        "I25 the latest blocks of the hash chain match their rows: block 1 does not match its rows",
        "I25 every block of the hash chain matches its rows: block 1 does not match its rows",
    ]


async def test_a_missing_block_and_an_uncovered_row_are_found(
    quiet: Service, seller: Actor, forger: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    for _ in range(3):
        await append(quiet)
        await sell(seller)
    await forger.execute("DELETE FROM hash_chain_blocks WHERE number = 2")
    found = await broken(quiet)
    assert "I25 no block of the hash chain is missing: block 3 follows block 1" in found
    assert any(line.startswith("I25 the hash chain covers the ledger and operators' actions: ledger ") for line in found)


@pytest.mark.long
@pytest.mark.usefixtures("seller")
async def test_a_head_that_was_kept_finds_a_chain_that_was_written_anew(
    quiet: Service, forger: "asyncpg.Connection[asyncpg.Record]", tmp_path: Path
) -> None:
    await append(quiet)
    kept = tmp_path / "heads.jsonl"
    kept.write_text((await tollhouse(quiet, "heads")).out)
    same = await tollhouse(quiet, "check", "--head", str(kept))
    assert (same.status, same.out) == (0, "")
    for statement in (CHANGE, HIDE, REWRITE):
        await forger.execute(statement)
    assert (await tollhouse(quiet, "check", "--full")).status == 0
    changed = await tollhouse(quiet, "check", "--head", str(kept))
    assert changed.status == 1
    assert "differs from the database: rows or blocks were changed after it was signed" in changed.out
    await forger.execute("DELETE FROM hash_chain_blocks")
    assert "has no block in the database: the chain was cut" in (await tollhouse(quiet, "check", "--head", str(kept))).out


@pytest.mark.usefixtures("seller")
async def test_a_file_that_was_changed_and_one_without_heads_are_refused(quiet: Service, tmp_path: Path) -> None:
    (head,) = await append(quiet)
    kept = tmp_path / "heads.jsonl"
    kept.write_bytes(msgspec.json.encode(msgspec.structs.replace(head, hash="0" * 64)))
    forged = await tollhouse(quiet, "check", "--head", str(kept))
    assert forged.status == 1
    assert "does not have a valid signature: the file was changed" in forged.out
    kept.write_text('{"number": 1}')
    invalid = await tollhouse(quiet, "check", "--head", str(kept))
    assert invalid.status == 2
    assert "line 1 is not a head from `tollhouse heads`" in invalid.talk
