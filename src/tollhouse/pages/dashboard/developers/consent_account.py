"""Who decides on the consent page, and for which of its merchants."""

from starlette.responses import Response

from tollhouse.accounts.identity import members_store, sessions
from tollhouse.accounts.identity.guards import visitor
from tollhouse.accounts.identity.model import Person, SignInFirst
from tollhouse.http.forms import Form, parse_form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel.errors import Forbidden, InvalidRequest, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.roles import NAMES
from tollhouse.oauth.authorize import REQUEST_ID
from tollhouse.pages.dashboard import layout

OPERATIONS = Operations(PAGES)
PURPOSE = b"consent form:"


@OPERATIONS.add(
    "POST",
    "/oauth/consent/{request_id}/merchant",
    guard=visitor,
    errors=(SignInFirst, NotFound, Forbidden, InvalidRequest),
)
async def choose_merchant(request: Request, request_id: str) -> Response:
    """Let the session act for the merchant that decides the request, and show the request."""
    person, form = await decider(request, request_id), request.form()
    require_form_token(request, form, person, request_id)
    chosen = parse_id(form.one("merchant_id") or "")
    if chosen is None:
        raise NotFound
    if chosen != person.merchant_id:
        await sessions.switch_merchant(request, person, chosen)
    return see_other(f"/oauth/consent/{request_id}?merchant={chosen}")


async def choice_page(request: Request, request_id: str) -> Response | None:
    """The page that asks which merchant decides, before one does; None for who belongs to one, or has chosen."""
    person = await decider(request, request_id)
    merchants = await members_store.list_of_user(request.services.db, person.user_id)
    if len(merchants) == 1 or parse_form(request.query).one("merchant") == str(person.merchant_id):
        return None
    return page(
        request,
        "dashboard/consent/merchant.html",
        person=person,
        merchants=merchants,
        roles=NAMES,
        choice_action=f"/oauth/consent/{request_id}/merchant",
        form_token=layout.sign_form(request.services.keys, PURPOSE, person, request_id),
    )


async def decider(request: Request, request_id: str) -> Person:
    """Who decides. Raises `NotFound` and `SignInFirst`."""
    if REQUEST_ID.fullmatch(request_id) is None:
        raise NotFound
    person = await sessions.current_person(request)
    if person is None:
        raise SignInFirst(f"/signin?request={request_id}")
    return person


def require_form_token(request: Request, form: Form, person: Person, request_id: str) -> None:
    """Raises `Forbidden` for a form that was not made for this session and request."""
    if not layout.is_form_token(request.services.keys, PURPOSE, person, request_id, form.one("form_token") or ""):
        raise Forbidden
