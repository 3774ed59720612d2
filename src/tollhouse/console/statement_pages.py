"""The operators' pages about the bank's statements: import one, see what came of each transfer, place those that wait."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from starlette.responses import Response

from tollhouse.approvals.model import OperatorContext
from tollhouse.bank import actions, shown_store, store
from tollhouse.bank.model import Decided
from tollhouse.console.bank_ports import BANK_PORTS
from tollhouse.console.model import OperatorRefusedError
from tollhouse.console.pages_shared import DoneQuery, just_done, reason_in, show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.limits import BODY_BYTES_MAX
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer_xml import DOCUMENT_BYTES_MAX
from tollhouse.rails.configured import bank_account

OPERATIONS = Operations(PAGES)
UPLOAD_BYTES_MAX = DOCUMENT_BYTES_MAX + BODY_BYTES_MAX
"""A file that is a little too large is still told so on the page."""


@OPERATIONS.add("GET", "/operator/statements", guard=operator_page)
async def statements(request: Request, caller: Operator, query: PageQuery) -> Response:
    """The statements that were imported, newest first, and the form that imports one."""
    return await _statements(request, caller, query)


@OPERATIONS.add("POST", "/operator/statements", guard=operator_page, body_bytes_max=UPLOAD_BYTES_MAX)
async def import_statements(request: Request, caller: Operator) -> Response:
    """Take everything new from a file. The answer is a page, for sending the same again changes nothing."""
    raw = request.file("file")
    if not raw:
        return await _statements(request, caller, PageQuery(), 422, fault="Choose a file.")
    context = OperatorContext(caller.email, request.now)
    try:
        done = await actions.import_file(raw, bank_account(request.services.settings), BANK_PORTS, context, request.services)
    except OperatorRefusedError as refused:
        return await _statements(request, caller, PageQuery(), 422, fault=str(refused))
    return await _statements(request, caller, PageQuery(), done=done.words)


@OPERATIONS.add("GET", "/operator/statements/{statement_id}", guard=operator_page)
async def statement(request: Request, caller: Operator, statement_id: UUID, query: PageQuery) -> Response:
    """One statement: what came of each transfer that it was the first to show."""
    found = await shown_store.statement(request.services.db, statement_id)
    if found is None:
        raise NotFound
    shown, more = query.cut(await shown_store.transfers_of(request.services.db, statement_id, query.fetch, query.offset))
    return show(
        request, caller, "statement", here="statements", statement=found, transfers=shown, turn=turn(query, more=more)
    )


@OPERATIONS.add("GET", "/operator/transfers", guard=operator_page)
async def transfers(request: Request, caller: Operator, query: PageQuery) -> Response:
    """The transfers that nobody could place, oldest first."""
    shown, more = query.cut(await store.unmatched(request.services.db, query.fetch, query.offset))
    return show(request, caller, "transfers", here="statements", transfers=shown, turn=turn(query, more=more))


@OPERATIONS.add("GET", "/operator/transfers/{transfer_id}", guard=operator_page)
async def transfer(request: Request, caller: Operator, transfer_id: UUID, query: DoneQuery) -> Response:
    """One transfer, to be placed where it waits."""
    return await _transfer(request, caller, transfer_id, done=query.action)


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/assign", guard=operator_page)
async def assign(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Take a transfer for the payment of a reference."""
    reference = (request.form().one("reference") or "").strip()
    why, fault = reason_in(request, "why")
    typed = {"reference": reference, "why": why}
    field_errors = {name: text for name, text in (("reference", "" if reference else "Say which."), ("why", fault)) if text}
    if field_errors:
        return await _transfer(request, caller, transfer_id, status=422, typed=typed, field_errors=field_errors)
    context = OperatorContext(caller.email, request.now, why)

    async def action(tx: Tx) -> Decided:
        return await actions.assign(tx, transfer_id, reference, BANK_PORTS, context, request.services)

    return await _decide(request, caller, transfer_id, action, typed)


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/dismiss", guard=operator_page)
async def dismiss(request: Request, caller: Operator, transfer_id: UUID) -> Response:
    """Say that a transfer is no business of any merchant."""
    reason, fault = reason_in(request)
    typed = {"reason": reason}
    if fault:
        return await _transfer(request, caller, transfer_id, status=422, typed=typed, field_errors={"reason": fault})
    context = OperatorContext(caller.email, request.now, reason)
    return await _decide(
        request, caller, transfer_id, lambda tx: actions.dismiss(tx, transfer_id, BANK_PORTS, context), typed
    )


async def _statements(
    request: Request, caller: Operator, query: PageQuery, status: int = 200, *, fault: str = "", done: str = ""
) -> Response:
    shown, more = query.cut(await shown_store.statements(request.services.db, query.fetch, query.offset))
    return show(
        request,
        caller,
        "statements",
        status,
        here="statements",
        account=bank_account(request.services.settings),
        statements=shown,
        turn=turn(query, more=more),
        field_errors={"file": fault} if fault else {},
        done=done,
    )


async def _decide(
    request: Request, caller: Operator, transfer_id: UUID, action: Callable[[Tx], Awaitable[Decided]], typed: dict[str, str]
) -> Response:
    try:
        decided = await request.services.db.transact(action)
    except OperatorRefusedError as refused:
        message = f"Nothing was done. {refused}"
        return await _transfer(request, caller, transfer_id, status=409, message=message, typed=typed)
    return see_other(f"/operator/transfers/{transfer_id}?action={decided.action_id}")


async def _transfer(
    request: Request,
    caller: Operator,
    transfer_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    typed: dict[str, str] | None = None,
    field_errors: dict[str, str] | None = None,
) -> Response:
    found = await shown_store.transfer(request.services.db, transfer_id)
    if found is None:
        raise NotFound
    return show(
        request,
        caller,
        "transfer",
        status,
        here="statements",
        transfer=found,
        history=await just_done(request, done, transfer_id),
        done=done,
        message=message,
        typed={"reference": "", "why": "", "reason": ""} | (typed or {}),
        field_errors=field_errors or {},
    )
