"""`tollhouse operator bitcoin-payouts`: payouts in bitcoin, exported as transactions to sign elsewhere, and imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import By, Reason, act, can_confirm, print_action, print_rows, run, run_as
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.kernel.actor import OPERATOR
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
Yes = Annotated[bool, Parameter(negative=(), help="Do not ask for confirmation.")]


@app.command(name="list")
def list_open(*, as_json: Json = False) -> int:
    """List payouts that have not ended, oldest first."""
    return print_rows("payouts", bitcoin_payouts.list_open, as_json=as_json)


@app.command
def batches(*, as_json: Json = False) -> int:
    """List batches: those that have not ended, then the newest others."""
    return print_rows("batches", bitcoin_payouts.list_batches, as_json=as_json)


@app.command
def export(
    *payout_ids: Annotated[UUID, Parameter(help="Export only these payouts.", negative=())],
    fee_rate: FeeRate = None,
    rail: RailOption = None,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show what would be exported, and export nothing.")] = False,
    yes: Yes = False,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Put payouts into a batch, all that may leave or these. The worker drafts its transaction: then `file` writes it."""

    async def find(services: Services, context: OperatorContext) -> Sequence[OutgoingTransfer]:
        network = bitcoin_payouts.find_network(services, rail)
        found = await bitcoin_payouts.list_exportable(services, network, context)
        for one in found:
            if not payout_ids or one.id in payout_ids:
                amount = services.catalogue.format_amount(one.amount_minor, one.currency)
                stderr.print(f"{one.id}  {amount} {one.currency}  {one.receiver}", markup=False)
        chosen = [one for one in found if not payout_ids or one.id in payout_ids]
        total = services.catalogue.format_amount(sum(one.amount_minor for one in chosen), "BTC")
        stderr.print(f"{len(chosen)} payouts, {total} BTC.")
        return chosen

    found = run_as(find, None, by)
    if isinstance(found, int) or dry_run:
        return found if isinstance(found, int) else 0
    if found and not yes and (not can_confirm() or input("Export these payouts? Type yes: ") != "yes"):
        return 1
    ids = list(payout_ids) or [one.id for one in found]

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        network, rate = bitcoin_payouts.find_network(services, rail), _rate(fee_rate)
        return await services.transact(
            lambda work: bitcoin_payouts.export(work, network, ids, rate, context), context.at, OPERATOR
        )

    return print_action(run_as(change, None, by), as_json=as_json)


@app.command
def file(batch_id: BatchArgument, /) -> int:
    """Write the newest draft of a batch to standard output, as PSBT in Base64, to sign it elsewhere."""
    found = run(lambda services: bitcoin_payouts.read_file(services, batch_id))
    if isinstance(found, int):
        return found
    print(found)
    return 0


@app.command(name="import")
def import_signed(
    batch_id: BatchArgument,
    path: Annotated[Path, Parameter(help="The signed PSBT, or the signed transaction in hexadecimal.")],
    /,
    *,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Import the signed transaction of a batch. It is verified and stored, and the worker sends it."""

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        return await bitcoin_payouts.import_signed(services, batch_id, _read(path), context)

    return print_action(run_as(change, None, by), as_json=as_json)


@app.command
def replace(batch_id: BatchArgument, /, *, fee_rate: FeeRate = None, by: By = None, as_json: Json = False) -> int:
    """Have a transaction with a higher fee drafted that replaces that of a batch. Sign and import it like the first."""
    return act(
        lambda work, context: bitcoin_payouts.replace(work, batch_id, _rate(fee_rate), context), None, by, as_json=as_json
    )


@app.command
def cancel(batch_id: BatchArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Cancel a batch that is not signed, or whose coins were spent otherwise. Its payouts can be exported again."""
    return act(lambda work, context: bitcoin_payouts.cancel(work, batch_id, context), reason, by, as_json=as_json)


@app.command
def approve(payout_id: PayoutArgument, /, *, by: By = None, as_json: Json = False) -> int:
    """Approve, as second operator, a payout of a merchant whose password was reset in the last 72 hours."""
    return act(lambda work, context: bitcoin_payouts.approve(work, payout_id, context), None, by, as_json=as_json)


@app.command
def refuse(payout_id: PayoutArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse a payout that waits. The money is returned to the merchant."""
    return act(lambda work, context: bitcoin_payouts.refuse(work, payout_id, context), reason, by, as_json=as_json)


def _rate(per_vbyte: str | None) -> int | None:
    """A rate in satoshis per 1000 virtual bytes. Raises `OperatorRefusedError`."""
    return None if per_vbyte is None else bitcoin_payouts.read_rate(per_vbyte)


def _read(path: Path) -> bytes:
    """The file, read up to one byte over the size limit. Raises `OperatorRefusedError`."""
    try:
        with path.open("rb") as opened:
            return opened.read(PSBT_BYTES_MAX + 1)
    except OSError as error:
        raise OperatorRefusedError(f"{path} cannot be read: {error.strerror}.") from None
