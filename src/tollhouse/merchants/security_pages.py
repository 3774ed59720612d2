"""The pages about what guards a person's account. They are open to people of a suspended merchant too."""

from functools import partial

from starlette.responses import Response

from tollhouse.callers import second_factor_pages as factor
from tollhouse.callers import sessions
from tollhouse.callers.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.callers.model import Person
from tollhouse.callers.second_factor_pages import Seat, Switched
from tollhouse.mail import outbox
from tollhouse.mail.model import Letter
from tollhouse.platform.db import Tx
from tollhouse.web.answers import page
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
ROOT = "/settings/security"


@OPERATIONS.add("GET", ROOT, guard=signed_in_page)
async def security(ask: Ask, caller: Person) -> Response:
    """The second factor, backup codes, and the way to the sessions."""
    return await factor.start(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/setup", guard=signed_in_page_while_suspended, recent_authentication="always")
async def enrol(ask: Ask, caller: Person) -> Response:
    """Make a secret for an authenticator."""
    return await factor.enrol(ask, _seat(ask, caller))


@OPERATIONS.add("GET", f"{ROOT}/setup", guard=signed_in_page, recent_authentication="always")
async def setup(ask: Ask, caller: Person) -> Response:
    """Show it, and ask for the first code."""
    return await factor.setup(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/confirm", guard=signed_in_page_while_suspended, recent_authentication="always")
async def confirm(ask: Ask, caller: Person) -> Response:
    """Switch the second factor on."""
    return await factor.confirm(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/backup-codes", guard=signed_in_page_while_suspended, recent_authentication="always")
async def renew_backup_codes(ask: Ask, caller: Person) -> Response:
    """Make other backup codes, for a code."""
    return await factor.renew(ask, _seat(ask, caller))


@OPERATIONS.add("GET", f"{ROOT}/off", guard=signed_in_page, recent_authentication="always")
async def ask_to_turn_off(ask: Ask, caller: Person) -> Response:
    """What switching it off means."""
    return await factor.ask_to_turn_off(ask, _seat(ask, caller))


@OPERATIONS.add("POST", f"{ROOT}/off", guard=signed_in_page_while_suspended, recent_authentication="always")
async def turn_off(ask: Ask, caller: Person) -> Response:
    """Switch the second factor off, for a code."""
    return await factor.turn_off(ask, _seat(ask, caller))


def _seat(ask: Ask, person: Person) -> Seat:
    show = partial(page, ask, frame="web/shell.html", person=person, mode="test", here="security")

    async def tell(tx: Tx, switched: Switched) -> None:
        if switched == "factor_on":
            await sessions.end_others(tx, person, ask.now)
        await outbox.put(tx, Letter(switched, person.email, person.language, person.user_id), ask.now)

    return Seat(person.user_id, person.email, ROOT, show, tell)
