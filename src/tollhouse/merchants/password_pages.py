"""The pages on which a person sets another password: with a link that was mailed, or at the dashboard."""

from starlette.responses import Response

from tollhouse.callers.guards import anyone, signed_in_page, signed_in_page_while_suspended, visitor
from tollhouse.callers.model import InvalidCredentials, Person
from tollhouse.kernel.refusals import Refusal
from tollhouse.mail.links import LinkIsOver
from tollhouse.merchants import passwords
from tollhouse.merchants.passwords import PasswordChanged
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.form_faults import NOTHING_DONE, NOTHING_WRONG, Wrong, wrong_with
from tollhouse.web.forms import what_was_done
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
NOTICES = {"changed": "Your password was changed. You are signed in here only."}
WRONG_PASSWORD = "This is not your password."  # noqa: S105 - what is said of one


@OPERATIONS.add("GET", "/forgot", guard=anyone)
async def forgot(ask: Ask) -> Response:
    """Where one asks for a link."""
    return _forgot(ask, "")


@OPERATIONS.add("POST", "/forgot", guard=visitor)
async def ask_for_link(ask: Ask) -> Response:
    """Say that a link was mailed if there is such an account: in the same words, and time, where there is none."""
    email = ask.form().one("email") or ""
    try:
        await passwords.ask_for_link(ask, email.strip())
    except Refusal as refusal:
        wrong = wrong_with(refusal, ("email",))
        shown = _forgot(ask, email, wrong)
        shown.headers.update(refusal.headers)
        return shown
    return _forgot(ask, email.strip(), asked=True)


@OPERATIONS.add("GET", "/reset/{secret}", guard=anyone)
async def choose(ask: Ask, secret: str) -> Response:
    """Where one chooses a password. Looking at it does not use the link up."""
    try:
        return _choose(ask, await passwords.email_of(ask, secret))
    except LinkIsOver as refusal:
        return over(ask, refusal, "reset")


@OPERATIONS.add("POST", "/reset/{secret}", guard=visitor)
async def reset(ask: Ask, secret: str) -> Response:
    """Set it, and go on to signing in with it."""
    try:
        await passwords.reset(ask, secret, ask.form().one("password") or "")
    except LinkIsOver as refusal:
        return over(ask, refusal, "reset")
    except Refusal as refusal:
        return _choose(ask, await passwords.email_of(ask, secret), wrong_with(refusal, ("password",)))
    return see_other("/signin?done=reset")


@OPERATIONS.add("GET", "/settings/password", guard=signed_in_page)
async def password(ask: Ask, caller: Person) -> Response:
    """Where a person changes theirs."""
    return await _password(ask, caller, notice=NOTICES.get(what_was_done(ask.query), ""))


@OPERATIONS.add("POST", "/settings/password", guard=signed_in_page_while_suspended)
async def change(ask: Ask, caller: Person) -> Response:
    """Change it, for the present one."""
    form = ask.form()
    try:
        await passwords.change(ask, caller, form.one("present") or "", form.one("password") or "", form.one("seen") or "")
    except InvalidCredentials as refusal:
        return await _password(ask, caller, Wrong(NOTHING_DONE, {"present": WRONG_PASSWORD}, refusal.status))
    except PasswordChanged as refusal:
        return await _password(ask, caller, Wrong(refusal.message, status=refusal.status))
    except Refusal as refusal:
        shown = await _password(ask, caller, wrong_with(refusal, ("present", "password")))
        shown.headers.update(refusal.headers)
        return shown
    return see_other("/settings/password?done=changed")


def over(ask: Ask, refusal: Refusal, about: str) -> Response:
    """The page of a link that is none, or none any more, and the way to another one."""
    return page(ask, "merchants/link_over.html", refusal.status, about=about, message=refusal.message)


def _forgot(ask: Ask, email: str, wrong: Wrong = NOTHING_WRONG, *, asked: bool = False) -> Response:
    return page(
        ask,
        "merchants/forgot.html",
        wrong.status,
        email=email,
        wrong=wrong,
        asked=asked,
        without_relay=ask.house.settings.smtp is None,
    )


def _choose(ask: Ask, email: str, wrong: Wrong = NOTHING_WRONG) -> Response:
    return page(ask, "merchants/reset.html", wrong.status, email=email, wrong=wrong)


async def _password(ask: Ask, person: Person, wrong: Wrong = NOTHING_WRONG, notice: str = "") -> Response:
    return page(
        ask,
        "merchants/password.html",
        wrong.status,
        person=person,
        mode="test",
        here="security",
        seen=await passwords.version(ask, person.user_id),
        wrong=wrong,
        notice=notice,
    )
