"""Dashboard pages of withdrawals: list, details, cancel."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, page_links, status_options
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.schema_fields import describe
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.text import Translatable
from tollhouse.orders.errors import InvalidState
from tollhouse.rails.configured import Rails
from tollhouse.withdrawals import actions, methods, store
from tollhouse.withdrawals.model import WithdrawalStatus
from tollhouse.withdrawals.store import WithdrawalsQuery
from tollhouse.withdrawals.views import withdrawal_view

OPERATIONS = Operations(PAGES)
STATUSES = status_options(WithdrawalStatus)


class WithdrawalsPageQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&method_id=&page=` of the list. Empty is no filter; an unknown method matches nothing."""

    status: Literal["", "pending_review", "approved", "processing", "completed", "failed", "canceled"] = ""
    method_id: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is set."""
        return bool(self.status or self.method_id)


@OPERATIONS.add("GET", "/{mode}/withdrawals", guard=signed_in_page)
async def list_page(request: Request, caller: Person, mode: str, query: WithdrawalsPageQuery) -> Response:
    """The list of withdrawals, newest first."""
    env = caller.env(mode)
    filters = WithdrawalsQuery(status=[query.status] if query.status else None, method_id=query.method_id or None)
    found, more = query.cut(await store.list_withdrawals(request.services.db, env, filters, query.window))
    return page(
        request,
        "dashboard/withdrawals/list.html",
        person=caller,
        mode=env.mode,
        here="withdrawals",
        withdrawals=[withdrawal_view(one, request.services.catalogue) for one in found],
        query=query,
        statuses=STATUSES,
        methods=_usable_methods(env, request.services.rails, request.services.catalogue),
        method_labels=_method_labels(request.services.catalogue),
        page_links=page_links(query, more=more),
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
