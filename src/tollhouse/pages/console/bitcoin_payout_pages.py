"""The operators' pages about payouts in bitcoin: export, sign elsewhere, import; replace, cancel, refuse."""

from functools import partial
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.csv_table import attachment
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, see_other
from tollhouse.http.services import Work
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import BODY_BYTES_MAX
from tollhouse.pages.console.layout import ActionQuery, FormState, chosen, decide, find_action, read_choice, render
from tollhouse.rails.bitcoin import operator_payouts as bitcoin_payouts
from tollhouse.rails.bitcoin.network.provider import CURRENCY
from tollhouse.rails.bitcoin.network.psbt import PSBT_BYTES_MAX

OPERATIONS = Operations(PAGES)
PATH = "/operator/bitcoin-payouts"
UPLOAD_BYTES_MAX = PSBT_BYTES_MAX + BODY_BYTES_MAX
"""More than a transaction may have, so that a file that is slightly too large gets an error on the page."""


@OPERATIONS.add("GET", "/operator/bitcoin-payouts", guard=operator_page)
async def payouts(request: Request, caller: Operator, query: ActionQuery) -> Response:
    """Payouts that have not ended, with a form to export those that wait, and the batches."""
    return await _payouts(request, caller, query.state)


@OPERATIONS.add("POST", "/operator/bitcoin-payouts/export", guard=operator_page)
async def export(request: Request, caller: Operator) -> Response:
    """Put the selected payouts into a batch."""
    form = request.form()
    payout_ids = [payout_id for text in form.all("payout") if (payout_id := parse_id(text)) is not None]
    rate_text = (form.one("fee_rate") or "").strip()

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        network = bitcoin_payouts.find_network(work.services, form.one("rail") or None)
        rate = bitcoin_payouts.read_rate(rate_text) if rate_text else None
        return await bitcoin_payouts.export(work, network, payout_ids, rate, context)

    show, entered = partial(_payouts, request, caller), {"fee_rate": rate_text, "selected": payout_ids}
    return await decide(
        request,
        caller,
        show,
        action,
        lambda done: f"{PATH}/{done.subject_id}?action={done.action_id}",
        reason=None,
        entered=entered,
    )


@OPERATIONS.add("POST", "/operator/bitcoin-payouts/refuse", guard=operator_page)
async def refuse(request: Request, caller: Operator) -> Response:
    """Refuse a payout that waits. The money is returned to the merchant."""
    payout_id, wrong = read_choice(request, "refused")
    return await decide(
        request,
        caller,
        partial(_payouts, request, caller),
        lambda work, context: bitcoin_payouts.refuse(work, chosen(payout_id), context),
        PATH,
        entered={"chosen": "" if payout_id is None else str(payout_id)},
        wrong=wrong,
    )


@OPERATIONS.add("GET", "/operator/bitcoin-payouts/{batch_id}", guard=operator_page)
async def batch(request: Request, caller: Operator, batch_id: UUID, query: ActionQuery) -> Response:
    """One batch with its receivers, its file, and what can be done with it."""
    return await _batch(request, caller, batch_id, query.state)


@OPERATIONS.add("GET", "/operator/bitcoin-payouts/{batch_id}/file", guard=operator_page)
async def batch_file(request: Request, caller: Operator, batch_id: UUID) -> Response:
    """The newest draft of a batch as a PSBT, to sign it elsewhere."""
    try:
        psbt = await bitcoin_payouts.read_file(request.services, batch_id)
    except OperatorRefusedError as refused:
        return await _batch(request, caller, batch_id, FormState(409, message=refused.notice))
    return Response(psbt, media_type="text/plain", headers=attachment(f"{batch_id}.psbt"))


@OPERATIONS.add("POST", "/operator/bitcoin-payouts/{batch_id}/import", guard=operator_page, body_bytes_max=UPLOAD_BYTES_MAX)
async def import_signed(request: Request, caller: Operator, batch_id: UUID) -> Response:
    """Import the signed transaction of a batch."""
    returned = request.file("signed")
    if not returned:
        return await _batch(request, caller, batch_id, FormState(422, field_errors={"signed": "Choose a file."}))
    context = OperatorContext(caller.email, request.now)
    try:
        done = await bitcoin_payouts.import_signed(request.services, batch_id, returned, context)
    except OperatorRefusedError as refused:
        return await _batch(request, caller, batch_id, FormState(422, field_errors={"signed": refused.message}))
    return see_other(f"{PATH}/{batch_id}?action={done.action_id}")


@OPERATIONS.add("POST", "/operator/bitcoin-payouts/{batch_id}/replace", guard=operator_page)
async def replace(request: Request, caller: Operator, batch_id: UUID) -> Response:
    """Have a transaction with a higher fee drafted that replaces that of a batch."""
    rate_text = (request.form().one("fee_rate") or "").strip()

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        rate = bitcoin_payouts.read_rate(rate_text) if rate_text else None
        return await bitcoin_payouts.replace(work, batch_id, rate, context)

    show, entered = partial(_batch, request, caller, batch_id), {"fee_rate": rate_text}
    return await decide(request, caller, show, action, f"{PATH}/{batch_id}", reason=None, entered=entered, at="fee_rate")


@OPERATIONS.add("POST", "/operator/bitcoin-payouts/{batch_id}/cancel", guard=operator_page)
async def cancel(request: Request, caller: Operator, batch_id: UUID) -> Response:
    """Cancel a batch that is not signed, or whose coins were spent otherwise."""
    return await decide(
        request,
        caller,
        partial(_batch, request, caller, batch_id),
        lambda work, context: bitcoin_payouts.cancel(work, batch_id, context),
        f"{PATH}/{batch_id}",
    )


async def _payouts(request: Request, caller: Operator, state: FormState) -> Response:
    """The list. `selected` is the selection of a failed export; None selects all."""
    services, context = request.services, OperatorContext(caller.email, request.now)
    found = await bitcoin_payouts.list_open(services)
    leaving = await bitcoin_payouts.list_all_exportable(services, context)
    exportable = {payout.id for payout in leaving}
    return await render(
        request,
        caller,
        "bitcoin_payouts",
        state,
        here="rails",
        payouts=found,
        exportable=exportable,
        pending=services.catalogue.format_amount(sum(payout.amount_minor for payout in leaving), CURRENCY),
        currency=CURRENCY,
        selected=None,
        rails=[(name, name) for name in sorted({payout.rail for payout in found if payout.id in exportable})],
        refusable=[
            (str(payout.id), f"{formats_of(request).money(payout.amount, payout.currency)}, {payout.address}")
            for payout in found
            if payout.status == "waiting"
        ],
        batches=await bitcoin_payouts.list_batches(services),
        fee_rate="",
        chosen="",
        history=await find_action(request, state, kind="payout_refused"),
    )


async def _batch(request: Request, caller: Operator, batch_id: UUID, state: FormState) -> Response:
    found = await bitcoin_payouts.find_batch(request.services, batch_id)
    if found is None:
        raise NotFound
    return await render(
        request,
        caller,
        "bitcoin_batch",
        state,
        here="rails",
        batch=found.summary,
        outputs=found.outputs,
        can_sign=found.summary.is_open and found.summary.drafts > 0,
        can_cancel=found.summary.is_cancelable,
        fee_rate="",
        history=await find_action(request, state, batch_id),
    )
