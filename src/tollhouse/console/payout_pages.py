"""The operators' pages about payouts by bank: what waits to leave, the batches it leaves in, and what is kept here."""

from typing import Literal, get_args
from uuid import UUID

from starlette.responses import Response

from tollhouse.approvals import rules
from tollhouse.approvals.model import OperatorContext, Reviewer
from tollhouse.bank import payouts as payout_actions
from tollhouse.bank import payouts_store
from tollhouse.bank.model import BankRefusedError, ListedPayout, PayoutStatus, Prepared
from tollhouse.console.bank_ports import BANK_PORTS
from tollhouse.console.model import OperatorRefusedError
from tollhouse.console.pages_shared import DoneQuery, just_done, reason_in, show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.outgoing import store as outgoing_store
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer_batch import Batch, write
from tollhouse.rails.configured import bank_account

OPERATIONS = Operations(PAGES)
STATUSES: tuple[PayoutStatus, ...] = get_args(PayoutStatus)
REFUSABLE: dict[str, PayoutStatus] = {"prepared": "prepared", "exported": "exported"}


class PayoutsQuery(PageQuery, frozen=True):
    """Which payouts: those that wait to be exported, unless something else is asked for."""

    status: Literal["all", "prepared", "exported", "confirmed", "returned", "refused"] = "prepared"


@OPERATIONS.add("GET", "/operator/payouts", guard=operator_page)
async def payouts(request: Request, caller: Operator, query: PayoutsQuery) -> Response:
    """Payouts, newest first; of those that wait, which are to leave now."""
    return await _payouts(request, caller, query)


@OPERATIONS.add("POST", "/operator/payouts/export", guard=operator_page)
async def export(request: Request, caller: Operator) -> Response:
    """Put the payouts that were ticked into a batch; or all that wait, when they are as many as the page said."""
    form, services = request.form(), request.services
    named, all_seen = form.all("payout"), form.one("all")
    wanted = [payout_id for one in named if (payout_id := parse_id(one)) is not None]
    if len(wanted) != len(named):
        raise InvalidRequest("The form names a payout that is none.")
    if not wanted and all_seen is None:
        message = "Nothing was done. Tick what is to leave."
        return await _payouts(request, caller, PayoutsQuery(), 422, message=message, ticked=wanted)
    account, context = bank_account(services.settings), OperatorContext(caller.email, request.now)

    async def action(tx: Tx) -> Batch:
        batch = await payout_actions.export(tx, account, wanted if all_seen is None else None, BANK_PORTS, context)
        if all_seen is not None and str(len(batch.transfers)) != all_seen:
            raise BankRefusedError(f"By now {len(batch.transfers)} payouts wait. Look again.")
        return batch

    try:
        batch = await services.db.transact(action)
    except OperatorRefusedError as refused:
        message, ticked = f"Nothing was done. {refused}", wanted if all_seen is None else None
        return await _payouts(request, caller, PayoutsQuery(), 409, message=message, ticked=ticked)
    return see_other(f"/operator/batches/{batch.id}")


@OPERATIONS.add("GET", "/operator/payouts/{payout_id}", guard=operator_page)
async def payout(request: Request, caller: Operator, payout_id: UUID, query: DoneQuery) -> Response:
    """One payout, to be refused where it has not ended."""
    return await _payout(request, caller, payout_id, done=query.action)


@OPERATIONS.add("POST", "/operator/payouts/{payout_id}/refuse", guard=operator_page)
async def refuse(request: Request, caller: Operator, payout_id: UUID) -> Response:
    """Keep a payout here, or say that the bank did not carry it out."""
    seen = REFUSABLE.get(request.form().one("seen") or "")
    if seen is None:
        raise InvalidRequest("The form does not say which state of the payout was seen.")
    reason, fault = reason_in(request)
    if fault:
        return await _payout(request, caller, payout_id, status=422, reason=reason, field_errors={"reason": fault})
    context, services = OperatorContext(caller.email, request.now, reason), request.services
    try:
        decided = await services.db.transact(
            lambda tx: payout_actions.refuse(tx, payout_id, BANK_PORTS, context, services, seen)
        )
    except OperatorRefusedError as refused:
        message = f"Nothing was done. {refused}"
        return await _payout(request, caller, payout_id, status=409, message=message, reason=reason)
    return see_other(f"/operator/payouts/{payout_id}?action={decided.action_id}")


@OPERATIONS.add("POST", "/operator/payouts/{payout_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, payout_id: UUID) -> Response:
    """Be the second operator behind a payout whose merchant's password was reset."""
    context, services = OperatorContext(caller.email, request.now), request.services
    try:
        decided = await services.db.transact(lambda tx: payout_actions.approve(tx, payout_id, BANK_PORTS, context))
    except OperatorRefusedError as refused:
        return await _payout(request, caller, payout_id, status=409, message=f"Nothing was done. {refused}")
    return see_other(f"/operator/payouts/{payout_id}?action={decided.action_id}")


@OPERATIONS.add("GET", "/operator/batches", guard=operator_page)
async def batches(request: Request, caller: Operator, query: PageQuery) -> Response:
    """The batches, newest first, and what became of what is in them."""
    shown, more = query.cut(await payouts_store.batches(request.services.db, query.fetch, query.offset))
    return show(request, caller, "batches", here="payouts", batches=shown, turn=turn(query, more=more))


@OPERATIONS.add("GET", "/operator/batches/{batch_id}", guard=operator_page)
async def batch(request: Request, caller: Operator, batch_id: UUID, query: PageQuery) -> Response:
    """One batch: its file, and its payouts."""
    return await _batch(request, caller, batch_id, query)


async def _batch(
    request: Request, caller: Operator, batch_id: UUID, query: PageQuery, status: int = 200, *, message: str = ""
) -> Response:
    found = await payouts_store.listed_batch(request.services.db, batch_id)
    if found is None:
        raise NotFound
    shown, more = query.cut(await payouts_store.of_batch(request.services.db, batch_id, query.fetch, query.offset))
    turned = turn(query, more=more)
    return show(request, caller, "batch", status, here="payouts", batch=found, payouts=shown, turn=turned, message=message)


@OPERATIONS.add("GET", "/operator/batches/{batch_id}/file", guard=operator_page)
async def batch_file(request: Request, caller: Operator, batch_id: UUID) -> Response:
    """The file for the bank, which knows it again by its id. Payouts that were refused meanwhile are not in it."""
    try:
        found = await payout_actions.batch(request.services.db, batch_id)
    except OperatorRefusedError as refused:
        return await _batch(request, caller, batch_id, PageQuery(), 409, message=f"Nothing was done. {refused}")
    if found is None:
        raise NotFound
    headers = {"Content-Disposition": f'attachment; filename="pain.001-{batch_id}.xml"'}
    return Response(write(found), media_type="application/xml", headers=headers)


async def _payouts(
    request: Request,
    caller: Operator,
    query: PayoutsQuery,
    status: int = 200,
    *,
    message: str = "",
    ticked: list[UUID] | None = None,
) -> Response:
    """The list. `ticked`: what was, where it was sent in vain; what an operator kept back is not ticked anew."""
    wanted = None if query.status == "all" else query.status

    async def look(tx: Tx) -> tuple[list[ListedPayout], Prepared]:
        found = await payout_actions.listed(tx, BANK_PORTS, wanted, request.now, query.fetch, query.offset)
        return found, await payout_actions.exportable(tx, OperatorContext(caller.email, request.now))

    found, prepared = await request.services.db.transact(look)
    shown, more = query.cut(found)
    return show(
        request,
        caller,
        "payouts",
        status,
        here="payouts",
        account=bank_account(request.services.settings),
        payouts=shown,
        prepared=prepared,
        query=query,
        statuses=STATUSES,
        turn=turn(query, more=more),
        message=message,
        ticked=ticked,
    )


async def _payout(
    request: Request,
    caller: Operator,
    payout_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    reason: str = "",
    field_errors: dict[str, str] | None = None,
) -> Response:
    found = await payouts_store.payout(request.services.db, payout_id)
    if found is None:
        raise NotFound
    merchant_id = found.listed.merchant_id
    reset_counts = await request.services.db.transact(lambda tx: rules.reset_counts_until(tx, merchant_id, request.now))
    transfer = await outgoing_store.get(request.services.db, payout_id)
    return show(
        request,
        caller,
        "payout",
        status,
        here="payouts",
        payout=found,
        needs_second=reset_counts is not None,
        approved_by_me=transfer is not None and Reviewer(caller.email).is_among(transfer.approvals.given),
        history=await just_done(request, done, payout_id),
        done=done,
        message=message,
        reason=reason,
        field_errors=field_errors or {},
    )
