"""The dashboard's pages about payment links: the list, one of them with its code to scan, and canceling."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.catalogue.currencies import format_amount
from tollhouse.http.keyset import KeysetQuery, turn_by
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import statuses_of
from tollhouse.http.qr import qr_image
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.payments import actions, listed_store, store
from tollhouse.payments.errors import LinkNotActive
from tollhouse.payments.model import LinkStatus, PaymentLink
from tollhouse.payments.payment_pages import currency_choices, method_names, project_choices
from tollhouse.payments.store import LinkSearch
from tollhouse.payments.views import link_view

OPERATIONS = Operations(PAGES)
STATUSES = statuses_of(LinkStatus)
PAYMENTS_SHOWN = 10
NOT_ACTIVE = "It is not active any more. Nothing was canceled."


class LinksPage(KeysetQuery, frozen=True, forbid_unknown_fields=True):
    """The filters in the address of the list. Empty is no filter; what there is not matches nothing."""

    status: Literal["", LinkStatus] = ""
    currency: str = ""
    project_id: str = ""
    reference: str = ""

    @property
    def filters(self) -> int:
        """By how many things the list is filtered."""
        return sum(bool(one) for one in (self.status, self.currency, self.project_id, self.reference))

    @property
    def wanted(self) -> LinkSearch | None:
        """What they mean; None where it is nothing that could be there."""
        project_id = parse_id(self.project_id)
        if self.project_id and project_id is None:
            return None
        return LinkSearch(self.status or None, self.currency or None, project_id, self.reference.strip() or None)


@OPERATIONS.add("GET", "/{mode}/payment-links", guard=signed_in_page)
async def links(request: Request, caller: Person, mode: str, query: LinksPage) -> Response:
    """Payment links, newest first; those that the address means."""
    env, db, wanted = caller.env(mode), request.services.db, query.wanted
    found = [] if wanted is None else await store.listed_behind(db, env, wanted, request.now, query.before, query.fetch)
    shown, more = query.cut(found)
    return page(
        request,
        "payments/links.html",
        person=caller,
        mode=env.mode,
        here="payment-links",
        links=[link_view(one, request.services.settings.base_url, request.now) for one in shown],
        query=query,
        statuses=STATUSES,
        currencies=currency_choices(),
        projects=await project_choices(db, env),
        turn=turn_by(query, f"/{env.mode}/payment-links", shown[-1].id if more else None),
    )


@OPERATIONS.add("GET", "/{mode}/payment-links/{link_id}", guard=signed_in_page)
async def link(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """One link: its address, its code to scan, who paid by it."""
    return await _link(request, caller, caller.env(mode), link_id)


@OPERATIONS.add("GET", "/{mode}/payment-links/{link_id}/cancel", guard=signed_in_page)
async def ask_before_canceling(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """What canceling means, before it is done."""
    env = caller.env(mode)
    found = await _found(request, env, link_id)
    if found.status_at(request.now) != "active":
        return see_other(f"/{env.mode}/payment-links/{link_id}")
    view = link_view(found, request.services.settings.base_url, request.now)
    return page(request, "payments/link_cancel.html", person=caller, mode=env.mode, here="payment-links", link=view)


@OPERATIONS.add("POST", "/{mode}/payment-links/{link_id}/cancel", guard=signed_in_page)
async def cancel(request: Request, caller: Person, mode: str, link_id: UUID) -> Response:
    """Cancel an active link. Clicked twice, it is canceled once and that is well."""
    env, services = caller.env(mode), request.services
    try:
        await services.db.transact(lambda tx: actions.cancel(tx, env, link_id, services, request.now))
    except LinkNotActive as error:
        return await _link(request, caller, env, link_id, error)
    return see_other(f"/{env.mode}/payment-links/{link_id}")


async def _link(
    request: Request, person: Person, env: MerchantEnv, link_id: UUID, error: LinkNotActive | None = None
) -> Response:
    found = await _found(request, env, link_id)
    view = link_view(found, request.services.settings.base_url, request.now)
    paid = await listed_store.of_link(request.services.db, env, link_id, request.now, PAYMENTS_SHOWN + 1)
    return page(
        request,
        "payments/link.html",
        200 if error is None else error.status,
        person=person,
        mode=env.mode,
        here="payment-links",
        link=view,
        qr=qr_image(view.url) if view.status == "active" else None,
        project=dict(await project_choices(request.services.db, env)).get(str(found.project_id), ""),
        payments=paid[:PAYMENTS_SHOWN],
        more=len(paid) > PAYMENTS_SHOWN,
        names=method_names(),
        amount=format_amount,
        message="" if error is None else NOT_ACTIVE,
    )


async def _found(request: Request, env: MerchantEnv, link_id: UUID) -> PaymentLink:
    found = await store.one(request.services.db, env, link_id)
    if found is None:
        raise NotFound
    return found
