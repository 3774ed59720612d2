"""Import bank statements: match each transfer of a new entry, or leave it unmatched for an operator."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from msgspec import Struct, structs

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank import accounts, accounts_store, books, payouts, store
from tollhouse.bank.model import BankPorts, BankRefusedError, Imported
from tollhouse.bank.observations import observe_transfer
from tollhouse.bank.store import Placed
from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.bank_codes import creditor_references
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text, as_text
from tollhouse.outgoing import pauses
from tollhouse.platform.db import Tx
from tollhouse.rails.bank.statement import Entry, Part, Statement, read
from tollhouse.rails.bank.transfer import BankAccount
from tollhouse.rails.bank.xml import UnreadableStatementError


class Begun(Struct, frozen=True):
    """A statement whose import has begun. `is_complete`: all its entries were imported before."""

    statement_id: UUID
    is_new: bool
    is_complete: bool


async def import_file(
    raw: bytes, account: BankAccount | None, ports: BankPorts, context: OperatorContext, services: Services
) -> Imported:
    """Import the new entries of a file of statements.

    Raises `BankRefusedError` if it is not of this account, or does not continue what was imported. Each entry is a
    transaction of its own: an import that is cut off has done what it did, and is finished by importing the file again.
    """
    statements = await asyncio.to_thread(_statements, raw, account, services.catalogue)  # parsing a large file takes seconds

    async def check(work: Work) -> list[Statement]:
        await pauses.pause_if_copied(work.tx, context.at)
        await payouts.gather(work.tx, ports, context.at)  # a restored database may have missed that one left
        booked = await accounts_store.list_all(work.tx)
        unfinished = {one.importing_id for one in booked.values() if one.importing_id is not None}
        resumed = [one for one in statements if await store.find_statement(work.tx, one) in unfinished] if unfinished else []
        known = await _known(work.tx, statements)
        return accounts.ensure_follow(statements, booked, resumed, known, services.catalogue)

    total = Imported(0, 0, 0, 0, 0)
    for statement in await services.transact(check, context.at, OPERATOR):
        total = total.plus(await _import(statement, ports, context, services))
    return total


async def _import(statement: Statement, ports: BankPorts, context: OperatorContext, services: Services) -> Imported:
    """Import one statement, the entries before their reversals."""
    begun = await services.transact(lambda work: _begin(work, statement, ports, context), context.at, OPERATOR)
    if begun.is_complete:
        return Imported(int(begun.is_new), 0, len(statement.entries), 0, 0)
    new, known, placed = 0, 0, list[Placed]()
    for entry in sorted(statement.entries, key=lambda one: one.undoes):

        async def action(work: Work, entry: Entry = entry) -> list[Placed] | None:
            return await _take(work, entry, statement.iban, begun.statement_id, ports)

        try:
            result = await services.transact(action, context.at, OPERATOR)
        except ApiError as lost:
            raise BankRefusedError(
                Text(
                    "An entry of %(booked_on)s could not be imported: %(message)s The entries before it were imported.",
                    booked_on=entry.booked_on,
                    message=as_text(lost.message),
                )
            ) from lost
        known += result is None
        new += result is not None
        placed += result or []
    await services.transact(lambda work: _complete(work, statement, begun.statement_id), context.at, OPERATOR)
    unmatched = sum(one.outcome == "unmatched" for one in placed)
    return Imported(int(begun.is_new), new, known, len(placed) - unmatched, unmatched)


def _statements(raw: bytes, account: BankAccount | None, catalogue: Catalogue) -> list[Statement]:
    if account is None:
        raise BankRefusedError("No bank account is configured. Set TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER.")
    try:
        statements = read(raw, {code: currency.decimals for code, currency in catalogue.currencies.items()})
    except UnreadableStatementError as error:
        raise BankRefusedError(error.message) from None
    if foreign := next((one.iban for one in statements if one.iban != account.iban), None):
        raise BankRefusedError(
            Text("The statement is for the account %(foreign)s, not for %(iban)s.", foreign=foreign, iban=account.iban)
        )
    return statements


async def _begin(work: Work, statement: Statement, ports: BankPorts, context: OperatorContext) -> Begun:
    """Insert a statement that continues the books of its account.

    Raises `BankRefusedError`. Two imports of one statement go on side by side; another one waits until it is complete.
    """
    account, is_opened = await accounts.lock(work.tx, statement)
    known = await _known(work.tx, [statement])
    if account is not None and account.importing_id is not None:
        if await store.find_statement(work.tx, statement) == account.importing_id:
            return Begun(account.importing_id, is_new=False, is_complete=False)
        if all(entry.identity in known for entry in statement.entries):
            return Begun(*await _keep(work, statement, ports, context), is_complete=True)
        raise BankRefusedError(
            Text(
                "Statement %(name)s was imported only in part. Import its file again first.",
                name=await accounts_store.statement_name(work.tx, account.importing_id),
            )
        )
    added = None if account is None else accounts.extension(account, statement, known, work.services.catalogue)
    # Nothing below this line may refuse.
    statement_id, is_new = await _keep(work, statement, ports, context)
    if account is None or added is None:
        return Begun(statement_id, is_new, is_complete=True)
    if is_opened:
        await books.post_opening(work, account.iban, account.currency, account.balance_minor, statement_id)
    if added.is_earlier:
        earlier_minor = added.before_minor - added.after_minor
        await books.post_opening(work, account.iban, account.currency, earlier_minor, statement_id)
    following = accounts.completed(account, statement, added)
    is_newest = not added.is_complete or statement.closing_minor == added.after_minor
    if is_new and is_newest and not added.is_earlier:
        following = structs.replace(following, last_statement_id=statement_id)
    if not added.is_complete:
        following = structs.replace(
            following,
            balance_minor=added.before_minor,
            importing_id=statement_id,
            next_balance_minor=added.after_minor,
        )
    await accounts_store.update(work.tx, following)
    return Begun(statement_id, is_new, added.is_complete)


async def _keep(work: Work, statement: Statement, ports: BankPorts, context: OperatorContext) -> tuple[UUID, bool]:
    """The id of a statement, and whether it is new. Importing it again is not recorded as an action."""
    statement_id, is_new = await store.keep_statement(work.tx, statement, context)
    if is_new:
        await ports.keep(work, context, "statement_imported", statement_id, None)
    return statement_id, is_new


async def _complete(work: Work, statement: Statement, statement_id: UUID) -> None:
    """Record that all entries of a statement are posted, unless another import of it was faster."""
    account, _ = await accounts.lock(work.tx, statement)
    if account is None or account.importing_id != statement_id or account.next_balance_minor is None:
        return
    complete = structs.replace(account, balance_minor=account.next_balance_minor, importing_id=None, next_balance_minor=None)
    await accounts_store.update(work.tx, complete)


async def _known(tx: Tx, statements: Sequence[Statement]) -> set[bytes]:
    identities = [entry.identity for statement in statements for entry in statement.entries]
    return await accounts_store.known_identities(tx, identities)


async def _take(work: Work, entry: Entry, iban: str, statement_id: UUID, ports: BankPorts) -> list[Placed] | None:
    """Insert an entry, match its transfers and post it; None if the entry is known."""
    entry_id = await store.keep_entry(work.tx, entry, statement_id)
    if entry_id is None:
        return None
    found: list[Placed] = []
    for nth, part in enumerate(entry.parts):
        placed = await _place(work, entry, nth, ports)
        await store.keep_part(work.tx, new_id(), entry_id, nth, part, placed)
        found.append(placed)
    await books.post_entry(work, entry, entry_id, iban, found)
    return found


async def _place(work: Work, entry: Entry, nth: int, ports: BankPorts) -> Placed:
    """Match by the payout's id, which the bank returns, else by the reference shown to the customer."""
    part = entry.parts[nth]
    of_payout = await payouts.place(work, entry, part, ports)
    if of_payout is not None:
        return of_payout
    names = _references(part)
    if len(names) != 1:
        return Placed(
            "unmatched",
            reason="The transfer has more than one payment reference."
            if names
            else "The transfer has no payment reference.",
        )
    [name] = names
    seen = observe_transfer(name, part, identity=entry.identity, nth=nth, currency=entry.currency, booked_on=entry.booked_on)
    undoes = entry.is_reversal or part.return_reason is not None
    if entry.side == "debit":
        taken_back = undoes and await ports.take_back(work, seen)
        reason = "The returned amount exceeds what is left of the payment with this reference."
        return Placed("payment_return", name) if taken_back else Placed("unmatched", name, reason=reason)
    if undoes:
        return Placed("unmatched", name, reason="The bank returned a transfer that Tollhouse did not send.")
    observed = await ports.observe(work, seen)
    return Placed("payment", name) if observed else Placed("unmatched", name, reason="No payment has this reference.")


def _references(part: Part) -> set[str]:
    """The structured reference, else references in the other texts."""
    names = creditor_references(part.structured)
    if len(names) == 1:
        return names
    return names | creditor_references(part.unstructured) | creditor_references(part.end_to_end_id or "")
