"""The Integration API's endpoints for payment links."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.emails import EmailUnverified
from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.lists import ListQuery, PageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services, Work
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.payments.links import new_link, store
from tollhouse.payments.links.model import LinkCreator, LinkStatus
from tollhouse.payments.links.new_link import LinkExpiryRequest, LinkRequest
from tollhouse.payments.links.offers import load_reason, load_reasons
from tollhouse.payments.links.store import LinkFilter
from tollhouse.payments.links.views import LinkView, link_view
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.orders.errors import CurrencyNotSupported, InvalidProject, InvalidState

OPERATIONS = Operations(INTEGRATION)


class LinksQuery(ListQuery, frozen=True):
    """Filters of GET /payment-links."""

    status: list[LinkStatus] | None = None
    currency: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


class LinkList(Struct, frozen=True):
    """A page of links."""

    payment_links: list[LinkView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add(
    "POST",
    "/payment-links",
    guard=scope("payments:write"),
    status=201,
    idempotency="honoured",
    errors=(ValidationFailed, CurrencyNotSupported, EmailUnverified, InvalidProject),
)
async def open_link(caller: Caller, body: LinkRequest, work: Work) -> LinkView:
    """Create a payment link."""
    created_by = LinkCreator("api_key" if caller.client_id is None else "oauth", caller.client_id)
    link, reason = await new_link.open_link(work, caller.env, body, created_by)
    return link_view(link, work.services.settings.base_url, work.now, work.services.catalogue, reason)


@OPERATIONS.add("GET", "/payment-links", guard=scope("payments:read"))
async def list_links(
    caller: Caller, query: LinksQuery, page: PageRequest, db: Pool, now: datetime, services: Services
) -> LinkList:
    """List payment links. Newest first."""
    filters = msgspec.convert(query, LinkFilter, from_attributes=True)
    links, more, cursor = page.cut(await store.list_links(db, caller.env, filters, now, page.window))
    reasons = await load_reasons(db, caller.env, links, services, now)
    base_url, catalogue = services.settings.base_url, services.catalogue
    return LinkList([link_view(link, base_url, now, catalogue, reasons[link.id]) for link in links], more, cursor)


@OPERATIONS.add("GET", "/payment-links/{link_id}", guard=scope("payments:read"), errors=(NotFound,))
async def read_link(caller: Caller, link_id: UUID, db: Pool, now: datetime, services: Services) -> LinkView:
    """Retrieve a payment link."""
    link = await store.get(db, caller.env, link_id)
    reason = await load_reason(db, link, services, now)
    return link_view(link, services.settings.base_url, now, services.catalogue, reason)


@OPERATIONS.add(
    "POST",
    "/payment-links/{link_id}/expiry",
    guard=scope("payments:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState, ValidationFailed),
)
async def change_expiry(caller: Caller, link_id: UUID, body: LinkExpiryRequest, work: Work) -> LinkView:
    """Change when an active payment link expires. It can be earlier or later."""
    link = await new_link.change_expiry(work, caller.env, link_id, body.expires_at)
    reason = await load_reason(work.tx, link, work.services, work.now)
    return link_view(link, work.services.settings.base_url, work.now, work.services.catalogue, reason)
