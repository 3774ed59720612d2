"""The operators' pages about the bank's statements: import one, see what came of each transfer, place those that wait."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from starlette.responses import Response

from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.doors.bank_desk import BANK_DESK
from tollhouse.kernel.limits import BODY_BYTES_MAX
from tollhouse.kernel.refusals import NotFound
from tollhouse.operator.desk import DoneQuery, just_done, reason_in, show
from tollhouse.operator.model import OperatorRefusedError
from tollhouse.platform.db import Tx
from tollhouse.rails.bank_transfer_xml import DOCUMENT_BYTES_MAX
from tollhouse.rails.configured import bank_account
from tollhouse.statements import actions, shown_store, store
from tollhouse.statements.model import Clerk, Decided
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)
UPLOAD_BYTES_MAX = DOCUMENT_BYTES_MAX + BODY_BYTES_MAX
"""A file that is a little too large is still told so on the page."""


@OPERATIONS.add("GET", "/operator/statements", guard=operator_page)
async def statements(ask: Ask, caller: Operator, query: PageQuery) -> Response:
    """The statements that were imported, newest first, and the form that imports one."""
    return await _statements(ask, caller, query)


@OPERATIONS.add("POST", "/operator/statements", guard=operator_page, body_bytes_max=UPLOAD_BYTES_MAX)
async def import_statements(ask: Ask, caller: Operator) -> Response:
    """Take everything new from a file. The answer is a page, for sending the same again changes nothing."""
    raw = ask.file("file")
    if not raw:
        return await _statements(ask, caller, PageQuery(), 422, fault="Choose a file.")
    clerk = Clerk(caller.email, ask.now)
    try:
        done = await actions.import_file(raw, bank_account(ask.house.settings), BANK_DESK, clerk, ask.house)
    except OperatorRefusedError as refused:
        return await _statements(ask, caller, PageQuery(), 422, fault=str(refused))
    return await _statements(ask, caller, PageQuery(), done=done.words)


@OPERATIONS.add("GET", "/operator/statements/{statement_id}", guard=operator_page)
async def statement(ask: Ask, caller: Operator, statement_id: UUID, query: PageQuery) -> Response:
    """One statement: what came of each transfer that it was the first to show."""
    found = await shown_store.statement(ask.house.db, statement_id)
    if found is None:
        raise NotFound
    shown, more = query.cut(await shown_store.transfers_of(ask.house.db, statement_id, query.fetch, query.offset))
    return show(ask, caller, "statement", here="statements", statement=found, transfers=shown, turn=turn(query, more=more))


@OPERATIONS.add("GET", "/operator/transfers", guard=operator_page)
async def transfers(ask: Ask, caller: Operator, query: PageQuery) -> Response:
    """The transfers that nobody could place, oldest first."""
    shown, more = query.cut(await store.unmatched(ask.house.db, query.fetch, query.offset))
    return show(ask, caller, "transfers", here="statements", transfers=shown, turn=turn(query, more=more))


@OPERATIONS.add("GET", "/operator/transfers/{transfer_id}", guard=operator_page)
async def transfer(ask: Ask, caller: Operator, transfer_id: UUID, query: DoneQuery) -> Response:
    """One transfer, to be placed where it waits."""
    return await _transfer(ask, caller, transfer_id, done=query.deed)


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/assign", guard=operator_page)
async def assign(ask: Ask, caller: Operator, transfer_id: UUID) -> Response:
    """Take a transfer for the payment of a reference."""
    reference = (ask.form().one("reference") or "").strip()
    why, fault = reason_in(ask, "why")
    typed = {"reference": reference, "why": why}
    faults = {name: text for name, text in (("reference", "" if reference else "Say which."), ("why", fault)) if text}
    if faults:
        return await _transfer(ask, caller, transfer_id, status=422, typed=typed, faults=faults)
    clerk = Clerk(caller.email, ask.now, why)

    async def deed(tx: Tx) -> Decided:
        return await actions.assign(tx, transfer_id, reference, BANK_DESK, clerk, ask.house)

    return await _decide(ask, caller, transfer_id, deed, typed)


@OPERATIONS.add("POST", "/operator/transfers/{transfer_id}/dismiss", guard=operator_page)
async def dismiss(ask: Ask, caller: Operator, transfer_id: UUID) -> Response:
    """Say that a transfer is no business of any merchant."""
    reason, fault = reason_in(ask)
    typed = {"reason": reason}
    if fault:
        return await _transfer(ask, caller, transfer_id, status=422, typed=typed, faults={"reason": fault})
    clerk = Clerk(caller.email, ask.now, reason)
    return await _decide(ask, caller, transfer_id, lambda tx: actions.dismiss(tx, transfer_id, BANK_DESK, clerk), typed)


async def _statements(
    ask: Ask, caller: Operator, query: PageQuery, status: int = 200, *, fault: str = "", done: str = ""
) -> Response:
    shown, more = query.cut(await shown_store.statements(ask.house.db, query.fetch, query.offset))
    return show(
        ask,
        caller,
        "statements",
        status,
        here="statements",
        account=bank_account(ask.house.settings),
        statements=shown,
        turn=turn(query, more=more),
        faults={"file": fault} if fault else {},
        done=done,
    )


async def _decide(
    ask: Ask, caller: Operator, transfer_id: UUID, deed: Callable[[Tx], Awaitable[Decided]], typed: dict[str, str]
) -> Response:
    try:
        decided = await ask.house.db.transact(deed)
    except OperatorRefusedError as refused:
        message = f"Nothing was done. {refused}"
        return await _transfer(ask, caller, transfer_id, status=409, message=message, typed=typed)
    return see_other(f"/operator/transfers/{transfer_id}?deed={decided.deed_id}")


async def _transfer(
    ask: Ask,
    caller: Operator,
    transfer_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    typed: dict[str, str] | None = None,
    faults: dict[str, str] | None = None,
) -> Response:
    found = await shown_store.transfer(ask.house.db, transfer_id)
    if found is None:
        raise NotFound
    return show(
        ask,
        caller,
        "transfer",
        status,
        here="statements",
        transfer=found,
        deeds=await just_done(ask, done, transfer_id),
        done=done,
        message=message,
        typed={"reference": "", "why": "", "reason": ""} | (typed or {}),
        faults=faults or {},
    )
