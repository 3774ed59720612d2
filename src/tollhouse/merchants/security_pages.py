"""The pages about what guards a person's account. They are open to people of a suspended merchant too."""

from functools import partial

from starlette.responses import Response

from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity import second_factor_pages as factor
from tollhouse.identity import sessions
from tollhouse.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.identity.model import Person
from tollhouse.identity.second_factor_pages import AccountKind, Switched
from tollhouse.mail import outbox
from tollhouse.mail.model import Letter
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
ROOT = "/settings/security"


@OPERATIONS.add("GET", ROOT, guard=signed_in_page)
async def security(request: Request, caller: Person) -> Response:
    """The second factor, backup codes, and the way to the sessions."""
    return await factor.start(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/setup", guard=signed_in_page_while_suspended, recent_authentication="always")
async def enrol(request: Request, caller: Person) -> Response:
    """Make a secret for an authenticator."""
    return await factor.enrol(request, _account_kind(request, caller))


@OPERATIONS.add("GET", f"{ROOT}/setup", guard=signed_in_page, recent_authentication="always")
async def setup(request: Request, caller: Person) -> Response:
    """Show it, and ask for the first code."""
    return await factor.setup(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/confirm", guard=signed_in_page_while_suspended, recent_authentication="always")
async def confirm(request: Request, caller: Person) -> Response:
    """Switch the second factor on."""
    return await factor.confirm(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/backup-codes", guard=signed_in_page_while_suspended, recent_authentication="always")
async def renew_backup_codes(request: Request, caller: Person) -> Response:
    """Make other backup codes, for a code."""
    return await factor.renew(request, _account_kind(request, caller))


@OPERATIONS.add("GET", f"{ROOT}/off", guard=signed_in_page, recent_authentication="always")
async def ask_to_turn_off(request: Request, caller: Person) -> Response:
    """What switching it off means."""
    return await factor.ask_to_turn_off(request, _account_kind(request, caller))


@OPERATIONS.add("POST", f"{ROOT}/off", guard=signed_in_page_while_suspended, recent_authentication="always")
async def turn_off(request: Request, caller: Person) -> Response:
    """Switch the second factor off, for a code."""
    return await factor.turn_off(request, _account_kind(request, caller))


def _account_kind(request: Request, person: Person) -> AccountKind:
    show = partial(page, request, frame="http/shell.html", person=person, mode="test", here="security")

    async def notify(tx: Tx, switched: Switched) -> None:
        if switched == "factor_on":
            await sessions.end_others(tx, person, request.now)
        await outbox.put(tx, Letter(switched, person.email, person.language, person.user_id), request.now)

    return AccountKind(person.user_id, person.email, ROOT, show, notify)
