"""The bank at the operators' pages: statements in, transfers placed, batches out, and all of it kept in the history."""

import asyncio
import io
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import aiohttp
import pytest
from lxml import etree

from tests.cast import Actor, Answer
from tests.pages.console.operator_pages import KEPT, signed_in_operator, visitor
from tests.rails.bank.camt import CUSTOMER_IBAN, Line, paid, statement
from tests.rails.bank.steps import Bank, earned, euros, offer, payment, withdrawn
from tests.rails.bank.test_payouts import XSD, back, left, withdrawal
from tests.running import Service
from tollhouse.kernel.bank_codes import creditor_reference
from tollhouse.pages.console.statement_pages import UPLOAD_BYTES_MAX
from tollhouse.rails.bank.files.xml import DOCUMENT_BYTES_MAX

NOBODYS = creditor_reference("0" * 20)
ACTIONS = "SELECT action, operator, reason, merchant_id::text, mode FROM operator_actions WHERE subject_id = $1::uuid"
LINK = {one: re.compile(rf"/operator/{one}/([0-9a-f-]{{36}})") for one in ("statements", "transfers", "batches", "payouts")}


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga is the operator."""
    async with signed_in_operator(service) as actor:
        yield actor


async def upload(olga: Actor, raw: bytes, **headers: str) -> Answer:
    """She chooses a file, and sends it."""
    form = aiohttp.FormData()
    form.add_field("file", io.BytesIO(raw), filename="november.xml", content_type="text/xml")
    return await olga.send("POST", "/operator/statements", data=form, headers={"Sec-Fetch-Site": "same-origin"} | headers)


async def page(olga: Actor, path: str) -> str:
    """A page, with its white space as it is seen."""
    return " ".join((await olga.send("GET", f"/operator/{path}".rstrip("/"))).ok().text.split())


async def waiting(bank: Bank, mark: str, *lines: Line) -> list[str]:
    """A statement of these lines comes, and nobody can place them: their ids."""
    await bank.shows(*lines)
    return [str(transfer.id) for transfer in await bank.waiting(mark)]


async def kept(olga: Actor, subject_id: str) -> list[Any]:
    """What the history has about this."""
    return [tuple(row) for row in await olga.sql(ACTIONS, subject_id)]


@pytest.mark.covers("P-165")
async def test_a_statement_is_uploaded_and_a_second_time_changes_nothing(alice: Actor, olga: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    name, mark = uuid4().hex, uuid4().hex
    raw = await bank.statement(paid(reference, 1_000), Line(90, "DBIT", words=mark), name=name)
    said = (await upload(olga, raw)).ok().text
    assert "New entries: 2. Imported before: 0. Matched transfers: 1. Unmatched transfers: 1." in said
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    before = await page(olga, "statements")
    assert "This statement was already imported. Nothing was changed." in (await upload(olga, raw)).ok().text
    assert await page(olga, "statements") == before
    assert await euros(alice) == (1_000, 0, 0)

    statement_id = LINK["statements"].findall(before[before.index(name) - 80 :])[0]
    shown = await page(olga, f"statements/{statement_id}")
    for words in (
        name,
        reference,
        mark,
        "The bank debited a transfer that has neither the ID of a payout nor a payment reference.",
        olga.email,
        "\N{MINUS SIGN}€0.90",
    ):
        assert words in shown, words
    assert await kept(olga, statement_id) == [("statement_imported", olga.email, None, None, None)]
    assert f"/operator/statements/{statement_id}" in await page(olga, "history")
    twice = await bank.statement(paid(reference, 1_000, bank_reference="1"), name=name)
    again = (await upload(olga, twice)).ok().text
    assert "New entries: 1. Imported before: 0." in again  # another entry: the customer has paid twice


async def test_a_statement_of_which_nothing_is_new(alice: Actor, olga: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice)
    line, name = paid(reference, 1_000), uuid4().hex
    await bank.shows(line, version="02")
    assert (
        "The statement has no new entries. No balances were changed."
        in (await upload(olga, statement(line, name=name))).ok().text
    )
    listed = await page(olga, "statements")
    statement_id = LINK["statements"].findall(listed[listed.index(name) - 80 :])[0]
    shown = await page(olga, f"statements/{statement_id}")
    assert "Entries that are listed in earlier statements: 1" in shown
    assert "No new entries" in shown


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "Choose a file."),
        (b"PK\x03\x04", "The file is not well-formed XML"),
        (statement(Line(5), iban="NL91ABNA0417164300"), "is for the account NL91ABNA0417164300"),
        (statement(Line(5), closing=1), "does not add up"),
        (statement(Line(5)).replace(b"<Document", b"<!DOCTYPE Document><Document"), "has a document type"),
        (b" " * (DOCUMENT_BYTES_MAX + 1), "The file is larger than 64 MiB."),
    ],
    ids=["none", "no XML", "another account", "wrong sum", "document type", "too large"],
)
async def test_a_file_that_is_no_statement_is_refused_on_the_page(olga: Actor, raw: bytes, says: str) -> None:
    before = await page(olga, "statements")
    refused = (await upload(olga, raw)).ok(422)
    assert says in refused.text
    assert 'aria-invalid="true"' in refused.text
    assert await page(olga, "statements") == before


async def test_only_an_operator_is_heard_for_so_long(service: Service, olga: Actor, alice: Actor) -> None:
    """Whoever may not come in is answered before the body is read, from our own pages or not."""
    large = b" " * 200_000
    unsent = {"Sec-Fetch-Site": "same-origin", "Content-Length": "200000"}
    async with visitor(service) as nobody:
        answer = await nobody.send("POST", "/operator/statements", data=b"", headers=unsent)
        assert answer.ok(303).location == "/operator/signin?to=%2Foperator%2Fstatements"
    assert (await upload(alice, large)).ok(303).location.startswith("/operator/signin")
    (await upload(olga, large, **{"Sec-Fetch-Site": "cross-site"})).refused("cross_origin_forbidden", 403)
    (await olga.form("/operator/statements", {"file": "x"})).refused("invalid_request", 400)
    headers = {"Sec-Fetch-Site": "same-origin", "Content-Length": str(UPLOAD_BYTES_MAX + 1)}
    (await olga.send("POST", "/operator/statements", data=b"", headers=headers)).refused("payload_too_large", 413)


async def test_a_transfer_is_assigned_with_a_reason(alice: Actor, olga: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    mark = uuid4().hex
    [transfer_id] = await waiting(bank, mark, Line(1_000, words=mark))
    assert f"/operator/transfers/{transfer_id}" in await page(olga, "transfers?limit=100")
    path = f"/operator/transfers/{transfer_id}"
    for fields, status, says in (
        ({"reference": "", "why": "He called"}, 422, "Enter a reference."),
        ({"reference": reference, "why": " "}, 422, "Enter a reason: one line of 1 to 500 characters."),
        ({"reference": "RF00", "why": "He called"}, 409, "RF00 is not a reference of a payment."),
        ({"reference": NOBODYS, "why": "He called"}, 409, "No payment has the reference"),
    ):
        assert says in (await olga.form(f"{path}/assign", fields)).ok(status).text
    assert (await payment(alice, payment_id))["status"] == "pending"
    done = (await olga.form(f"{path}/assign", {"reference": reference.lower(), "why": "He called"})).ok(303)
    shown = (await olga.send("GET", done.location)).ok().text
    assert "Done: transfer assigned" in shown
    assert "He called" in shown
    assert "Assign transfer</button>" not in shown
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert await kept(olga, transfer_id) == [("transfer_assigned", olga.email, "He called", None, None)]
    late = (await olga.form(f"{path}/dismiss", {"reason": "Fee"})).ok(409).text
    assert "is already matched: payment" in late
    assert f"/operator/transfers/{transfer_id}" not in await page(olga, "transfers?limit=100")


async def test_a_transfer_is_dismissed_with_a_reason(olga: Actor, bank: Bank) -> None:
    mark = uuid4().hex
    [transfer_id] = await waiting(bank, mark, Line(90, "DBIT", words=mark))
    german = (await olga.send("GET", f"/operator/transfers/{transfer_id}", headers={"Accept-Language": "de"})).ok().text
    assert ("<dt>Empfänger</dt>" in german, "<dt>Bis</dt>" in german) == (True, False)
    path = f"/operator/transfers/{transfer_id}"
    assert "Assign transfer</button>" not in (await olga.send("GET", path)).ok().text
    (await olga.form(f"{path}/dismiss", {"reason": ""})).ok(422)
    done = (await olga.form(f"{path}/dismiss", {"reason": "Account fee"})).ok(303)
    shown = (await olga.send("GET", done.location)).ok().text
    assert "Done: transfer dismissed" in shown
    assert "Account fee" in shown
    assert await kept(olga, transfer_id) == [("transfer_dismissed", olga.email, "Account fee", None, None)]
    assert "Done" not in (await olga.send("GET", f"{path}?action={uuid4()}")).ok().text


async def test_what_is_ticked_leaves_in_a_batch_and_its_file_is_the_same_each_time(
    alice: Actor, olga: Actor, bank: Bank
) -> None:
    await earned(alice, bank)
    first, second = await withdrawn(alice, bank), await withdrawn(alice, bank, "2.00")
    listed = await page(olga, "payouts")
    assert first in listed
    assert second in listed
    (await olga.form("/operator/payouts/export", [("payout", "nothing")])).refused("invalid_request", 400)
    assert "Select the payouts to export." in (await olga.form("/operator/payouts/export", {})).ok(422).text
    made = (await olga.form("/operator/payouts/export", [("payout", first)])).ok(303).location
    batch_id = LINK["batches"].findall(made)[0]
    late = (await olga.form("/operator/payouts/export", [("payout", first), ("payout", second)])).ok(409)
    assert "Some of the selected payouts are no longer pending." in late.text
    assert re.findall(f'value="({first}|{second})"( checked)?', late.text) == [(second, " checked")]
    kept_back = (await olga.form("/operator/payouts/export", [("payout", first)])).ok(409).text
    assert re.findall(f'value="({second})"( checked)?', kept_back) == [(second, "")]
    file = (await olga.send("GET", f"{made}/file")).ok()
    assert file.headers["Content-Type"].startswith("application/xml")
    assert file.headers["Content-Disposition"] == f'attachment; filename="pain.001-{batch_id}.xml"'
    XSD.assertValid(etree.fromstring(file.raw))
    assert UUID(first).hex.encode() in file.raw
    assert UUID(second).hex.encode() not in file.raw
    assert (await olga.send("GET", f"{made}/file")).ok().raw == file.raw
    assert "1 payout is not on a statement yet." in await page(olga, f"batches/{batch_id}")
    assert await kept(olga, batch_id) == [("batch_exported", olga.email, None, None, None)]
    await bank.shows(left(first))
    shown = await page(olga, f"batches/{batch_id}")
    assert "All payouts in this batch are completed" in shown
    assert "Confirmed</span>" in shown
    assert "1 confirmed" in await page(olga, "batches")
    await bank.shows(back(first))
    assert "AC04" in await page(olga, f"payouts/{first}")
    assert first in await page(olga, "payouts?status=returned&limit=100")
    assert (await olga.send("GET", f"{made}/file")).ok().raw == file.raw
    assert (await bank.refuse(second)).outcome == "refused"


async def test_all_that_wait_leave_when_they_are_those_that_were_seen(alice: Actor, olga: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    ids = {await withdrawn(alice, bank, "1.00") for _ in range(3)}
    listed = await page(olga, "payouts?limit=2")
    [seen] = re.findall(r'name="all" value="([0-9]+)"', listed)
    assert f"{seen} pending payouts, " in listed
    ids.add(await withdrawn(alice, bank, "1.00"))
    late = (await olga.form("/operator/payouts/export", {"all": seen})).ok(409).text
    assert f"There are now {int(seen) + 1} pending payouts. Check them again." in late
    made = (await olga.form("/operator/payouts/export", {"all": str(int(seen) + 1)})).ok(303).location
    assert ids <= set(LINK["payouts"].findall(await page(olga, made.removeprefix("/operator/") + "?limit=100")))
    assert not ids & set(LINK["payouts"].findall(await page(olga, "payouts?limit=100")))


async def test_a_payout_is_refused_as_it_was_seen(alice: Actor, olga: Actor, bank: Bank) -> None:
    """One that was exported meanwhile may be at the bank: its money must not go back unasked."""
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    path = f"/operator/payouts/{payout_id}"
    listed = await page(olga, "payouts")
    assert payout_id in listed
    (await olga.form(f"{path}/refuse", {"reason": "Closed"})).refused("invalid_request", 400)
    (await olga.form(f"{path}/refuse", {"reason": "", "seen": "prepared"})).ok(422)
    await bank.export(payout_id)
    late = (await olga.form(f"{path}/refuse", {"reason": "Closed", "seen": "prepared"})).ok(409).text
    assert "is now exported. Check it again." in late
    assert "it is paid twice" in late
    assert await euros(alice) == (600, 400, 0)
    done = (await olga.form(f"{path}/refuse", {"reason": "Closed", "seen": "exported"})).ok(303)
    shown = (await olga.send("GET", done.location)).ok().text
    assert "Done: payout refused" in shown
    assert "Refuse</button>" not in shown
    assert (await withdrawal(alice, payout_id))["status"] == "failed"
    assert await euros(alice) == (1_000, 0, 0)
    rows = await alice.sql(KEPT, alice.merchant_id)
    assert [(row["action"], row["operator"], row["reason"], row["mode"]) for row in rows] == [
        ("payout_refused", olga.email, "Closed", "live")
    ]
    assert "Payout refused" in await page(olga, f"merchants/{alice.merchant_id}")
    (await olga.form(f"{path}/refuse", {"reason": "Closed", "seen": "exported"})).ok(409)


async def test_two_operators_export_the_same_at_once(alice: Actor, olga: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    await page(olga, "payouts")
    tried = await asyncio.gather(*(olga.form("/operator/payouts/export", [("payout", payout_id)]) for _ in range(3)))
    assert sorted(answer.status for answer in tried) == [303, 409, 409]
    await bank.shows(left(payout_id))
    assert await euros(alice) == (600, 0, 0)


async def test_the_overview_counts_what_waits_at_the_bank(alice: Actor, olga: Actor, bank: Bank) -> None:
    def count(words: str, shown: str) -> int:
        return int(shown.partition(words)[2].partition('class="figure">')[2].partition("<")[0].replace(",", ""))

    await earned(alice, bank)
    before = await page(olga, "")
    mark = uuid4().hex
    [transfer_id] = await waiting(bank, mark, Line(90, "DBIT", words=mark))
    payout_id = await withdrawn(alice, bank)
    shown = await page(olga, "")
    for words in ("Unmatched bank transfers", "Pending payouts"):
        assert count(words, shown) == count(words, before) + 1
    await bank.dismiss(UUID(transfer_id))
    await bank.export(payout_id)
    shown = await page(olga, "")
    for words in ("Unmatched bank transfers", "Pending payouts"):
        assert count(words, shown) == count(words, before)
    await bank.shows(left(payout_id))


@pytest.mark.parametrize("path", ["statements/{}", "transfers/{}", "payouts/{}", "batches/{}", "batches/{}/file"])
async def test_what_is_not_there_is_not_found(olga: Actor, path: str) -> None:
    for name in (str(uuid4()), "nothing"):
        (await olga.send("GET", f"/operator/{path.format(name)}")).refused("not_found", 404)


async def test_nobody_else_gets_the_file(alice: Actor, olga: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    batch = await bank.export(await withdrawn(alice, bank))
    path = f"/operator/batches/{batch.id}/file"
    assert CUSTOMER_IBAN.encode() in (await olga.send("GET", path)).ok().raw
    assert CUSTOMER_IBAN.encode() not in (await alice.send("GET", path)).ok(303).raw
