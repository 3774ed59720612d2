"""What was in the database before there was a gate: all of it has its transfer, and what could still be stopped is."""

from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from tests.running import new_database
from tollhouse.instance.database import embedded
from tollhouse.platform.database import migrations

PAYER = "FR1420041010050500013M02606"
TO_PAYER, WAITING, AT_RAIL, GONE, LARGE = (str(UUID(int=number)) for number in range(11, 16))
BEFORE = Path(__file__).with_name("before.sql").read_text("utf-8")
AFTER = """
    SELECT id::text, review, approvals_needed, approvals, approvals_by_command, receiver, receiver_name, payer_account,
           released_at IS NOT NULL AS released
    FROM outgoing_transfers ORDER BY id
"""


@pytest.fixture
async def old(server: embedded.Server) -> str:
    """A database from before, with something of everything in it."""
    dsn = await new_database(server.cluster.dsn)
    all_of_them = migrations.ours()
    first = next(one.number for one in all_of_them if one.name.endswith("_outgoing.sql"))
    connection = await asyncpg.connect(dsn)
    await connection.execute(migrations.CREATE_RECORD)
    for one in all_of_them[: first - 1]:
        await connection.execute(one.sql)
        await connection.execute(migrations.RECORD, one.number, one.name, one.digest)
    await connection.execute(BEFORE)
    await connection.close()
    return dsn


async def test_all_that_was_has_its_transfer(old: str) -> None:
    await migrations.migrate(old)
    connection = await asyncpg.connect(old)
    found = {row["id"]: row for row in await connection.fetch(AFTER)}
    assert [found[one]["review"] for one in (TO_PAYER, WAITING, AT_RAIL, GONE, LARGE)] == [
        "not_required",
        "required",
        "required",
        "before_reviews",
        "required",
    ]
    assert [found[one]["released"] for one in (TO_PAYER, WAITING, AT_RAIL, GONE, LARGE)] == [True, False, False, True, False]
    assert (found[TO_PAYER]["receiver"], found[TO_PAYER]["payer_account"]) == (PAYER, PAYER)
    assert found[LARGE]["approvals"] == ["local administrator"]
    assert (found[LARGE]["approvals_needed"], found[LARGE]["approvals_by_command"]) == (2, 1)
    rows = await connection.fetch("SELECT id::text, receiver_name FROM bank_payouts")
    names = {row["id"]: row["receiver_name"] for row in rows}
    assert names == {AT_RAIL: "NOTPROVIDED", TO_PAYER: "Erika"}
    due = await connection.fetch("SELECT id::text FROM refunds WHERE next_look_at IS NOT NULL")
    assert [row["id"] for row in due] == [TO_PAYER]
    with pytest.raises(asyncpg.CheckViolationError, match="released transfer"):
        await connection.execute("UPDATE bank_payouts SET status = 'exported' WHERE id = $1::uuid", AT_RAIL)
    await connection.close()
