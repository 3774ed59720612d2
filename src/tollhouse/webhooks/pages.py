"""The dashboard's pages about webhooks: the signing secret, delivery as a whole, a test, events and what became of them."""

from uuid import UUID

import msgspec
from starlette.responses import Response

from tollhouse.events.event_types import EVENT_TYPES, TEST_EVENT
from tollhouse.http.forms import what_was_done
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.platform.db import Pool
from tollhouse.webhooks import actions, labels, store
from tollhouse.webhooks.model import (
    EventsQuery,
    EventView,
    WebhookDeliveryDisabled,
    WebhookDestinationMissing,
    WebhookSecretMissing,
)
from tollhouse.webhooks.store import EventFilter

OPERATIONS = Operations(PAGES)
NOTICES = {
    "saved": "The secret is saved. It signs every delivery from now on.",
    "expired": "No secret was waiting to be saved. One that is generated waits an hour: generate another.",
    "on": "Delivery is on.",
    "off": "Delivery is off. What waited is canceled.",
}
ADVICE = {
    WebhookDeliveryDisabled.code: "Switch delivery on under Webhooks, then send the event again.",
    WebhookDestinationMissing.code: "The request it comes from named no webhook_url, and there is no saved URL that counts.",
    WebhookSecretMissing.code: "Save a signing secret under Webhooks: nothing is ever sent unsigned.",
}


@OPERATIONS.add("GET", "/{mode}/developers/webhooks", guard=signed_in_page)
async def settings(request: Request, caller: Person, mode: str) -> Response:
    """The signing secret, whether delivery is on, a test, and the saved URL."""
    done = what_was_done(request.query)
    return await _settings(request, caller, caller.env(mode), notice=NOTICES.get(done, ""))


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/secret", guard=signed_in_page, recent_authentication="live")
async def generate_secret(request: Request, caller: Person, mode: str) -> Response:
    """Generate a secret and show it once. It signs nothing until it is saved."""
    env = caller.env(mode)
    secret = await request.services.db.transact(lambda tx: actions.prepare_secret(tx, env, request.services, request.now))
    return await _settings(request, caller, env, secret=secret)


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/secret/activate", guard=signed_in_page, recent_authentication="live")
async def save_secret(request: Request, caller: Person, mode: str) -> Response:
    """Save the secret that waits; delivery is on."""
    env = caller.env(mode)
    waiting = (await actions.secret_state(request.services.db, env, request.now)).pending
    if waiting:
        await request.services.db.transact(lambda tx: actions.activate_secret(tx, env, request.now))
    return see_other(f"/{env.mode}/developers/webhooks?done={'saved' if waiting else 'expired'}")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/on", guard=signed_in_page)
async def switch_on(request: Request, caller: Person, mode: str) -> Response:
    """Deliver again."""
    env = caller.env(mode)
    await request.services.db.transact(lambda tx: actions.switch_on(tx, env, request.now))
    return see_other(f"/{env.mode}/developers/webhooks?done=on")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/off", guard=signed_in_page)
async def switch_off(request: Request, caller: Person, mode: str) -> Response:
    """End delivery in this environment."""
    env = caller.env(mode)
    await request.services.db.transact(lambda tx: actions.switch_off(tx, env, request.services, request.now))
    return see_other(f"/{env.mode}/developers/webhooks?done=off")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/test", guard=signed_in_page)
async def send_test(request: Request, caller: Person, mode: str) -> Response:
    """Send a test event, and show what becomes of it."""
    env = caller.env(mode)
    url = request.form().one("url") or ""
    try:
        event = await request.services.db.transact(lambda tx: actions.send_test(tx, env, url, request.services, request.now))
    except ApiError as error:
        return await _settings(request, caller, env, url=url, error=error)
    return see_other(f"/{env.mode}/developers/events/{event.id}")


@OPERATIONS.add("GET", "/{mode}/developers/events", guard=signed_in_page)
async def events(request: Request, caller: Person, mode: str, query: EventsQuery) -> Response:
    """Events, newest first; of one status or type, where the address says so."""
    env = caller.env(mode)
    db = request.services.db
    found = await (store.matching(db, env, query) if query.filters else _newest(db, env, query))
    shown, more = query.cut(found)
    return page(
        request,
        "webhooks/events.html",
        person=caller,
        mode=env.mode,
        here="events",
        events=shown,
        query=query,
        searched=store.SEARCHED_EVENTS_MAX,
        statuses=labels.STATUSES,
        types=(*EVENT_TYPES, TEST_EVENT),
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/developers/events/{event_id}", guard=signed_in_page)
async def event(request: Request, caller: Person, mode: str, event_id: UUID) -> Response:
    """One event: its payload, every attempt, and what comes next."""
    return await _event(request, caller, caller.env(mode), event_id)


@OPERATIONS.add("POST", "/{mode}/developers/events/{event_id}/redeliver", guard=signed_in_page)
async def redeliver(request: Request, caller: Person, mode: str, event_id: UUID) -> Response:
    """Send it again, once."""
    env = caller.env(mode)
    try:
        await request.services.db.transact(
            lambda tx: actions.redeliver_unless_due(tx, env, event_id, request.services, request.now)
        )
    except NotFound:
        raise
    except ApiError as error:
        return await _event(request, caller, env, event_id, error=error)
    return see_other(f"/{env.mode}/developers/events/{event_id}")


async def _newest(db: Pool, env: MerchantEnv, query: EventsQuery) -> list[EventView]:
    return [event for event, _ in await store.events(db, env, EventFilter(), query.window)]


async def _settings(
    request: Request,
    person: Person,
    env: MerchantEnv,
    *,
    notice: str = "",
    secret: str = "",
    url: str = "",
    error: ApiError | None = None,
) -> Response:
    services = request.services
    shown = page(
        request,
        "webhooks/settings.html",
        error.status if error else 200,
        person=person,
        mode=env.mode,
        here="webhooks",
        notice=notice,
        secret=secret,
        state=await actions.secret_state(services.db, env, request.now),
        delivery_is_on=await store.delivery_is_on(services.db, env),
        compatible=services.settings.deprecated_webhooks,
        saved=await actions.configuration_of(services.db, env, services),
        source_ip=services.settings.webhook_source_ip,
        url=url,
        message=error.message if error else "",
        field_errors={fault.field: fault.message for fault in error.field_errors} if error else {},
    )
    shown.headers.update(error.headers if error else {})
    return shown


async def _event(
    request: Request, person: Person, env: MerchantEnv, event_id: UUID, *, error: ApiError | None = None
) -> Response:
    found = await actions.event_with_history(request.services.db, env, event_id)
    return page(
        request,
        "webhooks/event.html",
        error.status if error else 200,
        person=person,
        mode=env.mode,
        here="events",
        event=found,
        payload=msgspec.json.format(bytes(found.payload)).decode(),
        meaning=labels.STATUSES[found.status],
        tries=sum(attempt.trigger == "automatic" for attempt in found.delivery_history),
        tries_max=1 if found.mode == "test" else 1 + len(request.services.settings.webhook_retry_schedule),
        attempts=[(attempt, labels.of_error(attempt.error)) for attempt in found.delivery_history],
        due=found.next_attempt_at is not None and found.next_attempt_at <= stamp(request.now),
        message=error.message if error else "",
        advice=ADVICE.get(error.code, "") if error else "",
    )
