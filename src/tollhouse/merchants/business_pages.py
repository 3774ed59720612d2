"""The page on which a merchant says who it is, and by whose clocks its pages go.

What was seen is posted along: so who changes it at the same time as somebody else is told, and loses nothing typed.
"""

from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.kernel import zones
from tollhouse.kernel.refusals import ValidationFailed
from tollhouse.merchants import actions, business_store
from tollhouse.merchants.model import Business
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.form_faults import NOTHING_WRONG, Wrong, wrong_with
from tollhouse.web.forms import what_was_done
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
FIELDS = ("business_name", "time_zone")
NOTICES = {"saved": "Saved."}
CHANGED = "Somebody else changed this meanwhile. What stands here now is what you typed: save it again to keep it."


@OPERATIONS.add("GET", "/settings/business", guard=signed_in_page)
async def business(ask: Ask, caller: Person) -> Response:
    """The name of the business and the time zone of its pages."""
    present = await business_store.business(ask.house.db, caller.merchant_id)
    return _page(ask, caller, present, present, notice=NOTICES.get(what_was_done(ask.query), ""))


@OPERATIONS.add("POST", "/settings/business", guard=signed_in_page)
async def change_business(ask: Ask, caller: Person) -> Response:
    """Save both, if they are still what the form was made from. Posted twice, they are saved once and that is well."""
    form = ask.form()
    typed = Business((form.one("business_name") or "").strip(), form.one("time_zone") or "")
    seen = Business(form.one("seen_name") or "", form.one("seen_zone") or "")
    if faults := typed.faults():
        return _page(ask, caller, typed, seen, wrong_with(ValidationFailed(*faults), FIELDS))
    async with ask.house.db.transaction() as tx:
        present = await actions.change_business(tx, caller, typed, seen, ask.now)
    if present != typed:
        return _page(ask, caller, typed, present, Wrong(CHANGED, status=409))
    return see_other("/settings/business?done=saved")


def _page(
    ask: Ask, person: Person, typed: Business, seen: Business, wrong: Wrong = NOTHING_WRONG, notice: str = ""
) -> Response:
    names = zones.names()
    return page(
        ask,
        "merchants/business.html",
        wrong.status,
        person=person,
        mode="test",
        here="business",
        typed=typed,
        seen=seen,
        wrong=wrong,
        notice=notice,
        zones=names if typed.time_zone in names else (*names, typed.time_zone),
        clock=ask.now,
    )
