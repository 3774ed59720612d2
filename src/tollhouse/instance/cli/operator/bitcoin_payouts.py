"""`tollhouse operator bitcoin-payouts`: payouts in bitcoin, exported as transactions to sign elsewhere, and imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services, Work
from tollhouse.instance.cli.actions import (
    ACTING,
    Acting,
    Confirmed,
    DryRun,
    WithReason,
    act,
    act_with,
    is_export_confirmed,
    print_rows,
    read_limited,
    run,
    run_as,
)
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.rails.bitcoin import operator_payouts as bitcoin_payouts
from tollhouse.rails.bitcoin.network.psbt import PSBT_BYTES_MAX
from tollhouse.transfers.gate.model import OutgoingTransfer

app = App(name="bitcoin-payouts", help="Export payouts in bitcoin, import them signed, replace, cancel and refuse them.")
BatchArgument = Annotated[UUID, Parameter(help="The batch's ID.")]
PayoutArgument = Annotated[UUID, Parameter(help="The payout's ID: that of its withdrawal or refund.")]
FeeRate = Annotated[
    str | None, Parameter(help="Network fee in satoshis per vbyte. Default: as the node estimates.", negative=())
]
RailOption = Annotated[str | None, Parameter(help="The name of the rail, if several are configured.")]


@app.command(name="list")
def list_open(*, as_json: Json = False) -> None:
    """List payouts that have not ended, oldest first."""
    print_rows("payouts", bitcoin_payouts.list_open, as_json=as_json)


@app.command
def batches(*, as_json: Json = False) -> None:
    """List batches: those that have not ended, then the newest others."""
    print_rows("batches", bitcoin_payouts.list_batches, as_json=as_json)


@app.command
def export(
    *payout_ids: Annotated[UUID, Parameter(help="Export only these payouts.", negative=())],
    fee_rate: FeeRate = None,
    rail: RailOption = None,
    dry_run: DryRun = False,
    yes: Confirmed = False,
    options: Acting = ACTING,
) -> int:
    """Put payouts into a batch, all that may leave or these. The worker drafts its transaction: then `file` writes it."""

    async def find(services: Services, context: OperatorContext) -> Sequence[OutgoingTransfer]:
        network = bitcoin_payouts.find_network(services, rail)
        exportable = await bitcoin_payouts.list_exportable(services, network, context)
        chosen = [transfer for transfer in exportable if not payout_ids or transfer.id in payout_ids]
        for transfer in chosen:
            amount = services.catalogue.priced(transfer.amount_minor, transfer.currency)
            stderr.print(f"{transfer.id}  {amount}  {transfer.receiver}", markup=False)
        total = services.catalogue.format_amount(sum(transfer.amount_minor for transfer in chosen), "BTC")
        stderr.print(f"{len(chosen)} payouts, {total} BTC.")
        return chosen

    chosen = run_as(find, options)
    if dry_run:
        return 0
    if chosen and not is_export_confirmed(yes=yes):
        return 1
    ids = list(payout_ids) or [transfer.id for transfer in chosen]

    async def change(work: Work, context: OperatorContext) -> OperatorAction:
        network = bitcoin_payouts.find_network(work.services, rail)
        return await bitcoin_payouts.export(work, network, ids, _rate(fee_rate), context)

    act(change, options)
    return 0


@app.command
def file(batch_id: BatchArgument, /) -> None:
    """Write the newest draft of a batch to standard output, as PSBT in Base64, to sign it elsewhere."""
    print(run(lambda services: bitcoin_payouts.read_file(services, batch_id)))


@app.command(name="import")
def import_signed(
    batch_id: BatchArgument,
    path: Annotated[Path, Parameter(help="The signed PSBT, or the signed transaction in hexadecimal.")],
    /,
    *,
    options: Acting = ACTING,
) -> None:
    """Import the signed transaction of a batch. It is verified and stored, and the worker sends it."""
    act_with(
        lambda services, context: bitcoin_payouts.import_signed(
            services, batch_id, read_limited(path, PSBT_BYTES_MAX), context
        ),
        options,
    )


@app.command
def replace(batch_id: BatchArgument, /, *, fee_rate: FeeRate = None, options: Acting = ACTING) -> None:
    """Have a transaction with a higher fee drafted that replaces that of a batch. Sign and import it like the first."""
    act(lambda work, context: bitcoin_payouts.replace(work, batch_id, _rate(fee_rate), context), options)


@app.command
def cancel(batch_id: BatchArgument, /, *, options: WithReason) -> None:
    """Cancel a batch that is not signed, or whose coins were spent otherwise. Its payouts can be exported again."""
    act(lambda work, context: bitcoin_payouts.cancel(work, batch_id, context), options)


@app.command
def approve(payout_id: PayoutArgument, /, *, options: Acting = ACTING) -> None:
    """Approve, as second operator, a payout of a merchant whose password was reset in the last 72 hours."""
    act(lambda work, context: bitcoin_payouts.approve(work, payout_id, context), options)


@app.command
def refuse(payout_id: PayoutArgument, /, *, options: WithReason) -> None:
    """Refuse a payout that waits. The money is returned to the merchant."""
    act(lambda work, context: bitcoin_payouts.refuse(work, payout_id, context), options)


def _rate(per_vbyte: str | None) -> int | None:
    """A rate in satoshis per 1000 virtual bytes. Raises `OperatorRefusedError`."""
    return None if per_vbyte is None else bitcoin_payouts.read_rate(per_vbyte)
