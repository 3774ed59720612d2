"""The page where a person of several merchants changes the one that the session acts for."""

from starlette.responses import Response

from tollhouse.accounts.identity import members_store, sessions
from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
PATH = "/settings/merchants"


@OPERATIONS.add("GET", PATH, guard=signed_in_page("own"))
async def choice(request: Request, caller: Person) -> Response:
    """The merchants of the person."""
    merchants = await members_store.list_of_user(request.services.db, caller.user_id)
    return render(request, caller, "team/merchants", here="merchants", merchants=merchants)


@OPERATIONS.add("POST", PATH, guard=signed_in_page_while_suspended("own"))
async def switch(request: Request, caller: Person) -> Response:
    """Let the session act for another merchant of the person."""
    chosen = parse_id(request.form().one("merchant_id") or "")
    if chosen is None:
        raise NotFound
    if chosen != caller.merchant_id:
        await sessions.switch_merchant(request, caller, chosen)
    return see_other("/")
