"""The dashboard's pages that send all failed events again: what would be sent, and how far it is."""

from datetime import datetime
from uuid import UUID

from starlette.responses import Response

from tollhouse.events.event_types import EVENT_TYPES, TEST_EVENT
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import Form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.idempotency import made_once
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.clock import moment_of, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.platform.db import Tx
from tollhouse.webhooks import runs, runs_store
from tollhouse.webhooks.model import WebhookDeliveryDisabled, WebhookSecretMissing
from tollhouse.webhooks.pages import ADVICE
from tollhouse.webhooks.runs_model import FAILED_RECENTLY, FORGIVEN, LOOKED_AT_MAX, RunsQuery, Wanted

OPERATIONS = Operations(PAGES)
HOURS = [("1", "1 hour"), ("6", "6 hours"), ("24", "24 hours"), ("72", "3 days"), ("168", "7 days")]
TYPES = (*EVENT_TYPES, TEST_EVENT)
STALE = "This form was too old, and nothing was done. Look again at what would be sent."
ENDED = {
    runs.DONE: "",
    WebhookDeliveryDisabled.code: "It ended early: delivery was switched off.",
    WebhookSecretMissing.code: "It ended early: there is no signing secret any more.",
}


@OPERATIONS.add("GET", "/{mode}/developers/events/redeliver", guard=signed_in_page)
async def ask_for_run(request: Request, caller: Person, mode: str, query: RunsQuery) -> Response:
    """How many events failed in the time that is named, and whether to send them again."""
    return await _asked(request, caller, caller.env(mode), query)


@OPERATIONS.add("POST", "/{mode}/developers/events/redeliver", guard=signed_in_page)
async def begin_run(request: Request, caller: Person, mode: str) -> Response:
    """Send them again. Posted twice, they are sent once."""
    env = caller.env(mode)
    form = request.form()
    key, wanted = form.one("key") or "", _wanted(form, request.now)
    if wanted is None or parse_id(key) is None:
        return await _asked(request, caller, env, RunsQuery(), FormErrors(STALE, status=409))

    async def action(tx: Tx) -> UUID:
        return await made_once(tx, request, env, key, wanted, lambda: runs.begin(tx, env, wanted, request.now))

    try:
        run_id = await request.services.db.transact(action)
    except ApiError as error:
        return await _asked(
            request, caller, env, RunsQuery(type=wanted.type), form_errors_of(error, ()), ADVICE.get(error.code, "")
        )
    return see_other(f"/{env.mode}/developers/events/redeliveries/{run_id}")


@OPERATIONS.add("GET", "/{mode}/developers/events/redeliveries/{run_id}", guard=signed_in_page)
async def run(request: Request, caller: Person, mode: str, run_id: UUID) -> Response:
    """How far a run is."""
    env = caller.env(mode)
    found = await runs_store.one(request.services.db, env, run_id)
    if found is None:
        raise NotFound
    return page(
        request,
        "webhooks/run.html",
        person=caller,
        mode=env.mode,
        here="events",
        run=found,
        since=stamp(found.wanted.since),
        until=stamp(found.until),
        early=ENDED.get(found.ended_reason or "", ""),
        more=found.ended_reason == runs.DONE and found.looked_at >= LOOKED_AT_MAX,
        most=LOOKED_AT_MAX,
    )


def _wanted(form: Form, now: datetime) -> Wanted | None:
    """What the form was about when it was shown; None where it cannot be from our page, or is too old."""
    since, kind = moment_of(form.one("since") or ""), form.one("type") or ""
    if since is None or not now - FAILED_RECENTLY - FORGIVEN <= since <= now or kind not in {"", *TYPES}:
        return None
    return Wanted(since, kind)


async def _asked(
    request: Request,
    person: Person,
    env: MerchantEnv,
    query: RunsQuery,
    form_errors: FormErrors = NO_ERRORS,
    advice: str = "",
) -> Response:
    wanted = query.wanted(request.now)
    return page(
        request,
        "webhooks/redeliver.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="events",
        query=query,
        form_errors=form_errors,
        advice=advice,
        hours=HOURS,
        types=[(name, name) for name in TYPES],
        since=stamp(wanted.since),
        count=await runs_store.count(request.services.db, env, wanted, LOOKED_AT_MAX),
        most=LOOKED_AT_MAX,
        under_way=await runs_store.under_way(request.services.db, env),
        key=new_id(),
    )
