"""The page of a person's sessions: where they are signed in, and how they sign out there."""

from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity import sessions as active_sessions
from tollhouse.identity import sessions_store
from tollhouse.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.identity.model import Person
from tollhouse.identity.sessions_store import ActiveSession
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.limits import SESSIONS_SHOWN
from tollhouse.merchants.devices import browser_of, system_of
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
LIST = "/settings/sessions"


class ShownSession(Struct, frozen=True):
    """A session as its owner knows it again."""

    session_id: UUID
    browser: str
    system: str
    address: str
    created_at: Timestamp
    last_seen_at: Timestamp
    is_this_one: bool


@OPERATIONS.add("GET", LIST, guard=signed_in_page)
async def sessions(request: Request, caller: Person) -> Response:
    """Where this person is signed in, this session first."""
    active = await sessions_store.active(request.services.db, caller.user_id, request.now, SESSIONS_SHOWN + 1)
    shown = [_shown(one, caller) for one in active[:SESSIONS_SHOWN]]
    return page(
        request,
        "merchants/sessions.html",
        person=caller,
        mode="test",
        here="security",
        sessions=sorted(shown, key=lambda one: not one.is_this_one),
        more=len(active) > SESSIONS_SHOWN,
        ended=flash_message(request.query) == "ended",
    )


@OPERATIONS.add("POST", "/settings/sessions/others/end", guard=signed_in_page_while_suspended)
async def end_others(caller: Person, tx: Tx, request: Request) -> Response:
    """Sign out everywhere but here."""
    await active_sessions.end_others(tx, caller, request.now)
    return see_other(f"{LIST}?done=ended")


@OPERATIONS.add("POST", "/settings/sessions/{session_id}/end", guard=signed_in_page_while_suspended)
async def end(caller: Person, session_id: UUID, tx: Tx, request: Request) -> Response:
    """Sign out there. One that is over already is well too."""
    await active_sessions.end_one(tx, caller, session_id, request.now)
    return see_other(f"{LIST}?done=ended")


def _shown(one: ActiveSession, person: Person) -> ShownSession:
    agent = one.user_agent or ""
    return ShownSession(
        one.public_id,
        browser_of(agent),
        system_of(agent),
        one.address or "",
        stamp(one.created_at),
        stamp(one.last_seen_at),
        one.id_hash == person.session_hash,
    )
