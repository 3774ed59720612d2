"""`tollhouse operator prices` and `positions`: what conversions in live mode depend on."""

from typing import Annotated

from cyclopts import App, Parameter

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext
from tollhouse.http.services import Services, Work
from tollhouse.instance.cli.actions import (
    ACTING,
    Acting,
    CurrencyArgument,
    UsageError,
    WithReason,
    act,
    operator_context,
    print_rows,
)
from tollhouse.instance.cli.options import Json
from tollhouse.kernel import clock
from tollhouse.pages.console import positions as position_actions
from tollhouse.transfers.conversions import prices as price_actions
from tollhouse.transfers.conversions.prices import PostedPrice

prices = App(name="prices", help="List and post currency prices for conversions in live mode.")
positions = App(name="positions", help="List positions in currencies and set their limits, for conversions in live mode.")
PriceArgument = Annotated[str, Parameter(help="The amount of the currency that one euro buys, for example 1.0842.")]
LimitArgument = Annotated[str, Parameter(help="The largest position, held or owed, for example 1000.50; or none.")]
NO_LIMIT = "none"


@prices.command(name="list")
def list_prices(*, as_json: Json = False) -> None:
    """List the latest price of each currency."""
    print_rows("prices", lambda services: price_actions.list_posted(services.db), as_json=as_json)


@prices.command(name="post")
def post_price(currency: CurrencyArgument, per_euro: PriceArgument, /, *, options: Acting = ACTING) -> None:
    """Post the price of a currency: the amount that one euro buys. It is valid from now until it expires."""

    async def post(services: Services) -> list[PostedPrice]:
        context = await operator_context(services, options)
        if currency not in services.catalogue.currencies or currency == price_actions.EURO:
            raise UsageError(f"{currency} cannot be priced in euros. Use one of the other currencies.")
        if not price_actions.is_price(per_euro):
            raise UsageError(f"{per_euro} is not a price. Use a positive number with at most 18 decimals.")
        await services.db.transact(lambda tx: price_actions.post(tx, {currency: per_euro}, context.operator, context.at))
        return await price_actions.list_posted(services.db, currency)

    print_rows("prices", post, as_json=options.as_json)


@positions.command(name="list")
def list_positions(*, as_json: Json = False) -> None:
    """List positions with their limits, prices and values."""
    print_rows(
        "positions",
        lambda services: position_actions.list_positions(services.db, services.catalogue, clock.now()),
        as_json=as_json,
    )


@positions.command(name="limit")
def set_limit(currency: CurrencyArgument, limit: LimitArgument, /, *, options: WithReason) -> None:
    """Set the limit of a currency, or remove it with `none`. Conversions that would exceed it are refused."""

    async def change(work: Work, context: OperatorContext) -> OperatorAction:
        known = position_actions.currencies(work.services.catalogue).get(currency)
        if known is None:
            raise UsageError(f"{currency} cannot be converted. Use one of the other currencies.")
        limit_minor = None if limit == NO_LIMIT else position_actions.read_limit(known, limit)
        return await position_actions.set_limit(work, known, limit_minor, context)

    act(change, options)
