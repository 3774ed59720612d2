"""Dashboard pages of fulfillments: list, details, cancel, statistics."""

from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery, status_options
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, page, see_other
from tollhouse.http.schema_fields import describe
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.transfers.fulfillments import actions, statistics, statistics_charts, store
from tollhouse.transfers.fulfillments.model import FulfillmentStatus
from tollhouse.transfers.fulfillments.statistics import FulfillmentStatistics, StatisticsQuery
from tollhouse.transfers.fulfillments.store import FulfillmentsQuery
from tollhouse.transfers.fulfillments.views import FulfillmentView
from tollhouse.transfers.orders.errors import InvalidState

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


@OPERATIONS.add("GET", "/{mode}/fulfillments", guard=signed_in_page)
async def list_page(request: Request, caller: Person, mode: str, query: FulfillmentsPageQuery) -> Response:
    """The list of fulfillments, newest first."""
    env = caller.env(mode)
    filters = FulfillmentsQuery(status=[query.status] if query.status else None, product_id=query.product_id or None)
    found, more = query.cut(await store.list_fulfillments(request.services.db, env, filters, query.window))
    return page(
        request,
        "dashboard/fulfillments/list.html",
        person=caller,
        mode=env.mode,
        here="fulfillments",
        fulfillments=[FulfillmentView.of(one, request.services.catalogue) for one in found],
        product_names=_product_names(request.services.catalogue),
        query=query,
        saved=await load_saved_filters(request, caller, env, "fulfillments", query),
        statuses=STATUSES,
        products=_product_options(env.mode, request.services.catalogue),
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/statistics", guard=signed_in_page)
async def statistics_page(request: Request, caller: Person, mode: str, query: StatisticsPageQuery) -> Response:
    """Statistics of deliveries by day, game, product or status."""
    env = caller.env(mode)
    found: FulfillmentStatistics | None = None
    form_errors = NO_ERRORS
    try:
        db = await request.services.reports_db()
        found = await statistics.compute(db, env, query.query, request.now, request.services.catalogue)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, {"from", "to"})
    return page(
        request,
        "dashboard/fulfillments/statistics.html",
        form_errors.status,
        person=caller,
        mode=env.mode,
        here="fulfillments",
        statistics=found,
        **_charts(found, query.group_by, formats_of(request), request.services.catalogue),
        filters={"from": query.start, "to": query.to, "group_by": query.group_by, "product_id": query.product_id},
        groups=GROUPS,
        product_names=_product_names(request.services.catalogue),
        products=_product_options(env.mode, request.services.catalogue),
        form_errors=form_errors,
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/{fulfillment_id}", guard=signed_in_page)
async def details(request: Request, caller: Person, mode: str, fulfillment_id: UUID) -> Response:
    """A fulfillment: product, recipient, progress."""
    return await _details(request, caller, caller.env(mode), fulfillment_id)


@OPERATIONS.add("POST", "/{mode}/fulfillments/{fulfillment_id}/cancel", guard=signed_in_page)
async def cancel(request: Request, caller: Person, mode: str, fulfillment_id: UUID) -> Response:
    """Cancel a pending fulfillment. A repeated request succeeds."""
    env = caller.env(mode)
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
        rows = statistics_charts.sort_by_units(statistics_charts.by_game(rows, catalogue) if group_by == "game" else rows)
        return {"rows": rows, "drawn": statistics_charts.shares(rows)}
    drawn = statistics_charts.by_day(found, formats) if found is not None and group_by == "day" else None
    return {"rows": rows, "drawn": drawn}


async def _details(
    request: Request, person: Person, env: MerchantEnv, fulfillment_id: UUID, form_errors: FormErrors = NO_ERRORS
) -> Response:
    found = await store.get(request.services.db, env, fulfillment_id)
    return page(
        request,
        "dashboard/fulfillments/one.html",
        form_errors.status,
        person=person,
        mode=env.mode,
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
