"""The page on which a merchant says who it is, and by whose clocks its pages go.

What was seen is posted along: so who changes it at the same time as somebody else is told, and loses nothing typed.
"""

from starlette.responses import Response

from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel import zones
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.merchants import actions, business_store
from tollhouse.merchants.model import Business

OPERATIONS = Operations(PAGES)
FIELDS = ("business_name", "time_zone")
NOTICES = {"saved": "Saved."}
CHANGED = "Somebody else changed this meanwhile. What stands here now is what you typed: save it again to keep it."


@OPERATIONS.add("GET", "/settings/business", guard=signed_in_page)
async def business(request: Request, caller: Person) -> Response:
    """The name of the business and the time zone of its pages."""
    current = await business_store.business(request.services.db, caller.merchant_id)
    return _page(request, caller, current, current, notice=NOTICES.get(flash_message(request.query), ""))


@OPERATIONS.add("POST", "/settings/business", guard=signed_in_page)
async def change_business(request: Request, caller: Person) -> Response:
    """Save both, if they are still what the form was made from. Posted twice, they are saved once and that is well."""
    form = request.form()
    typed = Business((form.one("business_name") or "").strip(), form.one("time_zone") or "")
    seen = Business(form.one("seen_name") or "", form.one("seen_zone") or "")
    if field_errors := typed.field_errors():
        return _page(request, caller, typed, seen, form_errors_of(ValidationFailed(*field_errors), FIELDS))
    async with request.services.db.transaction() as tx:
        current = await actions.change_business(tx, caller, typed, seen, request.now)
    if current != typed:
        return _page(request, caller, typed, current, FormErrors(CHANGED, status=409))
    return see_other("/settings/business?done=saved")


def _page(
    request: Request, person: Person, typed: Business, seen: Business, form_errors: FormErrors = NO_ERRORS, notice: str = ""
) -> Response:
    names = zones.names()
    return page(
        request,
        "merchants/business.html",
        form_errors.status,
        person=person,
        mode="test",
        here="business",
        typed=typed,
        seen=seen,
        form_errors=form_errors,
        notice=notice,
        zones=names if typed.time_zone in names else (*names, typed.time_zone),
        clock=request.now,
    )
