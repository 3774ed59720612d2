"""Fulfillments in the Integration API, and the simulator of the game server."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import TestCredentialGuard, scope, spending
from tollhouse.accounts.identity.model import Caller, TestModeOnly
from tollhouse.accounts.spending.model import ConnectionLimitExceeded
from tollhouse.http.lists import CataloguePageRequest, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.fulfillments import actions, statistics, store
from tollhouse.transfers.fulfillments.actions import NewFulfillment
from tollhouse.transfers.fulfillments.model import FulfillmentView, ProductUnavailable, ProductView, product_view
from tollhouse.transfers.fulfillments.statistics import FulfillmentStatistics, StatisticsQuery
from tollhouse.transfers.fulfillments.store import FulfillmentsQuery
from tollhouse.transfers.orders.errors import DuplicateExternalId, InvalidProject, InvalidState, PriceChanged

INTEGRATION_OPERATIONS = Operations(INTEGRATION)
READ, WRITE = scope("fulfillments:read"), scope("fulfillments:write")


class FulfillmentSimulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to simulate. `partial`: half of the quantity, rounded up."""

    outcome: Annotated[Literal["complete", "fail", "partial"], example("complete")]
    """What the game server answers.

    complete: All units were delivered.
    fail: Nothing was delivered.
    partial: Some units were delivered.
    """


class FulfillmentProductList(Struct, frozen=True):
    """A page of products."""

    fulfillment_products: list[ProductView]
    has_more: bool
    next_cursor: str | None


class FulfillmentList(Struct, frozen=True):
    """A page of fulfillments."""

    fulfillments: list[FulfillmentView]
    has_more: bool
    next_cursor: str | None


@INTEGRATION_OPERATIONS.add("GET", "/fulfillment-products", guard=READ)
async def list_fulfillment_products(
    caller: Caller, page: CataloguePageRequest, catalogue: Catalogue
) -> FulfillmentProductList:
    """List fulfillment products. Unavailable ones have a reason."""
    every = catalogue.products_in(caller.env.mode)
    found, more, cursor = page.pick(every, lambda product: product.product_id)
    return FulfillmentProductList([product_view(product, caller.env.mode, catalogue) for product in found], more, cursor)


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/fulfillments",
    guard=spending("fulfillments:write"),
    status=201,
    idempotency="required",
    errors=(
        ValidationFailed,
        DuplicateExternalId,
        ProductUnavailable,
        PriceChanged,
        InvalidProject,
        ConnectionLimitExceeded,
        InsufficientFunds,
    ),
)
async def order_fulfillment(caller: Caller, body: NewFulfillment, work: Work) -> FulfillmentView:
    """Create a fulfillment. It orders a delivery to a player, paid from the balance."""
    return FulfillmentView.of(await actions.order(work, caller.env, body), work.services.catalogue)


@INTEGRATION_OPERATIONS.add("GET", "/fulfillments", guard=READ, errors=(ValidationFailed,))
async def list_fulfillments(
    caller: Caller, query: FulfillmentsQuery, page: PageRequest, db: Pool, catalogue: Catalogue
) -> FulfillmentList:
    """List fulfillments. Newest first."""
    found, more, cursor = page.cut(await store.list_fulfillments(db, caller.env, query, page.window))
    return FulfillmentList([FulfillmentView.of(fulfillment, catalogue) for fulfillment in found], more, cursor)


@INTEGRATION_OPERATIONS.add("GET", "/fulfillments/statistics", guard=READ, errors=(ValidationFailed,))
async def read_fulfillment_statistics(
    caller: Caller, query: StatisticsQuery, services: Services, now: datetime
) -> FulfillmentStatistics:
    """Retrieve fulfillment statistics. They cover a period, in total and by day, product or status."""
    return await statistics.compute(await services.reports_db(), caller.env, query, now, services.catalogue)


@INTEGRATION_OPERATIONS.add("GET", "/fulfillments/{fulfillment_id}", guard=READ, errors=(NotFound,))
async def read_fulfillment(caller: Caller, fulfillment_id: UUID, db: Pool, catalogue: Catalogue) -> FulfillmentView:
    """Retrieve a fulfillment."""
    return FulfillmentView.of(await store.get(db, caller.env, fulfillment_id), catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST", "/fulfillments/{fulfillment_id}/cancel", guard=WRITE, idempotency="honoured", errors=(NotFound, InvalidState)
)
async def cancel_fulfillment(caller: Caller, fulfillment_id: UUID, work: Work) -> FulfillmentView:
    """Cancel a fulfillment. Possible while it is pending. The cost becomes available again."""
    return FulfillmentView.of(await actions.cancel(work, caller.env, fulfillment_id), work.services.catalogue)


@INTEGRATION_OPERATIONS.add(
    "POST",
    "/test/fulfillments/{fulfillment_id}/simulate",
    guard=TestCredentialGuard("fulfillments:write"),
    idempotency="honoured",
    errors=(TestModeOnly, NotFound, InvalidState),
)
async def simulate_fulfillment(
    caller: Caller, fulfillment_id: UUID, body: FulfillmentSimulation, work: Work
) -> FulfillmentView:
    """Simulate a fulfillment. You decide what the game server answers."""
    return FulfillmentView.of(await actions.play(work, caller.env, fulfillment_id, body.outcome), work.services.catalogue)
