"""What operators decide about unmatched transfers: fees, write-offs, returned payouts, payments taken back, reopening."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import asyncpg
import pytest
from msgspec.structs import replace as replace_struct

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank import camt
from tests.rails.bank.camt import ACCOUNT, IBAN, Line, paid
from tests.rails.bank.steps import Bank, earned, euros, offer, payment, refunded, withdrawn
from tests.rails.bank.test_payouts import back, left
from tests.rails.bank.test_statement_chain import balances
from tests.running import CATALOGUE, Service, settings_for
from tollhouse.accounts.approvals.model import ApprovedBefore, OperatorContext, OperatorRefusedError
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.rails.bank import actions, payouts

BOOKS = f"bank:{IBAN.lower()}"


@pytest.fixture(scope="module")
def service(server: embedded.Server) -> Iterator[Service]:
    """A service of their own, so that all balances are those of these tests."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT), worker=False) as running:
        yield running


async def changed(bank: Bank, before: dict[str, int]) -> dict[str, int]:
    """By how much each account of the platform changed."""
    after = await balances(bank)
    found = {code: after.get(code, 0) - before.get(code, 0) for code in {**before, **after}}
    return {code: minor for code, minor in found.items() if minor}


async def unmatched(bank: Bank, line: Line) -> UUID:
    """The transfer of this line, which nobody can place."""
    mark = uuid4().hex
    await bank.shows(replace(line, words=mark, bank_reference=mark))
    [one] = await bank.waiting(mark)
    return one.id


@pytest.mark.parametrize(
    ("line", "expected"),
    [(Line(90, "DBIT"), {"unmatched:bank": 90, "EXPENSE": 90}), (Line(90), {"unmatched:bank": -90, "EXPENSE": -90})],
    ids=["charged", "paid back"],
)
@pytest.mark.parametrize(("action", "code"), [("record_fee", "bank_fee"), ("write_off", "bank_difference")])
async def test_a_fee_and_a_write_off_can_be_reopened(
    bank: Bank, line: Line, expected: dict[str, int], action: str, code: str
) -> None:
    transfer_id = await unmatched(bank, line)
    before = await balances(bank)
    for _ in range(2):
        await bank.decide(getattr(actions, action), transfer_id)
        moved = {name.replace("EXPENSE", f"expense:{code}"): minor for name, minor in expected.items()}
        assert await changed(bank, before) == moved
        with pytest.raises(OperatorRefusedError, match="is already matched"):
            await bank.decide(actions.record_fee, transfer_id)
        assert (await bank.decide(actions.reopen, transfer_id)).outcome == "unmatched"
        assert await changed(bank, before) == {}
    with pytest.raises(OperatorRefusedError, match="cannot be reopened: unmatched"):
        await bank.decide(actions.reopen, transfer_id)


async def test_a_dismissed_transfer_is_assigned_after_all(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    transfer_id = await unmatched(bank, Line(1_000))
    await bank.dismiss(transfer_id)
    await bank.decide(actions.reopen, transfer_id)
    await bank.assign(transfer_id, reference)
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    with pytest.raises(OperatorRefusedError, match="cannot be reopened: payment"):
        await bank.decide(actions.reopen, transfer_id)


@pytest.mark.parametrize("kind", ["withdrawal", "refund"])
@pytest.mark.parametrize("shown", [True, False], ids=["debited", "not debited yet"])
async def test_a_payout_comes_back_less_a_fee(alice: Actor, bank: Bank, kind: str, *, shown: bool) -> None:
    payment_id = await earned(alice, bank)
    payout_id = await (withdrawn(alice, bank) if kind == "withdrawal" else refunded(alice, bank, payment_id))
    await bank.export(payout_id)
    if shown:
        await bank.shows(left(payout_id))
    before = await balances(bank)
    mark = uuid4().hex
    assert (await bank.shows(back(payout_id, 350, words=mark))).unmatched == 1
    [transfer] = await bank.waiting(mark)
    assert transfer.reason == "The amount differs from that of the payout with this ID."
    await bank.decide(actions.return_payout, transfer.id, None)
    assert (await bank.payouts())[payout_id].status == "returned"
    assert await euros(alice) == (1_000, 0, 0)
    if not shown:
        await bank.shows(left(payout_id))
    moved = await changed(bank, before)
    assert (moved.pop(BOOKS), moved) == (350 if shown else -50, {"expense:bank_fee": 50})


@pytest.mark.parametrize("alone", [False, True], ids=["two operators", "a single operator"])
async def test_a_return_for_much_less_needs_two_operators(alice: Actor, bank: Bank, *, alone: bool) -> None:
    """A cent came in, and 60.00 would be given to the merchant."""
    await earned(alice, bank, "100.00")
    before = await euros(alice)
    payout_id = await withdrawn(alice, bank, "60.00")
    await bank.export(payout_id)
    await bank.shows(left(payout_id, 6_000))
    transfer_id = await unmatched(bank, Line(1))

    async def return_by(name: str, *, command: bool = False) -> str:
        by = OperatorContext(name, clock.now(), "As the bank explained", on_command_line=command)
        settings = replace_struct(bank.services.settings, two_operators=not alone)
        services = replace_struct(bank.services, settings=settings)
        return (
            await services.transact(lambda work: actions.return_payout(work, transfer_id, UUID(payout_id), by), by.at)
        ).outcome

    with pytest.raises(OperatorRefusedError, match="on the operator pages"):
        await return_by("olga@house.example", command=True)
    if not alone:
        assert await return_by("olga@house.example") == "approved"
        with pytest.raises(ApprovedBefore):
            await return_by("OLGA@house.example")
        assert (await bank.payouts())[payout_id].status == "confirmed"
    assert await return_by("otto@house.example") == "payout_return"
    assert (await bank.payouts())[payout_id].status == "returned"
    assert await euros(alice) == before
    kept = await alice.sql(
        "SELECT action, single_operator FROM operator_actions WHERE subject_id IN ($1, $2) AND action LIKE '%return%'"
        " ORDER BY at, id",
        transfer_id,
        UUID(payout_id),
    )
    given = 1 if alone else 2
    assert [tuple(row) for row in kept] == [("transfer_return_approved", alone)] * given + [("payout_returned", False)]


async def test_the_database_refuses_a_return_for_much_less(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank, "100.00")
    payout_id = await withdrawn(alice, bank, "60.00")
    await bank.export(payout_id)
    await bank.shows(left(payout_id, 6_000))
    transfer_id = await unmatched(bank, Line(1))
    for allowed in (None, 5_998):
        with pytest.raises(asyncpg.CheckViolationError, match="two operators"):
            await alice.sql(
                "UPDATE bank_entry_parts SET outcome = 'payout_return', payout_id = $2::uuid, decided_by = 'olga',"
                " decided_because = 'x', decided_at = now(), return_fee_max_minor = $3 WHERE id = $1",
                transfer_id,
                payout_id,
                allowed,
            )


async def test_refusing_much_that_was_exported_needs_two_operators(
    alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bank may pay it all the same: then the merchant would have it twice."""
    await earned(alice, bank, "100.00")
    ids = [await withdrawn(alice, bank, "20.00") for _ in range(2)]
    await bank.export(*ids)
    method = replace_struct(CATALOGUE.withdrawal_methods["sepa:EUR"], second_operator_above_minor=3_000)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    assert (await bank.refuse(ids[0])).outcome == "refused"
    assert (await bank.refuse(ids[1])).outcome == "approved"
    assert (await bank.payouts())[ids[1]].status == "exported"
    otto = OperatorContext("otto@house.example", clock.now(), "Account closed")
    done = await bank.services.transact(lambda work: payouts.refuse(work, UUID(ids[1]), otto), otto.at)
    assert done.outcome == "refused"
    assert (await bank.payouts())[ids[1]].status == "refused"


async def test_what_is_no_return(alice: Actor, bank: Bank) -> None:
    await earned(alice, bank)
    payout_id = UUID(await withdrawn(alice, bank))
    credit, debit = await unmatched(bank, Line(401)), await unmatched(bank, Line(400, "DBIT"))
    for transfer_id, named, says in (
        (credit, None, "has no payout ID"),
        (credit, payout_id, "is already prepared"),
        (debit, payout_id, "An outgoing transfer is not the return"),
    ):
        with pytest.raises(OperatorRefusedError, match=says):
            await bank.decide(actions.return_payout, transfer_id, named)
    await bank.export(str(payout_id))
    with pytest.raises(OperatorRefusedError, match="more than the payout"):
        await bank.decide(actions.return_payout, credit, payout_id)
    await bank.refuse(str(payout_id))


@pytest.mark.parametrize("is_spent", [False, True])
async def test_a_payment_is_taken_back_again(alice: Actor, bank: Bank, *, is_spent: bool) -> None:
    """What the available balance does not cover becomes debt, which the next money repays."""
    _, payment_id, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000))
    back_once = Line(500, "DBIT", structured=reference, return_reason="FOCR")
    assert (await bank.shows(back_once)).placed == 1
    payout_id = await withdrawn(alice, bank, "5.00") if is_spent else None
    mark = uuid4().hex
    again = Line(500, "DBIT", structured=reference, words=mark, return_reason="FOCR")
    assert (await bank.shows(again)).unmatched == 1
    [transfer] = await bank.waiting(mark)
    await bank.decide(actions.take_back, transfer.id, reference)
    assert await euros(alice) == ((0, 500, 500) if is_spent else (0, 0, 0))
    assert (await payment(alice, payment_id))["chargeback"]["status"] == "lost"
    if payout_id is not None:
        await bank.refuse(payout_id)
    assert await euros(alice) == (0, 0, 0)


async def test_what_cannot_be_taken_back(alice: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice)
    await bank.shows(paid(reference, 400))  # a part, which waits for the merchant
    debit, credit = await unmatched(bank, Line(500, "DBIT")), await unmatched(bank, Line(5))
    with pytest.raises(OperatorRefusedError, match="An incoming transfer does not take"):
        await bank.decide(actions.take_back, credit, reference)
    with pytest.raises(OperatorRefusedError, match="waits for the merchant's decision"):
        await bank.decide(actions.take_back, debit, reference)
    await bank.shows(paid(reference, 600))
    more = await unmatched(bank, Line(1_001, "DBIT"))
    with pytest.raises(OperatorRefusedError, match="more than was received"):
        await bank.decide(actions.take_back, more, reference)


async def test_two_operators_decide_at_once(alice: Actor, bank: Bank) -> None:
    _, _, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000))
    transfer_id = await unmatched(bank, Line(300, "DBIT"))
    before = await euros(alice)
    done = await asyncio.gather(
        bank.decide(actions.take_back, transfer_id, reference),
        bank.decide(actions.take_back, transfer_id, reference),
        bank.decide(actions.record_fee, transfer_id),
        return_exceptions=True,
    )
    assert sorted(isinstance(outcome, OperatorRefusedError) for outcome in done) == [False, True, True]
    assert await euros(alice) in {(before[0] - 300, 0, 0), before}


async def test_decisions_by_command(bank: Bank, service: Service) -> None:
    transfer_id = str(await unmatched(bank, Line(90, "DBIT")))
    for words, says in (("fee", "fee"), ("reopen", "unmatched"), ("write-off", "written_off"), ("reopen", "unmatched")):
        done = await operator(service, "statements", words, transfer_id, "--reason", "As the bank says.", **ACCOUNT)
        assert (done.status, done.out) == (0, f"{says} {transfer_id}\n")
    for words in (("take-back", transfer_id, "RF00"), ("return", transfer_id)):
        done = await operator(service, "statements", *words, "--reason", "As the bank says.", **ACCOUNT)
        assert done.status == 1, done.talk


async def test_decisions_on_the_page_of_a_transfer(alice: Actor, bank: Bank, service: Service) -> None:
    _, _, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000))
    debit, credit = await unmatched(bank, Line(90, "DBIT")), await unmatched(bank, Line(70))
    async with signed_in_operator(service) as olga:
        for path, fields, says in (
            (f"{debit}/decide", {"choice": "", "decision_why": "Fee"}, "Choose one."),
            (f"{debit}/take-back", {"taken": "", "taken_why": "Again"}, "Enter a reference."),
            (f"{credit}/return", {"payout": "x", "return_why": "Back"}, "Enter the ID of a payout."),
        ):
            assert says in (await olga.form(f"/operator/transfers/{path}", fields)).ok(422).text
        refused = await olga.form(f"/operator/transfers/{credit}/return", {"payout": "", "return_why": "Back"})
        assert "The transfer has no payout ID." in refused.ok(409).text
        for path, fields, done in (
            (f"{debit}/decide", {"choice": "fee", "decision_why": "Fee"}, "transfer recorded as fee"),
            (f"{debit}/reopen", {"reopen_why": "No fee"}, "transfer reopened"),
            (f"{debit}/take-back", {"taken": reference, "taken_why": "Again"}, "transfer taken back"),
            (f"{credit}/decide", {"choice": "write_off", "decision_why": "Who knows"}, "transfer written off"),
        ):
            answer = (await olga.form(f"/operator/transfers/{path}", fields)).ok(303)
            assert f"Done: {done}" in (await olga.send("GET", answer.location)).ok().text
    assert await euros(alice) == (910, 0, 0)
