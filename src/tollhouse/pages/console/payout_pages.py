"""The operators' pages about bank payouts: pending ones, batches, and refusing or approving one."""

from functools import partial
from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals import store as decisions_store
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError, Reviewer
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.csv_table import attachment
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import EXPORTED_BANK_DAYS_MAX
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.console.layout import NEW, ActionQuery, FormState, decide, find_action, render
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank import channel_store, imports_store, pauses, payouts_store
from tollhouse.rails.bank import payouts as payout_actions
from tollhouse.rails.bank.files.batch import Batch, write
from tollhouse.rails.bank.files.transfer import bank_account
from tollhouse.rails.bank.model import ListedPayout, PayoutStatus, Prepared
from tollhouse.transfers.gate import pauses_store
from tollhouse.transfers.gate import store as outgoing_store
from tollhouse.transfers.gate.model import Pause

OPERATIONS = Operations(PAGES)
OVERDUE_SHOWN, REPORTS_SHOWN = 20, 20
REFUSABLE: dict[str, PayoutStatus] = {"prepared": "prepared", "exported": "exported"}


class PayoutsQuery(PageQuery, frozen=True):
    """The status of the payouts; by default those that are prepared. `action` is the one that was just carried out."""

    action: str = ""
    status: Literal["all", "prepared", "exported", "confirmed", "returned", "refused"] = "prepared"


@OPERATIONS.add("GET", "/operator/payouts", guard=operator_page)
async def payouts(request: Request, caller: Operator, query: PayoutsQuery) -> Response:
    """Payouts, newest first; prepared ones can be selected for an export."""
    return await _payouts(request, caller, query, FormState(done=query.action))


@OPERATIONS.add("POST", "/operator/payouts/export", guard=operator_page)
async def export(request: Request, caller: Operator) -> Response:
    """Export the selected payouts as a batch, or all prepared ones if there are as many as the page showed."""
    form, services, show = request.form(), request.services, partial(_payouts, request, caller, PayoutsQuery())
    texts, all_seen = form.all("payout"), form.one("all")
    payout_ids = [payout_id for text in texts if (payout_id := parse_id(text)) is not None]
    if len(payout_ids) != len(texts):
        raise InvalidRequest("The form field `payout` must be a payout ID.")
    if not payout_ids and all_seen is None:
        message = "No payouts are selected. Select the payouts to export."
        return await show(FormState(422, message=message, entered={"selected": payout_ids}))
    account = bank_account(services.settings)

    async def action(work: Work) -> Batch:
        context = OperatorContext(caller.email, request.now)
        batch = await payout_actions.export(work, account, payout_ids if all_seen is None else None, context)
        if all_seen is not None and str(len(batch.transfers)) != all_seen:
            raise OperatorRefusedError(
                Text("There are now %(count)s pending payouts. Check them again.", count=len(batch.transfers))
            )
        return batch

    try:
        batch = await request.transact(action)
    except OperatorRefusedError as refused:
        selected = payout_ids if all_seen is None else None
        return await show(FormState(409, message=refused.notice, entered={"selected": selected}))
    return see_other(f"/operator/batches/{batch.id}")


@OPERATIONS.add("POST", "/operator/payouts/resume", guard=operator_page)
async def resume(request: Request, caller: Operator) -> Response:
    """End the pauses that the page showed."""
    texts = (request.form().one("seen") or "").split()
    seen = frozenset(pause_id for text in texts if (pause_id := parse_id(text)) is not None)
    if not seen or len(seen) != len(texts):
        raise InvalidRequest("The form field `seen` must be the IDs of the pauses.")
    account, show = bank_account(request.services.settings), partial(_payouts, request, caller, PayoutsQuery())
    return await decide(
        request, caller, show, lambda work, context: pauses.resume(work, account, context, seen=seen), "/operator/payouts"
    )


@OPERATIONS.add("GET", "/operator/payouts/{payout_id}", guard=operator_page)
async def payout(request: Request, caller: Operator, payout_id: UUID, query: ActionQuery) -> Response:
    """One payout, with forms to approve or refuse it."""
    return await _payout(request, caller, payout_id, query.state)


@OPERATIONS.add("POST", "/operator/payouts/{payout_id}/refuse", guard=operator_page)
async def refuse(request: Request, caller: Operator, payout_id: UUID) -> Response:
    """Refuse a payout, or record that the bank did not carry it out."""
    seen = REFUSABLE.get(request.form().one("seen") or "")
    if seen is None:
        raise InvalidRequest("The form field `seen` must be `prepared` or `exported`.")
    return await decide(
        request,
        caller,
        partial(_payout, request, caller, payout_id),
        lambda work, context: payout_actions.refuse(work, payout_id, context, seen),
        f"/operator/payouts/{payout_id}",
    )


@OPERATIONS.add("POST", "/operator/payouts/{payout_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, payout_id: UUID) -> Response:
    """Approve, as second operator, a payout whose merchant's password was reset."""
    return await decide(
        request,
        caller,
        partial(_payout, request, caller, payout_id),
        lambda work, context: payout_actions.approve(work, payout_id, context),
        f"/operator/payouts/{payout_id}",
        reason=None,
    )


@OPERATIONS.add("GET", "/operator/batches", guard=operator_page)
async def batches(request: Request, caller: Operator, query: PageQuery) -> Response:
    """Batches, newest first, with the statuses of their payouts."""
    rows, more = query.cut(
        await payouts_store.batches(request.services.db, query.fetch, query.offset, request.services.catalogue)
    )
    return await render(request, caller, "batches", here="payouts", batches=rows, page_links=query.links(rows, more=more))


@OPERATIONS.add("GET", "/operator/batches/{batch_id}", guard=operator_page)
async def batch(request: Request, caller: Operator, batch_id: UUID, query: PageQuery) -> Response:
    """One batch with its file and payouts."""
    return await _batch(request, caller, batch_id, query, NEW)


async def _batch(request: Request, caller: Operator, batch_id: UUID, query: PageQuery, state: FormState) -> Response:
    found = await payouts_store.listed_batch(request.services.db, batch_id, request.services.catalogue)
    if found is None:
        raise NotFound
    rows, more = query.cut(
        await payouts_store.of_batch(request.services.db, batch_id, query.fetch, query.offset, request.services.catalogue)
    )
    return await render(
        request,
        caller,
        "batch",
        state,
        here="payouts",
        batch=found,
        payouts=rows,
        reports=await imports_store.list_reports(request.services.db, batch_id, REPORTS_SHOWN),
        sending=await channel_store.find(request.services.db, batch_id),
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/batches/{batch_id}/file", guard=operator_page)
async def batch_file(request: Request, caller: Operator, batch_id: UUID) -> Response:
    """The bank file of a batch, without payouts that were refused since. The bank recognizes it by its id."""
    try:
        found = await payout_actions.batch(request.services.db, batch_id)
    except OperatorRefusedError as refused:
        return await _batch(request, caller, batch_id, PageQuery(), FormState(409, message=refused.notice))
    if found is None:
        raise NotFound
    return Response(write(found), media_type="application/xml", headers=attachment(f"pain.001-{batch_id}.xml"))


async def _payouts(request: Request, caller: Operator, query: PayoutsQuery, state: FormState) -> Response:
    """The list. `selected` is the selection of a failed export; None selects all."""
    status_filter = None if query.status == "all" else query.status
    services = request.services
    account = bank_account(services.settings)

    async def load(tx: Tx) -> tuple[list[ListedPayout], Prepared, list[Pause], list[Translatable]]:
        found = await payout_actions.listed(tx, status_filter, request.now, services.catalogue, query.fetch, query.offset)
        prepared = await payout_actions.exportable(tx, OperatorContext(caller.email, request.now), services.catalogue)
        paused = await pauses_store.list_open(tx)
        return found, prepared, paused, await pauses.list_missing(tx, account, paused)

    found, prepared, paused, missing = await request.services.db.transact(load)
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "payouts",
        state,
        here="payouts",
        account=account,
        payouts=rows,
        prepared=prepared,
        query=query,
        page_links=query.links(rows, more=more),
        selected=None,
        pauses=paused,
        missing=missing,
        overdue=await payouts_store.list_overdue(services.db, request.now, OVERDUE_SHOWN, services.catalogue),
        overdue_count=await payouts_store.count_overdue(services.db, request.now),
        bank_days_max=EXPORTED_BANK_DAYS_MAX,
        incomplete_count=await payouts_store.count_incomplete(services.db),
        history=await find_action(request, state, kind="payouts_resumed"),
    )


async def _payout(request: Request, caller: Operator, payout_id: UUID, state: FormState) -> Response:
    found = await payouts_store.payout(request.services.db, payout_id, request.services.catalogue)
    if found is None:
        raise NotFound
    merchant_id = found.listed.merchant_id
    reset_counts = await request.services.db.transact(lambda tx: rules.reset_counts_until(tx, merchant_id, request.now))
    transfer = await outgoing_store.get(request.services.db, payout_id)
    batch_id = found.listed.batch_id
    return await render(
        request,
        caller,
        "payout",
        state,
        here="payouts",
        payout=found,
        sending=None if batch_id is None else await channel_store.find(request.services.db, batch_id),
        needs_second=reset_counts is not None,
        waiting=await decisions_store.list_open(request.services.db, "payout_refusal", payout_id),
        approved_by_me=transfer is not None and Reviewer(caller.email).is_among(transfer.approvals.given),
        history=await find_action(request, state, payout_id),
    )
