"""An entry counts once by its bank reference, and a statement without balances when operators have confirmed it."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest
from msgspec.structs import replace as replace_struct

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import ACCOUNT as ACCOUNT_SETTINGS
from tests.rails.bank.camt import Line, paid, read, statement
from tests.rails.bank.steps import ACCOUNT, DECIMALS, Bank, context, euros, offer
from tollhouse.accounts.approvals.model import ApprovedBefore, OperatorRefusedError
from tollhouse.rails.bank import imports
from tollhouse.rails.bank.files.camt import StatementReader
from tollhouse.rails.bank.files.statement import Statement
from tollhouse.rails.bank.files.xml import UnreadableStatementError

BALANCES = re.compile(rb"<Bal>.*?</Bal>", re.DOTALL)
CONFIRM = re.compile(r'action="(/operator/imports/[0-9a-f-]{36}/confirm)"')


def bare(raw: bytes) -> bytes:
    """The same statement without balances."""
    return BALANCES.sub(b"", raw)


def heads(raw: bytes) -> Statement:
    """What a statement does to the balance."""
    reader = StatementReader(DECIMALS)
    reader.feed(raw)
    [found] = reader.close()
    return found


@pytest.fixture
async def olga(bank: Bank, alice: Actor) -> AsyncIterator[Actor]:
    """Olga is the operator."""
    assert bank.services
    async with signed_in_operator(alice.service, "olga") as actor:
        yield actor


def test_equal_entries_are_one_unless_the_balances_prove_more() -> None:
    twin = paid("RF18539007547034", 100, bank_reference="A")
    assert len(heads(bare(statement(twin, twin, twin))).entries) == 1
    assert len(heads(statement(twin, twin, twin)).entries) == 3
    assert len(heads(statement(twin, twin, twin, opening=0, closing=100)).entries) == 1
    with pytest.raises(UnreadableStatementError, match="does not add up"):
        heads(statement(twin, twin, twin, opening=0, closing=200))
    back = replace(twin, side="DBIT")
    assert len(heads(statement(twin, twin, back, back)).entries) == 2, "they prove nothing: both readings add up"
    assert len(heads(bare(statement(twin, replace(twin, reversal=True)))).entries) == 2
    assert len(heads(bare(statement(twin, replace(twin, bank_reference="B")))).entries) == 2


def test_the_reversal_mark_belongs_to_the_identity() -> None:
    line = Line(100, bank_reference="A")
    [plain] = read(statement(line), DECIMALS)[0].entries
    [reversed_] = read(statement(replace(line, reversal=True)), DECIMALS)[0].entries
    assert plain.identity != reversed_.identity
    assert reversed_.former_identity == plain.identity


async def test_a_transfer_that_is_written_three_times_pays_once(alice: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice, "1.00")
    line = paid(reference, 100)
    assert (await bank.brings_confirmed(bare(statement(line, line, line)))).new_entries == 1
    assert await euros(alice) == (100, 0, 0)
    again = await bank.brings(bare(statement(line, line, name="again")))
    assert (again.new_entries, again.known_entries) == (0, 1), "nothing new needs no confirmation"
    assert await euros(alice) == (100, 0, 0)


async def test_the_same_reference_with_other_facts_is_reviewed(alice: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice, "1.00")
    _, _, other = await offer(alice, "2.00")
    line = paid(reference, 100)
    await bank.shows(line)
    result = await bank.shows(replace(line, minor=200, structured=other))
    assert (result.new_entries, result.placed, result.unmatched) == (1, 0, 1)
    together = paid(reference, 100), paid(other, 200)
    both = [replace(one, bank_reference="shared") for one in together]
    result = await bank.shows(*both)
    assert (result.new_entries, result.unmatched) == (2, 1)


async def test_a_statement_without_balances_waits_for_a_second_operator(alice: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice)
    raw = bare(statement(paid(reference, 1_000)))
    with pytest.raises(OperatorRefusedError, match="without opening or closing balance"):
        await bank.brings(raw)
    [row] = await alice.sql("SELECT id FROM bank_imports WHERE status = 'unconfirmed' ORDER BY id DESC LIMIT 1")
    import_id: UUID = row["id"]
    assert await euros(alice) == (0, 0, 0)
    with pytest.raises(ApprovedBefore):
        await bank.confirm(import_id, "olga")
    with pytest.raises(OperatorRefusedError, match="on the operator pages"):
        await bank.confirm(import_id, "otto@house.example", command=True)
    assert await imports.advance(ACCOUNT, bank.services, only=import_id) is False
    assert (await bank.confirm(import_id, "otto@house.example")).outcome == "confirmed"
    await imports.finish(import_id, ACCOUNT, bank.services)
    assert await euros(alice) == (1_000, 0, 0)
    with pytest.raises(OperatorRefusedError, match="does not wait"):
        await bank.confirm(import_id, "third@house.example")


async def test_by_command_two_others_confirm_it(alice: Actor, bank: Bank, tmp_path: Path) -> None:
    _, _, reference = await offer(alice)
    file = tmp_path / "statement.xml"
    file.write_bytes(bare(statement(paid(reference, 1_000))))
    refused = await operator(alice.service, "statements", "import", str(file), **ACCOUNT_SETTINGS)
    assert (refused.status, "two operators have confirmed it" in refused.talk) == (1, True)
    [row] = await alice.sql("SELECT id FROM bank_imports WHERE status = 'unconfirmed' ORDER BY id DESC LIMIT 1")
    assert (await bank.confirm(row["id"], "olga@house.example")).outcome == "approved"
    assert await euros(alice) == (0, 0, 0)
    assert (await bank.confirm(row["id"], "otto@house.example")).outcome == "confirmed"
    await imports.finish(row["id"], ACCOUNT, bank.services)
    assert await euros(alice) == (1_000, 0, 0)


async def test_a_single_operator_confirms_it_in_words(alice: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice)
    settings = replace_struct(bank.services.settings, two_operators=False)
    alone = Bank(replace_struct(bank.services, settings=settings))
    import_id = await imports.upload(bare(statement(paid(reference, 1_000))), ACCOUNT, context(), alone.services)
    assert (await imports.finish(import_id, ACCOUNT, alone.services)).status == "unconfirmed"
    assert (await alone.confirm(import_id, "olga")).outcome == "confirmed"
    await imports.finish(import_id, ACCOUNT, alone.services)
    assert await euros(alice) == (1_000, 0, 0)
    [kept] = await alice.sql("SELECT single_operator, reason FROM operator_actions WHERE subject_id = $1", import_id)
    assert tuple(kept) == (True, "Compared with the account")


async def test_the_database_books_no_unconfirmed_file(alice: Actor, bank: Bank) -> None:
    import_id = await imports.upload(bare(statement(Line(100))), ACCOUNT, context(), bank.services)
    await imports.finish(import_id, ACCOUNT, bank.services)
    for change in (
        "UPDATE bank_imports SET status = 'uploaded', because = NULL, ended_at = NULL WHERE id = $1",
        "UPDATE bank_imports SET confirmed_at = now() WHERE id = $1",
    ):
        with pytest.raises(asyncpg.CheckViolationError, match="two operators"):
            await alice.sql(change, import_id)
    with pytest.raises(asyncpg.CheckViolationError):
        await alice.sql(
            "UPDATE bank_imports SET status = 'importing', because = NULL, ended_at = NULL WHERE id = $1", import_id
        )


async def test_a_file_is_confirmed_on_its_page(alice: Actor, bank: Bank, olga: Actor) -> None:
    _, _, reference = await offer(alice)
    import_id = await imports.upload(bare(statement(paid(reference, 1_000))), ACCOUNT, context(), bank.services)
    await imports.finish(import_id, ACCOUNT, bank.services)
    assert f"/operator/imports/{import_id}" in (await olga.send("GET", "/operator/statements")).ok().text
    page = (await olga.send("GET", f"/operator/imports/{import_id}")).ok().text
    assert "Nothing of it has been booked." in page
    [action] = CONFIRM.findall(page)
    (await olga.form(action, {"reason": ""})).ok(422)
    (await olga.form(action, {"reason": "Compared in online banking"})).ok(303)
    (await olga.form(action, {"reason": "Compared in online banking"})).ok(409)
    await imports.finish(import_id, ACCOUNT, bank.services)
    assert await euros(alice) == (1_000, 0, 0)
