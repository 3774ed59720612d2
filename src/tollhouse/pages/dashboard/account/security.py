"""The pages about the security of a person: second factor and sessions."""

from functools import partial
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import sessions_store
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.browsers import browser_of, system_of
from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.second_factor_pages import add_operations
from tollhouse.accounts.identity.sessions import revoke_other_sessions, revoke_session
from tollhouse.accounts.identity.sessions_store import ActiveSession
from tollhouse.accounts.identity.two_factor_account import TwoFactorAccount
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.limits import SESSIONS_SHOWN
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
ROOT = "/settings/security"


def _account(request: Request, person: Person) -> TwoFactorAccount:
    render = partial(page, request, frame="http/shell.html", person=person, here="security")
    return TwoFactorAccount(Holder.of(request, person), ROOT, render)


add_operations(
    OPERATIONS,
    ROOT,
    _account,
    read=signed_in_page("own"),
    write=signed_in_page_while_suspended("own"),
    recent_authentication="always",
)


SESSIONS = "/settings/sessions"


class ActiveSessionView(Struct, frozen=True):
    """An active session on the page."""

    session_id: UUID
    browser: str
    system: str
    address: str
    created_at: Timestamp
    last_seen_at: Timestamp
    is_current: bool


@OPERATIONS.add("GET", SESSIONS, guard=signed_in_page("own"))
async def list_sessions(request: Request, caller: Person) -> Response:
    """The active sessions of the user, the current one first."""
    active = await sessions_store.list_active(request.services.db, caller.user_id, request.now, SESSIONS_SHOWN + 1)
    views = [_view(session, caller) for session in active[:SESSIONS_SHOWN]]
    return render(
        request,
        caller,
        "account/sessions",
        here="security",
        sessions=sorted(views, key=lambda session: not session.is_current),
        more=len(active) > SESSIONS_SHOWN,
        ended=flash_message(request.query) == "ended",
    )


@OPERATIONS.add("POST", f"{SESSIONS}/others/end", guard=signed_in_page_while_suspended("own"))
async def end_others(caller: Person, work: Work) -> Response:
    """Sign out all other sessions."""
    await revoke_other_sessions(work, caller)
    return see_other(f"{SESSIONS}?done=ended")


@OPERATIONS.add("POST", f"{SESSIONS}/{{session_id}}/end", guard=signed_in_page_while_suspended("own"))
async def end(caller: Person, session_id: UUID, work: Work) -> Response:
    """Sign out one session, if it is active."""
    await revoke_session(work, caller, session_id)
    return see_other(f"{SESSIONS}?done=ended")


def _view(session: ActiveSession, person: Person) -> ActiveSessionView:
    agent = session.user_agent or ""
    return ActiveSessionView(
        session.public_id,
        browser_of(agent),
        system_of(agent),
        session.address or "",
        stamp(session.created_at),
        stamp(session.last_seen_at),
        session.id_hash == person.session_hash,
    )
