"""The catalogue of an instance: the built-in entries with those of the operator's file."""

from collections.abc import Mapping

from msgspec import Struct

from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair, PriceFeed
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.methods import Fees, Method
from tollhouse.kernel.catalogue.products import SANDBOX, GameServer, Product, UnavailableReason
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.text import Translatable


class Catalogue(Struct, frozen=True):
    """Built once from the settings, by `instance/catalogue_file.py`.

    `conversion_pairs` has the pairs whose terms are not the defaults.
    """

    currencies: Mapping[str, Currency]
    methods: Mapping[str, Method]
    withdrawal_methods: Mapping[str, WithdrawalMethod]
    conversion_pairs: Mapping[str, ConversionPair]
    products: Mapping[str, Product]
    game_servers: Mapping[str, GameServer]
    price_feed: PriceFeed | None = None

    def fees_of(self, method_id: str) -> Fees:
        """The fees of a payment method; zero if it was removed from the catalogue."""
        method = self.methods.get(method_id)
        return Fees() if method is None else method.fees

    def label_of(self, method_id: str) -> Translatable:
        """The name of a payment method, for pages; its ID if it was removed from the catalogue."""
        method = self.methods.get(method_id)
        return method_id if method is None else method.label

    def is_refundable(self, method_id: str) -> bool:
        """Whether the payment method exists and supports refunds."""
        method = self.methods.get(method_id)
        return method is not None and method.refundable

    def pair(self, from_currency: str, to_currency: str) -> ConversionPair:
        """The terms of a pair: those of the operator's file, else the defaults."""
        pair_id = f"{from_currency}:{to_currency}"
        return self.conversion_pairs.get(pair_id) or ConversionPair(pair_id=pair_id)

    def pairs(self) -> list[ConversionPair]:
        """All convertible pairs, in both directions."""
        codes = [code for code, currency in self.currencies.items() if currency.operations.conversions]
        return [self.pair(code, other) for code in codes for other in codes if code != other]

    def products_in(self, mode: Mode) -> list[Product]:
        """The products of an environment. Sandbox products are listed in test mode only."""
        return [product for product in self.products.values() if product.server != SANDBOX or mode == "test"]

    def product_unavailable(self, product: Product, mode: Mode) -> UnavailableReason | None:
        """Why a product is unavailable in this environment; None if it is available."""
        if (product.server == SANDBOX) != (mode == "test"):
            return "not_in_environment"
        if not product.enabled:
            return "disabled_by_operator"
        if mode == "live" and product.server not in self.game_servers:
            return "provider_not_configured"
        return None

    def format_amount(self, minor: int, code: str) -> str:
        """The decimal string of an amount. The currency must exist."""
        return self.currencies[code].format(minor)

    def priced(self, minor: int, code: str) -> str:
        """The amount with its currency: `12.50 EUR`."""
        return f"{self.format_amount(minor, code)} {code}"
