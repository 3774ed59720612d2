"""Statements continue each other: a missing one stops the import, and the ledger has the balance that the bank states."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple
from uuid import UUID

import asyncpg
import pytest

from tests.invariants import broken_invariants
from tests.rails.bank import camt
from tests.rails.bank.camt import IBAN, Line, statement
from tests.rails.bank.steps import ACCOUNT, Bank, context
from tests.running import migrated_database, settings_for
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.instance import main
from tollhouse.instance.database import embedded
from tollhouse.kernel.bank_codes import creditor_reference
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Observation
from tollhouse.rails.bank import imports, imports_store, payments
from tollhouse.rails.bank.files.transfer import BankAccount
from tollhouse.rails.bank.import_steps import take_step
from tollhouse.rails.bank.imports_store import FileImport
from tollhouse.rails.bank.model import Imported

MONDAY = date(2026, 11, 16)
BALANCES = """
    SELECT a.code,
           sum(CASE WHEN (a.id = p.debit_account_id) = (a.normal_side = 'debit') THEN p.amount ELSE -p.amount END) AS minor
    FROM ledger_accounts a JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
    WHERE a.currency = 'EUR' AND a.mode = 'live' AND NOT a.guarded GROUP BY a.code ORDER BY a.code
"""
NOBODYS = creditor_reference("0" * 20)
BOOKS = f"bank:{IBAN.lower()}"


class Day(NamedTuple):
    """A day's statement: its file, and the balance at its end."""

    raw: bytes
    closing: int


@pytest.fixture
async def bank(server: embedded.Server) -> AsyncIterator[Bank]:
    """A bank whose account has no statements yet."""
    dsn = await migrated_database(server.cluster.dsn)
    services = main.create_services(settings_for(dsn, fresh=False, **camt.ACCOUNT), connections=4)
    yield Bank(services)
    await services.db.close()
    assert await broken_invariants(dsn) == []


def days(*movements: int, opening: int = 5_000) -> list[Day]:
    """Statements from Monday on, each of one entry of this amount; negative amounts are debits."""
    found: list[Day] = []
    for nth, minor in enumerate(movements):
        day = MONDAY + timedelta(days=nth)
        line = Line(abs(minor), "CRDT" if minor > 0 else "DBIT", words=f"entry {nth}", day=day)
        found.append(Day(statement(line, opening=opening, on=day, name=f"day {nth}"), opening + minor))
        opening += minor
    return found


async def balances(bank: Bank) -> dict[str, int]:
    """The platform's accounts with a balance, in cents."""
    return {row["code"]: int(row["minor"]) for row in await bank.services.db.fetch(BALANCES) if row["minor"]}


def together(*found: Day) -> bytes:
    """These statements in one file."""
    first, *others = [file.raw.decode() for file in found]
    bodies = [f"<Stmt>{raw.partition('<Stmt>')[2].partition('</Stmt>')[0]}</Stmt>" for raw in others]
    return first.replace("</BkToCstmrStmt>", "".join(bodies) + "</BkToCstmrStmt>").encode()


async def test_the_ledger_has_the_balance_of_the_bank(bank: Bank) -> None:
    for day in days(700, -200, 40):
        await bank.brings(day.raw)
        assert (await balances(bank))[BOOKS] == day.closing
    assert await balances(bank) == {BOOKS: 5_540, "equity:bank_opening": 5_000, "unmatched:bank": 540}
    credit, debit, _ = await bank.waiting("entry")
    await bank.dismiss(debit.id)
    await bank.dismiss(credit.id)
    assert await balances(bank) == {
        BOOKS: 5_540,
        "equity:bank_opening": 5_000,
        "equity:dismissed": 500,
        "unmatched:bank": 40,
    }


async def test_an_overdrawn_account_begins_below_zero(bank: Bank) -> None:
    await bank.brings(days(100, opening=-900)[0].raw)
    assert await balances(bank) == {BOOKS: -800, "equity:bank_opening": -900, "unmatched:bank": 100}


async def test_a_missing_statement_stops_the_import(bank: Bank) -> None:
    first, second, third = days(700, -200, 40)
    await bank.brings(first.raw)
    with pytest.raises(OperatorRefusedError) as refused:
        await bank.brings(third.raw)
    assert str(refused.value.message) == (
        "A statement is missing before day 2: the last imported one closed on 2026-11-16 with 57.00 EUR, from which day 2 "
        "does not continue. Import the statements from 2026-11-16 until 2026-11-18 first."
    )
    assert (await balances(bank))[BOOKS] == first.closing
    await bank.brings(second.raw)
    await bank.brings(third.raw)
    assert (await balances(bank))[BOOKS] == third.closing


async def test_a_day_without_entries_shows_that_one_is_missing(bank: Bank) -> None:
    first, second = days(700, -200)
    await bank.brings(first.raw)
    with pytest.raises(OperatorRefusedError, match="A statement is missing"):
        await bank.shows(on=MONDAY + timedelta(days=4), opening=second.closing)
    await bank.brings(second.raw)
    await bank.shows(on=MONDAY + timedelta(days=4), opening=second.closing)


async def test_other_entries_for_the_same_days_are_a_contradiction(bank: Bank) -> None:
    first, second = days(700, -200)
    await bank.brings(first.raw)
    await bank.brings(second.raw)
    with pytest.raises(OperatorRefusedError, match="contradicts the statements that were imported until 2026-11-17"):
        await bank.shows(Line(5, day=MONDAY), opening=5_000, on=MONDAY)
    assert (await balances(bank))[BOOKS] == second.closing


async def test_a_period_that_overlaps_is_fine_if_it_agrees(bank: Bank) -> None:
    first = Line(700, words="one", day=MONDAY)
    second = Line(200, words="two", day=MONDAY + timedelta(days=1))
    await bank.shows(first, opening=0, on=MONDAY)
    assert await bank.shows(first, second, opening=0, on=MONDAY + timedelta(days=1)) == Imported(1, 1, 1, 0, 1)
    third = Line(30, words="three", day=MONDAY + timedelta(days=2))
    with pytest.raises(OperatorRefusedError, match="A statement is missing"):
        await bank.shows(second, third, opening=9_000, on=MONDAY + timedelta(days=2))
    assert (await balances(bank))[BOOKS] == 900


async def test_a_file_of_many_statements_is_imported_as_a_whole_or_not_at_all(bank: Bank) -> None:
    first, second, third, fourth = days(700, -200, 40, 8)
    with pytest.raises(OperatorRefusedError, match="A statement is missing before day 3"):
        await bank.brings(together(second, first, fourth))
    assert await balances(bank) == {}
    assert (await bank.brings(together(fourth, third, second, first))).new_entries == 4
    assert (await balances(bank))[BOOKS] == fourth.closing


async def test_the_books_can_begin_earlier(bank: Bank) -> None:
    first, second, third, fourth = days(700, -200, 40, 8)
    await bank.brings(fourth.raw)
    with pytest.raises(OperatorRefusedError, match="A statement is missing after day 1"):
        await bank.brings(second.raw)
    await bank.brings(third.raw)
    assert (await bank.brings(together(first, second))).new_entries == 2
    assert await balances(bank) == {BOOKS: fourth.closing, "equity:bank_opening": 5_000, "unmatched:bank": 548}


async def test_without_balances_the_next_statement_shows_what_is_missing(bank: Bank) -> None:
    """The pages of a statement: the first has its opening balance and the last its closing balance."""
    first, second = days(700, -200)
    await bank.brings(first.raw)
    tuesday = MONDAY + timedelta(days=1)
    page = await bank.statement(Line(9, day=tuesday), on=tuesday, opening=first.closing, closing=1, first_page=True)
    await bank.brings_confirmed(page)
    with pytest.raises(OperatorRefusedError, match="A statement is missing"):
        await bank.shows(Line(30, day=MONDAY + timedelta(days=2)), on=MONDAY + timedelta(days=2), opening=second.closing)
    assert (await balances(bank))[BOOKS] == first.closing + 9


async def test_one_statement_is_completed_before_the_next(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [Line(100, words=f"entry {nth}", day=MONDAY) for nth in range(3)]
    raw = statement(*lines, opening=0, on=MONDAY, name="cut off")
    first: list[str] = []

    async def refuse(_: Work, seen: Observation) -> bool:
        first[:] = first[:1] or [seen.external_ref]
        if seen.external_ref not in first:
            raise InvalidRequest("Not now.")
        return False

    named = statement(
        *(Line(100, structured=NOBODYS, words=f"entry {nth}", day=MONDAY) for nth in range(3)),
        opening=0,
        on=MONDAY,
        name="cut off",
    )
    with monkeypatch.context() as patched:
        patched.setattr(payments, "observe", refuse)
        with pytest.raises(OperatorRefusedError, match="Entry 2 of statement cut off"):
            await imports.import_file(named, ACCOUNT, context(), bank.services)
    assert (await balances(bank))[BOOKS] == 100
    assert await broken_invariants(bank.services.settings.database_url or "") == []
    with pytest.raises(OperatorRefusedError, match="Statement cut off was imported only in part"):
        await bank.brings(raw)
    assert (await bank.brings(named)).new_entries == 2
    assert (await balances(bank))[BOOKS] == 300


async def test_two_different_statements_at_once(bank: Bank) -> None:
    """They contradict each other: only one of them is imported, whichever is first."""
    files = [statement(Line(amount, day=MONDAY), opening=0, on=MONDAY) for amount in (100, 200)]
    done: Sequence[Imported | BaseException] = await asyncio.gather(
        *(bank.brings(raw) for raw in files), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in done) == ["Imported", "OperatorRefusedError"]
    assert (await balances(bank))[BOOKS] in {100, 200}


def of_new_account(nth: int) -> BankAccount:
    """A bank account whose books have not begun."""
    number = f"37040044{nth:010}"
    check = 98 - int(f"{number}131400") % 97
    return BankAccount(f"DE{check:02}{number}", camt.HOLDER)


def first_statements(account: BankAccount, nth: int) -> tuple[bytes, bytes]:
    """The statements of two days, of which the second continues the first. Each has two entries."""
    tuesday = MONDAY + timedelta(days=1)

    def of(day: date, opening: int) -> bytes:
        entries = (Line(minor, words=f"account {nth}", day=day) for minor in (300, 400))
        return statement(*entries, opening=opening, on=day, iban=account.iban)

    return of(MONDAY, 5_000), of(tuesday, 5_700)


async def test_two_first_uploads_at_once_are_imported_as_one_after_the_other(bank: Bank) -> None:
    """Whatever their order. The second upload of a file has nothing new, and one that contradicts the first is refused."""

    async def import_all(account: BankAccount, *files: bytes) -> list[FileImport | BaseException]:
        found = await asyncio.gather(
            *(imports.import_file(raw, account, context(), bank.services) for raw in files),
            return_exceptions=True,
        )
        return list(found)

    for nth in range(6):
        account = of_new_account(nth)
        early, late = first_statements(account, nth)
        other = statement(Line(700, day=MONDAY), opening=4_000, on=MONDAY, iban=account.iban)
        files = [(early, late), (late, early), (early, late, early), (late, late, early), (early, other), (other, early)][
            nth
        ]
        ended = await import_all(account, *files)
        refused = [outcome for outcome in ended if isinstance(outcome, BaseException)]
        counts = [outcome.imported.new_entries for outcome in ended if not isinstance(outcome, BaseException)]
        if other in files:
            assert [type(one) for one in refused] == [OperatorRefusedError]
            assert "contradicts" in str(refused[0]) or "missing" in str(refused[0])
        else:
            assert refused == []
            assert sorted(counts) == sorted([2, 2, 0][: len(files)])
            assert (await balances(bank))[f"bank:{account.iban.lower()}"] == 6_400


async def test_an_import_that_was_begun_is_continued_before_one_with_an_older_id(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger file takes longer to store: it has the older id, and can be visible only when the other one was begun."""
    account = of_new_account(7)
    early, late = first_statements(account, 7)
    older_id = new_id()
    begun = await imports.upload(early, account, context(), bank.services)

    async def take_small_step(work: Work, import_id: UUID, account: BankAccount | None, _entries_max: int) -> bool:
        return await take_step(work, import_id, account, 1)

    with monkeypatch.context() as patched:
        patched.setattr(imports, "take_step", take_small_step)
        for _ in range(3):  # read, begin, and import the first entry
            assert await imports.advance(account, bank.services)
    with monkeypatch.context() as patched:
        patched.setattr(imports, "new_id", lambda: older_id)
        assert await imports.upload(late, account, context(), bank.services) == older_id
    assert not await imports.advance(account, bank.services, only=older_id)
    ended = [await imports.finish(one, account, bank.services) for one in (older_id, begun)]
    assert [(outcome.status, outcome.imported.new_entries) for outcome in ended] == [("imported", 2), ("imported", 2)]


async def test_only_one_import_takes_a_step_at_a_time(bank: Bank) -> None:
    account = of_new_account(8)
    early, late = first_statements(account, 8)
    await imports.upload(early, account, context(), bank.services)
    await imports.upload(late, account, context(), bank.services)
    async with bank.services.db.transaction() as tx:
        waiting = await imports_store.next_id(tx)
        assert waiting is not None
        assert await imports_store.lock(tx, waiting) is not None
        assert not await imports.advance(account, bank.services)
    while await imports.advance(account, bank.services):
        pass
    assert (await balances(bank))[f"bank:{account.iban.lower()}"] == 6_400


UNPOSTED_ENTRY = """
    INSERT INTO bank_entries (id, identity, first_statement_id, side, currency, amount_minor, booked_on, is_reversal)
    SELECT gen_random_uuid(), sha256('x'), first_statement_id, side, currency, amount_minor, booked_on, is_reversal
    FROM bank_entries LIMIT 1
"""
UNPOSTED_DECISION = """
    UPDATE bank_entry_parts SET outcome = 'dismissed', decided_by = 'me', decided_because = 'so', decided_at = now(),
                                decisions = decisions + 1
"""


@pytest.mark.parametrize(
    ("spoil", "says"),
    [(UNPOSTED_ENTRY, "an entry of a statement is posted"), (UNPOSTED_DECISION, "a decision on a transfer is posted")],
    ids=["entry", "decision"],
)
async def test_nothing_of_the_bank_is_written_without_its_posting(bank: Bank, spoil: str, says: str) -> None:
    await bank.brings(days(700)[0].raw)
    with pytest.raises(asyncpg.CheckViolationError, match=says):
        await bank.services.db.execute(spoil)
