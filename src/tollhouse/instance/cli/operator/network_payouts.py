"""`tollhouse operator network-payouts`: payouts on EVM networks that have not ended, and sweeps."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import (
    ACTING,
    Acting,
    Confirmed,
    DryRun,
    WithReason,
    act_with,
    is_export_confirmed,
    print_rows,
    read_limited,
    run_as,
)
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.kernel import foreign_json
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.platform import private_files
from tollhouse.rails.batches.model import Decided
from tollhouse.rails.evm import operator_payouts as network_payouts
from tollhouse.rails.evm.signer.messages import SignedBatch, UnsignedBatch

if TYPE_CHECKING:
    from tollhouse.rails.evm.offline import Exportable

app = App(
    name="network-payouts", help="List payouts on EVM networks and sweeps, refuse payouts that wait, sign them offline."
)
BATCH_BYTES_MAX = 4 * 1024 * 1024
RailOption = Annotated[str | None, Parameter(help="The name of the rail, if several are signed offline.")]
PayoutArgument = Annotated[UUID, Parameter(help="The payout's ID: that of its withdrawal or refund.")]


@app.command(name="list")
def list_open(*, as_json: Json = False) -> None:
    """List payouts that have not ended, oldest first, and why they wait."""
    print_rows("payouts", lambda services: network_payouts.list_open(services.db, services.catalogue), as_json=as_json)


@app.command
def sweeps(*, as_json: Json = False) -> None:
    """List the newest sweeps of deposit addresses, and coin that was sent for their gas."""
    print_rows("sweeps", network_payouts.list_sweeps, as_json=as_json)


@app.command
def refuse(payout_id: PayoutArgument, /, *, options: WithReason) -> None:
    """Refuse a payout that waits and was never signed. The money is returned to the merchant. Needs the signer."""

    async def action(services: Services, context: OperatorContext) -> Decided:
        await network_payouts.ensure_unsigned(services, payout_id)
        return await services.transact(lambda work: network_payouts.refuse(work, payout_id, context), context.at, OPERATOR)

    act_with(action, options)


@app.command
def export(
    file: Annotated[Path, Parameter(help="The new file, for `tollhouse signer sign`.")],
    /,
    *,
    rail: RailOption = None,
    dry_run: DryRun = False,
    yes: Confirmed = False,
    options: Acting = ACTING,
) -> int:
    """Export all payouts that wait, to sign them on a machine without network. They cannot be refused any more then."""
    from tollhouse.rails.evm import offline  # noqa: PLC0415 - the libraries of Ethereum take a second

    async def find(services: Services, context: OperatorContext) -> "Exportable":
        shown = await offline.preview(offline.find_payouts(services, rail), context)
        _show(services, shown)
        return shown

    shown = run_as(find, options)
    if dry_run:
        return 0
    if not is_export_confirmed(yes=yes):
        return 1

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        network = offline.find_payouts(services, rail).network
        with private_files.new(file) as out:
            action, requests = await offline.export(services, network, shown, context)
            out.write(msgspec.json.encode(UnsignedBatch(tuple(requests))))
        stderr.print(f"{len(requests)} payouts to sign in {file}.", markup=False)
        return action

    act_with(change, options)
    return 0


@app.command(name="import")
def import_signed(
    file: Annotated[Path, Parameter(help="The file that `tollhouse signer sign` wrote.")],
    /,
    *,
    rail: RailOption = None,
    options: Acting = ACTING,
) -> None:
    """Import signed payouts, all of a file or none. Each is compared with what was exported; the worker sends them."""
    from tollhouse.rails.evm import offline  # noqa: PLC0415 - the libraries of Ethereum take a second

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        network = offline.find_payouts(services, rail).network
        batch = _read(file)
        action, counts = await offline.import_signed(services, network, batch.signed, context)
        stderr.print(f"{counts['added']} payouts are new, {counts['known']} known. The signer refused {len(batch.refused)}.")
        if counts["suspended"]:
            stderr.print(f"{counts['suspended']} are of suspended merchants: import the file again when they are active.")
        return action

    act_with(change, options)


def _show(services: Services, shown: "Exportable") -> None:
    totals = Counter[str]()
    for payout in shown.leaving:
        totals[payout.currency] += payout.amount_minor
        amount = services.catalogue.priced(payout.amount_minor, payout.currency)
        stderr.print(f"{payout.id}  {amount}  {payout.receiver}", markup=False, soft_wrap=True)
    for payout_id, reason in shown.drafted.left_out.items():
        stderr.print(f"{payout_id}  left out: {reason}", markup=False, soft_wrap=True)
    for currency, total_minor in sorted(totals.items()):
        stderr.print(f"Total: {services.catalogue.priced(total_minor, currency)}")
    stderr.print(f"{len(shown.leaving)} payouts are new, {len(shown.again)} were exported before and are not imported yet.")


def _read(file: Path) -> SignedBatch:
    """Raises `OperatorRefusedError`."""
    raw = read_limited(file, BATCH_BYTES_MAX)
    with suppress(ForeignJsonError):
        if len(raw) <= BATCH_BYTES_MAX:
            return foreign_json.decode(raw, SignedBatch)
    raise OperatorRefusedError(f"{file} is no file of signed transfers.")
