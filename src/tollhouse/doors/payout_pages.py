"""The operators' pages about payouts by bank: what waits to leave, the batches it leaves in, and what is kept here."""

from typing import Literal, get_args
from uuid import UUID

from starlette.responses import Response

from tollhouse.approvals import rules
from tollhouse.approvals.model import Reviewer
from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.doors.bank_desk import BANK_DESK
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.refusals import InvalidRequest, NotFound
from tollhouse.operator.desk import DoneQuery, just_done, reason_in, show
from tollhouse.operator.model import OperatorRefusedError
from tollhouse.outgoing import store as outgoing_store
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer_batch import Batch, write
from tollhouse.rails.configured import bank_account
from tollhouse.statements import payouts as deeds
from tollhouse.statements import payouts_store
from tollhouse.statements.model import BankRefusedError, Clerk, ListedPayout, PayoutStatus, Prepared
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)
STATUSES: tuple[PayoutStatus, ...] = get_args(PayoutStatus)
REFUSABLE: dict[str, PayoutStatus] = {"prepared": "prepared", "exported": "exported"}


class PayoutsQuery(PageQuery, frozen=True):
    """Which payouts: those that wait to be exported, unless something else is asked for."""

    status: Literal["all", "prepared", "exported", "confirmed", "returned", "refused"] = "prepared"


@OPERATIONS.add("GET", "/operator/payouts", guard=operator_page)
async def payouts(ask: Ask, caller: Operator, query: PayoutsQuery) -> Response:
    """Payouts, newest first; of those that wait, which are to leave now."""
    return await _payouts(ask, caller, query)


@OPERATIONS.add("POST", "/operator/payouts/export", guard=operator_page)
async def export(ask: Ask, caller: Operator) -> Response:
    """Put the payouts that were ticked into a batch; or all that wait, when they are as many as the page said."""
    form, house = ask.form(), ask.house
    named, all_seen = form.all("payout"), form.one("all")
    wanted = [payout_id for one in named if (payout_id := parse_id(one)) is not None]
    if len(wanted) != len(named):
        raise InvalidRequest("The form names a payout that is none.")
    if not wanted and all_seen is None:
        message = "Nothing was done. Tick what is to leave."
        return await _payouts(ask, caller, PayoutsQuery(), 422, message=message, ticked=wanted)
    account, clerk = bank_account(house.settings), Clerk(caller.email, ask.now)

    async def deed(tx: Tx) -> Batch:
        batch = await deeds.export(tx, account, wanted if all_seen is None else None, BANK_DESK, clerk)
        if all_seen is not None and str(len(batch.transfers)) != all_seen:
            raise BankRefusedError(f"By now {len(batch.transfers)} payouts wait. Look again.")
        return batch

    try:
        batch = await house.db.transact(deed)
    except OperatorRefusedError as refused:
        message, ticked = f"Nothing was done. {refused}", wanted if all_seen is None else None
        return await _payouts(ask, caller, PayoutsQuery(), 409, message=message, ticked=ticked)
    return see_other(f"/operator/batches/{batch.id}")


@OPERATIONS.add("GET", "/operator/payouts/{payout_id}", guard=operator_page)
async def payout(ask: Ask, caller: Operator, payout_id: UUID, query: DoneQuery) -> Response:
    """One payout, to be refused where it has not ended."""
    return await _payout(ask, caller, payout_id, done=query.deed)


@OPERATIONS.add("POST", "/operator/payouts/{payout_id}/refuse", guard=operator_page)
async def refuse(ask: Ask, caller: Operator, payout_id: UUID) -> Response:
    """Keep a payout here, or say that the bank did not carry it out."""
    seen = REFUSABLE.get(ask.form().one("seen") or "")
    if seen is None:
        raise InvalidRequest("The form does not say which state of the payout was seen.")
    reason, fault = reason_in(ask)
    if fault:
        return await _payout(ask, caller, payout_id, status=422, reason=reason, faults={"reason": fault})
    clerk, house = Clerk(caller.email, ask.now, reason), ask.house
    try:
        decided = await house.db.transact(lambda tx: deeds.refuse(tx, payout_id, BANK_DESK, clerk, house, seen))
    except OperatorRefusedError as refused:
        message = f"Nothing was done. {refused}"
        return await _payout(ask, caller, payout_id, status=409, message=message, reason=reason)
    return see_other(f"/operator/payouts/{payout_id}?deed={decided.deed_id}")


@OPERATIONS.add("POST", "/operator/payouts/{payout_id}/approve", guard=operator_page)
async def approve(ask: Ask, caller: Operator, payout_id: UUID) -> Response:
    """Be the second operator behind a payout whose merchant's password was reset."""
    clerk, house = Clerk(caller.email, ask.now), ask.house
    try:
        decided = await house.db.transact(lambda tx: deeds.approve(tx, payout_id, BANK_DESK, clerk))
    except OperatorRefusedError as refused:
        return await _payout(ask, caller, payout_id, status=409, message=f"Nothing was done. {refused}")
    return see_other(f"/operator/payouts/{payout_id}?deed={decided.deed_id}")


@OPERATIONS.add("GET", "/operator/batches", guard=operator_page)
async def batches(ask: Ask, caller: Operator, query: PageQuery) -> Response:
    """The batches, newest first, and what became of what is in them."""
    shown, more = query.cut(await payouts_store.batches(ask.house.db, query.fetch, query.offset))
    return show(ask, caller, "batches", here="payouts", batches=shown, turn=turn(query, more=more))


@OPERATIONS.add("GET", "/operator/batches/{batch_id}", guard=operator_page)
async def batch(ask: Ask, caller: Operator, batch_id: UUID, query: PageQuery) -> Response:
    """One batch: its file, and its payouts."""
    return await _batch(ask, caller, batch_id, query)


async def _batch(
    ask: Ask, caller: Operator, batch_id: UUID, query: PageQuery, status: int = 200, *, message: str = ""
) -> Response:
    found = await payouts_store.listed_batch(ask.house.db, batch_id)
    if found is None:
        raise NotFound
    shown, more = query.cut(await payouts_store.of_batch(ask.house.db, batch_id, query.fetch, query.offset))
    turned = turn(query, more=more)
    return show(ask, caller, "batch", status, here="payouts", batch=found, payouts=shown, turn=turned, message=message)


@OPERATIONS.add("GET", "/operator/batches/{batch_id}/file", guard=operator_page)
async def batch_file(ask: Ask, caller: Operator, batch_id: UUID) -> Response:
    """The file for the bank, which knows it again by its id. Payouts that were refused meanwhile are not in it."""
    try:
        found = await deeds.batch(ask.house.db, batch_id)
    except OperatorRefusedError as refused:
        return await _batch(ask, caller, batch_id, PageQuery(), 409, message=f"Nothing was done. {refused}")
    if found is None:
        raise NotFound
    headers = {"Content-Disposition": f'attachment; filename="pain.001-{batch_id}.xml"'}
    return Response(write(found), media_type="application/xml", headers=headers)


async def _payouts(
    ask: Ask,
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
        found = await deeds.listed(tx, BANK_DESK, wanted, ask.now, query.fetch, query.offset)
        return found, await deeds.exportable(tx, Clerk(caller.email, ask.now))

    found, prepared = await ask.house.db.transact(look)
    shown, more = query.cut(found)
    return show(
        ask,
        caller,
        "payouts",
        status,
        here="payouts",
        account=bank_account(ask.house.settings),
        payouts=shown,
        prepared=prepared,
        query=query,
        statuses=STATUSES,
        turn=turn(query, more=more),
        message=message,
        ticked=ticked,
    )


async def _payout(
    ask: Ask,
    caller: Operator,
    payout_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    reason: str = "",
    faults: dict[str, str] | None = None,
) -> Response:
    found = await payouts_store.payout(ask.house.db, payout_id)
    if found is None:
        raise NotFound
    merchant_id = found.listed.merchant_id
    reset_counts = await ask.house.db.transact(lambda tx: rules.reset_counts_until(tx, merchant_id, ask.now))
    transfer = await outgoing_store.one(ask.house.db, payout_id)
    return show(
        ask,
        caller,
        "payout",
        status,
        here="payouts",
        payout=found,
        needs_second=reset_counts is not None,
        approved_by_me=transfer is not None and Reviewer(caller.email).is_among(transfer.approvals.given),
        deeds=await just_done(ask, done, payout_id),
        done=done,
        message=message,
        reason=reason,
        faults=faults or {},
    )
