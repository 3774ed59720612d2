"""`tollhouse operator statements` and `payouts`: bank statements to import, and payouts to send to the bank."""

import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import ACTING, Acting, By, WithReason, act, print_rows, read_limited, run, run_as
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.rails.bank import actions, imports, pauses, store, transfers_store
from tollhouse.rails.bank import payouts as payout_actions
from tollhouse.rails.bank.files.batch import CURRENCY, Batch, id_in, missing_details, total, write
from tollhouse.rails.bank.files.transfer import bank_account
from tollhouse.rails.bank.files.xml import DOCUMENT_BYTES_MAX
from tollhouse.rails.bank.imports_store import FileImport
from tollhouse.rails.bank.model import PayoutStatus

statements = App(name="statements", help="Import bank statements and match transfers to payments.")
payouts = App(name="payouts", help="List, export and refuse bank payouts.")

File = Annotated[Path, Parameter(help="A camt.053 statement, camt.054 notification or pain.002 status report.")]
TransferArgument = Annotated[UUID, Parameter(help="The transfer's ID, as `statements unmatched` prints it.")]
PayoutArgument = Annotated[UUID, Parameter(help="The payout's ID.")]
Status = Annotated[PayoutStatus | None, Parameter(help="Only payouts with this status.")]


@statements.command(name="import")
def import_statements(file: File, /, *, options: Acting = ACTING) -> None:
    """Import a statement file. Entries that were imported before are skipped."""
    with stderr.status(str(file)) as status:

        def show(current: FileImport) -> None:
            status.update(f"{current.done:,} of {current.entries:,} entries imported" if current.entries else "Checking")

        async def action(services: Services, context: OperatorContext) -> FileImport:
            account, raw = bank_account(services.settings), read_limited(file, DOCUMENT_BYTES_MAX)
            return await imports.import_file(raw, account, context, services, show=show)

        ended = run_as(action, options)
    if options.as_json:
        print(msgspec.json.encode(ended.counts).decode())
    stderr.print(str(ended.words))


@statements.command(name="list")
def list_statements(*, as_json: Json = False) -> None:
    """List imported statements, newest first."""
    print_rows("statements", lambda services: transfers_store.statements(services.db), as_json=as_json)


@statements.command
def unmatched(*, as_json: Json = False) -> None:
    """List unmatched transfers, oldest first."""
    print_rows("transfers", lambda services: store.unmatched(services.db, services.catalogue), as_json=as_json)


@statements.command
def assign(transfer_id: TransferArgument, reference: str, /, *, options: WithReason) -> None:
    """Assign an unmatched transfer to the payment with this reference."""
    act(lambda work, context: actions.assign(work, transfer_id, reference, context), options)


@statements.command
def dismiss(transfer_id: TransferArgument, /, *, options: WithReason) -> None:
    """Dismiss an unmatched transfer that concerns no merchant, for example a bank fee."""
    act(lambda work, context: actions.dismiss(work, transfer_id, context), options)


@statements.command
def match(
    transfer_id: TransferArgument,
    /,
    *payout_ids: Annotated[UUID, Parameter(help="The payouts it paid; by default the one whose ID it has.", negative=())],
    options: WithReason,
) -> None:
    """Match an unmatched debit to prepared payouts, which are not exported then. For exports that a restore has lost."""
    act(lambda work, context: actions.match(work, transfer_id, payout_ids, context), options)


@statements.command
def fee(transfer_id: TransferArgument, /, *, options: WithReason) -> None:
    """Record an unmatched transfer as a fee of the bank, or as a fee that it paid back."""
    act(lambda work, context: actions.record_fee(work, transfer_id, context), options)


@statements.command
def write_off(transfer_id: TransferArgument, /, *, options: WithReason) -> None:
    """Write off an unmatched transfer, as a difference that nobody can explain."""
    act(lambda work, context: actions.write_off(work, transfer_id, context), options)


@statements.command
def reopen(transfer_id: TransferArgument, /, *, options: WithReason) -> None:
    """Make a transfer unmatched again that was dismissed, written off, or recorded as a fee or a payout from a provider."""
    act(lambda work, context: actions.reopen(work, transfer_id, context), options)


@statements.command
def receive(
    transfer_id: TransferArgument,
    payout: Annotated[str | None, Parameter(help="Its ID at the provider; by default the only one of this amount.")] = None,
    /,
    *,
    options: WithReason,
) -> None:
    """Record an unmatched credit as a payout from a card provider."""
    act(lambda work, context: actions.receive(work, transfer_id, payout, context), options)


@statements.command(name="return")
def return_payout(
    transfer_id: TransferArgument,
    payout_id: Annotated[UUID | None, Parameter(help="The payout; by default the one whose ID the transfer has.")] = None,
    /,
    *,
    options: WithReason,
) -> None:
    """Record an unmatched credit as a payout that came back, perhaps less a fee. The merchant gets the whole amount back."""
    act(lambda work, context: actions.return_payout(work, transfer_id, payout_id, context), options)


@statements.command
def take_back(transfer_id: TransferArgument, reference: str, /, *, options: WithReason) -> None:
    """Charge the merchant of the payment with this reference for an unmatched debit by which the bank took it back."""
    act(lambda work, context: actions.take_back(work, transfer_id, reference, context), options)


@payouts.command(name="list")
def list_payouts(*, status: Status = None, as_json: Json = False) -> None:
    """List payouts, newest first. Prepared ones are part of the next export."""
    print_rows(
        "payouts",
        lambda services: services.db.transact(lambda tx: payout_actions.listed(tx, status, clock.now(), services.catalogue)),
        as_json=as_json,
    )


@payouts.command
def export(*payout_ids: Annotated[UUID, Parameter(help="Export only these payouts.", negative=())], by: By = None) -> None:
    """Write prepared payouts as a pain.001 file for the bank to standard output."""

    async def action(services: Services, context: OperatorContext) -> Batch:
        account, selected = bank_account(services.settings), payout_ids or None
        return await services.transact(
            lambda work: payout_actions.export(work, account, selected, context), context.at, OPERATOR
        )

    _write(run_as(action, Acting(by=by)))


@payouts.command
def batch(batch_id: Annotated[UUID, Parameter(help="The batch's ID.")], /) -> None:
    """Write the file of an exported batch again. The bank recognizes it by its ID."""

    async def action(services: Services) -> Batch:
        found = await payout_actions.batch(services.db, batch_id)
        if found is None:
            raise OperatorRefusedError(f"There is no batch {batch_id}.")
        return found

    _write(run(action))


@payouts.command
def approve(payout_id: PayoutArgument, /, *, options: Acting = ACTING) -> None:
    """Approve, as second operator, a payout of a merchant whose password was reset in the last 72 hours."""
    act(lambda work, context: payout_actions.approve(work, payout_id, context), options)


@payouts.command
def refuse(payout_id: PayoutArgument, /, *, options: WithReason) -> None:
    """Refuse a payout, or record that the bank did not execute it. The money is returned to the merchant."""
    act(lambda work, context: payout_actions.refuse(work, payout_id, context), options)


@payouts.command
def pause(*, options: WithReason) -> None:
    """Pause payouts: no live money leaves until they are resumed."""
    act(pauses.pause, options)


@payouts.command
def resume(
    *,
    options: WithReason,
    nothing_lost: Annotated[
        bool, Parameter(negative=(), help="Nothing was exported after the backup: no statements needed.")
    ] = False,
) -> None:
    """Resume payouts. After a restore, all bank statements since the backup must be imported first."""
    act(
        lambda work, context: pauses.resume(work, bank_account(work.services.settings), context, is_complete=nothing_lost),
        options,
    )


def _write(batch: Batch) -> None:
    for transfer in batch.transfers:
        if details := missing_details(transfer.receiver_iban, transfer.receiver_bic, transfer.receiver_address):
            stderr.print(
                f"Payout {id_in(transfer.end_to_end_id)} goes to {transfer.receiver_iban[:2]}, outside the EEA. "
                f"Missing: {details}. The bank may reject it."
            )
    sys.stdout.buffer.write(write(batch))
    sys.stdout.flush()
    stderr.print(
        f"Batch {batch.id}: {len(batch.transfers)} payouts, {total(batch)} {CURRENCY}. Submit this file to the bank."
    )
