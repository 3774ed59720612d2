"""The dashboard's page of the test clock: what time it is in the test environment, and a form to advance it."""

from datetime import timedelta
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors, flash_message, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.dashboard.layout import render
from tollhouse.rails.sandbox import simulator
from tollhouse.transfers.orders.store import clock_offset

OPERATIONS = Operations(PAGES)
HOUR_S = 3_600
STEPS: list[tuple[str, Translatable]] = [
    (str(HOUR_S), "1 hour"),
    (str(24 * HOUR_S), "1 day"),
    *((str(days * 24 * HOUR_S), Text("%(count)s days", count=days)) for days in (7, 30, 90)),
]
"""By how many seconds the form advances the clock."""
UNKNOWN_STEP = "Select how far to advance the clock."
STALE = "This form has expired, and the clock was not advanced. Try again."


@OPERATIONS.add("GET", "/{mode}/developers/clock", guard=signed_in_page("developers"))
async def show(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Show the time of the test environment. The live environment has no clock of its own."""
    return await _page(request, caller, env)


@OPERATIONS.add("POST", "/{mode}/developers/clock", guard=signed_in_page("developers"))
async def advance(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Advance the clock. A form that is posted twice advances it once."""
    if env.livemode:
        raise NotFound
    form = request.form()
    key, step = form.one("key") or "", form.one("seconds") or ""
    if step not in dict(STEPS):
        return await _page(request, caller, env, FormErrors(UNKNOWN_STEP, {"seconds": UNKNOWN_STEP}, 422))
    if parse_id(key) is None:
        return await _page(request, caller, env, FormErrors(STALE, status=409))

    async def action(work: Work) -> UUID:
        async def advance_clock() -> UUID:
            await simulator.advance_clock(work, env, timedelta(seconds=int(step)))
            return new_id()

        return await create_once(work, env, key, (request.path, step), advance_clock)

    try:
        await request.transact(action)
    except ApiError as error:
        return await _page(request, caller, env, form_errors_of(error, {"seconds"}))
    return see_other("/test/developers/clock?done=advanced")


async def _page(request: Request, person: Person, env: MerchantEnv, form_errors: FormErrors = NO_ERRORS) -> Response:
    offset = await clock_offset(request.services.db, env)
    return render(
        request,
        person,
        "test_clock",
        here="clock",
        form_errors=form_errors,
        present=request.now + offset,
        ahead=_ahead(offset),
        steps=STEPS,
        advanced=request.method == "GET" and flash_message(request.query) == "advanced",
    )


def _ahead(offset: timedelta) -> Translatable:
    """How far the clock is ahead, in its largest unit; empty if it was never advanced."""
    if not offset:
        return ""
    hours = offset // timedelta(hours=1)
    if offset >= timedelta(days=2):
        return Text("%(count)s days ahead of the present time.", count=round(offset / timedelta(days=1)))
    if hours < 1:
        return "Less than an hour ahead of the present time."
    return (
        "1 hour ahead of the present time."
        if hours == 1
        else Text("%(count)s hours ahead of the present time.", count=hours)
    )
