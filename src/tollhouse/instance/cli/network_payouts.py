"""`tollhouse operator network-payouts`: payouts on EVM networks that have not ended, and sweeps."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import msgspec
from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import By, Reason, can_confirm, print_action, print_rows, run_as
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.kernel import foreign_json
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.platform import private_files
from tollhouse.rails.bank.model import Decided
from tollhouse.rails.evm import operator_payouts as network_payouts
from tollhouse.rails.evm.signer.messages import SignedBatch, UnsignedBatch

if TYPE_CHECKING:
    from tollhouse.rails.evm.operator_offline import Exportable

app = App(
    name="network-payouts", help="List payouts on EVM networks and sweeps, refuse payouts that wait, sign them offline."
)
BATCH_BYTES_MAX = 4 * 1024 * 1024
RailOption = Annotated[str | None, Parameter(help="The name of the rail, if several are signed offline.")]
PayoutArgument = Annotated[UUID, Parameter(help="The payout's ID: that of its withdrawal or refund.")]


@app.command(name="list")
def list_open(*, as_json: Json = False) -> int:
    """List payouts that have not ended, oldest first, and why they wait."""
    return print_rows(
        "payouts", lambda services: network_payouts.list_open(services.db, services.catalogue), as_json=as_json
    )


@app.command
def sweeps(*, as_json: Json = False) -> int:
    """List the newest sweeps of deposit addresses, and coin that was sent for their gas."""
    return print_rows("sweeps", network_payouts.list_sweeps, as_json=as_json)


@app.command
def refuse(payout_id: PayoutArgument, /, *, reason: Reason, by: By = None, as_json: Json = False) -> int:
    """Refuse a payout that waits and was never signed. The money is returned to the merchant. Needs the signer."""

    async def action(services: Services, context: OperatorContext) -> Decided:
        await network_payouts.ensure_unsigned(services, payout_id)
        return await services.transact(lambda work: network_payouts.refuse(work, payout_id, context), context.at, OPERATOR)

    return print_action(run_as(action, reason, by), as_json=as_json)


@app.command
def export(
    file: Annotated[Path, Parameter(help="The new file, for `tollhouse signer sign`.")],
    /,
    *,
    rail: RailOption = None,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show what would be exported, and export nothing.")] = False,
    yes: Annotated[bool, Parameter(negative=(), help="Do not ask for confirmation.")] = False,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Export all payouts that wait, to sign them on a machine without network. They cannot be refused any more then."""
    from tollhouse.rails.evm import operator_offline  # noqa: PLC0415 - the libraries of Ethereum take a second

    async def find(services: Services, context: OperatorContext) -> "Exportable":
        shown = await operator_offline.preview(operator_offline.find_payouts(services, rail), context)
        _show(services, shown)
        return shown

    shown = run_as(find, None, by)
    if isinstance(shown, int) or dry_run:
        return shown if isinstance(shown, int) else 0
    if not yes and (not can_confirm() or input("Export these payouts? Type yes: ") != "yes"):
        return 1

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        network = operator_offline.find_payouts(services, rail).network
        with private_files.new(file) as out:
            action, requests = await operator_offline.export(services, network, shown, context)
            out.write(msgspec.json.encode(UnsignedBatch(tuple(requests))))
        stderr.print(f"{len(requests)} payouts to sign in {file}.", markup=False)
        return action

    return print_action(run_as(change, None, by), as_json=as_json)


@app.command(name="import")
def import_signed(
    file: Annotated[Path, Parameter(help="The file that `tollhouse signer sign` wrote.")],
    /,
    *,
    rail: RailOption = None,
    by: By = None,
    as_json: Json = False,
) -> int:
    """Import signed payouts, all of a file or none. Each is compared with what was exported; the worker sends them."""
    from tollhouse.rails.evm import operator_offline  # noqa: PLC0415 - the libraries of Ethereum take a second

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        network = operator_offline.find_payouts(services, rail).network
        batch = _read(file)
        action, counts = await operator_offline.import_signed(services, network, batch.signed, context)
        stderr.print(f"{counts['added']} payouts are new, {counts['known']} known. The signer refused {len(batch.refused)}.")
        if counts["suspended"]:
            stderr.print(f"{counts['suspended']} are of suspended merchants: import the file again when they are active.")
        return action

    return print_action(run_as(change, None, by), as_json=as_json)


def _show(services: Services, shown: "Exportable") -> None:
    totals = Counter[str]()
    for one in shown.leaving:
        totals[one.currency] += one.amount_minor
        amount = services.catalogue.format_amount(one.amount_minor, one.currency)
        stderr.print(f"{one.id}  {amount} {one.currency}  {one.receiver}", markup=False, soft_wrap=True)
    for payout_id, reason in shown.drafted.left_out.items():
        stderr.print(f"{payout_id}  left out: {reason}", markup=False, soft_wrap=True)
    for currency, total_minor in sorted(totals.items()):
        stderr.print(f"Total: {services.catalogue.format_amount(total_minor, currency)} {currency}")
    stderr.print(f"{len(shown.leaving)} payouts are new, {len(shown.again)} were exported before and are not imported yet.")


def _read(file: Path) -> SignedBatch:
    """Raises `OperatorRefusedError`."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(BATCH_BYTES_MAX + 1)
        if len(raw) <= BATCH_BYTES_MAX:
            return foreign_json.decode(raw, SignedBatch)
    except OSError as error:
        raise OperatorRefusedError(f"{file} cannot be read: {error.strerror}.") from None
    except ForeignJsonError:
        pass
    raise OperatorRefusedError(f"{file} is no file of signed transfers.")
