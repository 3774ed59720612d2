"""Dashboard pages of fulfillments: list, details, and ordering: choose a product, fill in the form, review, confirm."""

from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery, status_options
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, see_other
from tollhouse.http.schema_fields import describe, form_fields, read_values, to_object
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.products import Product, UnavailableReason
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound, ValidationFailed
from tollhouse.kernel.ids import Mode, new_id_text, parse_id
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.transfers.fulfillments import actions, statistics, store
from tollhouse.transfers.fulfillments.actions import NewFulfillment
from tollhouse.transfers.fulfillments.model import FulfillmentStatus, FulfillmentView
from tollhouse.transfers.fulfillments.statistics import FulfillmentStatistics, StatisticsQuery
from tollhouse.transfers.fulfillments.store import FulfillmentsQuery
from tollhouse.transfers.orders.errors import DuplicateExternalId, InvalidState, PriceChanged

OPERATIONS = Operations(PAGES)
STATUSES = status_options(FulfillmentStatus)
GROUPS = (("day", "Day"), ("game", "Game"), ("product", "Product"), ("status", "Status"))


class FulfillmentsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&product_id=&page=` of the list. Empty is no filter; an unknown product matches nothing."""

    status: Literal["", "pending", "processing", "completed", "partially_completed", "failed", "canceled"] = ""
    product_id: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is set."""
        return bool(self.status or self.product_id)


class StatisticsPageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?from=&to=&group_by=&product_id=` of the statistics. Empty counts as omitted."""

    start: str = msgspec.field(name="from", default="")
    to: str = ""
    group_by: Literal["day", "game", "product", "status"] = "day"
    product_id: str = ""

    @property
    def query(self) -> StatisticsQuery:
        """The query of the statistics; games are grouped from products."""
        group_by = "product" if self.group_by == "game" else self.group_by
        return StatisticsQuery(
            start=self.start or None, to=self.to or None, group_by=group_by, product_id=self.product_id or None
        )


@OPERATIONS.add("GET", "/{mode}/fulfillments", guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: FulfillmentsPageQuery) -> Response:
    """The list of fulfillments, newest first."""
    filters = FulfillmentsQuery(status=[query.status] if query.status else None, product_id=query.product_id or None)
    found, more = query.cut(await store.list_fulfillments(request.services.db, env, filters, query.window))
    return render(
        request,
        caller,
        "fulfillments/list",
        here="fulfillments",
        fulfillments=[FulfillmentView.of(fulfillment, request.services.catalogue) for fulfillment in found],
        product_names=_product_names(request.services.catalogue),
        query=query,
        saved=await load_saved_filters(request, caller, env, "fulfillments", query),
        statuses=STATUSES,
        products=_product_options(env.mode, request.services.catalogue),
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/statistics", guard=signed_in_page("read"))
async def statistics_page(request: Request, caller: Person, env: MerchantEnv, query: StatisticsPageQuery) -> Response:
    """Statistics of deliveries by day, game, product or status."""
    found: FulfillmentStatistics | None = None
    form_errors = NO_ERRORS
    try:
        db = await request.services.reports_db()
        found = await statistics.compute(db, env, query.query, request.now, request.services.catalogue)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, {"from", "to"})
    return render(
        request,
        caller,
        "fulfillments/statistics",
        here="fulfillments",
        statistics=found,
        **_charts(found, query.group_by, formats_of(request), request.services.catalogue),
        filters={"from": query.start, "to": query.to, "group_by": query.group_by, "product_id": query.product_id},
        groups=GROUPS,
        product_names=_product_names(request.services.catalogue),
        products=_product_options(env.mode, request.services.catalogue),
        form_errors=form_errors,
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/{fulfillment_id}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, fulfillment_id: UUID) -> Response:
    """A fulfillment: product, recipient, progress."""
    return await _details(request, caller, env, fulfillment_id)


@OPERATIONS.add("POST", "/{mode}/fulfillments/{fulfillment_id}/cancel", guard=signed_in_page("money"))
async def cancel(request: Request, caller: Person, env: MerchantEnv, fulfillment_id: UUID) -> Response:
    """Cancel a pending fulfillment. A repeated request succeeds."""
    try:
        await request.transact(lambda work: actions.cancel(work, env, fulfillment_id))
    except InvalidState as error:
        if (await store.get(request.services.db, env, fulfillment_id)).status != "canceled":
            form_errors = FormErrors("This fulfillment can no longer be canceled.", status=error.status)
            return await _details(request, caller, env, fulfillment_id, form_errors)
    return see_other(f"/{env.mode}/fulfillments/{fulfillment_id}")


def _charts(found: FulfillmentStatistics | None, group_by: str, formats: Formats, catalogue: Catalogue) -> dict[str, Any]:
    """The rows of the page and their chart: a line for days, a strip for games and products."""
    rows = [] if found is None else found.groups
    if group_by in {"game", "product"}:
        rows = statistics.sort_by_units(statistics.by_game(rows, catalogue) if group_by == "game" else rows)
        return {"rows": rows, "drawn": statistics.shares(rows)}
    drawn = statistics.by_day(found, formats) if found is not None and group_by == "day" else None
    return {"rows": rows, "drawn": drawn}


async def _details(
    request: Request, person: Person, env: MerchantEnv, fulfillment_id: UUID, form_errors: FormErrors = NO_ERRORS
) -> Response:
    found = await store.get(request.services.db, env, fulfillment_id)
    return render(
        request,
        person,
        "fulfillments/one",
        form_errors.status,
        here="fulfillments",
        fulfillment=FulfillmentView.of(found, request.services.catalogue),
        name=_product_names(request.services.catalogue).get(found.product_id, found.product_id),
        recipient=describe(found.recipient),
        message=form_errors.message,
    )


def _product_names(catalogue: Catalogue) -> dict[str, str]:
    """The names of products by id. Products that have left the catalogue are missing."""
    return {product_id: f"{product.name}, {product.game}" for product_id, product in catalogue.products.items()}


def _product_options(mode: Mode, catalogue: Catalogue) -> list[tuple[str, str]]:
    return [(product.product_id, f"{product.name}, {product.game}") for product in catalogue.products_in(mode)]


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


@OPERATIONS.add("GET", "/{mode}/fulfillments/new", guard=signed_in_page("money"))
async def choose(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """The products of this environment with their prices; unavailable products with the reason."""
    listed = request.services.catalogue.products_in(env.mode)
    reasons = {product.product_id: _reason(product, env, request.services.catalogue) for product in listed}
    return render(
        request,
        caller,
        "fulfillments/choose",
        here="fulfillments",
        products=listed,
        reasons=reasons,
        amount=request.services.catalogue.format_amount,
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/new/{product_id}", guard=signed_in_page("money"), recent_authentication="live")
async def fill_in(request: Request, caller: Person, env: MerchantEnv, product_id: str) -> Response:
    """The form of a product."""
    product = _product(product_id, env, request.services.catalogue)
    return await _form(request, caller, env, product, _parse_form(Form([]), product))


@OPERATIONS.add("POST", "/{mode}/fulfillments/new/{product_id}", guard=signed_in_page("money"), recent_authentication="live")
async def review(request: Request, caller: Person, env: MerchantEnv, product_id: str) -> Response:
    """The cost to confirm, or the form with its errors."""
    posted, product = request.form(), _product(product_id, env, request.services.catalogue)
    form = _parse_form(posted, product)
    if posted.one("change"):
        return await _form(request, caller, env, product, form)
    return await _review(request, caller, env, product, form)


@OPERATIONS.add(
    "POST", "/{mode}/fulfillments/new/{product_id}/confirm", guard=signed_in_page("money"), recent_authentication="live"
)
async def confirm(request: Request, caller: Person, env: MerchantEnv, product_id: str) -> Response:
    """Order at most at the cost that was shown."""
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
    return render(
        request,
        person,
        "fulfillments/review",
        409 if message else 200,
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
    return render(
        request,
        person,
        "fulfillments/new",
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
