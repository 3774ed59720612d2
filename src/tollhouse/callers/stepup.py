"""Step-up: before money or secrets, whoever sits at the dashboard proves anew who they are, unless they did so lately.

A page with such a form is shown after the proof. Where a form is sent when the proof has grown too old, it is asked for
beside the form: what was filled in goes along and is done at once.
"""

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from msgspec import structs
from starlette.responses import Response

from tollhouse.audit import record
from tollhouse.callers import second_factor, sessions_store
from tollhouse.callers.guards import Session, signed_in_page, signed_in_page_while_suspended
from tollhouse.callers.model import InvalidCredentials, Person
from tollhouse.callers.people import prove
from tollhouse.callers.second_factor import InvalidCode
from tollhouse.kernel.limits import PROOF_S
from tollhouse.kernel.refusals import Refusal
from tollhouse.web.answers import RefusalPage, page
from tollhouse.web.ask import Ask
from tollhouse.web.cookies import SAFE
from tollhouse.web.forms import Form

LASTS = timedelta(seconds=PROOF_S)
PASSWORD, CODE = "stepup_password", "stepup_code"
TEMPLATE = "callers/stepup.html"
OURS = re.compile(r"/(live|test|developers|settings)(/[A-Za-z0-9:._~-]+)*(\?[A-Za-z0-9:._~=&%+-]*)?")
HOME = "/"


class ProofFirst(Refusal):
    """303: the page is shown after one has proved anew who one is."""

    code, status, message = "proof_required", 303, "Confirm that it is you."

    def __init__(self, to: str) -> None:
        super().__init__(headers={"Location": f"/stepup?{urlencode({'to': to})}"})


class ProofBeside(RefusalPage):
    """403: the form is not done yet. The page asks for the proof, and carries what was filled in."""

    code, status, message = "proof_required", 403, "Confirm that it is you. Nothing was done yet."


class LatelyProved:
    """A person with a session, who signed in or proved who they are within the last quarter of an hour."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.while_suspended = session.while_suspended
        self.label = "session, proved, suspended too" if self.while_suspended else "session, lately proved"

    async def admit(self, ask: Ask) -> Person:
        """As for any page of a session, and then 303 to where it is asked, or 403 with a page that asks."""
        person = await self._session.admit(ask)
        if is_proved(person, ask.now):
            return person
        if ask.method in SAFE:
            query = ask.query.decode("latin-1")
            raise ProofFirst(f"{ask.path}?{query}" if query else ask.path)
        return await _prove_beside(ask, person)

    async def note_use(self, ask: Ask, caller: Person) -> None:
        """Nothing: the session itself notes when it was seen."""


proved_page = LatelyProved(signed_in_page)
proved_page_while_suspended = LatelyProved(signed_in_page_while_suspended)


def is_proved(person: Person, now: datetime) -> bool:
    """Whether they proved lately who they are."""
    return now < person.proved_at + LASTS


async def prove_again(ask: Ask, person: Person, form: Form) -> None:
    """Take the password, and the code where there is a second factor. Raises what signing in does."""
    try:
        await prove(ask, "step-up", person.email, form.one(PASSWORD) or "", sessions_store.by_email)
    except InvalidCredentials:
        await ask.house.db.transact(lambda tx: record.note(tx, person.merchant_id, "proof.refused", ask.now))
        raise
    if await second_factor.state(ask.house.db, person.user_id) is not None:
        try:
            await second_factor.check(ask, person.user_id, form.one(CODE) or "")
        except InvalidCode:
            # Of a double click, the first one has used the code up and proved the session.
            if not is_proved(await signed_in_page_while_suspended.admit(ask), ask.now):
                raise
    await sessions_store.note_proof(ask.house.db, person.session_hash, ask.now)


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


async def _prove_beside(ask: Ask, person: Person) -> Person:
    form = ask.form()
    refusal: Refusal | None = None
    if form.one(PASSWORD) is not None:
        try:
            await prove_again(ask, person, form)
        except Refusal as fault:
            refusal = fault
        else:
            return structs.replace(person, proved_at=ask.now)
    kept = [(name, value) for name, value in form.pairs if name not in {PASSWORD, CODE}]
    facts = await _facts(ask, person, ask.path, kept, refusal)
    raise ProofBeside(TEMPLATE, None if refusal is None else refusal.headers, **facts)


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
