"""`tollhouse operator statements` and `payouts`, as real commands: from the bank's file in to the bank's file out."""

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.cast import Actor
from tests.pages.console.commands import operator
from tests.rails.bank.camt import ACCOUNT, CUSTOMER_IBAN, Line, paid, statement
from tests.rails.bank.steps import Bank, earned, euros, offer, payment, withdrawn
from tests.running import Service


async def test_from_the_banks_file_to_the_banks_file(alice: Actor, bank: Bank, service: Service, tmp_path: Path) -> None:
    _, payment_id, reference = await offer(alice)
    mark = uuid4().hex
    file = tmp_path / "november.xml"
    lines = (paid(reference, 1_000), Line(250, words=mark), Line(90, "DBIT", words=mark))
    file.write_bytes(await bank.statement(*lines, name=mark))

    done = await operator(service, "statements", "import", str(file), "--json", **ACCOUNT)
    assert (done.status, done.json) == (
        0,
        {"statements": 1, "new_entries": 3, "known_entries": 0, "placed": 1, "unmatched": 2},
    )
    assert done.talk == "New entries: 3. Imported before: 0. Matched transfers: 1. Unmatched transfers: 2."
    assert (await payment(alice, payment_id))["status"] == "succeeded"
    assert mark in (await operator(service, "statements", "list", **ACCOUNT)).out

    listed = (await operator(service, "statements", "unmatched", "--json", **ACCOUNT)).json["transfers"]
    credit, debit = [transfer["id"] for transfer in listed if mark in transfer["words"]]
    _, second_id, second = await offer(alice, "2.50")
    placed = await operator(service, "statements", "assign", credit, second, "--reason", "He called", "--json", **ACCOUNT)
    assert (placed.status, placed.json["outcome"]) == (0, "payment")
    assert (await payment(alice, second_id))["status"] == "succeeded"
    gone = await operator(service, "statements", "dismiss", debit, "--reason", "Account fee", **ACCOUNT)
    assert (gone.status, gone.out) == (0, f"dismissed {debit}\n")

    payout_id = await withdrawn(alice, bank)
    waiting = (await operator(service, "payouts", "list", "--status", "prepared", "--json", **ACCOUNT)).json["payouts"]
    assert payout_id in {transfer["id"] for transfer in waiting}
    exported = await operator(service, "payouts", "export", payout_id, **ACCOUNT)
    assert exported.status == 0
    assert f"<IBAN>{CUSTOMER_IBAN}</IBAN>" in exported.out
    batch_id = UUID(exported.out.partition("<MsgId>")[2][:32])
    assert exported.talk.startswith(f"Batch {batch_id}: 1 payouts, 4.00 EUR.")
    assert (await operator(service, "payouts", "batch", str(batch_id))).out == exported.out
    await bank.shows(Line(400, "DBIT", end_to_end=UUID(payout_id).hex))
    assert await euros(alice) == (850, 0, 0)


async def test_an_operator_refuses_a_payout(alice: Actor, bank: Bank, service: Service) -> None:
    await earned(alice, bank)
    payout_id = await withdrawn(alice, bank)
    refused = await operator(service, "payouts", "refuse", payout_id, "--reason", "Wrong account", **ACCOUNT)
    assert (refused.status, refused.out) == (0, f"refused {payout_id}\n")
    assert await euros(alice) == (1_000, 0, 0)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("statements", "import", "nowhere.xml"), 1, "nowhere.xml cannot be read: No such file or directory."),
        (("statements", "dismiss", str(UUID(int=7))), 2, ""),
        (("payouts", "batch", str(UUID(int=7))), 1, f"There is no batch {UUID(int=7)}."),
    ],
)
async def test_how_a_refused_command_ends(service: Service, words: tuple[str, ...], status: int, says: str) -> None:
    ended = await operator(service, *words, **ACCOUNT)
    assert (ended.status, ended.out) == (status, "")
    assert says in ended.talk


async def test_a_service_without_an_account_has_no_bank_commands(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "november.xml"
    file.write_bytes(statement())
    ended = await operator(service, "statements", "import", str(file))
    assert (ended.status, ended.out) == (1, "")
    assert ended.talk.startswith("No bank account is configured")
