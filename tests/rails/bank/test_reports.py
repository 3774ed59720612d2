"""Status reports (pain.002): rejected payouts fail once, never those that a statement shows as sent; the rest is shown."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import Line, statement
from tests.rails.bank.steps import ACCOUNT, Bank, context, earned, euros, refunded, withdrawn
from tests.rails.bank.test_payouts import left, refund, withdrawal
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.rails.bank import imports, imports_store
from tollhouse.rails.bank.imports_store import FileImport


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga operates the service."""
    async with signed_in_operator(service) as actor:
        yield actor


def why(code: str, words: str = "") -> str:
    """The reason of a rejection."""
    more = f"<AddtlInf>{words}</AddtlInf>" if words else ""
    return f"<StsRsnInf><Rsn><Cd>{code}</Cd></Rsn>{more}</StsRsnInf>"


def of_transfer(payout_id: str, code: str, words: str = "") -> str:
    """A rejected transfer of a file."""
    end_to_end = f"<OrgnlEndToEndId>{UUID(payout_id).hex}</OrgnlEndToEndId>"
    return f"<TxInfAndSts>{end_to_end}<TxSts>RJCT</TxSts>{why(code, words)}</TxInfAndSts>"


def report(about: UUID, group: str = "", *transfers: str, payment: str = "", version: str = "10") -> bytes:
    """A report about the file of a batch. `group` and `payment` are the statuses of the file and of its one payment."""
    payments = (
        f"<OrgnlPmtInfAndSts><OrgnlPmtInfId>{about.hex}</OrgnlPmtInfId>{payment}{''.join(transfers)}</OrgnlPmtInfAndSts>"
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.{version}"><CstmrPmtStsRpt>
<GrpHdr><MsgId>{uuid4().hex}</MsgId><CreDtTm>2026-11-20T12:00:00+01:00</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>{about.hex}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>{group}</OrgnlGrpInfAndSts>
{payments}</CstmrPmtStsRpt></Document>""".encode()


async def reported(bank: Bank, raw: bytes) -> tuple[int, int]:
    """A report is imported: how many payouts it has ended, and how many rejections have ended none."""
    ended = await imported(bank, raw)
    imports.ensure_imported(ended)
    assert ended.kind == "report"
    return ended.imported.placed, ended.imported.unmatched


async def imported(bank: Bank, raw: bytes) -> FileImport:
    """The import of a file, when it has ended."""
    import_id = await imports.upload(raw, ACCOUNT, context(), bank.services)
    return await imports.finish(import_id, ACCOUNT, bank.services)


async def status_of(bank: Bank, payout_id: str) -> tuple[str, str | None]:
    """The status of a payout, and why it ended."""
    listed = (await bank.payouts())[payout_id]
    return listed.status, listed.ended_reason


@pytest.mark.parametrize("version", ["03", "10"])
async def test_a_rejected_transfer_fails_and_the_others_go_on(alice: Actor, bank: Bank, version: str) -> None:
    payment_id = await earned(alice, bank)
    first, second = await withdrawn(alice, bank, "2.00"), await withdrawn(alice, bank, "3.00")
    third = await refunded(alice, bank, payment_id, "1.00")
    batch = await bank.export(first, second, third)
    rejected = (of_transfer(first, "AC04", "Closed account"), of_transfer(third, "MS03"))
    raw = report(batch.id, "<GrpSts>PART</GrpSts>", *rejected, version=version)
    assert await reported(bank, raw) == (2, 0)
    assert await status_of(bank, first) == ("refused", "AC04 Closed account")
    failed = await withdrawal(alice, first)
    assert (failed["status"], failed["failure_code"]) == ("failed", "receiver_invalid")
    assert (await refund(alice, third))["failure_code"] == "refund_declined"
    assert await status_of(bank, second) == ("exported", None)
    assert await euros(alice) == (700, 300, 0)
    assert await reported(bank, raw) == (0, 2)  # the same file again
    await bank.shows(left(second, 300))
    assert await euros(alice) == (700, 0, 0)


@pytest.mark.parametrize("level", ["group", "payment"])
async def test_a_whole_file_may_be_rejected_once_even_if_reported_twice_at_once(
    alice: Actor, bank: Bank, level: str
) -> None:
    await earned(alice, bank)
    ids = [await withdrawn(alice, bank, "1.00") for _ in range(2)]
    batch = await bank.export(*ids)
    reason = why("AM04", "No cover")
    whole = {"group": f"<GrpSts>RJCT</GrpSts>{reason}", "payment": f"<PmtInfSts>RJCT</PmtInfSts>{reason}"}[level]
    done = await asyncio.gather(*(reported(bank, report(batch.id, **{level: whole})) for _ in range(2)))
    assert sorted(done) == [(0, 2), (2, 0)]
    assert {(await withdrawal(alice, one))["failure_code"] for one in ids} == {"payout_declined"}
    assert await euros(alice) == (1_000, 0, 0)


async def test_what_a_statement_shows_as_sent_is_not_failed(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    batch = await bank.export(payout_id)
    await bank.shows(left(payout_id))
    assert await reported(bank, report(batch.id, f"<GrpSts>RJCT</GrpSts>{why('AM04')}")) == (0, 1)
    assert (await withdrawal(alice, payout_id))["status"] == "completed"
    assert await euros(alice) == (600, 0, 0)


@pytest.mark.parametrize("code", ["AM05", "DU01"])
async def test_a_rejected_copy_of_a_file_fails_nothing(alice: Actor, bank: Bank, code: str) -> None:
    """The operator has submitted it twice: the bank executes the first one."""
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    batch = await bank.export(payout_id)
    assert await reported(bank, report(batch.id, f"<GrpSts>RJCT</GrpSts>{why(code)}")) == (0, 1)
    assert await status_of(bank, payout_id) == ("exported", None)
    await bank.shows(left(payout_id))


async def test_what_is_accepted_is_only_shown(alice: Actor, olga: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    batch = await bank.export(payout_id)
    assert await reported(bank, report(batch.id, "<GrpSts>ACSP</GrpSts>")) == (0, 0)
    assert await status_of(bank, payout_id) == ("exported", None)
    assert [one.status for one in await imports_store.list_reports(bank.services.db, batch.id, 10)] == ["ACSP"]
    shown = (await olga.send("GET", f"/operator/batches/{batch.id}")).ok().text
    assert "Status reports of the bank" in shown
    assert "ACSP" in shown
    await bank.shows(left(payout_id))


async def test_a_report_that_is_not_about_our_file_is_refused_whole(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id, other_id = await withdrawn(alice, bank, "1.00"), await withdrawn(alice, bank, "1.00")
    batch = await bank.export(payout_id)
    stranger = of_transfer(other_id, "AC04")
    refused = {
        "No batch has the ID": report(uuid4(), "<GrpSts>RJCT</GrpSts>"),
        "The batch has no payout": report(batch.id, "", of_transfer(payout_id, "AC04"), stranger),
        "not about a pain.001 file": report(batch.id).replace(b"pain.001.001.09", b"pain.008.001.08"),
        "has no end-to-end ID": report(batch.id, "", of_transfer(payout_id, "AC04").replace("OrgnlEndToEndId", "X")),
        "more than one message": report(batch.id).replace(
            b"</CstmrPmtStsRpt>", b"</CstmrPmtStsRpt><CstmrPmtStsRpt></CstmrPmtStsRpt>"
        ),
        "has a document type": report(batch.id).replace(b"<Document", b"<!DOCTYPE Document><Document"),
    }
    for says, raw in refused.items():
        with pytest.raises(OperatorRefusedError, match=says):
            imports.ensure_imported(await imported(bank, raw))
    assert await status_of(bank, payout_id) == ("exported", None)
    assert await imports_store.list_reports(bank.services.db, batch.id, 10) == []
    await bank.shows(left(payout_id, 100))


def notification(*lines: Line) -> bytes:
    """The same entries as those of a statement, announced before or after it."""
    text = statement(*lines).decode().replace("camt.053", "camt.054")
    head, _, rest = text.partition("<Bal>")
    text = head + rest[rest.rindex("</Bal>") + len("</Bal>") :]
    return text.replace("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn").replace("Stmt>", "Ntfctn>").encode()


async def announced(bank: Bank, raw: bytes) -> tuple[int, int]:
    """A notification is imported: how many of its transfers are new, and how many were announced before."""
    ended = await imported(bank, raw)
    imports.ensure_imported(ended)
    assert ended.kind == "notification"
    return ended.imported.new_entries, ended.imported.known_entries


@pytest.mark.parametrize("order", ["before", "after"])
async def test_an_announced_transfer_is_credited_once_by_its_statement(olga: Actor, bank: Bank, order: str) -> None:
    mark = uuid4().hex
    lines = (Line(700, words=mark), Line(20, "DBIT", words=mark))
    if order == "after":
        await bank.shows(*lines)
    assert await announced(bank, notification(*lines)) == (2, 0)
    assert await announced(bank, notification(*lines)) == (0, 2)
    waiting = [transfer.amount for transfer in await bank.waiting(mark)]
    assert waiting == ([] if order == "before" else ["7.00", "0.20"])
    shown = (await olga.send("GET", "/operator/transfers?limit=100")).ok().text.partition('id="announced"')[2]
    assert (mark in shown) is (order == "before")
    if order == "before":
        assert (await bank.shows(*lines)).new_entries == 2
        assert len(await bank.waiting(mark)) == 2
        shown = (await olga.send("GET", "/operator/transfers?limit=100")).ok().text.partition('id="announced"')[2]
        assert mark not in shown
