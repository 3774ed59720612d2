"""Where a person is signed in, and what happened to the person's access, as JSON."""

from typing import Annotated
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.audit import store as audit_store
from tollhouse.accounts.identity import sessions, sessions_store
from tollhouse.accounts.identity.browsers import browser_of, system_of
from tollhouse.accounts.identity.guards import signed_in, signed_in_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.sessions_store import ActiveSession
from tollhouse.http import cookies
from tollhouse.http.lists import ListPageRequest
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.actor import ActorKind
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import SESSIONS_SHOWN
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(DASHBOARD)


class ActiveSessionView(Struct, frozen=True):
    """A browser in which a user is signed in."""

    session_id: UUID
    """ID of the session."""
    browser: Annotated[str, example("Firefox")]
    """Browser or program; empty if unknown."""
    system: Annotated[str, example("Linux")]
    """Operating system; empty if unknown."""
    address: Annotated[str, example("203.0.113.7")]
    """IP address of the last use."""
    created_at: Timestamp
    last_seen_at: Timestamp
    """When it was last used, to the minute."""
    expires_at: Timestamp
    """When it ends, however it is used."""
    stays_signed_in: bool
    """Whether it stays open without use on this device; others end 12 hours after the last use."""
    is_current: bool
    """Whether it is the session of this request."""


class ActiveSessionList(Struct, frozen=True):
    """The most recently used sessions of a user."""

    sessions: list[ActiveSessionView]


class SecurityEventView(Struct, frozen=True):
    """What happened to the access of a user."""

    id: UUID
    type: Annotated[str, example("session.begun")]
    """What happened."""
    by: ActorKind
    """Who did it."""
    address: Annotated[str | None, example("203.0.113.7")]
    """IP address of the request; null if there was none."""
    created_at: Timestamp


class SecurityEventList(Struct, frozen=True):
    """A page of security events."""

    security_events: list[SecurityEventView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/sessions", guard=signed_in("own"))
async def list_sessions(request: Request, caller: Person, db: Pool) -> ActiveSessionList:
    """List sessions. Where the user is signed in, most recently used first, at most 100."""
    active = await sessions_store.list_active(db, caller.user_id, request.now, SESSIONS_SHOWN)
    return ActiveSessionList([session_view(session, caller) for session in active])


@OPERATIONS.add("DELETE", "/sessions/{session_id}", guard=signed_in_while_suspended("own"), status=204)
async def end_session(caller: Person, session_id: UUID, work: Work) -> None:
    """Sign out one session of the user, if it is active."""
    await sessions.revoke_session(work, caller, session_id)


@OPERATIONS.add("DELETE", "/sessions", guard=signed_in_while_suspended("own"), status=204)
async def end_all_sessions(request: Request, caller: Person) -> Response:
    """Sign out everywhere. Every session of the user ends, also that of this request."""
    await request.transact(lambda work: sessions.revoke_all_sessions(work, caller))
    response = Response(status_code=204)
    cookies.clear_session_cookie(response, request.services.settings)
    return response


@OPERATIONS.add("GET", "/session/security-events", guard=signed_in("own"), errors=(ValidationFailed,))
async def list_security_events(caller: Person, page: ListPageRequest, db: Pool) -> SecurityEventList:
    """List security events. Sign-ins, failed ones, and changes of password, second factor and address, newest first."""
    found, more, cursor = page.cut(await audit_store.list_of_person(db, caller.user_id, page.window))
    views = [
        SecurityEventView(event.id, event.event_type, event.actor_kind, event.address, stamp(event.created_at))
        for event in found
    ]
    return SecurityEventList(views, more, cursor)


def session_view(session: ActiveSession, person: Person) -> ActiveSessionView:
    """A session as its user sees it."""
    agent = session.user_agent or ""
    return ActiveSessionView(
        session.public_id,
        browser_of(agent),
        system_of(agent),
        session.address or "",
        stamp(session.created_at),
        stamp(session.last_seen_at),
        stamp(session.expires_at),
        session.stays,
        session.id_hash == person.session_hash,
    )
