"""`tollhouse operator statements` and `payouts`: what an operator brings from the bank, and takes to it."""

import sys
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec
from cyclopts import App, Parameter

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank import actions, shown_store, store
from tollhouse.bank import payouts as payout_actions
from tollhouse.bank.model import BankRefusedError, Decided, PayoutStatus
from tollhouse.console.bank_ports import BANK_PORTS
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.operator_commands import By, Json, Reason, context_of, listed, run, talk
from tollhouse.platform.db import Pool
from tollhouse.rails.bank_transfer_batch import CURRENCY, Batch, total, write
from tollhouse.rails.bank_transfer_xml import DOCUMENT_BYTES_MAX
from tollhouse.rails.configured import bank_account

statements = App(name="statements", help="Import the bank's statements, and place what they leave open.")
payouts = App(name="payouts", help="See, export and refuse the money that leaves by bank.")

File = Annotated[Path, Parameter(help="A camt.053 statement.")]
TransferArgument = Annotated[UUID, Parameter(help="The transfer's id, as `statements unmatched` shows it.")]
PayoutArgument = Annotated[UUID, Parameter(help="The payout's id.")]
PayoutArguments = Annotated[tuple[UUID, ...], Parameter(help="Only these payouts.", negative=())]
Status = Annotated[PayoutStatus | None, Parameter(help="Only those.")]


@statements.command(name="import")
def import_statements(file: File, /, *, by: By = None, as_json: Json = False) -> int:
    """Take everything new from a file of statements. What was imported before changes nothing."""

    async def action(services: Services) -> Any:
        context = await _context(services, "", by)
        return await actions.import_file(_bytes_of(file), bank_account(services.settings), BANK_PORTS, context, services)

    done = run(action)
    if isinstance(done, int):
        return done
    if as_json:
        print(msgspec.json.encode(done).decode())
    talk.print(done.words)
    return 0


@statements.command(name="list")
def list_statements(*, as_json: Json = False) -> int:
    """List the statements that were imported, newest first."""

    async def read(services: Services) -> list[Any]:
        return list(await shown_store.statements(services.db))

    return listed("statements", read, as_json=as_json)


@statements.command
def unmatched(*, as_json: Json = False) -> int:
    """List the transfers that nobody could place, oldest first."""

    async def read(services: Services) -> list[Any]:
        return list(await store.unmatched(services.db))

    return listed("transfers", read, as_json=as_json)


@statements.command
def assign(transfer_id: TransferArgument, reference: str, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Take a transfer that waits for the payment of this reference."""

    async def action(services: Services) -> Decided:
        context = await _context(services, reason, by)
        return await services.db.transact(
            lambda tx: actions.assign(tx, transfer_id, reference, BANK_PORTS, context, services)
        )

    return _decided(run(action), as_json=as_json)


@statements.command
def dismiss(transfer_id: TransferArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Say that a transfer that waits is no business of any merchant, such as the bank's own fee."""

    async def action(services: Services) -> Decided:
        context = await _context(services, reason, by)
        return await services.db.transact(lambda tx: actions.dismiss(tx, transfer_id, BANK_PORTS, context))

    return _decided(run(action), as_json=as_json)


@payouts.command(name="list")
def list_payouts(*, status: Status = None, as_json: Json = False) -> int:
    """List payouts, newest first. What is prepared leaves with the next export."""

    async def read(services: Services) -> list[Any]:
        return list(await services.db.transact(lambda tx: payout_actions.listed(tx, BANK_PORTS, status, clock.now())))

    return listed("payouts", read, as_json=as_json)


@payouts.command
def export(*payout_ids: PayoutArgument, by: By = None) -> int:
    """Write what is prepared, or these payouts of it, as a pain.001 file for the bank, on standard output."""

    async def action(services: Services) -> Batch:
        context = await _context(services, "", by)
        account, wanted = bank_account(services.settings), payout_ids or None
        return await services.db.transact(lambda tx: payout_actions.export(tx, account, wanted, BANK_PORTS, context))

    return _written(run(action))


@payouts.command
def batch(batch_id: Annotated[UUID, Parameter(help="The batch's id.")], /) -> int:
    """Write the file of a batch that was exported before, once more: the bank knows it again by its id."""

    async def action(services: Services) -> Batch:
        return await _batch(services.db, batch_id)

    return _written(run(action))


@payouts.command
def approve(payout_id: PayoutArgument, /, *, by: By = None, as_json: Json = False) -> int:
    """Be the second operator behind a payout of a merchant whose password was reset in the last 72 hours."""

    async def action(services: Services) -> Decided:
        context = await _context(services, "", by)
        return await services.db.transact(lambda tx: payout_actions.approve(tx, payout_id, BANK_PORTS, context))

    return _decided(run(action), as_json=as_json)


@payouts.command
def refuse(payout_id: PayoutArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Keep a payout here, or say that the bank did not carry it out. Its money goes back to where it came from."""

    async def action(services: Services) -> Decided:
        context = await _context(services, reason, by)
        return await services.db.transact(lambda tx: payout_actions.refuse(tx, payout_id, BANK_PORTS, context, services))

    return _decided(run(action), as_json=as_json)


async def _context(services: Services, reason: str, by: str | None) -> OperatorContext:
    context = await context_of(services, None, by)
    return OperatorContext(context.operator, context.at, reason, context.on_command_line)


def _bytes_of(file: Path) -> bytes:
    """The file, one byte more of it than may be at most. Raises `BankRefusedError`."""
    try:
        with file.open("rb") as opened:
            return opened.read(DOCUMENT_BYTES_MAX + 1)
    except OSError as fault:
        raise BankRefusedError(f"{file} cannot be read: {fault.strerror}.") from None


async def _batch(db: Pool, batch_id: UUID) -> Batch:
    found = await payout_actions.batch(db, batch_id)
    if found is None:
        raise BankRefusedError(f"There is no batch {batch_id}.")
    return found


def _written(done: Batch | int) -> int:
    if isinstance(done, int):
        return done
    sys.stdout.buffer.write(write(done))
    sys.stdout.flush()
    talk.print(
        f"Batch {done.id}: {len(done.transfers)} payouts, {total(done)} {CURRENCY}. Nothing has left yet: take it there."
    )
    return 0


def _decided(done: Decided | int, *, as_json: bool) -> int:
    if isinstance(done, int):
        return done
    print(msgspec.json.encode(done).decode() if as_json else f"{done.outcome} {done.id}")
    talk.print(f"Kept as {done.action_id}: {done.operator}, {done.at}.")
    return 0
