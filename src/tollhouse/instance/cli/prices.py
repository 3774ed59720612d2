"""`tollhouse operator prices`: currency prices in euros, for conversions in live mode."""

from typing import Annotated

from cyclopts import App, Parameter

from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import By, UsageError, operator_context, print_rows
from tollhouse.instance.cli.options import Json
from tollhouse.transfers.conversions import prices
from tollhouse.transfers.conversions.prices import PostedPrice

app = App(name="prices", help="List and post currency prices for conversions in live mode.")
CurrencyArgument = Annotated[str, Parameter(help="The currency code.")]
PriceArgument = Annotated[str, Parameter(help="The amount of the currency that one euro buys, for example 1.0842.")]


@app.command(name="list")
def list_prices(*, as_json: Json = False) -> int:
    """List the latest price of each currency."""
    return print_rows("prices", lambda services: prices.list_posted(services.db), as_json=as_json)


@app.command(name="post")
def post_price(currency: CurrencyArgument, per_euro: PriceArgument, /, *, by: By = None, as_json: Json = False) -> int:
    """Post the price of a currency: the amount that one euro buys. It is valid from now until it expires."""

    async def post(services: Services) -> list[PostedPrice]:
        context = await operator_context(services, None, by)
        if currency not in services.catalogue.currencies or currency == prices.EURO:
            raise UsageError(f"{currency} cannot be priced in euros. Use one of the other currencies.")
        if not prices.is_price(per_euro):
            raise UsageError(f"{per_euro} is not a price. Use a positive number with at most 18 decimals.")
        await services.db.transact(lambda tx: prices.post(tx, {currency: per_euro}, context.operator, context.at))
        return await prices.list_posted(services.db, currency)

    return print_rows("prices", post, as_json=as_json)
