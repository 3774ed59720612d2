"""Pausing payouts, and resuming them when the bank's statements show what left after the backup of a restored database."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Work
from tollhouse.kernel.bank_codes import is_bank_day
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Text, Translatable
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import accounts_store
from tollhouse.rails.bank.files.transfer import BankAccount
from tollhouse.rails.batches.actions import record_decision
from tollhouse.rails.batches.model import Decided
from tollhouse.transfers.gate import gate, pauses_store
from tollhouse.transfers.gate.model import Pause


async def pause(work: Work, context: OperatorContext) -> Decided:
    """Pause payouts until an operator resumes them."""
    new = Pause(new_id(), "operator", None, context.at, context.operator, context.reason or "")
    await pauses_store.insert(work.tx, new)
    return await record_decision(work, context, "payouts_paused", new.id, "payouts_paused")


async def resume(
    work: Work,
    account: BankAccount | None,
    context: OperatorContext,
    *,
    is_complete: bool = False,
    seen: frozenset[UUID] | None = None,
) -> Decided:
    """End all open pauses. Raises `OperatorRefusedError` until the statements since the backup are imported and decided.

    `is_complete`: the operator states that nothing was exported after the backup, such as when the service was stopped
    before. Then no statement is required. `seen`: the pauses that the operator has seen, if there may be others by now.
    """
    await gate.pause_if_copied(work.tx, context.at)  # a command may be the first to see the database
    pauses = await pauses_store.lock_open(work.tx)
    if not pauses:
        raise OperatorRefusedError("Payouts are not paused.")
    if seen is not None and seen != frozenset(held.id for held in pauses):
        raise OperatorRefusedError("The pauses have changed. Check them again.")
    if not is_complete and (missing := await list_missing(work.tx, account, pauses)):
        raise OperatorRefusedError(missing[0])
    # Nothing below this line may refuse.
    await pauses_store.resume(work.tx, [held.id for held in pauses], context.at, context.operator, context.reason or "")
    return await record_decision(work, context, "payouts_resumed", pauses[0].id, "payouts_resumed")


async def list_missing(tx: Tx, account: BankAccount | None, pauses: Sequence[Pause]) -> list[Translatable]:
    """What is required before these pauses can end: statements since the backup, and decisions about their entries."""
    found: list[Translatable] = []
    for open_pause in pauses:
        if open_pause.data_until is not None:
            found += await _list_missing_since(tx, account, open_pause.data_until, open_pause.paused_at)
    return list(dict.fromkeys(found))


async def _list_missing_since(
    tx: Tx, account: BankAccount | None, data_until: datetime, paused_at: datetime
) -> list[Translatable]:
    """What is missing of all entries from the day of the backup until after the restore.

    A file that was exported until the restore is executed on the next banking day at the latest.
    """
    if account is None:  # perhaps only here: a shell may lack the settings of the service
        return ["No bank account is configured. Set TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER."]
    first = data_until.astimezone(UTC).date()
    last = paused_at.astimezone(UTC).date() + timedelta(days=1)
    while not is_bank_day(last):
        last += timedelta(days=1)
    found: list[Translatable] = []
    newest = await accounts_store.newest_closing(tx, account.iban, paused_at)
    if newest is None or newest.on < last:
        found.append(Text("Import the statements from %(first)s until %(last)s, after the restore.", first=first, last=last))
    else:
        base = await accounts_store.base_closing(tx, account.iban, first)
        if base is not None and await _has_gap(tx, account, base, newest):
            found.append(
                Text(
                    "A statement between %(first)s and %(last)s is missing: its entries do not add up to the last balance.",
                    first=base.on,
                    last=newest.on,
                )
            )
    count = await accounts_store.undecided_debits(tx, first)
    if count:
        found.append(
            Text(
                "Decide the unmatched outgoing transfers since %(first)s first: %(count)s. Match what paid a payout, and "
                "correct the merchant's balance for what paid a withdrawal that is not here.",
                first=first,
                count=count,
            )
        )
    return found


async def _has_gap(tx: Tx, account: BankAccount, base: accounts_store.Closing, newest: accounts_store.Closing) -> bool:
    """Whether the entries between two closing balances do not add up. False if a balance is not known."""
    if base.minor is None or newest.minor is None:
        return False
    return base.minor + await accounts_store.moved_minor(tx, account.iban, base.on, newest.on) != newest.minor
