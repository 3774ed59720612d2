"""The dashboard's pages for resending failed events: the form and the progress of a run."""

from datetime import datetime
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.idempotency.claims import create_once
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.clock import parse_time_or_date, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.dashboard.developers.webhooks import ADVICE, subject_of
from tollhouse.pages.dashboard.layout import render
from tollhouse.webhooks.endpoints import runs, runs_store
from tollhouse.webhooks.endpoints.model import WebhookDeliveryDisabled, WebhookSecretMissing
from tollhouse.webhooks.endpoints.runs_model import CHECKED_MAX, FAILED_RECENTLY, GRACE, FailureFilter, RunsQuery
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT

OPERATIONS = Operations(PAGES)
HOURS: list[tuple[str, Translatable]] = [
    ("1", "1 hour"),
    ("6", Text("%(count)s hours", count=6)),
    ("24", Text("%(count)s hours", count=24)),
    ("72", Text("%(count)s days", count=3)),
    ("168", Text("%(count)s days", count=7)),
]
TYPES = (*EVENT_TYPES, TEST_EVENT)
ROWS_SHOWN = 20
STALE = "This form has expired, and no events were resent. Review the events and try again."
ENDED = {
    runs.DONE: "",
    WebhookDeliveryDisabled.code: "Stopped: delivery was turned off.",
    WebhookSecretMissing.code: "Stopped: there is no active signing secret.",
}


@OPERATIONS.add("GET", "/{mode}/developers/events/redeliver", guard=signed_in_page("developers"))
async def confirm_run(request: Request, caller: Person, env: MerchantEnv, query: RunsQuery) -> Response:
    """Show how many events failed in a period, with a form to resend them."""
    return await _form_page(request, caller, env, query)


@OPERATIONS.add("POST", "/{mode}/developers/events/redeliver", guard=signed_in_page("developers"))
async def begin_run(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Start a run. A form that is posted twice starts one run."""
    form = request.form()
    key, failure_filter = form.one("key") or "", _filter_of(form, request.now)
    if failure_filter is None or parse_id(key) is None:
        return await _form_page(request, caller, env, RunsQuery(), FormErrors(STALE, status=409))

    async def action(work: Work) -> UUID:
        async def start() -> UUID:
            return await runs.start(work, env, failure_filter)

        return await create_once(work, env, key, (request.path, failure_filter), start)

    try:
        run_id = await request.transact(action)
    except ApiError as error:
        return await _form_page(
            request, caller, env, RunsQuery(type=failure_filter.type), form_errors_of(error, ()), ADVICE.get(error.code, "")
        )
    return see_other(f"/{env.mode}/developers/events/redeliveries/{run_id}")


@OPERATIONS.add("GET", "/{mode}/developers/events/redeliveries/{run_id}", guard=signed_in_page("read"))
async def run(request: Request, caller: Person, env: MerchantEnv, run_id: UUID) -> Response:
    """Show the progress of a run."""
    found = await runs_store.get(request.services.db, env, run_id)
    if found is None:
        raise NotFound
    return render(
        request,
        caller,
        "webhooks/run",
        here="events",
        run=found,
        since=stamp(found.failure_filter.since),
        until=stamp(found.until),
        early=ENDED.get(found.ended_reason or "", ""),
        more=found.ended_reason == runs.DONE and found.checked >= CHECKED_MAX,
        most=CHECKED_MAX,
    )


def _filter_of(form: Form, now: datetime) -> FailureFilter | None:
    """The filter of the form; None if it is invalid or too old."""
    since, kind = parse_time_or_date(form.one("since") or ""), form.one("type") or ""
    if since is None or not now - FAILED_RECENTLY - GRACE <= since <= now or kind not in {"", *TYPES}:
        return None
    return FailureFilter(since, kind)


async def _form_page(
    request: Request,
    person: Person,
    env: MerchantEnv,
    query: RunsQuery,
    form_errors: FormErrors = NO_ERRORS,
    advice: str = "",
) -> Response:
    failure_filter = query.failure_filter(request.now)
    first = await runs_store.list_first(request.services.db, env, failure_filter, CHECKED_MAX, ROWS_SHOWN)
    return render(
        request,
        person,
        "webhooks/redeliver",
        here="events",
        query=query,
        form_errors=form_errors,
        advice=advice,
        hours=HOURS,
        types=[(name, name) for name in TYPES],
        since=stamp(failure_filter.since),
        count=await runs_store.count(request.services.db, env, failure_filter, CHECKED_MAX),
        most=CHECKED_MAX,
        events=[(event, subject_of(event)) for event in first],
        active_run=await runs_store.find_active(request.services.db, env),
        key=new_id(),
    )
