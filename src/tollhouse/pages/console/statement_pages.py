"""The operators' pages about bank statements: import, transfers, and assigning or dismissing unmatched ones."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.approvals import store as decisions_store
from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError, Reviewer
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import BODY_BYTES_MAX
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console.layout import NEW, ActionQuery, FormState, decide, find_action, render
from tollhouse.rails.bank import actions, channel_store, imports, imports_store, orders_store, transfers_store
from tollhouse.rails.bank.files.batch import id_in
from tollhouse.rails.bank.files.transfer import bank_account
from tollhouse.rails.bank.files.xml import DOCUMENT_BYTES_MAX, PIECE_BYTES
from tollhouse.rails.bank.model import ShownTransfer
from tollhouse.rails.batches.model import Decided

OPERATIONS = Operations(PAGES)


class TransferQuery(ActionQuery, frozen=True, forbid_unknown_fields=True):
    """`reference`: the suggested payment that was chosen."""

    reference: str = ""


CHOICES: Mapping[str, Callable[[Work, UUID, OperatorContext], Awaitable[Decided]]] = {
    "fee": actions.record_fee,
    "write_off": actions.write_off,
}
FIELDS_OF: Mapping[str, tuple[str, ...]] = {
    "assign": ("reference", "why"),
    "dismiss": ("reason",),
    "take-back": ("taken", "taken_why"),
    "return": ("payout", "return_why"),
    "decide": ("choice", "decision_why"),
    "receive": ("received", "received_why"),
    "reopen": ("reopen_why",),
}
"""The fields of the form of each decision."""
FIELDS = [field for fields in FIELDS_OF.values() for field in fields]
SOON_S = 10
"""How long a request waits for the import of a small file. It continues without it."""
ACTIVE_SHOWN = 10
UPLOAD_BYTES_MAX = DOCUMENT_BYTES_MAX + BODY_BYTES_MAX
"""More than a document may have, so that a file that is slightly too large gets an error on the page."""


@OPERATIONS.add("GET", "/operator/statements", guard=operator_page)
async def statements(request: Request, caller: Operator, query: PageQuery) -> Response:
    """Imported statements, newest first, and the import form."""
    return await _statements(request, caller, query, NEW)


@OPERATIONS.add("POST", "/operator/statements", guard=operator_page, body_bytes_max=UPLOAD_BYTES_MAX)
async def import_statements(request: Request, caller: Operator) -> Response:
    """Store a file for the worker. A small one is imported now, unless others are waiting."""
    raw, account = request.file("file"), bank_account(request.services.settings)
    show = partial(_statements, request, caller, PageQuery())
    if not raw:
        return await show(FormState(422, field_errors={"file": "Choose a file."}))
    try:
        import_id = await imports.upload(raw, account, OperatorContext(caller.email, request.now), request.services)
        within_s = SOON_S if len(raw) <= PIECE_BYTES else 0
        ended = await imports.finish_soon(import_id, account, request.services, within_s)
        if ended.is_active or ended.status == "unconfirmed":
            return see_other(f"/operator/imports/{import_id}")
        imports.ensure_imported(ended)
    except OperatorRefusedError as refused:
        return await show(FormState(422, field_errors={"file": refused.message}))
    return await show(FormState(entered={"done": ended.words}))


@OPERATIONS.add("GET", "/operator/imports/{import_id}", guard=operator_page)
async def statement_import(request: Request, caller: Operator, import_id: UUID) -> Response:
    """The import of a file: its progress, and what came of it."""
    return await _import(request, caller, import_id, NEW)


@OPERATIONS.add("POST", "/operator/imports/{import_id}/confirm", guard=operator_page)
async def confirm_import(request: Request, caller: Operator, import_id: UUID) -> Response:
    """Confirm a file with a statement that has no balances."""
    return await decide(
        request,
        caller,
        partial(_import, request, caller, import_id),
        lambda work, context: imports.confirm(work, import_id, context),
        lambda _: f"/operator/imports/{import_id}",
    )


@OPERATIONS.add("GET", "/operator/statements/{statement_id}", guard=operator_page)
async def statement(request: Request, caller: Operator, statement_id: UUID, query: PageQuery) -> Response:
    """One statement: what came of each transfer that it was the first to render."""
    found = await transfers_store.statement(request.services.db, statement_id, request.services.catalogue)
    if found is None:
        raise NotFound
    rows, more = query.cut(
        await transfers_store.transfers_of(
            request.services.db, statement_id, query.fetch, query.offset, request.services.catalogue
        )
    )
    return await render(
        request,
        caller,
        "statement",
        here="statements",
        statement=found,
        active=[
            statement_import
            for statement_import in await imports_store.active(request.services.db, 1)
            if statement_import.statement_id == statement_id
        ],
        transfers=rows,
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/transfers/{transfer_id}", guard=operator_page)
async def transfer(request: Request, caller: Operator, transfer_id: UUID, query: TransferQuery) -> Response:
    """One transfer, with suggestions and forms to assign or dismiss it if it is unmatched."""
    return await _transfer(
        request, caller, transfer_id, FormState(done=query.action, entered={"reference": query.reference})
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/assign", guard=operator_page)
async def assign(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Assign a transfer to the payment with a reference."""
    reference, wrong = _read_reference(request, "reference")
    return await _decide(
        request,
        caller,
        transfer_id,
        lambda work, context: actions.assign(work, transfer_id, reference, context),
        "why",
        {"reference": reference},
        wrong,
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/dismiss", guard=operator_page)
async def dismiss(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Dismiss a transfer that concerns no merchant."""
    return await _decide(
        request, caller, transfer_id, lambda work, context: actions.dismiss(work, transfer_id, context), "reason"
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/take-back", guard=operator_page)
async def take_back(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Charge the merchant of a payment for a transfer by which the bank took it back."""
    reference, wrong = _read_reference(request, "taken")
    return await _decide(
        request,
        caller,
        transfer_id,
        lambda work, context: actions.take_back(work, transfer_id, reference, context),
        "taken_why",
        {"taken": reference},
        wrong,
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/return", guard=operator_page)
async def return_payout(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Record a transfer as the return of a payout."""
    payout = (request.form().one("payout") or "").strip()
    payout_id = parse_id(payout)
    return await _decide(
        request,
        caller,
        transfer_id,
        lambda work, context: actions.return_payout(work, transfer_id, payout_id, context),
        "return_why",
        {"payout": payout},
        {"payout": "Enter the ID of a payout."} if payout and payout_id is None else {},
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/receive", guard=operator_page)
async def receive(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Record a transfer as a payout from the card provider."""
    source = request.form().one("received") or ""
    return await _decide(
        request,
        caller,
        transfer_id,
        lambda work, context: actions.receive(work, transfer_id, source or None, context),
        "received_why",
        {"received": source},
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/decide", guard=operator_page)
async def record_as(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Record a transfer as a fee of the bank, or write it off."""
    choice = request.form().one("choice") or ""
    return await _decide(
        request,
        caller,
        transfer_id,
        lambda work, context: CHOICES[choice](work, transfer_id, context),
        "decision_why",
        {"choice": choice},
        {} if choice in CHOICES else {"decision_why": "Choose one."},
    )


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/reopen", guard=operator_page)
async def reopen(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Make a transfer unmatched again whose decision concerned no merchant."""
    return await _decide(
        request, caller, transfer_id, lambda work, context: actions.reopen(work, transfer_id, context), "reopen_why"
    )


async def _import(request: Request, caller: Operator, import_id: UUID, state: FormState) -> Response:
    found = await imports_store.get(request.services.db, import_id)
    if found is None:
        raise NotFound
    approvals = await decisions_store.list_open(request.services.db, "statements", import_id)
    return await render(
        request,
        caller,
        "import",
        state,
        here="statements",
        file=found,
        approvals=approvals,
        approved_by_me=Reviewer(caller.email).is_among(tuple(approval.operator for approval in approvals)),
        single_operator=not request.services.settings.two_operators,
    )


def _read_reference(request: Request, field: str) -> tuple[str, dict[str, str]]:
    """The reference of a payment, and the error of its field if there is none."""
    reference = (request.form().one(field) or "").strip()
    return reference, {} if reference else {field: "Enter a reference."}


async def _statements(request: Request, caller: Operator, query: PageQuery, state: FormState) -> Response:
    rows, more = query.cut(await transfers_store.statements(request.services.db, query.fetch, query.offset))
    return await render(
        request,
        caller,
        "statements",
        state,
        here="statements",
        account=bank_account(request.services.settings),
        statements=rows,
        active=await imports_store.active(request.services.db, ACTIVE_SHOWN),
        unconfirmed=await imports_store.unconfirmed(request.services.db, ACTIVE_SHOWN),
        fetches=await channel_store.fetches(request.services.db),
        size_mib=DOCUMENT_BYTES_MAX // 1024 // 1024,
        page_links=query.links(rows, more=more),
    )


async def _decide(
    request: Request,
    caller: Operator,
    transfer_id: UUID,
    action: Callable[[Work, OperatorContext], Awaitable[Decided]],
    reason: str,
    entered: Mapping[str, str] | None = None,
    wrong: Mapping[str, Translatable] | None = None,
) -> Response:
    """Decide about a transfer, for the reason in this field. `entered` and `wrong`: the other fields and their errors."""
    show, to = partial(_transfer, request, caller, transfer_id), f"/operator/transfers/{transfer_id}"
    return await decide(request, caller, show, action, to, reason=reason, entered=entered, wrong=wrong)


def decisions_about(transfer: ShownTransfer, *, has_provider_payouts: bool) -> list[str]:
    """The decisions about an unmatched transfer that make sense, the most likely one first."""
    if transfer.side == "debit":
        taken_back = transfer.is_return or transfer.reference is not None
        return ["take-back", "decide", "dismiss"] if taken_back else ["decide", "take-back", "dismiss"]
    possible = ["assign", "return", "decide", "dismiss"]
    if has_provider_payouts:
        possible.insert(0, "receive")
    if transfer.is_return or transfer.payout_id is not None or id_in(transfer.end_to_end_id) is not None:
        possible.remove("return")
        possible.insert(0, "return")
    return possible


def _chosen(fields: set[str]) -> str:
    """The decision whose form has one of these fields; empty if none has."""
    return next((name for name, its in FIELDS_OF.items() if fields & set(its)), "")


async def _transfer(request: Request, caller: Operator, transfer_id: UUID, state: FormState) -> Response:
    found = await transfers_store.transfer(request.services.db, transfer_id, request.services.catalogue)
    if found is None:
        raise NotFound
    waits = found.outcome == "unmatched" and found.side == "credit"
    expected = (
        await orders_store.list_provider_payouts(request.services.db, found.currency, found.amount_minor) if waits else []
    )
    primary, *others = decisions_about(found, has_provider_payouts=bool(expected))
    return await render(
        request,
        caller,
        "transfer",
        FormState(state.status, state.done, state.message, state.field_errors),
        here="transfers",
        transfer=found,
        suggestions=await actions.suggest(request.services.db, found, request.services.catalogue) if waits else [],
        provider_payouts=expected,
        approvals=await decisions_store.list_open(request.services.db, "payout_return", transfer_id) if waits else [],
        primary=primary,
        others=others,
        chosen=_chosen({name for name, value in state.entered.items() if value} | state.field_errors.keys()),
        history=await find_action(request, state, transfer_id),
        form=dict.fromkeys(FIELDS, "") | dict(state.entered),
        reopened=found.outcome in actions.REOPENED,
    )
