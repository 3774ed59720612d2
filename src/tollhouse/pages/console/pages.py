"""The operators' sign-in, invitation, security, overview and history pages."""

from functools import partial
from importlib.metadata import version
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity import assertions, mfa_pending, operators, second_factor
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.guards import anyone, visitor
from tollhouse.accounts.identity.model import Operator, SignInFirst
from tollhouse.accounts.identity.operators import operator_account_page, operator_confirm_page, operator_page
from tollhouse.accounts.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.accounts.identity.second_factor_pages import add_operations
from tollhouse.accounts.identity.stepup import CONSOLE, is_recent
from tollhouse.accounts.identity.two_factor_account import TwoFactorAccount
from tollhouse.http.forms import by_field, parse_form
from tollhouse.http.labels import span
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other, with_headers_of
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.pages.console import overview_store, store, users
from tollhouse.pages.console.layout import ROOT, render
from tollhouse.pages.console.overview import many, size
from tollhouse.transfers.withdrawals.store import list_queue

OPERATIONS = Operations(PAGES)
WITHDRAWALS_SHOWN = 5


@OPERATIONS.add("GET", "/operator/signin", guard=anyone)
async def sign_in_page(request: Request) -> Response:
    """The sign-in form. `to` is the page to open afterwards."""
    return _sign_in_page(request, CONSOLE.read(parse_form(request.query)))


@OPERATIONS.add("POST", "/operator/signin", guard=visitor)
async def sign_in(request: Request) -> Response:
    """Sign in and open the requested page, or the page of the second factor."""
    form = request.form()
    email, to = form.one("email") or "", CONSOLE.read(form)
    try:
        if sent := form.one("passkey"):
            secret = await users.sign_in_by_passkey(request, assertions.read_form(sent))
        else:
            secret = await users.sign_in(request, email, form.one("password") or "")
    except SecondFactorRequired as required:
        response = see_other(f"/operator/signin/2fa?{urlencode({'to': to})}")
        return mfa_pending.set_cookie(request, response, "operator_signin", required.holder_id)
    except ApiError as error:
        return _sign_in_page(request, to, email, error)
    return operators.set_cookie(request, see_other(to), secret)


@OPERATIONS.add("GET", "/operator/signin/2fa", guard=anyone)
async def code_page(request: Request) -> Response:
    """The form for the code of the second factor, after the password."""
    operator_id = mfa_pending.account_id(request, "operator_signin")
    if operator_id is None:
        return see_other(CONSOLE.sign_in)
    return await _code_page(request, operator_id, CONSOLE.read(parse_form(request.query)))


@OPERATIONS.add("POST", "/operator/signin/2fa", guard=visitor)
async def sign_in_by_code(request: Request) -> Response:
    """Check the code and open the requested page."""
    form = request.form()
    to, operator_id = CONSOLE.read(form), mfa_pending.account_id(request, "operator_signin")
    if operator_id is None:
        return see_other(CONSOLE.sign_in)
    try:
        if sent := form.one("passkey"):
            secret = await users.sign_in_by_passkey(request, assertions.read_form(sent), operator_id)
        else:
            secret = await users.finish_sign_in(request, operator_id, form.one("code") or "")
    except SecondFactorChanged:
        return see_other(CONSOLE.sign_in)
    except ApiError as error:
        return await _code_page(request, operator_id, to, error)
    return mfa_pending.clear_cookie(request, operators.set_cookie(request, see_other(to), secret), "operator_signin")


def _sign_in_page(request: Request, to: str, email: str = "", error: ApiError | None = None) -> Response:
    options = assertions.sign_in_attribute(request, "operator")
    status, message = (200, "") if error is None else (error.status, error.message)
    response = page(request, "console/signin.html", status, to=to, email=email, message=message, options=options)
    return response if error is None else with_headers_of(error, response)


async def _code_page(request: Request, operator_id: UUID, to: str, error: ApiError | None = None) -> Response:
    factors = await second_factor.state(request.services.db, operator_id)
    options = assertions.sign_in_attribute(request, "operator") if factors is not None and factors.passkeys else ""
    status, message = (200, "") if error is None else (error.status, error.message)
    response = page(request, "console/signin_code.html", status, to=to, message=message, options=options, factors=factors)
    return response if error is None else with_headers_of(error, response)


@OPERATIONS.add("POST", "/operator/signout", guard=visitor)
async def sign_out(request: Request) -> Response:
    """End the session."""
    return await operators.sign_out(request, see_other(CONSOLE.sign_in))


@OPERATIONS.add("GET", "/operator/welcome/{secret}", guard=anyone)
async def welcome(request: Request, secret: str) -> Response:
    """The form on which an invited operator chooses a password. Opening it does not use the link up."""
    return page(
        request, "console/welcome.html", email=await users.invited_email(request, secret), message="", field_errors={}
    )


@OPERATIONS.add("POST", "/operator/welcome/{secret}", guard=visitor)
async def join(request: Request, secret: str) -> Response:
    """Set the password, which uses the link up, and sign in."""
    try:
        session = await users.join(request, secret, request.form().one("password") or "")
    except ValidationFailed as error:
        return page(
            request,
            "console/welcome.html",
            error.status,
            email=await users.invited_email(request, secret),
            message=error.message,
            field_errors=by_field(error),
        )
    return operators.set_cookie(request, see_other(ROOT), session)


@OPERATIONS.add("GET", "/operator", guard=operator_page)
async def overview(request: Request, caller: Operator) -> Response:
    """The state of the service and what is to do."""
    services = request.services
    state = await overview_store.overview(services.db, version("tollhouse"), request.now)
    withdrawals = await list_queue(services.db, "pending_review", WITHDRAWALS_SHOWN, services.catalogue)
    return await render(
        request,
        caller,
        "overview",
        here="overview",
        state=state,
        withdrawals=withdrawals,
        many=many,
        size=size(state.database_bytes),
        workers=[
            (worker, stamp(worker.first_seen_at), span(request.now - worker.last_seen_at), state.is_running(worker))
            for worker in state.workers
        ],
    )


@OPERATIONS.add("GET", "/operator/history", guard=operator_page)
async def history(request: Request, caller: Operator, query: PageQuery) -> Response:
    """The actions of operators on these pages and on the command line."""
    history, more = query.cut(await store.list_actions(request.services.db, query.fetch, query.offset))
    return await render(
        request,
        caller,
        "history",
        here="history",
        history=history,
        amount=request.services.catalogue.format_amount,
        page_links=query.links(history, more=more),
    )


SECURITY = "/operator/security"


@OPERATIONS.add("GET", operators.PATH, guard=operator_confirm_page)
async def step_up_page(request: Request, caller: Operator) -> Response:
    """Ask an operator for the password. `to` is the page to open afterwards."""
    form = parse_form(request.query)
    if is_recent(caller, request.now):
        return see_other(CONSOLE.read(form))
    return await operators.confirmation_page(request, caller, form)


@OPERATIONS.add("POST", operators.PATH, guard=operator_confirm_page)
async def step_up(request: Request, caller: Operator) -> Response:
    """Verify password and code, and open the page `to`."""
    form = request.form()
    try:
        await operators.confirm(request, caller, form)
    except SignInFirst:
        raise
    except ApiError as error:
        return await operators.confirmation_page(request, caller, form, error)
    return see_other(CONSOLE.read(form))


def _account(request: Request, operator: Operator) -> TwoFactorAccount:
    render = partial(page, request, frame="console/layout.html", operator=operator, here="security")
    return TwoFactorAccount(Holder.of(request, operator), SECURITY, render)


add_operations(OPERATIONS, SECURITY, _account, read=operator_account_page, write=operator_account_page)
