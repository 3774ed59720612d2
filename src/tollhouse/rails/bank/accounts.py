"""Bank accounts in the books: statements must follow each other, so that the ledger has the balance that the bank states.

Payments, refunds and withdrawals post between merchants and `rail:bank`, which is the money in transit. A matched transfer
clears it against the bank account; an unmatched one waits in `unmatched:bank` until an operator decides. A file is checked
as a whole before any of its statements is imported.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from decimal import Decimal
from uuid import UUID

from msgspec import structs

from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.text import Text
from tollhouse.ledger.books.model import (
    Account,
    BankPosting,
    JournalEntry,
    Posting,
    Source,
    bank_account,
    equity,
    expense,
    rail,
    transit,
    unmatched,
)
from tollhouse.ledger.books.post import post, post_platform
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import accounts_store as store
from tollhouse.rails.bank.files.statement import Side, Statement, net_minor
from tollhouse.rails.bank.files.transfer import NAME
from tollhouse.rails.bank.model import AccountKey, BookedAccount, Extension, Outcome
from tollhouse.rails.bank.store import NewEntry, Placed, Waiting

ENTRY, TRANSFER, STATEMENT = "bank_entry", "bank_transfer", "bank_statement"
IN_TRANSIT, UNMATCHED, DISMISSED, OPENING = rail(NAME), unmatched(NAME), equity("dismissed"), equity("bank_opening")
FEE, DIFFERENCE = expense("bank_fee"), expense("bank_difference")
DECISIONS: dict[Outcome, tuple[BankPosting, Account]] = {
    "payment": ("bank_assignment", IN_TRANSIT),
    "payment_return": ("bank_assignment", IN_TRANSIT),
    "payout": ("bank_assignment", IN_TRANSIT),
    "payout_return": ("bank_assignment", IN_TRANSIT),
    "dismissed": ("bank_dismissal", DISMISSED),
    "fee": ("bank_fee", FEE),
    "written_off": ("bank_write_off", DIFFERENCE),
}
"""How a decision on a transfer is posted, and where its money goes."""


def key_of(statement: Statement) -> AccountKey | None:
    """The account of a statement; None if it states no currency and so no amount."""
    return None if statement.currency is None else (statement.iban, statement.currency)


async def lock(tx: Tx, statement: Statement) -> tuple[BookedAccount | None, bool]:
    """The account of a statement, locked, and whether its books begin with this statement. None if it states no amount."""
    new = opened_by(statement)
    if new is None:
        return None, False
    is_new = await store.insert(tx, new)
    return await store.lock(tx, (new.iban, new.currency)), is_new


def opened_by(statement: Statement) -> BookedAccount | None:
    """The account as its first statement finds it. None if the statement has neither a day nor a currency."""
    days = [entry.booked_on for entry in statement.entries]
    first_on = min(days, default=statement.closing_on)
    if statement.currency is None or first_on is None:
        return None
    moved_minor = net_minor(statement.entries)
    opening_minor = 0 if statement.closing_minor is None else statement.closing_minor - moved_minor
    if statement.opening_minor is not None:
        opening_minor = statement.opening_minor
    return BookedAccount(
        iban=statement.iban,
        currency=statement.currency,
        first_opening_minor=opening_minor,
        first_on=first_on,
        balance_minor=opening_minor,
        last_on=first_on,
    )


def ensure_follow(
    statements: Sequence[Statement],
    accounts: Mapping[AccountKey, BookedAccount],
    resumed: Sequence[Statement],
    known: AbstractSet[bytes],
    catalogue: Catalogue,
) -> list[Statement]:
    """The statements of a file in the order in which they are imported.

    `resumed` are those that were imported only in part, and `known` the identities of imported entries. Raises
    `OperatorRefusedError` if a statement is missing, or contradicts those that were imported.
    """
    current, seen = dict(accounts), set(known)
    ordered = _in_order(statements, accounts)
    for statement in ordered:
        key = key_of(statement)
        account = None if key is None else current.get(key) or opened_by(statement)
        if key is not None and account is not None:
            if statement in resumed and account.next_balance_minor is not None:
                current[key] = structs.replace(account, balance_minor=account.next_balance_minor)
            else:
                current[key] = completed(account, statement, extension(account, statement, seen, catalogue))
        seen.update(entry.identity for entry in statement.entries)
    return ordered


def extension(account: BookedAccount, statement: Statement, known: AbstractSet[bytes], catalogue: Catalogue) -> Extension:
    """What a statement adds to the books of its account. Raises `OperatorRefusedError` if it does not follow."""
    new = [entry for entry in statement.entries if entry.identity not in known]
    moved_minor = net_minor(new)
    after_minor = account.balance_minor + moved_minor
    is_whole = len(new) == len(statement.entries)
    opens = not is_whole or not new or statement.opening_minor in {None, account.balance_minor}
    closes = statement.closing_minor in {None, after_minor}
    if not new and (closes or statement.closing_on is None or statement.closing_on <= account.last_on):
        return Extension(account.balance_minor, account.balance_minor, is_earlier=False, is_complete=True)
    if opens and closes:
        return Extension(account.balance_minor, after_minor, is_earlier=False, is_complete=not new)
    last_new_on = max((entry.booked_on for entry in new), default=account.last_on)
    if new and last_new_on <= account.first_on:
        known_start = account.first_opening_minor is None
        if known_start or (is_whole and statement.closing_minor in {None, account.first_opening_minor}):
            before_minor = account.balance_minor - moved_minor
            return Extension(before_minor, account.balance_minor, is_earlier=True, is_complete=False)
        if last_new_on < account.first_on:
            raise _missing_before(account, statement, last_new_on, catalogue)
    if new and last_new_on <= account.last_on:
        raise OperatorRefusedError(
            Text(
                "Statement %(name)s contradicts the statements that were imported until %(last_on)s: they do not have "
                "%(count)s of its entries. Ask the bank which one is right.",
                name=statement.statement_id,
                last_on=account.last_on,
                count=len(new),
            )
        )
    raise _missing(account, statement, min((entry.booked_on for entry in new), default=statement.closing_on), catalogue)


def completed(account: BookedAccount, statement: Statement, added: Extension) -> BookedAccount:
    """The account when all entries of a statement are posted."""
    if added.is_earlier:
        first_on = min(entry.booked_on for entry in statement.entries)
        opening_minor = account.first_opening_minor
        return structs.replace(
            account,
            first_on=first_on,
            first_opening_minor=None if opening_minor is None else opening_minor - (added.after_minor - added.before_minor),
        )
    days = [account.last_on, *(entry.booked_on for entry in statement.entries)]
    last_on = max([*days, statement.closing_on] if statement.closing_on else days)
    return structs.replace(account, balance_minor=added.after_minor, last_on=last_on)


def _in_order(statements: Sequence[Statement], accounts: Mapping[AccountKey, BookedAccount]) -> list[Statement]:
    """By day; those of days before the books began come last and from the newest, since each continues backwards."""
    earlier, later = list[tuple[date, Statement]](), list[tuple[date, Statement]]()
    for statement in statements:
        day = max((entry.booked_on for entry in statement.entries), default=statement.closing_on) or date.min
        key = key_of(statement)
        account = None if key is None else accounts.get(key)
        (earlier if account is not None and day < account.first_on else later).append((day, statement))
    later.sort(key=lambda match: match[0])
    earlier.sort(key=lambda match: match[0], reverse=True)
    return [statement for _, statement in (*later, *earlier)]


def _missing(account: BookedAccount, statement: Statement, until: date | None, catalogue: Catalogue) -> OperatorRefusedError:
    return OperatorRefusedError(
        Text(
            "A statement is missing before %(name)s: the last imported one closed on %(last_on)s with %(balance)s "
            "%(currency)s, from which %(name)s does not continue. Import the statements from %(last_on)s until %(until)s "
            "first.",
            name=statement.statement_id,
            last_on=account.last_on,
            balance=Decimal(catalogue.format_amount(account.balance_minor, account.currency)),
            currency=account.currency,
            until=until or account.last_on,
        )
    )


def _missing_before(account: BookedAccount, statement: Statement, day: date, catalogue: Catalogue) -> OperatorRefusedError:
    return OperatorRefusedError(
        Text(
            "A statement is missing after %(name)s: the first imported one opened on %(first_on)s with %(balance)s "
            "%(currency)s, which is not what %(name)s closed with. Import the statements from %(day)s until %(first_on)s "
            "first, the newest of them first.",
            name=statement.statement_id,
            first_on=account.first_on,
            balance=Decimal(catalogue.format_amount(account.first_opening_minor or 0, account.currency)),
            currency=account.currency,
            day=day,
        )
    )


async def post_entries(work: Work, new: Sequence[NewEntry], iban: str) -> None:
    """Post new entries of an account: their matched transfers clear what is in transit, the others wait."""
    await post_platform(work, [_journal_entry(entry, bank_account(iban)) for entry in new])


async def post_opening(work: Work, iban: str, currency: str, amount_minor: int, statement_id: UUID) -> None:
    """Post the balance with which the books of an account begin, or what it changes by when they begin earlier."""
    if amount_minor == 0:
        return
    side: Side = "credit" if amount_minor > 0 else "debit"
    posting = _posting("bank_opening", side, currency, abs(amount_minor), bank_account(iban), OPENING)
    await post(work, JournalEntry("live", "bank_opening", Source(STATEMENT, statement_id), (posting,)))


async def post_decision(work: Work, part_id: UUID, waiting: Waiting, step: int, placed: Placed) -> None:
    """Move the money of an unmatched transfer to where the decision puts it. `step` numbers its decisions from 1.

    What a returned payout lacks was kept by the banks on its way.
    """
    provider = None if placed.provider_payout is None else placed.provider_payout.rail
    kind, target = _decision(placed.outcome, provider)
    postings = (_posting(kind, waiting.side, waiting.currency, waiting.amount_minor, UNMATCHED, target),)
    if placed.fee_minor:
        postings += (Posting("bank_return_fee", waiting.currency, placed.fee_minor, FEE, IN_TRANSIT),)
    await post(work, JournalEntry("live", kind, Source(TRANSFER, part_id, step), postings))


async def post_reopening(work: Work, part_id: UUID, decided: Waiting, step: int) -> None:
    """Undo the posting of a decision: the transfer is unmatched again."""
    _, target = _decision(decided.outcome, decided.provider)
    posting = _posting("bank_reopening", decided.side, decided.currency, decided.amount_minor, target, UNMATCHED)
    await post(work, JournalEntry("live", "bank_reopening", Source(TRANSFER, part_id, step), (posting,)))


def _decision(outcome: Outcome, provider: str | None) -> tuple[BankPosting, Account]:
    """What a decision posts, and where its money goes: to what the card provider has paid out, if it brings that."""
    return DECISIONS[outcome] if provider is None else ("bank_assignment", transit(provider))


def _journal_entry(new: NewEntry, account: Account) -> JournalEntry:
    entry = new.entry
    matched_minor = sum(
        part.amount_minor for part, placed in zip(entry.parts, new.placed, strict=True) if placed.outcome != "unmatched"
    )
    postings = tuple(
        _posting("bank_entry", entry.side, entry.currency, amount_minor, account, other)
        for amount_minor, other in ((matched_minor, IN_TRANSIT), (entry.amount_minor - matched_minor, UNMATCHED))
        if amount_minor
    )
    return JournalEntry("live", "bank_entry", Source(ENTRY, new.id), postings)


def _posting(kind: BankPosting, side: Side, currency: str, amount_minor: int, ours: Account, other: Account) -> Posting:
    """A credit of the bank is debited to our account, since the bank's books are the mirror image."""
    debit, credit = (ours, other) if side == "credit" else (other, ours)
    return Posting(kind, currency, amount_minor, debit, credit)
