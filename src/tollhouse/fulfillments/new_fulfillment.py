"""The body of POST /fulfillments, and everything that can be wrong with it, told at once."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import Amount, amount_fault, minor_of
from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.catalogue.products import PRODUCTS, SANDBOX, Product, Quantity
from tollhouse.catalogue.provider_fields import fields_faults
from tollhouse.events.destination import check_destination_url
from tollhouse.fulfillments.errors import ProductUnavailable
from tollhouse.http.bodies import RequestFacts
from tollhouse.http.references import reference_faults
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.orders.errors import PriceChanged
from tollhouse.platform.config import Settings


class NewFulfillment(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant asks for. `max_cost` is what it may cost at most, in the product's currency."""

    product_id: str
    quantity: Quantity
    recipient: dict[str, Any]
    project_id: UUID | None = None
    max_cost: Amount = None
    webhook_url: str | None = None
    external_id: str | None = None
    metadata: dict[str, str] | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong, as far as nothing is looked up."""
        return _faults(self, facts.caller.env, facts.settings)


def check(new: NewFulfillment, env: MerchantEnv, settings: Settings) -> Product:
    """The product that is asked for. Raises `ValidationFailed` with every fault."""
    product = _known(new.product_id, env)
    if field_errors := list(_faults(new, env, settings)):
        raise ValidationFailed(*field_errors)
    if product is None:
        raise ProductUnavailable(None)
    return product


def refuse_unavailable(new: NewFulfillment, product: Product, env: MerchantEnv) -> None:
    """Raises `ProductUnavailable`, and `PriceChanged` where it costs more than was thought."""
    reason = product.unavailable_in(env.mode)
    if reason is not None:
        raise ProductUnavailable(reason)
    cost_minor = product.unit_price_minor * new.quantity
    most_minor = minor_of(new.max_cost, CURRENCIES[product.currency])
    if most_minor is not None and most_minor < cost_minor:
        raise PriceChanged({"cost_minor": cost_minor, "max_cost_minor": most_minor, "currency": product.currency})


def _faults(new: NewFulfillment, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    product = _known(new.product_id, env)
    if product is not None:
        yield from _product_faults(new, product)
    yield from _url_faults(new, env, settings)
    yield from reference_faults(external_id=new.external_id, metadata=new.metadata)


def _known(product_id: str, env: MerchantEnv) -> Product | None:
    product = PRODUCTS.get(product_id)
    return None if product is not None and product.server == SANDBOX and env.livemode else product


def _product_faults(new: NewFulfillment, product: Product) -> Iterator[FieldError]:
    least, most = product.minimum_quantity, min(product.maximum_quantity, MINOR_MAX // product.unit_price_minor)
    if not least <= new.quantity <= most:
        yield FieldError("quantity", "out_of_range", messages.whole_number(least, most))
    known = CURRENCIES[product.currency]
    if new.max_cost is not None and minor_of(new.max_cost, known) is None:
        yield amount_fault(known, "max_cost")
    yield from fields_faults(product.recipient_schema, new.recipient, "recipient")


def _url_faults(new: NewFulfillment, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    if new.webhook_url is not None:
        form_errors = check_destination_url(new.webhook_url, livemode=env.livemode, settings=settings)
        if form_errors is not None:
            yield FieldError("webhook_url", "invalid_url", form_errors)
