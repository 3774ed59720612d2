"""The page of an import: what it says before, while and after the worker imports the file."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import Line
from tests.rails.bank.steps import ACCOUNT, Bank
from tests.rails.bank.test_pages import upload
from tests.running import Service
from tollhouse.rails.bank import imports
from tollhouse.rails.bank.files.xml import PIECE_BYTES

LARGE = b"<!--" + b" " * PIECE_BYTES + b"-->"


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga operates the service."""
    async with signed_in_operator(service) as actor:
        yield actor


async def test_a_large_file_is_imported_by_the_worker(olga: Actor, bank: Bank) -> None:
    raw = await bank.statement(Line(500, words=uuid4().hex), Line(20, "DBIT", words=uuid4().hex)) + LARGE
    path = (await upload(olga, raw)).ok(303).location
    assert path.startswith("/operator/imports/")
    for words in ("The file is checked after those uploaded before it.", "data-again"):
        assert words in (await olga.send("GET", path)).ok().text
    assert path in (await olga.send("GET", "/operator/statements")).ok().text
    await imports.advance(ACCOUNT, bank.services)
    assert "0 of 2 entries imported" in (await olga.send("GET", path)).ok().text
    await imports.import_waiting(bank.services)
    shown = (await olga.send("GET", path)).ok().text
    assert "2 of 2 entries imported" in shown
    assert "New entries: 2. Imported before: 0. Matched transfers: 0. Unmatched transfers: 2." in shown
    assert "data-again" not in shown
    assert path not in (await olga.send("GET", "/operator/statements")).ok().text


async def test_a_large_file_that_is_refused_says_why(olga: Actor, bank: Bank) -> None:
    raw = (await bank.statement(Line(500))).replace(b"CRDT</CdtDbtInd><Sts>", b"CREDIT</CdtDbtInd><Sts>") + LARGE
    path = (await upload(olga, raw)).ok(303).location
    await imports.import_waiting(bank.services)
    shown = (await olga.send("GET", path)).ok().text
    assert "An amount has no credit or debit indicator." in shown
    assert "Not completed" in shown
    (await olga.send("GET", f"/operator/imports/{uuid4()}")).refused("not_found", 404)
