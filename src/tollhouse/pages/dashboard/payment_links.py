"""The dashboard's list of payment links."""

from collections.abc import Mapping
from typing import Literal

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, form_errors_of
from tollhouse.http.lists import KeysetQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.typed_amounts import FIELDS, AmountFilter
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.ids import parse_id
from tollhouse.pages.dashboard.go_live import go_live_state
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.pages.dashboard.unpayable import warning_of
from tollhouse.payments.links import store
from tollhouse.payments.links.choices import currency_choices, project_choices
from tollhouse.payments.links.model import LinkStatus
from tollhouse.payments.links.payability import load_reasons
from tollhouse.payments.links.store import LinkListFilter
from tollhouse.payments.links.views import link_view

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
        return sum(bool(one) for one in form_values)

    def to_filter(self, currencies: Mapping[str, Currency]) -> LinkListFilter | None:
        """The filter for the store; None if no link can match. Raises `ValidationFailed` at the amounts."""
        amounts, project_id = self.amounts(currencies), parse_id(self.project_id)
        if self.project_id and project_id is None:
            return None
        reference = self.reference.strip() or None
        return LinkListFilter(self.status or None, self.currency or None, project_id, reference, amounts)


@OPERATIONS.add("GET", "/{mode}/payment-links", guard=signed_in_page)
async def links(request: Request, caller: Person, mode: str, query: LinkListQuery) -> Response:
    """List payment links, newest first."""
    env, db = caller.env(mode), request.services.db
    form_errors, filters = NO_ERRORS, None
    try:
        filters = query.to_filter(request.services.catalogue.currencies)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, FIELDS)
    found = [] if filters is None else await store.search_links(db, env, filters, request.now, query.before, query.fetch)
    shown, more = query.cut(found)
    services = request.services
    reasons = await load_reasons(db, env, shown, services, request.now, is_suspended=caller.suspended)
    return page(
        request,
        "dashboard/payment_links/links.html",
        form_errors.status,
        person=caller,
        mode=env.mode,
        here="payment-links",
        links=[
            link_view(one, services.settings.base_url, request.now, services.catalogue, reasons[one.id]) for one in shown
        ],
        unpayable={one.id: warning_of(reasons[one.id], one.currency) for one in shown},
        query=query,
        saved=await load_saved_filters(request, caller, env, "payment-links", query),
        form_errors=form_errors,
        currencies=currency_choices(request.services.catalogue),
        projects=await project_choices(db, env),
        going_live=await go_live_state(db, env, caller),
        page_links=query.links(f"/{env.mode}/payment-links", shown, more=more),
    )
