"""Bank accounts in the books: statements must follow each other, so that the ledger has the balance that the bank states.

Everything here but `lock` is arithmetic: a file is checked as a whole before any of its statements is imported.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from decimal import Decimal

from msgspec import structs

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.text import Text
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import accounts_store as store
from tollhouse.rails.bank.files.statement import EntryHead, Statement
from tollhouse.rails.bank.model import AccountKey, BankRefusedError, BookedAccount, Extension


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
    `BankRefusedError` if a statement is missing, or contradicts those that were imported.
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
    """What a statement adds to the books of its account. Raises `BankRefusedError` if it does not follow."""
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
        raise BankRefusedError(
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


def net_minor(entries: Sequence[EntryHead]) -> int:
    """What entries add to the balance, negative if they take from it."""
    return sum(one.amount_minor if one.side == "credit" else -one.amount_minor for one in entries)


def _in_order(statements: Sequence[Statement], accounts: Mapping[AccountKey, BookedAccount]) -> list[Statement]:
    """By day; those of days before the books began come last and from the newest, since each continues backwards."""
    earlier, later = list[tuple[date, Statement]](), list[tuple[date, Statement]]()
    for statement in statements:
        day = max((entry.booked_on for entry in statement.entries), default=statement.closing_on) or date.min
        key = key_of(statement)
        account = None if key is None else accounts.get(key)
        (earlier if account is not None and day < account.first_on else later).append((day, statement))
    later.sort(key=lambda one: one[0])
    earlier.sort(key=lambda one: one[0], reverse=True)
    return [statement for _, statement in (*later, *earlier)]


def _missing(account: BookedAccount, statement: Statement, until: date | None, catalogue: Catalogue) -> BankRefusedError:
    return BankRefusedError(
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


def _missing_before(account: BookedAccount, statement: Statement, day: date, catalogue: Catalogue) -> BankRefusedError:
    return BankRefusedError(
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
