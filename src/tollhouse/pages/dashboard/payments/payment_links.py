"""The dashboard's pages of payment links: the list, one link, its expiry and its cancellation."""

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, form_errors_of
from tollhouse.http.lists import KeysetQuery
from tollhouse.http.markup import qr_image
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import FIELDS, AmountFilter
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.pages.dashboard.go_live import go_live_state
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.payments.link_form import warning_of
from tollhouse.pages.dashboard.payments.new_payment_link import LIFETIMES
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.payments.links import new_link, store
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import LinkNotActive, LinkStatus, PaymentLink
from tollhouse.payments.links.new_link import OPTIONAL_TEXTS
from tollhouse.payments.links.offers import load_reason, load_reasons
from tollhouse.payments.links.store import LinkListFilter
from tollhouse.payments.links.views import currency_choices, link_view, method_labels, project_choices
from tollhouse.payments.transactions import link_closing, payment_list_store
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.orders.store import clock_offset

OPERATIONS = Operations(PAGES)


class LinkListQuery(KeysetQuery, AmountFilter, frozen=True, forbid_unknown_fields=True):
    """The filters in the query string. Empty means no filter; an unknown value matches nothing."""

    status: Literal["", LinkStatus] = ""
    currency: str = ""
    project_id: str = ""
    reference: str = ""
    amount: str = ""
    amount_from: str = ""
    amount_to: str = ""

    @property
    def filters(self) -> int:
        """The number of filters set."""
        form_values = (self.status, self.currency, self.project_id, self.reference, self.typed_amounts)
        return sum(bool(value) for value in form_values)

    def to_filter(self, currencies: Mapping[str, Currency]) -> LinkListFilter | None:
        """The filter for the store; None if no link can match. Raises `ValidationFailed` at the amounts."""
        amounts, project_id = self.amounts(currencies), parse_id(self.project_id)
        if self.project_id and project_id is None:
            return None
        reference = self.reference.strip() or None
        return LinkListFilter(self.status or None, self.currency or None, project_id, reference, amounts)


@OPERATIONS.add("GET", "/{mode}/payment-links", guard=signed_in_page("read"))
async def links(request: Request, caller: Person, env: MerchantEnv, query: LinkListQuery) -> Response:
    """List payment links, newest first."""
    db = request.services.db
    form_errors, filters = NO_ERRORS, None
    try:
        filters = query.to_filter(request.services.catalogue.currencies)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, FIELDS)
    found = [] if filters is None else await store.search_links(db, env, filters, request.now, query.before, query.fetch)
    shown, more = query.cut(found)
    services = request.services
    reasons = await load_reasons(db, env, shown, services, request.now, is_suspended=caller.suspended)
    return render(
        request,
        caller,
        "payment_links/links",
        here="payment-links",
        links=[
            link_view(link, services.settings.base_url, request.now, services.catalogue, reasons[link.id]) for link in shown
        ],
        unpayable={link.id: warning_of(reasons[link.id], link.currency) for link in shown},
        query=query,
        saved=await load_saved_filters(request, caller, env, "payment-links", query),
        form_errors=form_errors,
        currencies=currency_choices(request.services.catalogue),
        projects=await project_choices(db, env),
        going_live=await go_live_state(db, env, caller),
        page_links=query.links(f"/{env.mode}/payment-links", shown, more=more),
    )


PAYMENTS_SHOWN = 10
NOT_ACTIVE = "The payment link is no longer active, so it was not canceled."
NOT_CHANGED = "The payment link is no longer active, so its expiry was not changed."


@OPERATIONS.add("GET", "/{mode}/payment-links/{link_id}", guard=signed_in_page("read"))
async def link(request: Request, caller: Person, env: MerchantEnv, link_id: UUID) -> Response:
    """Show a link: URL, QR code and payments."""
    return await _link(request, caller, env, link_id)


@OPERATIONS.add("GET", "/{mode}/payment-links/{link_id}/cancel", guard=signed_in_page("payments"))
async def confirm_cancel(request: Request, caller: Person, env: MerchantEnv, link_id: UUID) -> Response:
    """Ask for confirmation before canceling."""
    found = await _found(request, env, link_id)
    if found.status_at(request.now) != "active":
        return see_other(f"/{env.mode}/payment-links/{link_id}")
    view = link_view(found, request.services.settings.base_url, request.now, request.services.catalogue)
    return render(request, caller, "payments/link_cancel", here="payment-links", link=view)


@OPERATIONS.add("POST", "/{mode}/payment-links/{link_id}/cancel", guard=signed_in_page("payments"))
async def cancel(request: Request, caller: Person, env: MerchantEnv, link_id: UUID) -> Response:
    """Cancel an active link. A repeated submit changes nothing."""
    try:
        await request.transact(lambda work: link_closing.cancel(work, env, link_id))
    except LinkNotActive as error:
        return await _link(request, caller, env, link_id, error, NOT_ACTIVE)
    return see_other(f"/{env.mode}/payment-links/{link_id}")


@OPERATIONS.add("POST", "/{mode}/payment-links/{link_id}/expiry", guard=signed_in_page("payments"))
async def change_expiry(request: Request, caller: Person, env: MerchantEnv, link_id: UUID) -> Response:
    """Let an active link expire this long after now."""
    lifetime = LIFETIMES.get(request.form().one("expires") or "")
    if lifetime is None:
        raise ValidationFailed(FieldError("expires", "invalid_value", messages.A_CHOICE))

    async def action(work: Work) -> None:
        expires_at = work.now + await clock_offset(work.tx, env) + lifetime[0]
        await new_link.change_expiry(work, env, link_id, expires_at)

    try:
        await request.transact(action)
    except InvalidState as error:
        return await _link(request, caller, env, link_id, error, NOT_CHANGED)
    return see_other(f"/{env.mode}/payment-links/{link_id}")


async def _link(
    request: Request, person: Person, env: MerchantEnv, link_id: UUID, error: ApiError | None = None, message: str = ""
) -> Response:
    found = await _found(request, env, link_id)
    services, is_suspended = request.services, person.suspended
    reason = await load_reason(services.db, found, services, request.now, is_suspended=is_suspended)
    view = link_view(found, services.settings.base_url, request.now, services.catalogue, reason)
    paid = await payment_list_store.list_of_link(request.services.db, env, link_id, request.now, PAYMENTS_SHOWN + 1)
    return render(
        request,
        person,
        "payments/link",
        200 if error is None else error.status,
        here="payment-links",
        link=view,
        unpayable=warning_of(reason, found.currency),
        optional_texts=OPTIONAL_TEXTS,
        qr=qr_image(view.url) if found.status_at(request.now) == "active" else None,
        project=dict(await project_choices(request.services.db, env)).get(str(found.project_id), ""),
        payments=paid[:PAYMENTS_SHOWN],
        more=len(paid) > PAYMENTS_SHOWN,
        names=method_labels(request.services.catalogue),
        amount=request.services.catalogue.format_amount,
        message=message,
        lifetimes=[(name, label) for name, (_, label) in LIFETIMES.items()],
    )


async def _found(request: Request, env: MerchantEnv, link_id: UUID) -> PaymentLink:
    return await link_store.get(request.services.db, env, link_id)
