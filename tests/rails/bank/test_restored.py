"""A restored or copied database pays nothing out twice: payouts are paused until statements show what left."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from tests.cast import Actor, sign_up
from tests.command import tollhouse
from tests.invariants import broken_invariants
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank import camt
from tests.rails.bank.camt import Line
from tests.rails.bank.steps import ACCOUNT, Bank, context, earned, withdrawn
from tests.rails.bank.test_payouts import left
from tests.running import Service, copied_database, new_database, settings_for
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.instance import main
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.rails.bank import pauses
from tollhouse.rails.batches.model import Decided
from tollhouse.transfers.gate import gate as outgoing_pauses
from tollhouse.transfers.gate import pauses_store


@pytest.fixture
def lost(server: embedded.Server) -> Iterator[Service]:
    """A service that is lost later, with a database of its own."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


@pytest.fixture
async def alice_of_lost(lost: Service) -> AsyncIterator[Actor]:
    """Alice sells there."""
    async with sign_up(lost, "alice", "Alice's Coffee") as alice:
        yield alice


async def resume(bank: Bank) -> Decided:
    """The operator resumes payouts."""
    by = context("Statements are here")
    return await bank.services.transact(lambda work: pauses.resume(work, ACCOUNT, by), by.at)


@pytest.mark.long
async def test_a_restored_dump_never_pays_out_twice(
    alice_of_lost: Actor, lost: Service, server: embedded.Server, tmp_path: Path
) -> None:
    before = Bank(lost.create_services(connections=4))
    await earned(alice_of_lost, before)
    payout_id = await withdrawn(alice_of_lost, before)
    file = (await tollhouse(lost, "backup", str(tmp_path))).out.strip()
    await before.export(payout_id)  # after the backup: the restored database does not know it
    await before.services.db.close()
    restored_dsn = await new_database(server.cluster.dsn)
    done = await tollhouse(lost, "restore", file, DATABASE_URL=restored_dsn)
    assert done.status == 0, done.talk

    bank = Bank(main.create_services(settings_for(restored_dsn, fresh=False, **camt.ACCOUNT), connections=4))
    try:
        assert (await bank.payouts())[payout_id].status == "prepared"
        with pytest.raises(OperatorRefusedError, match="Payouts are paused"):
            await bank.export(payout_id)
        with pytest.raises(OperatorRefusedError, match="Import the statements"):
            await resume(bank)
        day = clock.now().date() + timedelta(days=7)
        with pytest.raises(OperatorRefusedError, match="A statement is missing before"):
            await bank.shows(on=day, opening=90_000)
        await bank.shows(left(payout_id, day=day), on=day, opening=101_000)
        assert (await bank.payouts())[payout_id].status == "confirmed"
        await resume(bank)
        with pytest.raises(OperatorRefusedError):
            await bank.export(payout_id)
    finally:
        await bank.services.db.close()
    assert await broken_invariants(restored_dsn) == []


async def test_payouts_of_a_copied_database_are_paused(server: embedded.Server) -> None:
    dsn = await copied_database(server.cluster.dsn)
    connection = await asyncpg.connect(dsn)
    try:
        assert await connection.fetchval("SELECT payouts_are_paused()")  # also before any program saw it
        for _ in range(2):
            await main.verify(settings_for(dsn))
        [pause] = await connection.fetch("SELECT cause, resumed_at FROM payout_pauses")
        assert tuple(pause) == ("restored", None)
        assert await connection.fetchval("SELECT payouts_are_paused()")
    finally:
        await connection.close()


async def test_a_copied_database_needs_statements_too(server: embedded.Server) -> None:
    dsn = await copied_database(server.cluster.dsn)
    bank = Bank(main.create_services(settings_for(dsn, fresh=False, **camt.ACCOUNT), connections=2))
    try:
        by = context("Statements are here")
        with pytest.raises(OperatorRefusedError, match="No bank account is configured"):
            await bank.services.transact(lambda work: pauses.resume(work, None, by), by.at)
        with pytest.raises(OperatorRefusedError, match="Import the statements"):
            await resume(bank)
        await bank.shows(on=clock.now().date() + timedelta(days=7))
        await resume(bank)
        assert not await pauses_store.are_paused(bank.services.db)
    finally:
        await bank.services.db.close()


async def test_a_payout_that_was_debited_is_not_exported(alice: Actor, bank: Bank, service: Service) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    mark = Line(400, "DBIT", end_to_end=UUID(payout_id).hex.upper())  # as some banks write it
    assert (await bank.shows(mark)).unmatched == 1
    with pytest.raises(OperatorRefusedError, match="already debited"):
        await bank.export(payout_id)
    [transfer] = await service.sql("SELECT id FROM bank_entry_parts WHERE payout_id = $1", UUID(payout_id))
    matched = await operator(
        service, "statements", "match", str(transfer["id"]), "--reason", "Exported before.", **camt.ACCOUNT
    )
    assert matched.status == 0, matched.talk
    assert (await bank.payouts())[payout_id].status == "confirmed"


async def test_an_operator_pauses_and_resumes_payouts(alice: Actor, bank: Bank, service: Service) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    paused = await operator(service, "payouts", "pause", "--reason", "The bank called.", **camt.ACCOUNT)
    assert paused.status == 0, paused.talk
    try:
        async with signed_in_operator(service) as olga:
            page = (await olga.send("GET", "/operator/payouts")).ok().text
        assert "The bank called." in page
        refused = await operator(service, "payouts", "export", payout_id, **camt.ACCOUNT)
        assert (refused.status, "Payouts are paused." in refused.talk) == (1, True)
        with pytest.raises(asyncpg.CheckViolationError, match="payouts are paused"):  # whoever asks for it
            await service.sql(
                "UPDATE bank_payouts SET status = 'exported', batch_id = gen_random_uuid() WHERE id = $1", UUID(payout_id)
            )
    finally:
        resumed = await operator(service, "payouts", "resume", "--reason", "All is well.", **camt.ACCOUNT)
    assert resumed.status == 0, resumed.talk
    assert not await pauses_store.are_paused(bank.services.db)
    again = await operator(service, "payouts", "resume", "--reason", "All is well.", **camt.ACCOUNT)
    assert (again.status, again.talk) == (1, "Payouts are not paused.")
    await bank.export(payout_id)


async def test_operators_resume_payouts_on_their_page(lost: Service) -> None:
    bank, now = Bank(lost.create_services(connections=4)), clock.now()
    path, reason = "/operator/payouts/resume", {"reason": "All statements are here."}
    try:
        await bank.services.transact(lambda work: outgoing_pauses.pause_restored(work.tx, now, now), now)
        [pause] = await lost.sql("SELECT id FROM payout_pauses WHERE resumed_at IS NULL")
        seen = {"seen": str(pause["id"])}
        async with signed_in_operator(lost) as olga:
            page = (await olga.send("GET", "/operator/payouts")).ok().text
            assert "Import the statements from" in page
            assert f'action="{path}"' not in page
            assert "Import the statements from" in (await olga.form(path, seen | reason)).ok(409).text
            await bank.shows(on=now.date() + timedelta(days=7))
            page = (await olga.send("GET", "/operator/payouts")).ok().text
            assert f'action="{path}"' in page
            assert "One line" in (await olga.form(path, seen)).ok(422).text
            assert (await olga.form(path, {"seen": "x"} | reason)).status == 400
            stale = await olga.form(path, {"seen": str(new_id())} | reason)
            assert "The pauses have changed." in stale.ok(409).text
            assert await pauses_store.are_paused(bank.services.db)
            done = (await olga.form(path, seen | reason)).ok(303)
            assert "Done: payouts resumed." in (await olga.send("GET", done.headers["Location"])).ok().text
            assert not await pauses_store.are_paused(bank.services.db)
            assert "Payouts are not paused." in (await olga.form(path, seen | reason)).ok(409).text
            assert '<a class="hit" href="/operator/payouts">' in (await olga.send("GET", "/operator/history")).ok().text
        [kept] = await lost.sql("SELECT operator, reason FROM operator_actions WHERE action = 'payouts_resumed'")
        assert tuple(kept) == (olga.email, reason["reason"])
    finally:
        await bank.services.db.close()
