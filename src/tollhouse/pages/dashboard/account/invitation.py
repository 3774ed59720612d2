"""The page of an invitation's link: who invites to which merchant, and how to accept, with or without an account."""

from starlette.responses import Response

from tollhouse.accounts.identity import sessions
from tollhouse.accounts.identity.credentials import email_key
from tollhouse.accounts.identity.guards import anyone, visitor
from tollhouse.accounts.identity.second_factor import SecondFactorRequired
from tollhouse.accounts.team import invitations
from tollhouse.accounts.team.model import InvitationOver
from tollhouse.http.forms import by_field
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other, with_headers_of
from tollhouse.kernel.errors import ApiError

OPERATIONS = Operations(PAGES)
PATH = "/invitation/{secret}"


@OPERATIONS.add("GET", PATH, guard=anyone)
async def show(request: Request, secret: str) -> Response:
    """The invitation, and its button or form."""
    return await _page(request, secret)


@OPERATIONS.add("POST", PATH, guard=visitor)
async def accept(request: Request, secret: str) -> Response:
    """Join the team and open the dashboard of the merchant."""
    form = request.form()
    try:
        opened = await invitations.accept(request, secret, form.one("password"), form.one("code") or None)
    except SecondFactorRequired:
        return await _page(request, secret, with_code=True)
    except ApiError as error:
        return await _page(request, secret, error, with_code=form.one("code") is not None)
    response = see_other("/")
    return response if opened is None else sessions.set_cookie(request, response, opened)


async def _page(request: Request, secret: str, error: ApiError | None = None, *, with_code: bool = False) -> Response:
    try:
        invitation = await invitations.find(request, secret)
    except InvitationOver as over:
        return page(request, "dashboard/team/invitation_over.html", over.status, message=over.message)
    person = await sessions.current_person(request)
    response = page(
        request,
        "dashboard/team/invitation.html",
        200 if error is None else error.status,
        invitation=invitation,
        signed_in_as=None if person is None else person.email,
        fits=person is not None and email_key(person.email) == invitation.email_key,
        with_code=with_code,
        message="" if error is None else error.message,
        field_errors={} if error is None else by_field(error),
        to=f"/invitation/{secret}",
    )
    return response if error is None else with_headers_of(error, response)
