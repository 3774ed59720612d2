"""The pages about the security of a person: second factor and sessions."""

from functools import partial
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.audit import labels
from tollhouse.accounts.audit import store as audit_store
from tollhouse.accounts.identity import sessions_store
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.devices_api import session_view
from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.second_factor_pages import add_operations
from tollhouse.accounts.identity.sessions import revoke_all_sessions, revoke_other_sessions, revoke_session
from tollhouse.accounts.identity.two_factor_account import TwoFactorAccount
from tollhouse.http import cookies
from tollhouse.http.forms import BEGINNING, flash_message
from tollhouse.http.lists import NEWEST, PageQuery, Window
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
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


@OPERATIONS.add("GET", SESSIONS, guard=signed_in_page("own"))
async def list_sessions(request: Request, caller: Person) -> Response:
    """The active sessions of the user, the current one first."""
    active = await sessions_store.list_active(request.services.db, caller.user_id, request.now, SESSIONS_SHOWN + 1)
    views = [session_view(session, caller) for session in active[:SESSIONS_SHOWN]]
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


@OPERATIONS.add("POST", f"{SESSIONS}/all/end", guard=signed_in_page_while_suspended("own"))
async def end_everywhere(request: Request, caller: Person) -> Response:
    """Sign out everywhere, here too."""
    await request.transact(lambda work: revoke_all_sessions(work, caller))
    response = see_other("/signin?done=everywhere")
    cookies.clear_session_cookie(response, request.services.settings)
    return response


@OPERATIONS.add("POST", f"{SESSIONS}/{{session_id}}/end", guard=signed_in_page_while_suspended("own"))
async def end(caller: Person, session_id: UUID, work: Work) -> Response:
    """Sign out one session, if it is active."""
    await revoke_session(work, caller, session_id)
    return see_other(f"{SESSIONS}?done=ended")


LOG = f"{ROOT}/log"


@OPERATIONS.add("GET", LOG, guard=signed_in_page("own"))
async def security_log(request: Request, caller: Person, query: PageQuery) -> Response:
    """What happened to the access of the user, newest first."""
    window = Window(BEGINNING, NEWEST.at, NEWEST.id, query.fetch, query.offset)
    events, more = query.cut(await audit_store.list_of_person(request.services.db, caller.user_id, window))
    return render(
        request,
        caller,
        "account/security_log",
        here="security",
        events=[(_LABELS.get(event.event_type, event.event_type), stamp(event.created_at), event) for event in events],
        page_links=query.links(events, more=more),
        days=request.services.settings.audit_kept_days,
    )


_LABELS = {str(event_type): label for event_type, label in labels.EVENTS.items()}
