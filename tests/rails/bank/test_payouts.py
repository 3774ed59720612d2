"""Payouts by bank: each leaves once, ends when a statement shows it, and comes back when the bank says so."""

import asyncio
import pathlib
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
import sepaxml
from lxml import etree
from msgspec.structs import replace

from tests.cast import Actor
from tests.payments.shop import events
from tests.rails.bank.camt import CUSTOMER_IBAN, HOLDER, IBAN, Line, paid
from tests.rails.bank.steps import ACCOUNT, Bank, earned, euros, offer, payment, refunded, withdrawn
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.kernel.bank_codes import PostalAddress
from tollhouse.rails.bank.files.batch import Batch, write
from tollhouse.rails.bank.model import Imported

XSD = etree.XMLSchema(etree.parse(str(pathlib.Path(sepaxml.__file__).parent / "schemas" / "pain.001.001.09.xsd")))
SPACE = {"p": "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"}


def said(batch: Batch, path: str) -> list[str]:
    """The texts at this path of the file, which is valid."""
    document = etree.fromstring(write(batch))
    XSD.assertValid(document)
    return [str(match.text) for match in document.findall(f".//{path}", SPACE)]


def left(payout_id: str, minor: int = 400, **changes: Any) -> Line:
    """The bank has sent it."""
    return Line(minor, "DBIT", end_to_end=UUID(payout_id).hex, **changes)


def back(payout_id: str, minor: int = 400, *, return_reason: str | None = "AC04", **changes: Any) -> Line:
    """The bank has it back."""
    return Line(minor, end_to_end=UUID(payout_id).hex, return_reason=return_reason, **changes)


async def withdrawal(actor: Actor, withdrawal_id: str) -> dict[str, Any]:
    """The withdrawal as it is now."""
    return (await actor.get(f"/withdrawals/{withdrawal_id}", mode="live")).ok().body


async def refund(actor: Actor, refund_id: str) -> dict[str, Any]:
    """The refund as it is now."""
    return (await actor.get(f"/refunds/{refund_id}", mode="live")).ok().body


@pytest.mark.covers("P-127")
@pytest.mark.parametrize(
    "receiver",
    [
        CUSTOMER_IBAN[:2] + str((int(CUSTOMER_IBAN[2:4]) + 1) % 97).zfill(2) + CUSTOMER_IBAN[4:],
        CUSTOMER_IBAN[:-1],
        "US64SVBKUS6S3300958879",
        IBAN,
        f" {IBAN[:4]} {IBAN[4:].lower()} ",
    ],
    ids=["wrong checksum", "too short", "no SEPA country", "our own", "our own, spelled otherwise"],
)
async def test_no_money_leaves_for_an_account_that_cannot_take_it(alice: Actor, bank: Bank, receiver: str) -> None:
    await earned(alice, bank)
    body = {
        "method_id": "sepa:EUR",
        "amount": "4.00",
        "receiver": receiver,
        "provider_fields": {"account_holder_name": "Alice Arabica"},
    }
    refused = (await alice.post("/withdrawals", body, key="out", mode="live")).refused("invalid_receiver", 422)
    assert [problem["field"] for problem in refused.body["errors"]] == ["receiver"]
    assert await euros(alice) == (1000, 0, 0)


@pytest.mark.covers("P-165")
async def test_a_withdrawal_leaves_and_comes_back(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    prepared = (await bank.payouts())[payout_id]
    assert (prepared.status, prepared.kind, prepared.amount) == ("prepared", "withdrawal", "4.00")
    batch = await bank.export(payout_id)
    assert said(batch, "p:EndToEndId") == [UUID(payout_id).hex]
    assert said(batch, "p:Dbtr/p:Nm") == [HOLDER]
    assert said(batch, "p:DbtrAcct/p:Id/p:IBAN") == [IBAN]
    assert said(batch, "p:Cdtr/p:Nm") == ["Alice Arabica"]
    assert said(batch, "p:CdtrAcct/p:Id/p:IBAN") == [CUSTOMER_IBAN]
    assert said(batch, "p:InstdAmt") == ["4.00"]
    assert said(batch, "p:Ustrd") == ["Beans"]
    assert (await bank.payouts())[payout_id].status == "exported"
    assert (await withdrawal(alice, payout_id))["status"] == "processing"
    assert await euros(alice) == (600, 400, 0)

    raw = await bank.statement(left(payout_id))
    assert (await bank.brings(raw)).placed == 1
    assert (await bank.payouts())[payout_id].status == "confirmed"
    assert (await withdrawal(alice, payout_id))["status"] == "completed"
    assert await euros(alice) == (600, 0, 0)

    assert (await bank.shows(back(payout_id))).placed == 1
    returned = (await bank.payouts())[payout_id]
    assert (returned.status, returned.ended_reason) == ("returned", "AC04")
    shown = await withdrawal(alice, payout_id)
    assert (shown["status"], shown["failure_code"]) == ("failed", "returned")
    assert await euros(alice) == (1_000, 0, 0)
    assert await bank.brings(raw) == Imported(0, 0, 1, 0, 0)
    reported = [name for name, _ in await events(alice) if name.startswith("withdrawal")]
    assert reported == ["withdrawal.processing", "withdrawal.completed", "withdrawal.failed"]


async def test_a_refund_leaves_to_whoever_paid_and_comes_back(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000, name="Łukasz Groß & Söhne"))
    payout_id = await refunded(alice, bank, payment_id)
    batch = await bank.export(payout_id)
    assert said(batch, "p:Cdtr/p:Nm") == ["Lukasz Gross + Sohne"]
    assert said(batch, "p:Ustrd") == [f"Refund {reference}"]
    await bank.shows(left(payout_id))
    assert (await refund(alice, payout_id))["status"] == "succeeded"
    assert (await payment(alice, payment_id))["status"] == "partially_refunded"
    assert await euros(alice) == (600, 0, 0)
    await bank.shows(back(payout_id, return_reason=None, reversal=True))
    ended = await refund(alice, payout_id)
    assert (ended["status"], ended["failure_code"]) == ("failed", "returned_by_bank")
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert await euros(alice) == (1_000, 0, 0)


@pytest.mark.covers("P-80")
@pytest.mark.parametrize("receiver", ["", "Erika", IBAN, "DE89370400440532013001", "US64SVBKUS6S3300958879"])
async def test_a_refund_needs_an_account_to_go_to(alice: Actor, bank: Bank, receiver: str) -> None:
    payment_id = await earned(alice, bank)
    body = {"amount": "4.00", "receiver": receiver}
    refused = await alice.post(f"/transactions/{payment_id}/refunds", body, key=str(uuid4()), mode="live")
    assert list(refused.field_errors()) == ["receiver"]
    assert await euros(alice) == (1_000, 0, 0)


async def test_a_payout_leaves_in_one_batch_only(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    first, second = await withdrawn(alice, bank), await withdrawn(alice, bank, "2.00")
    tried = await asyncio.gather(*(bank.export(first, second) for _ in range(3)), return_exceptions=True)
    [batch] = [answer for answer in tried if isinstance(answer, Batch)]
    assert sum(isinstance(answer, OperatorRefusedError) for answer in tried) == 2
    assert said(batch, "p:NbOfTxs") == ["2", "2"]
    assert said(batch, "p:CtrlSum") == ["6.00", "6.00"]
    with pytest.raises(OperatorRefusedError, match="No payouts are pending"):
        await bank.export(first)
    again = await bank.export_again(batch.id)
    assert again is not None
    assert write(again) == write(batch)
    assert await bank.export_again(uuid4()) is None


@pytest.mark.parametrize("receiver", ["CH9300762011623852957", "GB29NWBK60161331926819"])
async def test_outside_the_eea_the_file_has_the_senders_address(alice: Actor, bank: Bank, receiver: str) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank, receiver=receiver)
    with pytest.raises(OperatorRefusedError, match=f"Payout {payout_id} goes to {receiver[:2]}.*TOLLHOUSE_BANK_ADDRESS"):
        await bank.export(payout_id)
    account = replace(
        ACCOUNT, address=PostalAddress(street_name="Main Street 7", postcode="10115", town_name="Berlin", country="DE")
    )
    batch = await bank.export(payout_id, account=account)
    assert said(batch, "p:Dbtr/p:PstlAdr/p:TwnNm") == ["Berlin"]
    assert await bank.export_again(batch.id) == batch
    await bank.shows(left(payout_id))


async def test_a_batch_that_the_bank_books_as_one_line(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    ids = [await withdrawn(alice, bank), await withdrawn(alice, bank, "2.00")]
    batch = await bank.export(*ids)
    assert (await bank.shows(Line(599, "DBIT", batch=batch.id.hex))).unmatched == 1
    assert (await bank.shows(Line(600, "DBIT", batch=batch.id.hex))).placed == 1
    assert [(await withdrawal(alice, one))["status"] for one in ids] == ["completed", "completed"]
    assert (await bank.shows(Line(600, "DBIT", batch=batch.id.hex))).unmatched == 1
    assert await euros(alice) == (400, 0, 0)


@pytest.mark.parametrize("together", [True, False])
async def test_what_came_back_may_be_seen_before_it_left(alice: Actor, bank: Bank, together: bool) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    await bank.export(payout_id)
    if together:
        assert (await bank.shows(back(payout_id), left(payout_id))).placed == 2
    else:
        assert (await bank.shows(back(payout_id))).placed == 1
        assert (await withdrawal(alice, payout_id))["status"] == "failed"
        assert (await bank.shows(left(payout_id))).placed == 1
    assert (await bank.payouts())[payout_id].status == "returned"
    assert await euros(alice) == (1_000, 0, 0)


async def test_what_the_bank_does_and_nobody_asked_for_waits(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    early, sent = await withdrawn(alice, bank), await withdrawn(alice, bank, "2.00")
    await bank.export(sent)
    mark = uuid4().hex
    await bank.shows(left(early, words=mark))
    await bank.shows(left(sent, 199, words=mark))
    await bank.shows(back(sent, 200, return_reason=None, words=mark))
    await bank.shows(left(sent, 200))
    await bank.shows(left(sent, 200, words=mark))
    await bank.shows(back(early, words=mark))
    assert [transfer.reason for transfer in await bank.waiting(mark)] == [
        "The bank debited a payout that was not exported.",
        "The amount differs from that of the payout with this ID.",
        "The transfer has the ID of a payout, but is neither its debit nor its return.",
        "The bank debited this payout twice.",
        "The bank returned a payout that was not exported.",
    ]
    assert await euros(alice) == (400, 400, 0)


async def test_an_operator_keeps_a_payout_here(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    early, late = await withdrawn(alice, bank), await refunded(alice, bank, payment_id)
    await bank.export(late)  # and the bank refused it
    assert await euros(alice) == (200, 800, 0)
    assert (await bank.refuse(early)).outcome == "refused"
    assert (await bank.refuse(late)).outcome == "refused"
    assert (await withdrawal(alice, early))["failure_code"] == "payout_declined"
    assert (await refund(alice, late))["failure_code"] == "refund_declined"
    assert await euros(alice) == (1_000, 0, 0)
    for payout_id, says in ((early, "is already refused"), (str(uuid4()), "There is no payout")):
        with pytest.raises(OperatorRefusedError, match=says):
            await bank.refuse(payout_id)
    with pytest.raises(OperatorRefusedError, match="No payouts are pending"):
        await bank.export(early)
    assert (await bank.shows(left(late))).unmatched == 1


async def test_refusing_and_the_statement_cross(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    await bank.export(payout_id)
    await asyncio.gather(bank.refuse(payout_id), bank.shows(left(payout_id)), return_exceptions=True)
    status = (await bank.payouts())[payout_id].status
    assert await euros(alice) == {"confirmed": (600, 0, 0), "refused": (1_000, 0, 0)}[status]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE bank_payouts SET status = 'confirmed', debited_at = now() WHERE id = $1::uuid",
        "UPDATE bank_payouts SET status = 'exported' WHERE id = $1::uuid",
        "UPDATE bank_payouts SET amount_minor = 1 WHERE id = $1::uuid",
        "UPDATE bank_payouts SET receiver_iban = 'NL91ABNA0417164300' WHERE id = $1::uuid",
        "UPDATE bank_payouts SET debited_at = now() WHERE id = $1::uuid",
        "UPDATE bank_payouts SET status = 'refused', ended_because = 'x' WHERE id = $1::uuid",
        "DELETE FROM bank_payouts WHERE id = $1::uuid",
    ],
)
async def test_the_database_keeps_a_payout_on_its_way(alice: Actor, bank: Bank, change: str) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql(change, payout_id)
