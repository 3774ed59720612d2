"""The page of a user's active sessions."""

from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import sessions_store
from tollhouse.accounts.identity.browsers import browser_of, system_of
from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.sessions import revoke_other_sessions, revoke_session
from tollhouse.accounts.identity.sessions_store import ActiveSession
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.limits import SESSIONS_SHOWN

OPERATIONS = Operations(PAGES)
PATH = "/settings/sessions"


class ActiveSessionView(Struct, frozen=True):
    """An active session on the page."""

    session_id: UUID
    browser: str
    system: str
    address: str
    created_at: Timestamp
    last_seen_at: Timestamp
    is_current: bool


@OPERATIONS.add("GET", PATH, guard=signed_in_page)
async def sessions(request: Request, caller: Person) -> Response:
    """The active sessions of the user, the current one first."""
    active = await sessions_store.list_active(request.services.db, caller.user_id, request.now, SESSIONS_SHOWN + 1)
    views = [_view(one, caller) for one in active[:SESSIONS_SHOWN]]
    return page(
        request,
        "dashboard/account/sessions.html",
        person=caller,
        here="security",
        sessions=sorted(views, key=lambda one: not one.is_current),
        more=len(active) > SESSIONS_SHOWN,
        ended=flash_message(request.query) == "ended",
    )


@OPERATIONS.add("POST", f"{PATH}/others/end", guard=signed_in_page_while_suspended)
async def end_others(caller: Person, work: Work) -> Response:
    """Sign out all other sessions."""
    await revoke_other_sessions(work, caller)
    return see_other(f"{PATH}?done=ended")


@OPERATIONS.add("POST", f"{PATH}/{{session_id}}/end", guard=signed_in_page_while_suspended)
async def end(caller: Person, session_id: UUID, work: Work) -> Response:
    """Sign out one session, if it is active."""
    await revoke_session(work, caller, session_id)
    return see_other(f"{PATH}?done=ended")


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
