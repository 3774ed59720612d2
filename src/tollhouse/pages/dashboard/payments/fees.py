"""The dashboard's page about fees: the terms of the catalogue, by which fees are charged, each with an example."""

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.availability import offers
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.methods import Fees, Method, ShownFees, fees_of
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.money import percentage
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.layout import render
from tollhouse.transfers.withdrawals.model import list_methods, terms_of, unavailable_reason

OPERATIONS = Operations(PAGES)
CANNOT_BE_USED = frozenset(
    {"not_in_environment", "disabled_by_operator", "currency_not_supported", "provider_not_configured"}
)
FIAT_EXAMPLE, CRYPTO_EXAMPLE_PARTS = 100, 10
"""An example is of 100 units, or of a tenth of a unit in a cryptocurrency of many decimals."""
MANY_DECIMALS = 8


class ShownMethodFees(Struct, frozen=True):
    """The fees of a method and an example, as decimal strings. `chargeback` and `network` are empty without such a fee."""

    method_id: str
    label: Translatable
    currency: str
    terms: ShownFees
    amount: str
    net: str
    chargeback: str = ""
    network: str = ""


class ConversionFee(Struct, frozen=True):
    """The fee of a pair, and an example in the source currency. The fee is part of the amount."""

    from_currency: str
    to_currency: str
    terms: ShownFees
    amount: str
    fee: str


@OPERATIONS.add("GET", "/{mode}/fees", guard=signed_in_page("read"))
async def fees(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The fees of payments, withdrawals and conversions in this environment, and what is free."""
    services = request.services
    catalogue, rails = services.catalogue, services.rails
    settings = await payment_settings.of(services.db, env)
    accepted = [
        offer.method
        for offer in offers(env.mode, settings, rails, catalogue)
        if offer.unavailable_reason not in CANNOT_BE_USED
    ]
    paid_out = [
        method
        for method in list_methods(env.mode, catalogue)
        if unavailable_reason(method, env.mode, rails, catalogue) not in CANNOT_BE_USED
    ]
    return render(
        request,
        caller,
        "settings/fees",
        here="settings",
        payments=[_of_payments(method, catalogue) for method in accepted],
        withdrawals=[_of_withdrawals(method, catalogue) for method in paid_out],
        conversions=[
            _of_conversions(pair, catalogue) for pair in catalogue.pairs() if pair.enabled and pair.fee_basis_points
        ],
        converts=bool(catalogue.pairs()),
        with_products=any(
            catalogue.product_unavailable(product, env.mode) is None for product in catalogue.products_in(env.mode)
        ),
    )


def _example(currency: Currency, least_minor: int) -> int:
    """The amount of an example in minor units: not below what can be paid."""
    unit_minor = 10**currency.decimals
    usual_minor = unit_minor // CRYPTO_EXAMPLE_PARTS if currency.decimals >= MANY_DECIMALS else unit_minor * FIAT_EXAMPLE
    return max(usual_minor, least_minor)


def _of_payments(method: Method, catalogue: Catalogue) -> ShownMethodFees:
    currency = catalogue.currencies[method.asset]
    amount_minor = _example(currency, method.minimum_minor)
    return ShownMethodFees(
        method_id=method.method_id,
        label=method.label,
        currency=currency.code,
        terms=fees_of(method.fees, currency),
        amount=currency.format(amount_minor),
        net=currency.format(amount_minor - method.fees.of(amount_minor)),
        chargeback=currency.format(method.fees.chargeback_minor) if method.fees.chargeback_minor else "",
    )


def _of_withdrawals(method: WithdrawalMethod, catalogue: Catalogue) -> ShownMethodFees:
    currency = catalogue.currencies[method.currency]
    terms = terms_of(method, _example(currency, method.minimum_minor), method.network_fee_modes[0])
    return ShownMethodFees(
        method_id=method.method_id,
        label=method.label,
        currency=currency.code,
        terms=fees_of(method.fees, currency),
        amount=currency.format(terms.debit_minor),
        net=currency.format(terms.receive_minor),
        network=currency.format(method.network_fee_minor) if method.network_fee_minor else "",
    )


def _of_conversions(pair: ConversionPair, catalogue: Catalogue) -> ConversionFee:
    currency = catalogue.currencies[pair.from_currency]
    amount_minor = _example(currency, pair.minimum_minor)
    return ConversionFee(
        from_currency=pair.from_currency,
        to_currency=pair.to_currency,
        terms=fees_of(Fees(basis_points=pair.fee_basis_points), currency),
        amount=currency.format(amount_minor),
        fee=currency.format(percentage(amount_minor, pair.fee_basis_points)),
    )
