"""The dashboard's pages about fulfillments: the list, one of them, canceling, and statistics."""

from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.catalogue import products
from tollhouse.catalogue.products import PRODUCTS
from tollhouse.fulfillments import actions, statistics, statistics_picture, store
from tollhouse.fulfillments.model import Status
from tollhouse.fulfillments.statistics import Statistics, StatisticsQuery
from tollhouse.fulfillments.store import FulfillmentFilter
from tollhouse.fulfillments.views import fulfillment_view
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, statuses_of, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, page, see_other
from tollhouse.http.schema_fields import told
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.orders.errors import InvalidState

OPERATIONS = Operations(PAGES)
STATUSES = statuses_of(Status)
GROUPS = (("day", "Day"), ("game", "Game"), ("product", "Product"), ("status", "Status"))


class FulfillmentsPage(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&product_id=&page=` of the page of fulfillments. Empty is no filter; an unknown product matches nothing."""

    status: Literal["", "pending", "processing", "completed", "partially_completed", "failed", "canceled"] = ""
    product_id: str = ""

    @property
    def filters(self) -> bool:
        """Whether not every fulfillment is meant."""
        return bool(self.status or self.product_id)


class StatisticsPage(Struct, frozen=True, forbid_unknown_fields=True):
    """`?from=&to=&group_by=&product_id=` of the page of statistics. Empty is as if it were left out."""

    start: str = msgspec.field(name="from", default="")
    to: str = ""
    group_by: Literal["day", "game", "product", "status"] = "day"
    product_id: str = ""

    @property
    def query(self) -> StatisticsQuery:
        """What is asked for. A game is all of its products."""
        group_by = "product" if self.group_by == "game" else self.group_by
        return StatisticsQuery(
            start=self.start or None, to=self.to or None, group_by=group_by, product_id=self.product_id or None
        )


@OPERATIONS.add("GET", "/{mode}/fulfillments", guard=signed_in_page)
async def fulfillments(request: Request, caller: Person, mode: str, query: FulfillmentsPage) -> Response:
    """Fulfillments, newest first; of one status or product, where the address says so."""
    env = caller.env(mode)
    wanted = FulfillmentFilter(status=[query.status] if query.status else None, product_id=query.product_id or None)
    shown, more = query.cut(await store.listed(request.services.db, env, wanted, query.window))
    return page(
        request,
        "fulfillments/list.html",
        person=caller,
        mode=env.mode,
        here="fulfillments",
        fulfillments=[fulfillment_view(one) for one in shown],
        names=_names(),
        query=query,
        statuses=STATUSES,
        products=_choices(env.mode),
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/statistics", guard=signed_in_page)
async def show_statistics(request: Request, caller: Person, mode: str, query: StatisticsPage) -> Response:
    """How many deliveries, how well, how fast, at what cost; by day, game, product or status."""
    env = caller.env(mode)
    found: Statistics | None = None
    form_errors = NO_ERRORS
    try:
        found = await statistics.of(request.services.db, env, query.query, request.now)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, {"from", "to"})
    return page(
        request,
        "fulfillments/statistics.html",
        form_errors.status,
        person=caller,
        mode=env.mode,
        here="fulfillments",
        statistics=found,
        **_drawn(found, query.group_by, formats_of(request)),
        asked={"from": query.start, "to": query.to, "group_by": query.group_by, "product_id": query.product_id},
        groups=GROUPS,
        names=_names(),
        products=_choices(env.mode),
        form_errors=form_errors,
    )


@OPERATIONS.add("GET", "/{mode}/fulfillments/{fulfillment_id}", guard=signed_in_page)
async def fulfillment(request: Request, caller: Person, mode: str, fulfillment_id: UUID) -> Response:
    """One fulfillment: what, for whom, how far it has come."""
    return await _fulfillment(request, caller, caller.env(mode), fulfillment_id)


@OPERATIONS.add("POST", "/{mode}/fulfillments/{fulfillment_id}/cancel", guard=signed_in_page)
async def cancel(request: Request, caller: Person, mode: str, fulfillment_id: UUID) -> Response:
    """Cancel one that is still pending. Clicked twice, it is canceled once and that is well."""
    env = caller.env(mode)
    try:
        await request.services.db.transact(lambda tx: actions.cancel(tx, env, fulfillment_id, request.services, request.now))
    except InvalidState as error:
        current = await store.one(request.services.db, env, fulfillment_id)
        if current is not None and current.status != "canceled":
            form_errors = FormErrors("The game server was asked already. Nothing was canceled.", status=error.status)
            return await _fulfillment(request, caller, env, fulfillment_id, form_errors)
    return see_other(f"/{env.mode}/fulfillments/{fulfillment_id}")


def _drawn(found: Statistics | None, group_by: str, own: Formats) -> dict[str, Any]:
    """The rows of the page, and their picture: columns over time, or a strip."""
    rows = [] if found is None else found.groups
    if group_by in {"game", "product"}:
        rows = statistics_picture.most_first(statistics_picture.by_game(rows) if group_by == "game" else rows)
        return {"rows": rows, "columns": None, "strip": statistics_picture.shares(rows)}
    columns = statistics_picture.columns(found, own) if found is not None and group_by == "day" else None
    return {"rows": rows, "columns": columns, "strip": None}


async def _fulfillment(
    request: Request, person: Person, env: MerchantEnv, fulfillment_id: UUID, form_errors: FormErrors = NO_ERRORS
) -> Response:
    found = await store.one(request.services.db, env, fulfillment_id)
    if found is None:
        raise NotFound
    return page(
        request,
        "fulfillments/one.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="fulfillments",
        fulfillment=fulfillment_view(found),
        name=_names().get(found.product_id, found.product_id),
        told=told(found.recipient),
        message=form_errors.message,
    )


def _names() -> dict[str, str]:
    """The products' names. One that has left the catalogue is shown by its id."""
    return {product_id: f"{product.name}, {product.game}" for product_id, product in PRODUCTS.items()}


def _choices(mode: Mode) -> list[tuple[str, str]]:
    return [(product.product_id, f"{product.name}, {product.game}") for product in products.listed(mode)]
