"""Import bank statements: match each transfer of a new entry, or leave it unmatched for an operator."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC
from uuid import UUID

from tollhouse.approvals import rules
from tollhouse.approvals.model import OperatorContext
from tollhouse.bank import payouts, store
from tollhouse.bank.model import BankPorts, BankRefusedError, Decided, Doing, Imported, Outcome
from tollhouse.bank.store import Placed
from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.bank_codes import creditor_references, parse_iban
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text, as_text
from tollhouse.kernel.zones import midnight
from tollhouse.outgoing import pauses
from tollhouse.platform.db import Tx
from tollhouse.rails.bank.statement import Entry, Part, Statement, read
from tollhouse.rails.bank.transfer import BankAccount
from tollhouse.rails.bank.xml import UnreadableStatementError
from tollhouse.rails.provider import Observation, Payer

DECISIONS: Mapping[Outcome, Doing] = {"dismissed": "transfer_dismissed", "payout": "transfer_matched"}


async def import_file(
    raw: bytes, account: BankAccount | None, ports: BankPorts, context: OperatorContext, services: Services
) -> Imported:
    """Import the new entries of a file of statements. Raises `BankRefusedError` if it is not of this account.

    Each entry is a transaction of its own: an import that is cut off has done what it did, and is finished by the next.
    """
    statements = await asyncio.to_thread(_statements, raw, account, services.catalogue)  # parsing a large file takes seconds

    async def keep_all(work: Work) -> list[tuple[UUID, bool]]:
        await pauses.pause_if_copied(work.tx, context.at)
        await payouts.gather(work.tx, ports, context.at)  # a restored database may have missed that one left
        return [await _keep(work, one, ports, context) for one in statements]

    stored = await services.transact(keep_all, context.at, OPERATOR)
    new, known, placed = 0, 0, list[Placed]()
    for statement, (statement_id, _) in zip(statements, stored, strict=True):
        for entry in sorted(statement.entries, key=lambda one: one.undoes):  # entries before their reversals

            async def action(work: Work, entry: Entry = entry, statement_id: UUID = statement_id) -> list[Placed] | None:
                return await _take(work, entry, statement_id, ports)

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
    unmatched = sum(one.outcome == "unmatched" for one in placed)
    return Imported(sum(is_new for _, is_new in stored), new, known, len(placed) - unmatched, unmatched)


async def assign(work: Work, part_id: UUID, reference: str, ports: BankPorts, context: OperatorContext) -> Decided:
    """Assign an unmatched transfer to the payment with this reference. Raises `BankRefusedError`."""
    waiting = await _hold_waiting(work.tx, part_id)
    names = creditor_references(reference)
    if len(names) != 1:
        raise BankRefusedError(
            Text(
                "%(reference)s is not a reference of a payment. Enter RF followed by digits, as shown at checkout.",
                reference=reference,
            )
        )
    if waiting.side != "credit":
        raise BankRefusedError("An outgoing transfer cannot be assigned to a payment.")
    [name] = names
    owner = await ports.owner(work.tx, name)
    if owner is None:
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=name))
    await rules.ensure_independent(work.tx, owner, context.reviewer)
    seen = Observation(
        reference=name,
        outcome="confirmed",
        external_ref=f"{waiting.identity.hex()}/{waiting.nth}",
        amount_minor=waiting.amount_minor,
        currency=waiting.currency,
        payer=_payer(waiting.other_iban, waiting.other_name),
        sent_at=waiting.sent_at,
        arrived_at=midnight(waiting.booked_on, UTC),
    )
    if not await ports.observe(work, seen):
        raise BankRefusedError(Text("No payment has the reference %(name)s.", name=name))
    return await _decide(work, part_id, Placed("payment", reference=name), ports, context)


async def dismiss(work: Work, part_id: UUID, ports: BankPorts, context: OperatorContext) -> Decided:
    """Dismiss an unmatched transfer that concerns no merchant, such as a bank fee. Raises `BankRefusedError`."""
    await _hold_waiting(work.tx, part_id)
    return await _decide(work, part_id, Placed("dismissed"), ports, context)


async def match(
    work: Work, part_id: UUID, payout_ids: Sequence[UUID], ports: BankPorts, context: OperatorContext
) -> Decided:
    """Match an unmatched debit to prepared payouts whose export is unknown: these, or the one with its ID.

    Raises `BankRefusedError` unless they are prepared and add up to the transfer.
    """
    waiting = await _hold_waiting(work.tx, part_id)
    if waiting.side != "debit":
        raise BankRefusedError("Only an outgoing transfer can be matched to a payout.")
    wanted = payout_ids or payouts.id_of(waiting.end_to_end_id)
    if not wanted:
        raise BankRefusedError("The transfer has no payout ID. Name the payouts that it paid.")
    await payouts.gather(work.tx, ports, context.at)
    try:
        placed = await payouts.match(work, wanted, (waiting.currency, waiting.amount_minor), ports)
    except ApiError as lost:
        raise BankRefusedError(as_text(lost.message)) from None
    return await _decide(work, part_id, placed, ports, context)


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


async def _keep(work: Work, statement: Statement, ports: BankPorts, context: OperatorContext) -> tuple[UUID, bool]:
    """The id of a statement, and whether it is new. Importing it again is not recorded as an action."""
    statement_id, is_new = await store.keep_statement(work.tx, statement, context)
    if is_new:
        await ports.keep(work, context, "statement_imported", statement_id, None)
    return statement_id, is_new


async def _take(work: Work, entry: Entry, statement_id: UUID, ports: BankPorts) -> list[Placed] | None:
    """Insert an entry and match its transfers; None if the entry is known."""
    entry_id = await store.keep_entry(work.tx, entry, statement_id)
    if entry_id is None:
        return None
    found: list[Placed] = []
    for nth, part in enumerate(entry.parts):
        placed = await _place(work, entry, nth, ports)
        await store.keep_part(work.tx, new_id(), entry_id, nth, part, placed)
        found.append(placed)
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
    seen = Observation(
        reference=name,
        outcome="confirmed",
        external_ref=f"{entry.identity.hex()}/{nth}",
        amount_minor=part.amount_minor,
        currency=entry.currency,
        payer=_payer(part.other_iban, part.other_name),
        sent_at=part.sent_at,
        arrived_at=midnight(entry.booked_on, UTC),
    )
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


def _payer(iban: str | None, name: str | None) -> Payer | None:
    account = None if iban is None else parse_iban(iban)
    return None if account is None else Payer(account, name)


async def _hold_waiting(tx: Tx, part_id: UUID) -> store.Waiting:
    waiting = await store.hold_part(tx, part_id)
    if waiting is None:
        raise BankRefusedError(Text("There is no transfer %(part_id)s.", part_id=part_id))
    if waiting.outcome != "unmatched":
        raise BankRefusedError(
            Text("Transfer %(part_id)s is already matched: %(outcome)s.", part_id=part_id, outcome=as_text(waiting.outcome))
        )
    return waiting


async def _decide(work: Work, part_id: UUID, placed: Placed, ports: BankPorts, context: OperatorContext) -> Decided:
    if not await store.decide(work.tx, part_id, placed, context, context.at):
        raise AssertionError("a locked transfer does not change")
    action_id = await ports.keep(work, context, DECISIONS.get(placed.outcome, "transfer_assigned"), part_id, None)
    return Decided(part_id, placed.outcome, context.operator, context.reason or "", stamp(context.at), action_id)
