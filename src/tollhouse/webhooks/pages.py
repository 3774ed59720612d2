"""The dashboard's pages about webhooks: the signing secret, delivery as a whole, a test, events and what became of them."""

from uuid import UUID

import msgspec
from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.events.event_types import EVENT_TYPES, TEST_EVENT
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import NotFound, Refusal
from tollhouse.platform.db import Pool
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import what_was_done
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import turn
from tollhouse.webhooks import actions, meanings, store
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
async def settings(ask: Ask, caller: Person, mode: str) -> Response:
    """The signing secret, whether delivery is on, a test, and the saved URL."""
    done = what_was_done(ask.query)
    return await _settings(ask, caller, caller.env(mode), notice=NOTICES.get(done, ""))


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/secret", guard=signed_in_page, recent_authentication="live")
async def generate_secret(ask: Ask, caller: Person, mode: str) -> Response:
    """Generate a secret and show it once. It signs nothing until it is saved."""
    env = caller.env(mode)
    secret = await ask.house.db.transact(lambda tx: actions.prepare_secret(tx, env, ask.house, ask.now))
    return await _settings(ask, caller, env, secret=secret)


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/secret/activate", guard=signed_in_page, recent_authentication="live")
async def save_secret(ask: Ask, caller: Person, mode: str) -> Response:
    """Save the secret that waits; delivery is on."""
    env = caller.env(mode)
    waiting = (await actions.secret_state(ask.house.db, env, ask.now)).pending
    if waiting:
        await ask.house.db.transact(lambda tx: actions.activate_secret(tx, env, ask.now))
    return see_other(f"/{env.mode}/developers/webhooks?done={'saved' if waiting else 'expired'}")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/on", guard=signed_in_page)
async def switch_on(ask: Ask, caller: Person, mode: str) -> Response:
    """Deliver again."""
    env = caller.env(mode)
    await ask.house.db.transact(lambda tx: actions.switch_on(tx, env, ask.now))
    return see_other(f"/{env.mode}/developers/webhooks?done=on")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/off", guard=signed_in_page)
async def switch_off(ask: Ask, caller: Person, mode: str) -> Response:
    """End delivery in this environment."""
    env = caller.env(mode)
    await ask.house.db.transact(lambda tx: actions.switch_off(tx, env, ask.house, ask.now))
    return see_other(f"/{env.mode}/developers/webhooks?done=off")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/test", guard=signed_in_page)
async def send_test(ask: Ask, caller: Person, mode: str) -> Response:
    """Send a test event, and show what becomes of it."""
    env = caller.env(mode)
    url = ask.form().one("url") or ""
    try:
        event = await ask.house.db.transact(lambda tx: actions.send_test(tx, env, url, ask.house, ask.now))
    except Refusal as refusal:
        return await _settings(ask, caller, env, url=url, refusal=refusal)
    return see_other(f"/{env.mode}/developers/events/{event.id}")


@OPERATIONS.add("GET", "/{mode}/developers/events", guard=signed_in_page)
async def events(ask: Ask, caller: Person, mode: str, query: EventsQuery) -> Response:
    """Events, newest first; of one status or type, where the address says so."""
    env = caller.env(mode)
    db = ask.house.db
    found = await (store.matching(db, env, query) if query.filters else _newest(db, env, query))
    shown, more = query.cut(found)
    return page(
        ask,
        "webhooks/events.html",
        person=caller,
        mode=env.mode,
        here="events",
        events=shown,
        query=query,
        searched=store.SEARCHED_EVENTS_MAX,
        statuses=meanings.STATUSES,
        types=(*EVENT_TYPES, TEST_EVENT),
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/developers/events/{event_id}", guard=signed_in_page)
async def event(ask: Ask, caller: Person, mode: str, event_id: UUID) -> Response:
    """One event: its payload, every attempt, and what comes next."""
    return await _event(ask, caller, caller.env(mode), event_id)


@OPERATIONS.add("POST", "/{mode}/developers/events/{event_id}/redeliver", guard=signed_in_page)
async def redeliver(ask: Ask, caller: Person, mode: str, event_id: UUID) -> Response:
    """Send it again, once."""
    env = caller.env(mode)
    try:
        await ask.house.db.transact(lambda tx: actions.redeliver_unless_due(tx, env, event_id, ask.house, ask.now))
    except NotFound:
        raise
    except Refusal as refusal:
        return await _event(ask, caller, env, event_id, refusal=refusal)
    return see_other(f"/{env.mode}/developers/events/{event_id}")


async def _newest(db: Pool, env: MerchantEnv, query: EventsQuery) -> list[EventView]:
    return [event for event, _ in await store.events(db, env, EventFilter(), query.window)]


async def _settings(
    ask: Ask,
    person: Person,
    env: MerchantEnv,
    *,
    notice: str = "",
    secret: str = "",
    url: str = "",
    refusal: Refusal | None = None,
) -> Response:
    house = ask.house
    shown = page(
        ask,
        "webhooks/settings.html",
        refusal.status if refusal else 200,
        person=person,
        mode=env.mode,
        here="webhooks",
        notice=notice,
        secret=secret,
        state=await actions.secret_state(house.db, env, ask.now),
        delivery_is_on=await store.delivery_is_on(house.db, env),
        compatible=house.settings.deprecated_webhooks,
        saved=await actions.configuration_of(house.db, env, house),
        source_ip=house.settings.webhook_source_ip,
        url=url,
        message=refusal.message if refusal else "",
        faults={fault.field: fault.message for fault in refusal.faults} if refusal else {},
    )
    shown.headers.update(refusal.headers if refusal else {})
    return shown


async def _event(ask: Ask, person: Person, env: MerchantEnv, event_id: UUID, *, refusal: Refusal | None = None) -> Response:
    found = await actions.event_with_history(ask.house.db, env, event_id)
    return page(
        ask,
        "webhooks/event.html",
        refusal.status if refusal else 200,
        person=person,
        mode=env.mode,
        here="events",
        event=found,
        payload=msgspec.json.format(bytes(found.payload)).decode(),
        meaning=meanings.STATUSES[found.status],
        tries=sum(attempt.trigger == "automatic" for attempt in found.delivery_history),
        tries_max=1 if found.mode == "test" else 1 + len(ask.house.settings.webhook_retry_schedule),
        attempts=[(attempt, meanings.of_error(attempt.error)) for attempt in found.delivery_history],
        due=found.next_attempt_at is not None and found.next_attempt_at <= stamp(ask.now),
        message=refusal.message if refusal else "",
        advice=ADVICE.get(refusal.code, "") if refusal else "",
    )
