"""Import bank statements: files are stored, and imported one after the other by the worker or a command.

Each step is a transaction that records how far it got. So a process can die at any line, and the next one continues.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import asyncpg

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.text import Translatable
from tollhouse.platform.log.events import log
from tollhouse.rails.bank import imports_store
from tollhouse.rails.bank.files.transfer import BankAccount, bank_account
from tollhouse.rails.bank.files.xml import DOCUMENT_BYTES_MAX, PIECE_BYTES, too_large
from tollhouse.rails.bank.import_steps import ENTRIES_MAX, EntryRefusedError, confirmation_of, take_step
from tollhouse.rails.bank.imports_store import FileImport
from tollhouse.rails.batches.actions import record_decision
from tollhouse.rails.batches.model import Decided
from tollhouse.transfers.gate import gate

LOOK_EVERY_MS = 100
ANNOUNCED_FOR = timedelta(days=30)
UNSUITABLE = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
"""Errors of the database that come again with the same file, such as a balance that no account can have."""


async def upload(raw: bytes, account: BankAccount | None, context: OperatorContext, services: Services) -> UUID:
    """Store a file of statements, to be imported after those before it. Returns the id of the import.

    Raises `OperatorRefusedError` if it is empty or too large, or no account is configured.
    """
    if account is None:
        raise OperatorRefusedError("No bank account is configured. Set TOLLHOUSE_BANK_IBAN and TOLLHOUSE_BANK_HOLDER.")
    if not raw:
        raise OperatorRefusedError("The file is empty.")
    if len(raw) > DOCUMENT_BYTES_MAX:
        raise OperatorRefusedError(too_large().message)
    import_id, view = new_id(), memoryview(raw)

    async def store(work: Work) -> None:
        await gate.pause_if_copied(work.tx, context.at)
        await imports_store.insert(work.tx, import_id, len(raw), context)
        for nth, start in enumerate(range(0, len(raw), PIECE_BYTES)):
            await imports_store.insert_piece(work.tx, import_id, nth, view[start : start + PIECE_BYTES])

    await services.transact(store, context.at, OPERATOR)
    return import_id


async def delete_old_announcements(services: Services) -> None:
    """Delete announced transfers that no page shows any more."""
    await imports_store.delete_announced_before(services.db, clock.now() - ANNOUNCED_FOR)


async def import_waiting(services: Services) -> None:
    """Import all files that wait, one after the other."""
    account = bank_account(services.settings)
    while await advance(account, services):
        pass


async def advance(account: BankAccount | None, services: Services, only: UUID | None = None) -> bool:
    """Take a step of the import whose turn it is. False if there is none, or it is not `only`, or is being taken."""
    import_id = await imports_store.next_id(services.db)
    if import_id is None or only not in {None, import_id}:
        return False

    async def step(entries_max: int) -> bool:
        return await services.transact(lambda work: take_step(work, import_id, account, entries_max), clock.now(), OPERATOR)

    try:
        try:
            return await step(ENTRIES_MAX)
        except (EntryRefusedError, *UNSUITABLE):
            for _ in range(ENTRIES_MAX):  # those before it are imported
                await step(1)
            return True
    except OperatorRefusedError as refused:
        reason = refused.message
    except UNSUITABLE as error:
        log.error("import_failed", detail=str(import_id), exc_info=error)
        reason = "The database does not accept the file. See the log for import_failed."
    await services.transact(lambda work: _end(work, import_id, reason), clock.now(), OPERATOR)
    return True


async def finish(
    import_id: UUID, account: BankAccount | None, services: Services, *, show: Callable[[FileImport], None] | None = None
) -> FileImport:
    """Take part in the imports until this one has ended. `show` is called with its progress."""
    while True:
        current = await get(import_id, services)
        if show is not None:
            show(current)
        if not current.is_active:
            return current
        if not await advance(account, services):
            await asyncio.sleep(LOOK_EVERY_MS / 1000)


async def finish_soon(import_id: UUID, account: BankAccount | None, services: Services, within_s: int) -> FileImport:
    """Take steps of this import alone until it has ended, or this time is over."""
    until = time.monotonic() + within_s
    while (current := await get(import_id, services)).is_active and time.monotonic() < until:
        if not await advance(account, services, only=import_id):
            await asyncio.sleep(LOOK_EVERY_MS / 1000)
    return current


async def get(import_id: UUID, services: Services) -> FileImport:
    """An import that exists: they are never deleted."""
    found = await imports_store.get(services.db, import_id)
    if found is None:
        raise AssertionError("imports are never deleted")
    return found


async def import_file(
    raw: bytes,
    account: BankAccount | None,
    context: OperatorContext,
    services: Services,
    *,
    show: Callable[[FileImport], None] | None = None,
) -> FileImport:
    """Import the new entries of a file of the bank, after those that wait. `show` is called with its progress.

    Raises `OperatorRefusedError` if it is not of this account, or does not continue what was imported.
    """
    import_id = await upload(raw, account, context, services)
    del raw  # large, and in the database now
    ended = await finish(import_id, account, services, show=show)
    ensure_imported(ended)
    return ended


async def confirm(work: Work, import_id: UUID, context: OperatorContext) -> Decided:
    """Approve the import of a file with a statement that has no balances. The worker imports it after the last approval.

    Raises `OperatorRefusedError` if it does not wait for that, and by the rules of approvals.
    """
    if not await imports_store.lock_unconfirmed(work.tx, import_id):
        raise OperatorRefusedError("This file does not wait for a confirmation.")
    approvals = await rules.approve_decision(work, confirmation_of(import_id), context)
    # Nothing below this line may refuse.
    if approvals.complete:
        await imports_store.confirm(work.tx, import_id, context.at)
    outcome = "confirmed" if approvals.complete else "approved"
    return await record_decision(work, context, "import_confirmed", import_id, outcome)


def ensure_imported(ended: FileImport) -> None:
    """Raise `OperatorRefusedError` if an import was refused or stopped."""
    if ended.reason is not None:
        raise OperatorRefusedError(ended.reason)


async def _end(work: Work, import_id: UUID, reason: Translatable) -> None:
    """End an import that cannot go on: it is refused if nothing of it was imported."""
    current = await imports_store.lock(work.tx, import_id)
    if current is not None:
        is_begun = current.statement > 0 or current.statement_id is not None
        await imports_store.end(work.tx, import_id, "stopped" if is_begun else "refused", reason, work.now)
