"""The dashboard's pages about withdrawals: the list, one of them with what became of it, and canceling."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.catalogue.withdrawal_methods import WITHDRAWAL_METHODS, WithdrawalMethod
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, statuses_of, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.schema_fields import told
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.orders.errors import InvalidState
from tollhouse.withdrawals import actions, methods, store
from tollhouse.withdrawals.model import WithdrawalStatus
from tollhouse.withdrawals.store import WithdrawalFilter
from tollhouse.withdrawals.views import withdrawal_view

OPERATIONS = Operations(PAGES)
STATUSES = statuses_of(WithdrawalStatus)


class WithdrawalsPage(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&method_id=&page=` of the page of withdrawals. Empty is no filter; an unknown method matches none."""

    status: Literal["", "pending_review", "approved", "processing", "completed", "failed", "canceled"] = ""
    method_id: str = ""

    @property
    def filters(self) -> bool:
        """Whether not every withdrawal is meant."""
        return bool(self.status or self.method_id)


@OPERATIONS.add("GET", "/{mode}/withdrawals", guard=signed_in_page)
async def withdrawals(request: Request, caller: Person, mode: str, query: WithdrawalsPage) -> Response:
    """Withdrawals, newest first; of one status or method, where the address says so."""
    env = caller.env(mode)
    wanted = WithdrawalFilter(status=[query.status] if query.status else None, method_id=query.method_id or None)
    shown, more = query.cut(await store.listed(request.services.db, env, wanted, query.window))
    return page(
        request,
        "withdrawals/list.html",
        person=caller,
        mode=env.mode,
        here="withdrawals",
        withdrawals=[withdrawal_view(one) for one in shown],
        query=query,
        statuses=STATUSES,
        methods=[(method.method_id, method.name) for method in methods.listed(env.mode) if _is_of(method, env)],
        names=_names(),
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/withdrawals/{withdrawal_id}", guard=signed_in_page)
async def withdrawal(request: Request, caller: Person, mode: str, withdrawal_id: UUID) -> Response:
    """One withdrawal: how much, to whom, how far it has come."""
    return await _withdrawal(request, caller, caller.env(mode), withdrawal_id)


@OPERATIONS.add("POST", "/{mode}/withdrawals/{withdrawal_id}/cancel", guard=signed_in_page)
async def cancel(request: Request, caller: Person, mode: str, withdrawal_id: UUID) -> Response:
    """Cancel one that was not sent yet. Clicked twice, it is canceled once and that is well."""
    env = caller.env(mode)
    try:
        await request.services.db.transact(lambda tx: actions.cancel(tx, env, withdrawal_id, request.services, request.now))
    except InvalidState as error:
        current = await store.one(request.services.db, env, withdrawal_id)
        if current is not None and current.status != "canceled":
            return await _withdrawal(request, caller, env, withdrawal_id, error)
    return see_other(f"/{env.mode}/withdrawals/{withdrawal_id}")


async def _withdrawal(
    request: Request, person: Person, env: MerchantEnv, withdrawal_id: UUID, error: InvalidState | None = None
) -> Response:
    found = await store.one(request.services.db, env, withdrawal_id)
    if found is None:
        raise NotFound
    return page(
        request,
        "withdrawals/one.html",
        200 if error is None else error.status,
        person=person,
        mode=env.mode,
        here="withdrawals",
        withdrawal=withdrawal_view(found),
        names=_names(),
        told=told(found.provider_fields),
        message="" if error is None else "It was sent already, or has ended. Nothing was canceled.",
    )


def _is_of(method: WithdrawalMethod, env: MerchantEnv) -> bool:
    return methods.unavailable_reason(method, env.mode) != "not_in_environment"


def _names() -> dict[str, str]:
    """The methods' names. One that has left the catalogue is shown by its id."""
    return {method_id: method.name for method_id, method in WITHDRAWAL_METHODS.items()}
