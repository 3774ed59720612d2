"""Dashboard pages to order a fulfillment: choose a product, fill in the form, review the cost, confirm.

The confirmation has an idempotency key, so a form that is sent twice orders once.
"""

from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.schema_fields import form_fields, read_values, to_object
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import Product, UnavailableReason
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import new_id_text, parse_id
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance
from tollhouse.transfers.fulfillments import actions
from tollhouse.transfers.fulfillments.new_fulfillment import NewFulfillment
from tollhouse.transfers.orders.errors import DuplicateExternalId, PriceChanged

OPERATIONS = Operations(PAGES)
MEMBER = "recipient"
FIELDS = ("quantity", "external_id", "webhook_url")
QUANTITY_DIGITS_MAX = 10
REASONS: dict[UnavailableReason, str] = {
    "not_in_environment": "Only available in live mode.",
    "disabled_by_operator": "Disabled by the operator.",
    "provider_not_configured": "The game server is not configured yet.",
}
PRICE_INCREASED = "The price has increased. Review the new cost before you confirm."


class FulfillmentForm(Struct, frozen=True):
    """The values of the form, with those of the product's own fields, and the order they describe."""

    values: dict[str, str]
    new: NewFulfillment


@OPERATIONS.add("GET", "/{mode}/fulfillments/new", guard=signed_in_page)
async def choose(request: Request, caller: Person, mode: str) -> Response:
    """The products of this environment with their prices; unavailable products with the reason."""
    env = caller.env(mode)
    listed = request.services.catalogue.products_in(env.mode)
    reasons = {product.product_id: _reason(product, env, request.services.catalogue) for product in listed}
    return page(
        request,
        "dashboard/fulfillments/choose.html",
        person=caller,
        mode=env.mode,
        here="fulfillments",
        products=listed,
        reasons=reasons,
        amount=request.services.catalogue.format_amount,
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/new/{product_id}", guard=signed_in_page, recent_authentication="live")
async def fill_in(request: Request, caller: Person, mode: str, product_id: str) -> Response:
    """The form of a product."""
    env = caller.env(mode)
    product = _product(product_id, env, request.services.catalogue)
    return await _form(request, caller, env, product, _parse_form(Form([]), product))


@OPERATIONS.add("POST", "/{mode}/fulfillments/new/{product_id}", guard=signed_in_page, recent_authentication="live")
async def review(request: Request, caller: Person, mode: str, product_id: str) -> Response:
    """The cost to confirm, or the form with its errors."""
    env = caller.env(mode)
    posted, product = request.form(), _product(product_id, env, request.services.catalogue)
    form = _parse_form(posted, product)
    if posted.one("change"):
        return await _form(request, caller, env, product, form)
    return await _review(request, caller, env, product, form)


@OPERATIONS.add("POST", "/{mode}/fulfillments/new/{product_id}/confirm", guard=signed_in_page, recent_authentication="live")
async def confirm(request: Request, caller: Person, mode: str, product_id: str) -> Response:
    """Order at most at the cost that was shown."""
    env = caller.env(mode)
    posted, product = request.form(), _product(product_id, env, request.services.catalogue)
    key, max_cost = posted.one("key") or "", posted.one("max_cost")
    form = _parse_form(posted, product)
    if parse_id(key) is None or max_cost is None:
        return await _review(request, caller, env, product, form)
    new = msgspec.structs.replace(form.new, max_cost=max_cost)

    async def order(work: Work) -> UUID:
        async def make() -> UUID:
            return (await actions.order(work, env, new)).id

        return await create_once(work, env, key, (request.path, new), make)

    try:
        ordered_id = await request.transact(order)
    except PriceChanged:
        return await _review(request, caller, env, product, form, PRICE_INCREASED)
    except ApiError as error:
        return await _form(request, caller, env, product, form, _form_errors(error, form))
    return see_other(f"/{env.mode}/fulfillments/{ordered_id}")


def _product(product_id: str, env: MerchantEnv, catalogue: Catalogue) -> Product:
    product = catalogue.products.get(product_id)
    if product is None or product not in catalogue.products_in(env.mode):
        raise NotFound
    return product


def _reason(product: Product, env: MerchantEnv, catalogue: Catalogue) -> str:
    """Why a product is unavailable; empty where it is available."""
    reason = catalogue.product_unavailable(product, env.mode)
    return "" if reason is None else REASONS[reason]


def _parse_form(posted: Form, product: Product) -> FulfillmentForm:
    fields = form_fields(product.recipient_schema, MEMBER)
    values = {name: posted.one(name) or "" for name in FIELDS} | read_values(fields, posted)
    digits = values["quantity"]
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= QUANTITY_DIGITS_MAX
    new = NewFulfillment(
        product_id=product.product_id,
        quantity=int(digits) if is_number else 0,
        recipient=to_object(fields, values),
        external_id=values["external_id"] or None,
        webhook_url=values["webhook_url"] or None,
    )
    return FulfillmentForm(values, new)


async def _review(
    request: Request, person: Person, env: MerchantEnv, product: Product, form: FulfillmentForm, message: str = ""
) -> Response:
    try:
        await request.transact(lambda work: actions.check_order(work, env, form.new))
    except ApiError as error:
        return await _form(request, person, env, product, form, _form_errors(error, form))
    return page(
        request,
        "dashboard/fulfillments/review.html",
        409 if message else 200,
        person=person,
        mode=env.mode,
        here="fulfillments",
        product=product,
        key=new_id_text(),
        cost=request.services.catalogue.format_amount(product.unit_price_minor * form.new.quantity, product.currency),
        price=request.services.catalogue.format_amount(product.unit_price_minor, product.currency),
        fields=form_fields(product.recipient_schema, MEMBER),
        values=form.values,
        message=message,
    )


async def _form(
    request: Request,
    person: Person,
    env: MerchantEnv,
    product: Product,
    form: FulfillmentForm,
    form_errors: FormErrors = NO_ERRORS,
) -> Response:
    balance = await get_balance(request.services.db, env, product.currency)
    return page(
        request,
        "dashboard/fulfillments/new.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="fulfillments",
        product=product,
        reason=_reason(product, env, request.services.catalogue),
        available=request.services.catalogue.format_amount(balance.available_minor, product.currency),
        price=request.services.catalogue.format_amount(product.unit_price_minor, product.currency),
        fields=form_fields(product.recipient_schema, MEMBER),
        values=form.values,
        form_errors=form_errors,
    )


def _form_errors(error: ApiError, form: FulfillmentForm) -> FormErrors:
    at = "external_id" if isinstance(error, DuplicateExternalId) else ""
    at = "quantity" if isinstance(error, InsufficientFunds) else at
    return form_errors_of(error, form.values, at)
