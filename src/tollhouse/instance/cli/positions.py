"""`tollhouse operator positions`: the platform's positions in currencies, and their limits."""

from typing import Annotated

from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import By, Reason, UsageError, print_action, print_rows, run_as
from tollhouse.instance.cli.options import Json
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.pages.console import positions

app = App(name="positions", help="List positions in currencies and set their limits, for conversions in live mode.")
CurrencyArgument = Annotated[str, Parameter(help="The currency code.")]
LimitArgument = Annotated[str, Parameter(help="The largest position, held or owed, for example 1000.50; or none.")]
NO_LIMIT = "none"


@app.command(name="list")
def list_positions(*, as_json: Json = False) -> int:
    """List positions with their limits, prices and values."""
    return print_rows(
        "positions",
        lambda services: positions.list_positions(services.db, services.catalogue, clock.now()),
        as_json=as_json,
    )


@app.command(name="limit")
def set_limit(
    currency: CurrencyArgument, limit: LimitArgument, /, *, reason: Reason, by: By = None, as_json: Json = False
) -> int:
    """Set the limit of a currency, or remove it with `none`. Conversions that would exceed it are refused."""

    async def change(services: Services, context: OperatorContext) -> OperatorAction:
        known = positions.currencies(services.catalogue).get(currency)
        if known is None:
            raise UsageError(f"{currency} cannot be converted. Use one of the other currencies.")
        limit_minor = None if limit == NO_LIMIT else positions.read_limit(known, limit)
        return await services.transact(
            lambda work: positions.set_limit(work, known, limit_minor, context), context.at, OPERATOR
        )

    return print_action(run_as(change, reason, by), as_json=as_json)
