"""The steps of an import, each a transaction: read and check a file, begin a statement, import its next entries."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import Struct, structs

from tollhouse.accounts.approvals import record, rules
from tollhouse.accounts.approvals.model import Decision, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import creditor_references
from tollhouse.kernel.errors import ApiError, TemporarilyUnavailable
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Observation
from tollhouse.kernel.text import Text, as_text
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import accounts, accounts_store, imports_store, payments, payouts, store
from tollhouse.rails.bank.files.camt import StatementReader
from tollhouse.rails.bank.files.statement import (
    Entry,
    Part,
    ReadEntry,
    Repeat,
    Statement,
    StatusReport,
    has_balances,
    page_groups,
)
from tollhouse.rails.bank.files.transfer import BankAccount
from tollhouse.rails.bank.files.xml import UnreadableStatementError
from tollhouse.rails.bank.imports_store import FileImport, QueuedStatement, Step
from tollhouse.rails.bank.payments import observe_transfer
from tollhouse.rails.bank.store import NewEntry, Placed
from tollhouse.transfers.gate import gate

UNDOING = 2**32
"""Added to the place of an entry that undoes an earlier transfer: it is imported after all others of its statement."""
ENTRIES_MAX, MATCHES_MAX = 200, 10
"""How many entries a transaction imports, and how many of them may have matched: these lock balances of merchants."""


NO_PAYOUT = "The bank debited a transfer that has neither the ID of a payout nor a payment reference."
DOUBTFUL = (
    Placed(
        "unmatched", reason="Another entry of this day has the same bank reference. Ask the bank whether both are right."
    ),
)
UNCONFIRMED = (
    "The file has a statement without opening or closing balance, which could have been changed unnoticed. It is imported "
    "when two operators have confirmed it on the page of the import."
)


class EntryRefusedError(OperatorRefusedError):
    """An entry cannot be imported. Nothing of its transaction was."""


class Begun(Struct, frozen=True):
    """A statement whose import has begun. `is_complete`: all its entries were imported before."""

    statement_id: UUID
    is_new: bool
    is_complete: bool


async def take_step(work: Work, import_id: UUID, account: BankAccount | None, entries_max: int = ENTRIES_MAX) -> bool:
    """Take the next step of an import. False if it has ended, or somebody else is taking it.

    Raises `OperatorRefusedError` if the file cannot be imported, and `EntryRefusedError` if an entry cannot.
    """
    current = await imports_store.lock(work.tx, import_id)
    if current is None:
        return False
    if current.status == "uploaded":
        await _read(work, current, account)
        return True
    queued = await imports_store.queued_statement(work.tx, import_id, current.statement)
    if queued is None:
        await imports_store.end(work.tx, import_id, "imported", None, work.now)
    elif current.statement_id is None:
        await _begin_next(work, current)
    else:
        await _import_entries(work, current, queued, current.statement_id, entries_max)
    return True


async def _read(work: Work, current: FileImport, account: BankAccount | None) -> None:
    """Read a file from its pieces, store its entries, and check all of it before anything is imported."""
    if account is None:
        raise OperatorRefusedError("No bank account is configured. Set TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER.")
    currencies = work.services.catalogue.currencies
    reader, nth = StatementReader({code: currency.decimals for code, currency in currencies.items()}), 0
    try:
        while (piece := await imports_store.piece(work.tx, current.id, nth)) is not None:
            numbers, places, contents = await asyncio.to_thread(_read_piece, reader, piece)
            if numbers:
                await imports_store.insert_entries(work.tx, current.id, numbers, places, contents)
            nth += 1
        statements = reader.close()
    except UnreadableStatementError as error:
        raise OperatorRefusedError(error.message) from None
    if foreign := next((read.iban for read in statements if read.iban != account.iban), None):
        raise OperatorRefusedError(
            Text("The statement is for the account %(foreign)s, not for %(iban)s.", foreign=foreign, iban=account.iban)
        )
    if reader.report is not None:
        await _apply_report(work, current, reader.report)
        return
    if reader.kind == "notification":
        await _announce(work, current, statements)
        return
    await imports_store.delete_entries(
        work.tx, current.id, [(entry.statement, _place_of(entry)) for entry in reader.dropped]
    )
    if current.confirmed_at is None and await _needs_confirmation(work.tx, statements):
        await _set_aside(work, current)
        return
    ordered = await _check(work, statements)
    numbers = {id(statement): number for number, statement in enumerate(statements)}
    for position, statement in enumerate(ordered):
        await imports_store.insert_statement(work.tx, current.id, position, numbers[id(statement)], statement)
    await imports_store.start(work.tx, current.id, sum(len(read.entries) for read in statements))


async def _apply_report(work: Work, current: FileImport, report: StatusReport) -> None:
    """End what the bank has rejected."""
    context = OperatorContext(current.uploaded_by, work.now)
    ended, unchanged = await payments.apply_report(work, report, context)
    await imports_store.set_kind(work.tx, current.id, "report", 0)
    step = Step(statement=0, statement_id=None, next_entry=0, matched=ended, unmatched=unchanged)
    await imports_store.advance(work.tx, current.id, step)
    await imports_store.end(work.tx, current.id, "imported", None, work.now)


async def _announce(work: Work, current: FileImport, notifications: Sequence[Statement]) -> None:
    """Keep the entries of notifications. They move no money."""
    new = transfers = 0
    for number, notification in enumerate(notifications):
        place = 0
        while found := await imports_store.entries(work.tx, current.id, number, place, ENTRIES_MAX):
            place = found[-1][0] + 1
            entries = [entry for _, entry in found]
            new += await imports_store.announce(work.tx, notification.iban, entries, work.now)
            transfers += sum(len(entry.parts) for entry in entries)
    await imports_store.set_kind(work.tx, current.id, "notification", transfers)
    step = Step(statement=0, statement_id=None, next_entry=0, new_entries=new, known_entries=transfers - new)
    await imports_store.advance(work.tx, current.id, step)
    await imports_store.end(work.tx, current.id, "imported", None, work.now)


async def _needs_confirmation(tx: Tx, statements: Sequence[Statement]) -> bool:
    """Whether a statement has new entries that no balances prove."""
    known = await _known(tx, statements)
    return any(
        entry.identity not in known
        for numbers in page_groups(statements)
        if not has_balances([statements[number] for number in numbers])
        for number in numbers
        for entry in statements[number].entries
    )


async def _set_aside(work: Work, current: FileImport) -> None:
    """Keep a file until operators have confirmed it. Uploading it on the pages is the first of two approvals."""
    await imports_store.set_aside(work.tx, current.id, UNCONFIRMED, work.now)
    if work.services.settings.two_operators and not current.on_command_line:
        context = OperatorContext(current.uploaded_by, current.uploaded_at)
        await rules.approve_decision(work, confirmation_of(current.id), context)


def confirmation_of(import_id: UUID) -> Decision:
    """The decision that a file without balances is imported."""
    return Decision("statements", import_id, "without balances")


def _place_of(entry: ReadEntry | Repeat) -> int:
    undoes = entry.undoes if isinstance(entry, Repeat) else entry.entry.undoes
    return entry.nth + UNDOING if undoes else entry.nth


def _read_piece(reader: StatementReader, piece: bytes) -> tuple[list[int], list[int], list[bytes]]:
    """The entries that end in a piece: the numbers of their statements, their places, and what they say."""
    found: list[ReadEntry] = reader.feed(piece)
    return (
        [entry.statement for entry in found],
        [_place_of(entry) for entry in found],
        [msgspec.msgpack.encode(entry.entry) for entry in found],
    )


async def _check(work: Work, statements: Sequence[Statement]) -> list[Statement]:
    """The statements of a file in the order of import. Raises `OperatorRefusedError` if they do not continue the books."""
    await gate.pause_if_copied(work.tx, work.now)
    await payouts.prepare_accepted(work.tx, work.now)  # a restored database may have missed that one left
    booked = await accounts_store.list_all(work.tx)
    unfinished = {earlier.importing_id for earlier in booked.values() if earlier.importing_id is not None}
    resumed = (
        [statement for statement in statements if await store.find_statement(work.tx, statement) in unfinished]
        if unfinished
        else []
    )
    known = await _known(work.tx, statements)
    return accounts.ensure_follow(statements, booked, resumed, known, work.services.catalogue)


async def _begin_next(work: Work, current: FileImport) -> None:
    """Begin the next statement, or pass over it if all its entries are known."""
    statement = await imports_store.content(work.tx, current.id, current.statement)
    context = OperatorContext(current.uploaded_by, current.uploaded_at)
    begun = await _begin(work, statement, context)
    position = current.statement + begun.is_complete
    step = Step(
        statement=position,
        statement_id=None if begun.is_complete else begun.statement_id,
        next_entry=0,
        statements=int(begun.is_new),
        known_entries=len(statement.entries) if begun.is_complete else 0,
    )
    await imports_store.advance(work.tx, current.id, step)


async def _begin(work: Work, statement: Statement, context: OperatorContext) -> Begun:
    """Insert a statement that continues the books of its account, or continue one that was imported in part.

    Raises `OperatorRefusedError`, also while another one was imported only in part.
    """
    account, is_opened = await accounts.lock(work.tx, statement)
    known = await _known(work.tx, [statement])
    if account is not None and account.importing_id is not None:
        if await store.find_statement(work.tx, statement) == account.importing_id:
            return Begun(account.importing_id, is_new=False, is_complete=False)
        if all(entry.identity in known for entry in statement.entries):
            return Begun(*await _keep(work, statement, context), is_complete=True)
        raise OperatorRefusedError(
            Text(
                "Statement %(name)s was imported only in part. Import its file again first.",
                name=await accounts_store.statement_name(work.tx, account.importing_id),
            )
        )
    added = None if account is None else accounts.extension(account, statement, known, work.services.catalogue)
    # Nothing below this line may refuse.
    statement_id, is_new = await _keep(work, statement, context)
    if account is None or added is None:
        return Begun(statement_id, is_new, is_complete=True)
    if is_opened:
        await accounts.post_opening(work, account.iban, account.currency, account.balance_minor, statement_id)
    if added.is_earlier:
        earlier_minor = added.before_minor - added.after_minor
        await accounts.post_opening(work, account.iban, account.currency, earlier_minor, statement_id)
    following = accounts.completed(account, statement, added)
    is_newest = not added.is_complete or statement.closing_minor == added.after_minor
    if is_new and is_newest and not added.is_earlier:
        following = structs.replace(following, last_statement_id=statement_id)
    if not added.is_complete:
        following = structs.replace(
            following, balance_minor=added.before_minor, importing_id=statement_id, next_balance_minor=added.after_minor
        )
    await accounts_store.update(work.tx, following)
    return Begun(statement_id, is_new, added.is_complete)


async def _keep(work: Work, statement: Statement, context: OperatorContext) -> tuple[UUID, bool]:
    """The id of a statement, and whether it is new. Importing it again is not recorded as an action."""
    statement_id, is_new = await store.keep_statement(work.tx, statement, context)
    if is_new:
        await record.record_action(work, context, "statement_imported", None, subject_id=statement_id)
    return statement_id, is_new


async def _import_entries(
    work: Work, current: FileImport, queued: QueuedStatement, statement_id: UUID, entries_max: int
) -> None:
    """Match the transfers of the next entries, then insert and post these."""
    found = await imports_store.entries(work.tx, current.id, queued.number, current.next_entry, entries_max)
    known = await accounts_store.known_entries(work.tx, [entry for _, entry in found])
    doubtful = await store.find_doubtful(work.tx, queued.iban, [entry for _, entry in found])
    new, next_entry, matches = list[NewEntry](), current.next_entry, 0
    for place, entry in found:
        if matches == MATCHES_MAX:
            break
        next_entry = place + 1
        if entry.identity not in known:
            placed = DOUBTFUL * len(entry.parts) if entry.identity in doubtful else await _match(work, entry, queued, place)
            new.append(NewEntry(new_id(), entry, placed))
            matches += any(placed.outcome != "unmatched" for placed in new[-1].placed)
    await store.insert_entries(work.tx, new, statement_id)
    await accounts.post_entries(work, new, queued.iban)
    done = sum(place < next_entry for place, _ in found)
    is_last = done == len(found) < entries_max
    if is_last:
        await _complete(work, queued, statement_id)
    unmatched = sum(placed.outcome == "unmatched" for entry in new for placed in entry.placed)
    step = Step(
        statement=current.statement + is_last,
        statement_id=None if is_last else statement_id,
        next_entry=0 if is_last else next_entry,
        new_entries=len(new),
        known_entries=done - len(new),
        matched=sum(len(entry.placed) for entry in new) - unmatched,
        unmatched=unmatched,
    )
    await imports_store.advance(work.tx, current.id, step)


async def _match(work: Work, entry: Entry, queued: QueuedStatement, place: int) -> tuple[Placed, ...]:
    """The outcomes of the transfers of an entry. Raises `EntryRefusedError`, which names it."""
    try:
        return tuple([await _match_part(work, entry, nth) for nth in range(len(entry.parts))])
    except TemporarilyUnavailable:
        raise
    except ApiError as lost:
        raise EntryRefusedError(
            Text(
                "Entry %(nth)s of statement %(name)s, booked on %(booked_on)s, could not be imported: %(message)s "
                "The entries before it were imported.",
                nth=place % UNDOING + 1,
                name=queued.name,
                booked_on=entry.booked_on,
                message=as_text(lost.message),
            )
        ) from lost


async def _complete(work: Work, queued: QueuedStatement, statement_id: UUID) -> None:
    """Record that all entries of a statement are posted."""
    account = None if queued.currency is None else await accounts_store.lock(work.tx, (queued.iban, queued.currency))
    if account is None or account.importing_id != statement_id or account.next_balance_minor is None:
        return
    complete = structs.replace(account, balance_minor=account.next_balance_minor, importing_id=None, next_balance_minor=None)
    await accounts_store.update(work.tx, complete)


async def _known(tx: Tx, statements: Sequence[Statement]) -> set[bytes]:
    return await accounts_store.known_entries(tx, [entry for statement in statements for entry in statement.entries])


async def _match_part(work: Work, entry: Entry, nth: int) -> Placed:
    """Match by the payout's id, which the bank returns, else by the reference shown to the customer."""
    part = entry.parts[nth]
    of_payout = await payouts.match_transfer(work, entry, part)
    if of_payout is not None:
        return of_payout
    names = _references(part)
    if len(names) != 1:
        missing = NO_PAYOUT if entry.side == "debit" else "The transfer has no payment reference."
        return Placed("unmatched", reason="The transfer has more than one payment reference." if names else missing)
    [name] = names
    seen = observe_transfer(name, part, identity=entry.identity, nth=nth, currency=entry.currency, booked_on=entry.booked_on)
    undoes = entry.is_reversal or part.return_reason is not None
    if entry.side == "debit":
        reason = await _take_back(work, seen, undoes=undoes)
        return Placed("payment_return", name) if reason is None else Placed("unmatched", name, reason=reason)
    if undoes:
        return Placed("unmatched", name, reason="The bank returned a transfer that Tollhouse did not send.")
    observed = await payments.observe(work, seen)
    return Placed("payment", name) if observed else Placed("unmatched", name, reason="No payment has this reference.")


async def _take_back(work: Work, seen: Observation, *, undoes: bool) -> str | None:
    """Take money of a payment back. Why it is not taken back, or None."""
    if not undoes:
        return "The bank debited a transfer with the reference of a payment, which it does not mark as a return."
    if await payments.owner(work.tx, seen.reference) is None:
        return "No payment has this reference."
    if await payments.reverse_payment(work, seen):
        return None
    return "The returned amount exceeds what is left of the payment with this reference."


def _references(part: Part) -> set[str]:
    """The structured reference, else references in the other texts."""
    names = creditor_references(part.structured)
    if len(names) == 1:
        return names
    return names | creditor_references(part.unstructured) | creditor_references(part.end_to_end_id or "")
