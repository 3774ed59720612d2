"""Recent authentication: before money, secrets and guards of the account, who sits at the dashboard confirms the password.

Signing in counts for 15 minutes. JSON is refused until `POST /api/v2/merchant/session/confirm`. A page with such a form is
shown after the confirmation; a form that is sent when it is too long ago is answered with a page that asks, carries what was
filled in, and does it with the password.
"""

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from tollhouse.audit import record
from tollhouse.callers import second_factor, sessions, sessions_store
from tollhouse.callers.model import InvalidCredentials, Person, RecentAuthenticationRequired, SignInFirst
from tollhouse.callers.people import prove
from tollhouse.callers.second_factor import InvalidCode, SecondFactorRequired
from tollhouse.kernel.limits import PROOF_S
from tollhouse.kernel.refusals import AuthenticationRequired, Refusal
from tollhouse.web.answers import RefusalPage, page
from tollhouse.web.ask import Ask
from tollhouse.web.cookies import SAFE
from tollhouse.web.forms import Form

LASTS = timedelta(seconds=PROOF_S)
PASSWORD, CODE = "stepup_password", "stepup_code"
TEMPLATE = "callers/stepup.html"
OURS = re.compile(r"/(live|test|developers|settings)(/[A-Za-z0-9:._~-]+)*(\?[A-Za-z0-9:._~=&%+-]*)?")
HOME = "/"


class ConfirmFirst(Refusal):
    """303: the page is shown after the confirmation."""

    code, status, message = RecentAuthenticationRequired.code, 303, RecentAuthenticationRequired.message

    def __init__(self, to: str) -> None:
        super().__init__(headers={"Location": f"/stepup?{urlencode({'to': to})}"})


class ConfirmWithForm(RefusalPage):
    """403: nothing was done yet. The page asks for the password, and carries what was filled in."""

    code, status, message = RecentAuthenticationRequired.code, 403, RecentAuthenticationRequired.message


def is_recent(person: Person, now: datetime) -> bool:
    """Whether they signed in, or confirmed the password, within the last 15 minutes."""
    return now < person.proved_at + LASTS


def require_recent(person: Person, now: datetime) -> None:
    """Raises `RecentAuthenticationRequired`."""
    if not is_recent(person, now):
        raise RecentAuthenticationRequired


async def confirm(ask: Ask, person: Person, password: str, code: str | None) -> Person:
    """The person, who confirmed password and second factor now, in the same session under another secret.

    Raises what signing in does, and `AuthenticationRequired` where the session ended meanwhile.
    """
    try:
        await prove(ask, "step-up", person.email, password, sessions_store.by_email)
    except InvalidCredentials:
        await ask.house.db.transact(lambda tx: record.note(tx, person.merchant_id, "proof.refused", ask.now))
        raise
    if await second_factor.state(ask.house.db, person.user_id) is not None:
        if code is None:
            raise SecondFactorRequired(person.user_id)
        await second_factor.check(ask, person.user_id, code)
    renewed = await sessions.renew(ask, person)
    if renewed is None:
        raise AuthenticationRequired
    return renewed


async def confirm_by_form(ask: Ask, person: Person, form: Form) -> Person:
    """The same by the fields of a page's form. Raises what `confirm` does."""
    try:
        return await confirm(ask, person, form.one(PASSWORD) or "", form.one(CODE) or "")
    except InvalidCode:
        # Of a form that is sent twice, the first one has used the code up.
        again = await sessions.person_of(ask)
        if again is None or not is_recent(again, ask.now):
            raise
        return again


async def reauthenticate(ask: Ask, person: Person, *, free_redirect: bool = False) -> Person:
    """At a page: the person, where that is recent; else 303 to where it is asked, or 403 with a page that asks.

    `free_redirect`: the form may end on another site.
    """
    if is_recent(person, ask.now):
        return person
    if ask.method in SAFE:
        query = ask.query.decode("latin-1")
        raise ConfirmFirst(f"{ask.path}?{query}" if query else ask.path)
    form = ask.form()
    refusal: Refusal | None = None
    if form.one(PASSWORD) is not None:
        try:
            return await confirm_by_form(ask, person, form)
        except AuthenticationRequired:
            raise SignInFirst from None
        except Refusal as fault:
            refusal = fault
    kept = [(name, value) for name, value in form.pairs if name not in {PASSWORD, CODE}]
    facts = await _facts(ask, person, ask.path, kept, refusal)
    raise ConfirmWithForm(TEMPLATE, None if refusal is None else refusal.headers, free_redirect=free_redirect, **facts)


async def asked(ask: Ask, person: Person, to: str, refusal: Refusal | None = None) -> Response:
    """The page that asks, and then goes on to another one."""
    facts = await _facts(ask, person, "/stepup", [("to", to)], refusal)
    shown = page(ask, TEMPLATE, 200 if refusal is None else refusal.status, **facts)
    shown.headers.update({} if refusal is None else refusal.headers)
    return shown


def page_to(form: Form) -> str:
    """The page to go on to: one of the dashboard, never an address of anybody else's."""
    to = form.one("to") or ""
    return to if OURS.fullmatch(to) else HOME


async def _facts(
    ask: Ask, person: Person, action: str, kept: list[tuple[str, str]], refusal: Refusal | None
) -> dict[str, Any]:
    message = "" if refusal is None else refusal.message
    return {
        "person": person,
        "action": action,
        "kept": kept,
        "message": "The password is wrong." if isinstance(refusal, InvalidCredentials) else message,
        "with_code": await second_factor.state(ask.house.db, person.user_id) is not None,
        "carries": action != "/stepup",
    }
