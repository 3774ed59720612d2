"""`tollhouse operator network-payouts`: payouts on EVM networks that have not ended, and sweeps."""

from typing import Annotated
from uuid import UUID

from cyclopts import App, Parameter

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank.model import Decided
from tollhouse.cli.actions import By, Reason, print_action, print_rows, run_as
from tollhouse.cli.options import Json
from tollhouse.console import network_payouts
from tollhouse.http.services import Services
from tollhouse.kernel.actor import OPERATOR

app = App(name="network-payouts", help="List payouts on EVM networks and sweeps, and refuse payouts that wait.")
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
