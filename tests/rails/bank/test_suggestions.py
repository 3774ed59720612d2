"""Suggestions beside an unmatched transfer: mistyped references, amounts and earlier payers; the operator decides."""

import html
import re
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cast import Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import Line, paid
from tests.rails.bank.steps import Bank, offer, payment
from tests.running import Service
from tollhouse.kernel.bank_codes import creditor_reference
from tollhouse.rails.bank.actions import near_references
from tollhouse.rails.bank.transfers_store import FIND

SUGGESTED = re.compile(r'href="\?reference=(RF[0-9]{22})#assign"')


async def unmatched(bank: Bank, line: Line) -> str:
    """The page of a transfer that nobody could place."""
    mark = uuid4().hex[:8]
    await bank.shows(replace(line, words=f"{line.words or ''} {mark}"))
    [waiting] = await bank.waiting(mark)
    return f"/operator/transfers/{waiting.id}"


def mistyped(reference: str) -> str:
    """The same with one wrong digit."""
    return reference[:-1] + str((int(reference[-1]) + 1) % 10)


async def test_a_mistyped_reference_leads_to_its_payment(alice: Actor, bank: Bank, service: Service) -> None:
    _, payment_id, reference = await offer(alice, "77.31")
    page = await unmatched(bank, Line(7_731, words=mistyped(reference)))
    async with signed_in_operator(service) as olga:
        shown = html.unescape((await olga.send("GET", page)).ok().text)
        assert SUGGESTED.findall(shown)[0] == reference
        assert "The reference differs by one character." in shown
        assert "The amount is the same." in shown
        assert "Alice's Coffee" in shown
        chosen = (await olga.send("GET", f"{page}?reference={reference}")).ok().text
        assert f'value="{reference}"' in chosen
        (await olga.form(f"{page}/assign", {"reference": reference})).ok(422)
        (await olga.form(f"{page}/assign", {"reference": reference, "why": "One digit was wrong"})).ok(303)
        assert SUGGESTED.findall((await olga.send("GET", page)).ok().text) == []
    assert (await payment(alice, payment_id))["status"] == "succeeded"


async def test_at_most_five_and_earlier_payers_first(alice: Actor, carol: Actor, bank: Bank, service: Service) -> None:
    name = f"Payer {uuid4().hex[:8]}"
    _, _, first = await offer(carol, "3.00")
    await bank.shows(paid(first, 300, name=name, account=None))
    await bank.shows(paid((await offer(carol, "4.00"))[2], 400, name=name, account="DE02120300000000202051"))
    _, _, known = await offer(carol, "81.17")
    for _ in range(6):
        await offer(alice, "81.17")
    page = await unmatched(bank, Line(8_117, name=name.upper(), account=None))
    async with signed_in_operator(service) as olga:
        shown = (await olga.send("GET", page)).ok().text
        other = (await olga.send("GET", await unmatched(bank, Line(9_999_991, words="nothing fits")))).ok().text
        debit = (await olga.send("GET", await unmatched(bank, Line(8_117, "DBIT", words="a fee")))).ok().text
    found = SUGGESTED.findall(shown)
    assert len(found) == 5
    assert found[0] == known
    assert "has paid this merchant before" in shown
    assert SUGGESTED.findall(other) == SUGGESTED.findall(debit) == []


MISTAKES = st.sampled_from(["wrong", "swapped", "missing", "extra"])


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**20 - 1), st.integers(0, 21), st.integers(0, 9), MISTAKES, st.sampled_from(["", " thanks", " 77"]))
def test_every_single_mistake_is_found(number: int, at: int, digit: int, mistake: str, after: str) -> None:
    reference = creditor_reference(f"{number:020d}")
    right = reference[2:]
    match mistake:
        case "wrong":
            written = right[:at] + str(digit) + right[at + 1 :]
        case "swapped":
            written = right[:at] + right[at : at + 2][::-1] + right[at + 2 :]
        case "missing":
            written = right[:at] + right[at + 1 :]
        case _:
            written = right[:at] + str(digit) + right[at:]
    near = near_references(f"Order RF {written}{after}")
    assert reference in near
    assert len(near) < 60


@pytest.mark.parametrize("text", ["", "RF", "12345", "9" * 500, "RF" * 200])
def test_nothing_like_a_reference(text: str) -> None:
    assert len(near_references(text)) < 60


async def test_the_plan_reads_by_indexes(bank: Bank) -> None:
    async with bank.services.db.connection() as tx:
        await tx.raw.execute("SET enable_seqscan = off")
        await tx.raw.execute(f"PREPARE suggested AS {FIND}")
        rows = await tx.raw.fetch("EXPLAIN EXECUTE suggested('bank', 'EUR', 1000, ARRAY['RF1'], 'DE1', 'Nina')")
        await tx.raw.execute("DEALLOCATE suggested")
        await tx.raw.execute("RESET enable_seqscan")
    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan" not in plan, plan
    for index in ("transactions_unpaid_by_amount", "rail_observations_of_account", "rail_observations_of_name"):
        assert index in plan, plan
