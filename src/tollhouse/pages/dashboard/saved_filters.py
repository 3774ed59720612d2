"""Saved filters: save the present filters of a list under a name, rename and delete them."""

import re
from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, NOT_SAVED, FormErrors, flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import SAVED_FILTER_NAME_CHARS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.dashboard import saved_filters_store as store
from tollhouse.pages.dashboard.balances.balance_payments import BalancePaymentsPageQuery
from tollhouse.pages.dashboard.balances.conversions import ConversionsPageQuery
from tollhouse.pages.dashboard.balances.fulfillments import FulfillmentsPageQuery
from tollhouse.pages.dashboard.balances.ledger_store import LedgerPageQuery
from tollhouse.pages.dashboard.balances.withdrawals import WithdrawalsPageQuery
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.payments.payment_links import LinkListQuery
from tollhouse.pages.dashboard.saved_filter_menu import address_of
from tollhouse.pages.dashboard.saved_filters_store import SavedFilter
from tollhouse.payments.transactions.payment_list import PaymentsQuery
from tollhouse.webhooks.endpoints.model import EventsPageQuery
from tollhouse.webhooks.request_log.model import RequestsQuery

OPERATIONS = Operations(PAGES)
PATH = "/{mode}/saved-filters"
QUERY_CHARS_MAX = 2_000
QUERY = re.compile(r"[!-\"$-~]+")
"""The characters of a query string: no space, control character or fragment."""
LISTS: Mapping[str, tuple[str, type[Struct]]] = {
    "payments": ("Payments", PaymentsQuery),
    "payment-links": ("Payment links", LinkListQuery),
    "withdrawals": ("Withdrawals", WithdrawalsPageQuery),
    "conversions": ("Conversions", ConversionsPageQuery),
    "ledger": ("Ledger", LedgerPageQuery),
    "balance-payments": ("Balance payments", BalancePaymentsPageQuery),
    "fulfillments": ("Fulfillments", FulfillmentsPageQuery),
    "developers/events": ("Events", EventsPageQuery),
    "developers/requests": ("API requests", RequestsQuery),
}
"""The lists whose filters can be saved: path below the mode, title, and type of the queries."""
NOTICES = {"renamed": "Filter renamed.", "deleted": "Filter deleted."}
A_NAME = Text("Enter a name of 1 to %(most)s characters.", most=SAVED_FILTER_NAME_CHARS_MAX)
NAME_TAKEN = "Another filter of this list has this name."
TOO_MANY = Text("A list can have %(most)s saved filters. Delete one first.", most=store.PER_LIST_MAX)
TOO_LONG = "These filters are too long to be saved."


@OPERATIONS.add("GET", PATH, guard=signed_in_page("own"))
async def saved_filters(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """All saved filters of this mode, by list."""
    return await _page(request, caller, env)


@OPERATIONS.add("POST", PATH, guard=signed_in_page("own"))
async def save(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Save the filters of a list; one that has the name is replaced. Leads back to the list."""
    form = request.form()
    list_name, query = form.one("list") or "", form.one("query") or ""
    name = " ".join((form.one("name") or "").split())
    if list_name not in LISTS or not QUERY.fullmatch(query):
        raise NotFound
    message = TOO_LONG if len(query) > QUERY_CHARS_MAX else _name_error(name)
    new = SavedFilter(new_id(), list_name, name, query)
    if not message and not await request.transact(lambda work: store.save(work.tx, caller.user_id, env.mode, new, work.now)):
        message = TOO_MANY
    if message:
        return await _page(request, caller, env, FormErrors(NOT_SAVED, {"name": message}, 422), new)
    return see_other(f"/{env.mode}/{list_name}?{query}")


@OPERATIONS.add("POST", PATH + "/{filter_id}/rename", guard=signed_in_page("own"))
async def rename(request: Request, caller: Person, env: MerchantEnv, filter_id: UUID) -> Response:
    """Change the name of a saved filter."""
    name = " ".join((request.form().one(f"name-{filter_id}") or "").split())
    message = _name_error(name)
    if not message and not await request.transact(
        lambda work: store.rename(work.tx, caller.user_id, env.mode, filter_id, name)
    ):
        message = NAME_TAKEN
    if message:
        return await _page(request, caller, env, FormErrors(NOT_SAVED, {f"name-{filter_id}": message}, 422))
    return see_other(f"/{env.mode}/saved-filters?done=renamed")


@OPERATIONS.add("POST", PATH + "/{filter_id}/delete", guard=signed_in_page("own"))
async def delete(caller: Person, env: MerchantEnv, filter_id: UUID, work: Work) -> Response:
    """Delete a saved filter. A repeated request succeeds."""
    await store.delete(work.tx, caller.user_id, env.mode, filter_id)
    return see_other(f"/{env.mode}/saved-filters?done=deleted")


def _name_error(name: str) -> Translatable:
    return "" if 1 <= len(name) <= SAVED_FILTER_NAME_CHARS_MAX and is_readable(name) else A_NAME


async def _page(
    request: Request,
    person: Person,
    env: MerchantEnv,
    form_errors: FormErrors = NO_ERRORS,
    unsaved: SavedFilter | None = None,
) -> Response:
    found = await store.list_filters(request.services.db, person.user_id, env.mode)
    done = flash_message(request.query) if request.method == "GET" else ""
    return render(
        request,
        person,
        "saved_filters/list",
        here="saved-filters",
        lists=[
            (path, title, [(saved, address_of(env, saved, kind)) for saved in found if saved.list_name == path])
            for path, (title, kind) in LISTS.items()
        ],
        has_filters=bool(found),
        unsaved=unsaved,
        form_errors=form_errors,
        notice=NOTICES.get(done, ""),
    )
