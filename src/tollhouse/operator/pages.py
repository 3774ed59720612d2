"""The operators' way in, and their first pages: sign-in, the link that welcomes one, how the house is, what was done."""

import re
from importlib.metadata import version
from urllib.parse import urlencode

from starlette.responses import Response

from tollhouse.callers import half_signed_in, operators
from tollhouse.callers.guards import anyone, visitor
from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.callers.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.catalogue.currencies import format_amount
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.refusals import Refusal, ValidationFailed
from tollhouse.operator import overview_store, store, users
from tollhouse.operator.desk import ROOT, show
from tollhouse.operator.overview import many, size, span
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import Form, parse_form
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)
OURS = re.compile(r"/operator(/[A-Za-z0-9-]+)*")


@OPERATIONS.add("GET", "/operator/signin", guard=anyone)
async def sign_in_page(ask: Ask) -> Response:
    """The sign-in form. `to` is the page to come back to."""
    return page(ask, "operator/signin.html", to=_page_to(parse_form(ask.query)), email="", message="")


@OPERATIONS.add("POST", "/operator/signin", guard=visitor)
async def sign_in(ask: Ask) -> Response:
    """Sign in, and go on to the page that was wanted; where there is a second factor, by way of its page."""
    form = ask.form()
    email, to = form.one("email") or "", _page_to(form)
    try:
        secret = await users.sign_in(ask, email, form.one("password") or "")
    except SecondFactorRequired as wanted:
        there = see_other(f"/operator/signin/2fa?{urlencode({'to': to})}")
        return half_signed_in.give(ask, there, "operator_signin", wanted.holder_id)
    except Refusal as refusal:
        shown = page(ask, "operator/signin.html", refusal.status, to=to, email=email, message=refusal.message)
        shown.headers.update(refusal.headers)
        return shown
    return operators.give(ask, see_other(to), secret)


@OPERATIONS.add("GET", "/operator/signin/2fa", guard=anyone)
async def code_page(ask: Ask) -> Response:
    """The form for the code of the second factor, behind the right password."""
    if half_signed_in.holder_of(ask, "operator_signin") is None:
        return see_other(operators.SIGN_IN)
    return page(ask, "operator/signin_code.html", to=_page_to(parse_form(ask.query)), message="")


@OPERATIONS.add("POST", "/operator/signin/2fa", guard=visitor)
async def sign_in_by_code(ask: Ask) -> Response:
    """Take the code, and go on to the page that was wanted."""
    form = ask.form()
    to, operator_id = _page_to(form), half_signed_in.holder_of(ask, "operator_signin")
    if operator_id is None:
        return see_other(operators.SIGN_IN)
    try:
        secret = await users.finish_sign_in(ask, operator_id, form.one("code") or "")
    except SecondFactorChanged:
        return see_other(operators.SIGN_IN)
    except Refusal as refusal:
        shown = page(ask, "operator/signin_code.html", refusal.status, to=to, message=refusal.message)
        shown.headers.update(refusal.headers)
        return shown
    return half_signed_in.drop(ask, operators.give(ask, see_other(to), secret), "operator_signin")


@OPERATIONS.add("POST", "/operator/signout", guard=visitor)
async def sign_out(ask: Ask) -> Response:
    """End the session."""
    return await operators.end(ask, see_other(operators.SIGN_IN))


@OPERATIONS.add("GET", "/operator/welcome/{secret}", guard=anyone)
async def welcome(ask: Ask, secret: str) -> Response:
    """Where an invited operator chooses a password. Looking at it does not use the link up."""
    return page(ask, "operator/welcome.html", email=await users.invited_email(ask, secret), message="", faults={})


@OPERATIONS.add("POST", "/operator/welcome/{secret}", guard=visitor)
async def join(ask: Ask, secret: str) -> Response:
    """Choose the password, which uses the link up, and come in."""
    try:
        session = await users.join(ask, secret, ask.form().one("password") or "")
    except ValidationFailed as refusal:
        return page(
            ask,
            "operator/welcome.html",
            refusal.status,
            email=await users.invited_email(ask, secret),
            message=refusal.message,
            faults={fault.field: fault.message for fault in refusal.faults},
        )
    return operators.give(ask, see_other(ROOT), session)


@OPERATIONS.add("GET", "/operator", guard=operator_page)
async def overview(ask: Ask, caller: Operator) -> Response:
    """How the house is: version, database, workers, what waits, whether the books are right."""
    found = await overview_store.overview(ask.house.db, version("tollhouse"), ask.now)
    return show(
        ask,
        caller,
        "overview",
        here="overview",
        found=found,
        many=many,
        size=size(found.database_bytes),
        workers=[
            (worker, stamp(worker.first_seen_at), span(ask.now - worker.last_seen_at), found.at_work(worker))
            for worker in found.workers
        ],
    )


@OPERATIONS.add("GET", "/operator/history", guard=operator_page)
async def history(ask: Ask, caller: Operator, query: PageQuery) -> Response:
    """What operators did, at these pages and at the command line: who, when and why."""
    deeds, more = query.cut(await store.deeds(ask.house.db, query.fetch, query.offset))
    return show(
        ask,
        caller,
        "history",
        here="history",
        deeds=deeds,
        amount=format_amount,
        turn=turn(query, more=more),
    )


def _page_to(form: Form) -> str:
    """The page to go on to: one of ours, never an address of anybody else's."""
    to = form.one("to") or ""
    return to if OURS.fullmatch(to) else ROOT
