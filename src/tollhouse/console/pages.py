"""The operators' way in, and their first pages: sign-in, the link that welcomes one, how the house is, what was done."""

import re
from importlib.metadata import version
from urllib.parse import urlencode

from starlette.responses import Response

from tollhouse.catalogue.currencies import format_amount
from tollhouse.console import overview_store, store, users
from tollhouse.console.overview import many, size, span
from tollhouse.console.pages_shared import ROOT, show
from tollhouse.http.forms import Form, parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity import mfa_pending, operators
from tollhouse.identity.guards import anyone, visitor
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError, ValidationFailed

OPERATIONS = Operations(PAGES)
OURS = re.compile(r"/operator(/[A-Za-z0-9-]+)*")


@OPERATIONS.add("GET", "/operator/signin", guard=anyone)
async def sign_in_page(request: Request) -> Response:
    """The sign-in form. `to` is the page to come back to."""
    return page(request, "console/signin.html", to=_page_to(parse_form(request.query)), email="", message="")


@OPERATIONS.add("POST", "/operator/signin", guard=visitor)
async def sign_in(request: Request) -> Response:
    """Sign in, and go on to the page that was wanted; where there is a second factor, by way of its page."""
    form = request.form()
    email, to = form.one("email") or "", _page_to(form)
    try:
        secret = await users.sign_in(request, email, form.one("password") or "")
    except SecondFactorRequired as wanted:
        there = see_other(f"/operator/signin/2fa?{urlencode({'to': to})}")
        return mfa_pending.give(request, there, "operator_signin", wanted.holder_id)
    except ApiError as error:
        shown = page(request, "console/signin.html", error.status, to=to, email=email, message=error.message)
        shown.headers.update(error.headers)
        return shown
    return operators.give(request, see_other(to), secret)


@OPERATIONS.add("GET", "/operator/signin/2fa", guard=anyone)
async def code_page(request: Request) -> Response:
    """The form for the code of the second factor, behind the right password."""
    if mfa_pending.holder_of(request, "operator_signin") is None:
        return see_other(operators.SIGN_IN)
    return page(request, "console/signin_code.html", to=_page_to(parse_form(request.query)), message="")


@OPERATIONS.add("POST", "/operator/signin/2fa", guard=visitor)
async def sign_in_by_code(request: Request) -> Response:
    """Take the code, and go on to the page that was wanted."""
    form = request.form()
    to, operator_id = _page_to(form), mfa_pending.holder_of(request, "operator_signin")
    if operator_id is None:
        return see_other(operators.SIGN_IN)
    try:
        secret = await users.finish_sign_in(request, operator_id, form.one("code") or "")
    except SecondFactorChanged:
        return see_other(operators.SIGN_IN)
    except ApiError as error:
        shown = page(request, "console/signin_code.html", error.status, to=to, message=error.message)
        shown.headers.update(error.headers)
        return shown
    return mfa_pending.drop(request, operators.give(request, see_other(to), secret), "operator_signin")


@OPERATIONS.add("POST", "/operator/signout", guard=visitor)
async def sign_out(request: Request) -> Response:
    """End the session."""
    return await operators.end(request, see_other(operators.SIGN_IN))


@OPERATIONS.add("GET", "/operator/welcome/{secret}", guard=anyone)
async def welcome(request: Request, secret: str) -> Response:
    """Where an invited operator chooses a password. Looking at it does not use the link up."""
    return page(
        request, "console/welcome.html", email=await users.invited_email(request, secret), message="", field_errors={}
    )


@OPERATIONS.add("POST", "/operator/welcome/{secret}", guard=visitor)
async def join(request: Request, secret: str) -> Response:
    """Choose the password, which uses the link up, and come in."""
    try:
        session = await users.join(request, secret, request.form().one("password") or "")
    except ValidationFailed as error:
        return page(
            request,
            "console/welcome.html",
            error.status,
            email=await users.invited_email(request, secret),
            message=error.message,
            field_errors={fault.field: fault.message for fault in error.field_errors},
        )
    return operators.give(request, see_other(ROOT), session)


@OPERATIONS.add("GET", "/operator", guard=operator_page)
async def overview(request: Request, caller: Operator) -> Response:
    """How the house is: version, database, workers, what waits, whether the books are right."""
    found = await overview_store.overview(request.services.db, version("tollhouse"), request.now)
    return show(
        request,
        caller,
        "overview",
        here="overview",
        found=found,
        many=many,
        size=size(found.database_bytes),
        workers=[
            (worker, stamp(worker.first_seen_at), span(request.now - worker.last_seen_at), found.at_work(worker))
            for worker in found.workers
        ],
    )


@OPERATIONS.add("GET", "/operator/history", guard=operator_page)
async def history(request: Request, caller: Operator, query: PageQuery) -> Response:
    """What operators did, at these pages and at the command line: who, when and why."""
    history, more = query.cut(await store.list_actions(request.services.db, query.fetch, query.offset))
    return show(
        request,
        caller,
        "history",
        here="history",
        history=history,
        amount=format_amount,
        turn=turn(query, more=more),
    )


def _page_to(form: Form) -> str:
    """The page to go on to: one of ours, never an address of anybody else's."""
    to = form.one("to") or ""
    return to if OURS.fullmatch(to) else ROOT
