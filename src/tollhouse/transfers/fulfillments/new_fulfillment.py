"""The body of POST /fulfillments, and its validation."""

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import SANDBOX, Product, Quantity
from tollhouse.kernel.catalogue.provider_fields import fields_errors
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.fulfillments.errors import ProductUnavailable
from tollhouse.transfers.orders.destinations import destination_errors
from tollhouse.transfers.orders.errors import PriceChanged


class NewFulfillment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fulfillment to order. `max_cost` is the highest acceptable cost, in the product's currency."""

    product_id: str
    quantity: Annotated[Quantity, example(10)]
    recipient: Annotated[dict[str, Any], example({"player_id": "nina-7"})]
    project_id: UUID | None = None
    max_cost: Amount = None
    webhook_url: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.caller.env, context.settings, context.catalogue)


def parse(new: NewFulfillment, env: MerchantEnv, settings: Settings, catalogue: Catalogue) -> Product:
    """The product. Raises `ValidationFailed` with every error, then `ProductUnavailable`."""
    product = _known(new.product_id, env, catalogue)
    if field_errors := list(_field_errors(new, env, settings, catalogue)):
        raise ValidationFailed(*field_errors)
    if product is None:
        raise ProductUnavailable(None)
    return product


def ensure_available(new: NewFulfillment, product: Product, env: MerchantEnv, catalogue: Catalogue) -> None:
    """Raises `ProductUnavailable`, and `PriceChanged` where the cost exceeds `max_cost`."""
    reason = catalogue.product_unavailable(product, env.mode)
    if reason is not None:
        raise ProductUnavailable(reason)
    cost_minor = product.unit_price_minor * new.quantity
    max_cost_minor = minor_of(new.max_cost, catalogue.currencies[product.currency])
    if max_cost_minor is not None and max_cost_minor < cost_minor:
        raise PriceChanged({"cost_minor": cost_minor, "max_cost_minor": max_cost_minor, "currency": product.currency})


def _field_errors(new: NewFulfillment, env: MerchantEnv, settings: Settings, catalogue: Catalogue) -> Iterator[FieldError]:
    product = _known(new.product_id, env, catalogue)
    if product is not None:
        yield from _product_errors(new, product, catalogue)
    yield from destination_errors(new.webhook_url, env, settings)
    yield from reference_errors(external_id=new.external_id, metadata=new.metadata)


def _known(product_id: str, env: MerchantEnv, catalogue: Catalogue) -> Product | None:
    product = catalogue.products.get(product_id)
    return None if product is not None and product.server == SANDBOX and env.livemode else product


def _product_errors(new: NewFulfillment, product: Product, catalogue: Catalogue) -> Iterator[FieldError]:
    minimum, maximum = product.minimum_quantity, min(product.maximum_quantity, MINOR_MAX // product.unit_price_minor)
    if not minimum <= new.quantity <= maximum:
        yield FieldError("quantity", "out_of_range", messages.whole_number(minimum, maximum))
    known = catalogue.currencies[product.currency]
    if new.max_cost is not None and minor_of(new.max_cost, known) is None:
        yield amount_error(known, "max_cost")
    yield from fields_errors(product.recipient_schema, new.recipient, "recipient")
