"""Dashboard pages of withdrawals: list, details, cancel."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, form_errors_of
from tollhouse.http.lists import LongPageQuery, status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.schema_fields import describe
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.typed_amounts import FIELDS, AmountFilter
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.rails.registry import Rails
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals import actions, methods, store
from tollhouse.transfers.withdrawals.model import Withdrawal, WithdrawalStatus
from tollhouse.transfers.withdrawals.store import WithdrawalsQuery
from tollhouse.transfers.withdrawals.views import withdrawal_view

OPERATIONS = Operations(PAGES)
STATUSES = status_options(WithdrawalStatus)


class WithdrawalsPageQuery(LongPageQuery, AmountFilter, frozen=True, forbid_unknown_fields=True):
    """The filters in the query string. Empty is no filter; an unknown value matches nothing. Amounts are as typed."""

    status: Literal["", "pending_review", "approved", "processing", "completed", "failed", "canceled"] = ""
    method_id: str = ""
    currency: str = ""
    reference: str = ""
    amount: str = ""
    amount_from: str = ""
    amount_to: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is set."""
        return bool(self.status or self.method_id or self.currency or self.reference or self.typed_amounts)

    @property
    def to_query(self) -> WithdrawalsQuery:
        """The filters for the store, without the amounts."""
        return WithdrawalsQuery(
            status=[self.status] if self.status else None,
            currency=self.currency or None,
            method_id=self.method_id or None,
            external_id=self.reference.strip() or None,
        )


@OPERATIONS.add("GET", "/{mode}/withdrawals", guard=signed_in_page)
async def list_page(request: Request, caller: Person, mode: str, query: WithdrawalsPageQuery) -> Response:
    """The list of withdrawals, newest first."""
    env, catalogue = caller.env(mode), request.services.catalogue
    form_errors, found, more = NO_ERRORS, list[Withdrawal](), False
    try:
        amounts = query.amounts(catalogue.currencies)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, FIELDS)
    else:
        rows = await store.list_withdrawals(request.services.db, env, query.to_query, query.window, amounts)
        found, more = query.cut(rows)
    return page(
        request,
        "dashboard/withdrawals/list.html",
        form_errors.status,
        person=caller,
        mode=env.mode,
        here="withdrawals",
        withdrawals=[withdrawal_view(one, catalogue) for one in found],
        query=query,
        saved=await load_saved_filters(request, caller, env, "withdrawals", query),
        form_errors=form_errors,
        statuses=STATUSES,
        currencies=[(one.code, one.code) for one in catalogue.currencies.values() if one.operations.withdrawals],
        methods=_usable_methods(env, request.services.rails, catalogue),
        method_labels=_method_labels(catalogue),
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/withdrawals/{withdrawal_id}", guard=signed_in_page)
async def details(request: Request, caller: Person, mode: str, withdrawal_id: UUID) -> Response:
    """A withdrawal: amount, receiver, progress."""
    return await _details(request, caller, caller.env(mode), withdrawal_id)


@OPERATIONS.add("POST", "/{mode}/withdrawals/{withdrawal_id}/cancel", guard=signed_in_page)
async def cancel(request: Request, caller: Person, mode: str, withdrawal_id: UUID) -> Response:
    """Cancel a withdrawal that was not sent yet. A repeated request succeeds."""
    env = caller.env(mode)
    try:
        await request.transact(lambda work: actions.cancel(work, env, withdrawal_id))
    except InvalidState as error:
        if (await store.get(request.services.db, env, withdrawal_id)).status != "canceled":
            return await _details(request, caller, env, withdrawal_id, error)
    return see_other(f"/{env.mode}/withdrawals/{withdrawal_id}")


async def _details(
    request: Request, person: Person, env: MerchantEnv, withdrawal_id: UUID, error: InvalidState | None = None
) -> Response:
    found = await store.get(request.services.db, env, withdrawal_id)
    return page(
        request,
        "dashboard/withdrawals/one.html",
        200 if error is None else error.status,
        person=person,
        mode=env.mode,
        here="withdrawals",
        withdrawal=withdrawal_view(found, request.services.catalogue),
        method_labels=_method_labels(request.services.catalogue),
        provider_fields=describe(found.provider_fields),
        message="" if error is None else "This withdrawal can no longer be canceled: it was sent or has ended.",
    )


def _usable_methods(env: MerchantEnv, rails: Rails, catalogue: Catalogue) -> list[tuple[str, Translatable]]:
    """The ids and names of the methods of this environment."""
    listed = methods.list_methods(env.mode, catalogue)
    usable = (one for one in listed if methods.unavailable_reason(one, env.mode, rails, catalogue) != "not_in_environment")
    return [(method.method_id, method.label) for method in usable]


def _method_labels(catalogue: Catalogue) -> dict[str, Translatable]:
    """The names of methods by id. Methods that have left the catalogue are missing."""
    return {method_id: method.label for method_id, method in catalogue.withdrawal_methods.items()}
