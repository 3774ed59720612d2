"""Importing statements: money finds its payment once, and what finds none waits for an operator and is never lost."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor
from tests.rails.bank.camt import TODAY, Line, paid, statement
from tests.rails.bank.steps import ACCOUNT, Bank, context, euros, offer, payment
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import creditor_reference
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.rails.provider import Observation
from tollhouse.kernel.text import Text
from tollhouse.rails.bank import import_steps, imports, imports_store, payments, store
from tollhouse.rails.bank.model import Imported

NOBODYS = creditor_reference("0" * 20)


@pytest.mark.covers("P-165")
async def test_importing_the_same_statement_twice_credits_once(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    raw = await bank.statement(paid(reference, 1_000))
    assert await bank.brings(raw) == Imported(1, 1, 0, 1, 0)
    assert await bank.brings(raw) == Imported(0, 0, 1, 0, 0)
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert await euros(alice) == (1_000, 0, 0)


async def test_overlapping_statements_in_both_versions_count_each_entry_once(alice: Actor, bank: Bank) -> None:
    first, second = [await offer(alice), await offer(alice)]
    one, two = paid(first[2], 1_000), paid(second[2], 1_000)
    assert (await bank.shows(one, version="02")).new_entries == 1
    assert await bank.shows(one, two, version="08") == Imported(1, 1, 1, 1, 0)
    assert await bank.shows(two, version="02") == Imported(1, 0, 1, 0, 0)
    assert await euros(alice) == (2_000, 0, 0)


async def test_two_transfers_that_are_alike_are_two(alice: Actor, bank: Bank) -> None:
    """The bank names neither; a customer paid one half twice on the same day."""
    _, payment_id, reference = await offer(alice)
    half = paid(reference, 500, bank_reference=None)
    assert (await bank.shows(half)).new_entries == 1
    assert (await payment(alice, payment_id))["amount_received_minor"] == 500
    assert await bank.shows(half, half) == Imported(1, 1, 1, 1, 0)
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert (await bank.shows(half, half)).new_entries == 0
    assert await euros(alice) == (1_000, 0, 0)


@pytest.mark.parametrize(
    "written",
    [
        {"structured": "{ref}"},
        {"words": "Invoice 7, {ref}, thank you"},
        {"words": "{spaced}"},
        {"words": "{misread}"},
        {"end_to_end": "{ref}"},
        {"structured": "{ref}", "words": f"not {NOBODYS}"},
    ],
)
async def test_however_the_customer_writes_the_reference(alice: Actor, bank: Bank, written: dict[str, str]) -> None:
    _, payment_id, reference = await offer(alice)
    forms = {
        "ref": reference,
        "spaced": " ".join(reference[at : at + 4] for at in range(0, 24, 4)).lower(),
        "misread": reference.replace("0", "o").replace("1", "l"),
    }
    line = replace(Line(1_000), **{member: text.format(**forms) for member, text in written.items()})
    assert (await bank.shows(line)).placed == 1
    assert (await payment(alice, payment_id))["status"] == "succeeded"


@pytest.mark.covers("P-165")
async def test_what_has_no_reference_or_a_wrong_one_waits_for_an_operator(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    mistyped = reference[:-1] + ("2" if reference[-1] != "2" else "3")
    mark = uuid4().hex
    shown = [
        Line(1_000, words=f"{mark} for coffee"),
        Line(1_000, words=f"{mark} {mistyped}"),
        Line(1_000, words=f"{mark} {NOBODYS}"),
        Line(1_000, words=f"{mark} {reference} {NOBODYS}"),
        Line(90, "DBIT", words=f"{mark} account fee"),
    ]
    assert await bank.shows(*shown) == Imported(1, 5, 0, 0, 5)
    waiting = await bank.waiting(mark)
    assert [(transfer.amount, transfer.side, transfer.reason) for transfer in waiting] == [
        ("10.00", "credit", "The transfer has no payment reference."),
        ("10.00", "credit", "The transfer has no payment reference."),
        ("10.00", "credit", "No payment has this reference."),
        ("10.00", "credit", "The transfer has more than one payment reference."),
        ("0.90", "debit", "The bank debited a transfer that has neither the ID of a payout nor a payment reference."),
    ]
    assert await euros(alice) == (0, 0, 0)
    assert (await bank.assign(waiting[1].id, reference.lower())).outcome == "payment"
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert await euros(alice) == (1_000, 0, 0)
    assert (await bank.dismiss(waiting[4].id)).outcome == "dismissed"
    assert [transfer.id for transfer in await bank.waiting(mark)] == [waiting[0].id, waiting[2].id, waiting[3].id]


async def test_what_an_operator_cannot_do(bank: Bank) -> None:
    mark = uuid4().hex
    await bank.shows(Line(1_000, words=mark), Line(90, "DBIT", words=mark))
    credit, debit = await bank.waiting(mark)
    for transfer_id, reference, says in (
        (uuid4(), NOBODYS, "There is no transfer"),
        (credit.id, "RF00", "is not a reference of a payment"),
        (credit.id, NOBODYS, "No payment has the reference"),
        (debit.id, NOBODYS, "An outgoing transfer cannot be assigned to a payment."),
    ):
        with pytest.raises(OperatorRefusedError, match=says):
            await bank.assign(transfer_id, reference)
    await bank.dismiss(credit.id)
    with pytest.raises(OperatorRefusedError, match="is already matched: dismissed"):
        await bank.dismiss(credit.id)


async def test_parts_and_too_much_and_again(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    await bank.shows(paid(reference, 400))
    assert (await payment(alice, payment_id))["status"] == "pending"
    await bank.shows(paid(reference, 700))
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["amount_received"]) == ("succeeded", "11.00")
    await bank.shows(paid(reference, 1_000))
    others = (await alice.get("/transactions?status=refund_required", mode="live")).ok().body["transactions"]
    assert [(other["refund_required_reason"], other["amount_received"]) for other in others] == [("duplicate", "10.00")]
    assert await euros(alice) == (1_100, 0, 0)


async def test_one_entry_may_hold_many_transfers(alice: Actor, bank: Bank) -> None:
    first, second = [await offer(alice), await offer(alice, "2.50")]
    batch = Line(1_350, parts=(paid(first[2], 1_000), paid(second[2], 250), Line(100, words="no idea")))
    for version in ("02", "08"):
        await bank.shows(batch, version=version)
    assert [(await payment(alice, one[1]))["status"] for one in (first, second)] == ["succeeded", "succeeded"]
    assert await euros(alice) == (1_250, 0, 0)


async def test_a_reversal_takes_the_money_back_for_good(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    back = Line(1_000, "DBIT", structured=reference, return_reason="FOCR")
    raw = await bank.statement(back, paid(reference, 1_000))  # whatever the order
    assert (await bank.brings(raw)).placed == 2
    assert (await bank.brings(raw)).new_entries == 0
    shown = await payment(alice, payment_id)
    assert (shown["status"], shown["chargeback"]["status"], shown["chargeback"]["reason"]) == (
        "chargeback",
        "lost",
        "bank_reversal",
    )
    assert await euros(alice) == (0, 0, 0)


async def test_a_debit_with_a_reference_takes_nothing_back_unless_the_bank_says_so(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000))
    assert (await bank.shows(Line(1_000, "DBIT", structured=reference))).unmatched == 1
    assert (await bank.shows(Line(1_001, "DBIT", structured=reference, reversal=True))).unmatched == 1
    assert (await bank.shows(Line(1_000, structured=reference, reversal=True))).unmatched == 1
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert await euros(alice) == (1_000, 0, 0)


async def test_what_is_not_booked_or_moves_nothing_is_left_out(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    assert await bank.shows(paid(reference, 1_000, status="PDNG"), Line(0, words="Closing")) == Imported(1, 0, 0, 0, 0)
    assert (await payment(alice, payment_id))["status"] == "pending"


async def test_two_operators_import_at_once(alice: Actor, bank: Bank) -> None:
    offers = [await offer(alice) for _ in range(4)]
    raw = await bank.statement(*(paid(reference, 1_000) for _, _, reference in offers))
    done = await asyncio.gather(bank.brings(raw), bank.brings(raw), bank.brings(raw))
    assert sum(imported.new_entries for imported in done) == 4
    assert sum(imported.known_entries for imported in done) == 8
    assert await euros(alice) == (4_000, 0, 0)


async def test_an_import_that_is_cut_off_anywhere_is_continued(
    alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies after each write in turn, before the commit."""
    offers = [await offer(alice) for _ in range(3)]
    raw = await bank.statement(*(paid(reference, 1_000) for _, _, reference in offers), Line(5, words="waits"))
    monkeypatch.setattr(import_steps, "MATCHES_MAX", 2)
    deaths = [(imports_store, "start"), (imports_store, "advance"), (store, "insert_entries"), (imports_store, "end")]
    import_id = await imports.upload(raw, ACCOUNT, context(), bank.services)
    for module, write in deaths:
        write_first = getattr(module, write)

        async def die(*args: Any, write_first: Callable[..., Awaitable[None]] = write_first) -> None:
            await write_first(*args)
            raise ConnectionError("killed before the commit")

        with monkeypatch.context() as patched:
            patched.setattr(module, write, die)
            with pytest.raises(ConnectionError):
                await imports.finish(import_id, ACCOUNT, bank.services)
        await imports.advance(ACCOUNT, bank.services)
    ended = await imports.finish(import_id, ACCOUNT, bank.services)
    assert (ended.status, ended.imported) == ("imported", Imported(1, 4, 0, 3, 1))
    assert await euros(alice) == (3_000, 0, 0)
    assert await bank.brings(raw) == Imported(0, 0, 4, 0, 0)
    assert await kept_of_files(alice) == []


async def test_an_entry_that_cannot_be_imported_is_named_and_those_before_it_are(
    alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = [await offer(alice) for _ in range(3)]
    raw = await bank.statement(*(paid(reference, 1_000) for _, _, reference in offers), name="tricky")

    observe = payments.observe

    async def refuse(work: Work, seen: Observation) -> bool:
        if seen.reference == offers[1][2]:
            raise InvalidRequest("Not now.")
        return await observe(work, seen)

    with monkeypatch.context() as patched:
        patched.setattr(payments, "observe", refuse)
        with pytest.raises(OperatorRefusedError) as refused:
            await imports.import_file(raw, ACCOUNT, context(), bank.services)
    assert str(refused.value.message) == (
        "Entry 2 of statement tricky, booked on 2026-11-20, could not be imported: Not now. "
        "The entries before it were imported."
    )
    assert await euros(alice) == (1_000, 0, 0)
    assert await bank.brings(raw) == Imported(0, 2, 1, 2, 0)
    assert await euros(alice) == (3_000, 0, 0)


async def test_a_refused_file_leaves_nothing_behind_but_the_reason(alice: Actor, bank: Bank) -> None:
    raw = statement(*(Line(5) for _ in range(3)), opening=7, closing=8)
    import_id = await imports.upload(raw, ACCOUNT, context(), bank.services)
    ended = await imports.finish(import_id, ACCOUNT, bank.services)
    assert (ended.status, ended.entries, ended.imported) == ("refused", 0, Imported(0, 0, 0, 0, 0))
    assert isinstance(ended.reason, Text)
    assert ended.reason.template.startswith("Statement %(statement_id)s does not add up")
    assert await kept_of_files(alice) == []


async def test_a_file_that_the_database_does_not_accept_does_not_block_those_after_it(
    alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        raise asyncpg.NumericValueOutOfRangeError("a balance that no account can have")

    with monkeypatch.context() as patched:
        patched.setattr(imports_store, "insert_statement", refuse)
        with pytest.raises(OperatorRefusedError, match="The database does not accept the file"):
            await bank.shows(Line(5))
    assert await kept_of_files(alice) == []
    assert (await bank.shows(Line(5))).new_entries == 1


async def test_files_are_imported_in_the_order_of_their_upload(alice: Actor, bank: Bank) -> None:
    """The second continues the first, so that it is refused unless it waits for it."""
    _, _, reference = await offer(alice)
    line = paid(reference, 1_000)
    first = await bank.statement(line)
    opening = int(re.findall(rb"<Amt[^>]*>([0-9.]+)<", first)[1].replace(b".", b""))
    second = statement(Line(5, day=TODAY + timedelta(days=1)), opening=opening, on=TODAY + timedelta(days=1))
    ids = [await imports.upload(raw, ACCOUNT, context(), bank.services) for raw in (first, second)]
    assert not await imports.advance(ACCOUNT, bank.services, only=ids[1])
    ended = await asyncio.gather(*(imports.finish(one, ACCOUNT, bank.services) for one in ids))
    assert [outcome.imported.new_entries for outcome in ended] == [1, 1]


async def kept_of_files(alice: Actor) -> list[Any]:
    """What the database still has of the contents of files that are done."""
    return await alice.sql(
        "SELECT import_id FROM bank_import_pieces UNION ALL SELECT import_id FROM bank_import_statements "
        "UNION ALL SELECT import_id FROM bank_import_entries"
    )


async def test_a_statement_of_another_account_or_that_does_not_add_up_is_refused_whole(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    line = paid(reference, 1_000)
    with pytest.raises(OperatorRefusedError, match="is for the account NL91ABNA0417164300"):
        await bank.shows(line, iban="NL91ABNA0417164300")
    with pytest.raises(OperatorRefusedError, match="does not add up"):
        await bank.shows(line, closing=1)
    with pytest.raises(OperatorRefusedError, match="No bank account is configured"):
        await imports.import_file(statement(line), None, context(), bank.services)
    assert (await payment(alice, payment_id))["status"] == "pending"
    page = await bank.statement(line, first_page=True, closing=1)
    assert (await bank.brings_confirmed(page)).placed == 1  # the rest is on the next page


async def test_the_banks_own_names_may_repeat(alice: Actor, bank: Bank) -> None:
    """Some number their statements anew each year, and their entries each day."""
    first, second = [await offer(alice), await offer(alice)]
    await bank.shows(paid(first[2], 1_000, bank_reference="0001"), name="2026-01")
    await bank.shows(paid(second[2], 1_000, bank_reference="0001", day=TODAY + timedelta(days=1)), name="2026-01")
    assert await euros(alice) == (2_000, 0, 0)


@pytest.mark.parametrize(
    "statement_of",
    [
        "UPDATE bank_entry_parts SET outcome = 'unmatched', because = 'x' WHERE outcome = 'payment'",
        "UPDATE bank_entry_parts SET amount_minor = amount_minor + 1 WHERE outcome = 'unmatched'",
        "DELETE FROM bank_entry_parts",
        "TRUNCATE bank_entry_parts CASCADE",
        "UPDATE bank_entries SET amount_minor = 1",
        "DELETE FROM bank_statements",
    ],
)
async def test_what_the_bank_showed_is_kept_for_ever(alice: Actor, bank: Bank, statement_of: str) -> None:
    _, _, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000), Line(5, words="waits"))
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql(statement_of)
