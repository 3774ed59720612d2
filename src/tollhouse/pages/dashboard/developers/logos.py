"""Logos of applications, for users who are signed in."""

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.oauth import logos

OPERATIONS = Operations(PAGES)
HEADERS = {"Cache-Control": "private, max-age=3600", "Content-Security-Policy": "default-src 'none'; sandbox"}
NOTHING = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
"""Shows the initials that are behind the logo."""


@OPERATIONS.add("GET", "/application-logos/{client_id}", guard=signed_in_page("own"))
async def show(request: Request, caller: Person, client_id: str) -> Response:  # noqa: ARG001 - for those with a session
    """The logo, or an image of nothing."""
    logo = await logos.get(request.services, client_id, request.now)
    if logo is None:
        return Response(NOTHING, 200, HEADERS, "image/svg+xml")
    return Response(logo, 200, HEADERS, "image/png")
