"""Recent authentication of operators: whoever decides something at their pages confirms password and code every 15 minutes.

Signing in counts. A form that is sent when it is too long ago is answered with a page that asks, carries what was filled in,
and does it with the password.
"""

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import structs
from starlette.responses import Response

from tollhouse.callers import operators_store, second_factor
from tollhouse.callers.model import InvalidCredentials, Operator, SignInFirst
from tollhouse.callers.people import prove
from tollhouse.callers.stepup import CODE, PASSWORD, TEMPLATE, ConfirmFirst, ConfirmWithForm
from tollhouse.kernel.limits import OPERATOR_SESSION_ABSOLUTE_S, PROOF_S
from tollhouse.kernel.refusals import Refusal
from tollhouse.kernel.tokens import BODY_CHARS, digest, random_base62
from tollhouse.web import cookies
from tollhouse.web.answers import page
from tollhouse.web.ask import Ask
from tollhouse.web.forms import FORM, Form

LASTS = timedelta(seconds=PROOF_S)
ROOT = "/operator"
PATH = f"{ROOT}/stepup"
OURS = re.compile(r"/operator(/[A-Za-z0-9_-]+)*")


class ConfirmOperatorFirst(ConfirmFirst):
    """303 to where it is asked, and from there to the page named."""

    def __init__(self, to: str) -> None:
        super().__init__(to)
        self.headers["Location"] = f"{PATH}?{urlencode({'to': to})}"


def is_recent(operator: Operator, now: datetime) -> bool:
    """Whether they signed in, or confirmed the password, within the last 15 minutes."""
    return now < operator.proved_at + LASTS


async def confirm(ask: Ask, operator: Operator, form: Form) -> Operator:
    """The operator, who confirmed password and second factor now, in the same session under another secret.

    Raises what signing in does, and `SignInFirst` where the session ended meanwhile.
    """
    await prove(ask, "operator sign-in", operator.email, form.one(PASSWORD) or "", operators_store.by_email)
    if operator.has_second_factor:
        await second_factor.check(ask, operator.operator_id, form.one(CODE) or "")
    secret = random_base62(BODY_CHARS)
    if not await operators_store.renew(ask.house.db, operator.session_hash, digest(secret), ask.now):
        raise SignInFirst(f"{ROOT}/signin")
    cookies.set_with_answer(ask, secret, OPERATOR_SESSION_ABSOLUTE_S, "operator")
    return structs.replace(operator, session_hash=digest(secret), proved_at=ask.now)


async def reauthenticate(ask: Ask, operator: Operator) -> Operator:
    """The operator, where that is recent. Else a page that asks and carries the form, or 303 where none can be carried."""
    if is_recent(operator, ask.now):
        return operator
    if ask.media_type != FORM:
        raise ConfirmOperatorFirst(ask.path)
    form = ask.form()
    refusal: Refusal | None = None
    if form.one(PASSWORD) is not None:
        try:
            return await confirm(ask, operator, form)
        except SignInFirst:
            raise
        except Refusal as fault:
            refusal = fault
    kept = [(name, value) for name, value in form.pairs if name not in {PASSWORD, CODE}]
    facts = _facts(operator, ask.path, kept, refusal)
    raise ConfirmWithForm(TEMPLATE, None if refusal is None else refusal.headers, **facts)


def asked(ask: Ask, operator: Operator, to: str, refusal: Refusal | None = None) -> Response:
    """The page that asks, and then goes on to another one."""
    shown = page(ask, TEMPLATE, 200 if refusal is None else refusal.status, **_facts(operator, PATH, [("to", to)], refusal))
    shown.headers.update({} if refusal is None else refusal.headers)
    return shown


def page_to(form: Form) -> str:
    """The page to go on to: one of the operators', never an address of anybody else's."""
    to = form.one("to") or ""
    return to if OURS.fullmatch(to) else ROOT


def _facts(operator: Operator, action: str, kept: list[tuple[str, str]], refusal: Refusal | None) -> dict[str, Any]:
    message = "" if refusal is None else refusal.message
    return {
        "person": operator,
        "action": action,
        "kept": kept,
        "message": "The password is wrong." if isinstance(refusal, InvalidCredentials) else message,
        "with_code": operator.has_second_factor,
        "carries": action != PATH,
        "leave": ROOT,
    }
