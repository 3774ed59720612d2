"""The page on which a merchant reports an application to the operators of this installation."""

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.text import Translatable
from tollhouse.oauth import reports, reports_store
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/settings/reported-apps/{client_id}", guard=signed_in_page_while_suspended("read"))
async def show(request: Request, caller: Person, client_id: str) -> Response:
    """The form."""
    return await _page(request, caller, client_id)


@OPERATIONS.add("POST", "/settings/reported-apps/{client_id}", guard=signed_in_page_while_suspended("read"))
async def send(request: Request, caller: Person, client_id: str) -> Response:
    """Report the application, once a day."""
    reason = request.form().one("reason") or ""
    try:
        is_new = await request.transact(lambda work: reports.report(work, caller.merchant_id, client_id, reason))
    except ValidationFailed as error:
        messages = {field_error.field: field_error.message for field_error in error.field_errors}
        return await _page(request, caller, client_id, reason, messages)
    return see_other(f"/settings/reported-apps/{client_id}?done={'reported' if is_new else 'again'}")


async def _page(
    request: Request, caller: Person, client_id: str, reason: str = "", field_errors: dict[str, Translatable] | None = None
) -> Response:
    name = await reports_store.get_name(request.services.db, client_id)
    if name is None:
        raise NotFound
    return render(
        request,
        caller,
        "applications/report",
        422 if field_errors else 200,
        here="connected-apps",
        client_id=client_id,
        name=name,
        reason=reason,
        field_errors=field_errors or {},
        done=flash_message(request.query),
    )
