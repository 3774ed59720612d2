"""The dashboard's pages of webhooks: endpoint, secrets, events with what they are about, and their deliveries."""

from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import by_field, flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.limits import SECRET_OVERLAP_H_MAX
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.platform.database.pool import Pool
from tollhouse.webhooks.endpoints import actions, replays, replays_store, store
from tollhouse.webhooks.endpoints import model as labels
from tollhouse.webhooks.endpoints.model import (
    EventsPageQuery,
    WebhookDeliveryDisabled,
    WebhookDestinationMissing,
    WebhookEvent,
    WebhookSecretMissing,
)
from tollhouse.webhooks.endpoints.store import EventFilter
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT
from tollhouse.webhooks.request_log import store as request_store
from tollhouse.webhooks.request_log.model import CausingRequest
from tollhouse.webhooks.request_log.retention import kept_since

PARTS = {
    "transaction": "payments",
    "payment_link": "payment-links",
    "withdrawal": "withdrawals",
    "conversion": "conversions",
}
"""The part of the dashboard that has the page of such an object."""
KINDS = {
    "transaction": "Payment",
    "payment_link": "Payment link",
    "withdrawal": "Withdrawal",
    "conversion": "Conversion",
    "balance": "Balance",
    "fulfillment": "Fulfillment",
    "balance_payment": "Balance payment",
}
TEST = "Test event"


class SubjectLink(NamedTuple):
    """The page of an event's object, and its kind."""

    path: str
    kind: str


class EventSubject(Struct, frozen=True):
    """What an event is about. Objects without an amount have an empty one, and those without a page no link."""

    label: str
    id: str
    amount: str
    currency: str
    link: SubjectLink | None


class _Object(Struct):
    object: str = ""
    id: str = ""
    currency: str | None = None
    amount: str | None = None
    delta: str | None = None
    from_currency: str | None = None
    from_amount: str | None = None


class _Data(Struct):
    object: _Object
    test: bool = False


class _Payload(Struct):
    data: _Data


def subject_of(event: WebhookEvent) -> EventSubject:
    """The object in the payload of an event."""
    data = msgspec.json.decode(event.payload, type=_Payload).data
    shown, part = data.object, PARTS.get(data.object.object)
    link = None if part is None or data.test else SubjectLink(f"/{event.env.mode}/{part}/{shown.id}", shown.object)
    amount, currency = shown.amount or shown.delta or shown.from_amount, shown.currency or shown.from_currency
    if amount is None or currency is None:
        amount = currency = ""
    is_test = data.test or event.destination_source == "test"
    return EventSubject(TEST if is_test else KINDS.get(shown.object, shown.object), shown.id, amount, currency, link)


OPERATIONS = Operations(PAGES)
EXCHANGES_SHOWN = 20
REPLAYS_SHOWN = 10
NOTICES = {
    "saved": "Signing secret activated. It signs all deliveries from now on.",
    "expired": "There is no secret to activate. A generated secret expires after an hour. Generate a new one.",
    "on": "Delivery turned on.",
    "off": "Delivery turned off. Pending events were canceled.",
}
ADVICE = {
    WebhookDeliveryDisabled.code: "Turn on delivery on the Webhooks page, then resend the event.",
    WebhookDestinationMissing.code: "The request had no webhook_url, and there is no saved URL.",
    WebhookSecretMissing.code: "Activate a signing secret on the Webhooks page. Events are never sent unsigned.",
}


@OPERATIONS.add("GET", "/{mode}/developers/webhooks", guard=signed_in_page("read"))
async def settings(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Show the signing secret, delivery, the test form and the saved URL."""
    done = flash_message(request.query)
    return await _settings(request, caller, env, notice=NOTICES.get(done, ""))


@OPERATIONS.add(
    "POST", "/{mode}/developers/webhooks/secret", guard=signed_in_page("developers"), recent_authentication="live"
)
async def generate_secret(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Generate a secret and show it once. It must be activated."""
    secret = await request.transact(lambda work: actions.generate_secret(work, env))
    return await _settings(request, caller, env, secret=secret)


@OPERATIONS.add(
    "POST", "/{mode}/developers/webhooks/secret/activate", guard=signed_in_page("developers"), recent_authentication="live"
)
async def save_secret(request: Request, env: MerchantEnv) -> Response:
    """Activate the pending secret and enable delivery."""
    is_pending = (await actions.get_secret_state(request.services.db, env, request.now)).pending
    if is_pending:
        overlap_hours = SECRET_OVERLAP_H_MAX if request.form().one("overlap") else 0
        await request.transact(lambda work: actions.activate_secret(work, env, overlap_hours))
    return see_other(f"/{env.mode}/developers/webhooks?done={'saved' if is_pending else 'expired'}")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/on", guard=signed_in_page("developers"))
async def enable_delivery(request: Request, env: MerchantEnv) -> Response:
    """Enable delivery."""
    await request.transact(lambda work: actions.enable_delivery(work, env))
    return see_other(f"/{env.mode}/developers/webhooks?done=on")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/off", guard=signed_in_page("developers"))
async def disable_delivery(request: Request, env: MerchantEnv) -> Response:
    """Disable delivery."""
    await request.transact(lambda work: actions.disable_delivery(work, env))
    return see_other(f"/{env.mode}/developers/webhooks?done=off")


@OPERATIONS.add("POST", "/{mode}/developers/webhooks/test", guard=signed_in_page("developers"))
async def send_test(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Send a test event and show it."""
    url, event_type = request.form().one("url") or "", request.form().one("type") or TEST_EVENT
    try:
        event = await request.transact(lambda work: actions.send_test(work, env, url, event_type))
    except ApiError as error:
        return await _settings(request, caller, env, url=url, event_type=event_type, error=error)
    return see_other(f"/{env.mode}/developers/events/{event.id}")


@OPERATIONS.add("GET", "/{mode}/developers/webhooks/signatures", guard=signed_in_page("read"))
async def verify_signatures(request: Request, caller: Person) -> Response:
    """Show the form that verifies signatures in the browser."""
    return render(request, caller, "webhooks/signatures", here="webhooks")


@OPERATIONS.add("GET", "/{mode}/developers/events", guard=signed_in_page("read"))
async def events(request: Request, caller: Person, env: MerchantEnv, query: EventsPageQuery) -> Response:
    """List events, newest first, filtered by status and type."""
    db = request.services.db
    found = await (store.list_filtered_events(db, env, query) if query.filters else _newest(db, env, query))
    shown, more = query.cut(found)
    return render(
        request,
        caller,
        "webhooks/events",
        here="events",
        events=[(event, subject_of(event)) for event in shown],
        query=query,
        saved=await load_saved_filters(request, caller, env, "developers/events", query),
        searched=store.SEARCHED_EVENTS_MAX if store.is_search_bounded(query) else 0,
        statuses=[(status, status) for status in labels.STATUSES],
        types=[(name, name) for name in (*EVENT_TYPES, TEST_EVENT)],
        page_links=query.links(shown, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/developers/events/{event_id}", guard=signed_in_page("read"))
async def event(request: Request, caller: Person, env: MerchantEnv, event_id: UUID) -> Response:
    """Show an event: payload, attempts, next attempt."""
    return await _event(request, caller, env, event_id)


@OPERATIONS.add("POST", "/{mode}/developers/events/{event_id}/redeliver", guard=signed_in_page("developers"))
async def redeliver(request: Request, caller: Person, env: MerchantEnv, event_id: UUID) -> Response:
    """Redeliver an event."""
    try:
        await request.transact(lambda work: actions.redeliver_unless_due(work, env, event_id))
    except NotFound:
        raise
    except ApiError as error:
        return await _event(request, caller, env, event_id, error=error)
    return see_other(f"/{env.mode}/developers/events/{event_id}")


@OPERATIONS.add("POST", "/{mode}/developers/events/{event_id}/replay", guard=signed_in_page("developers"))
async def replay(request: Request, caller: Person, env: MerchantEnv, event_id: UUID) -> Response:
    """Send an event of test mode to another URL."""
    url = request.form().one("url") or ""
    try:
        await request.transact(lambda work: replays.start(work, env, event_id, url))
    except NotFound:
        raise
    except ApiError as error:
        return await _event(request, caller, env, event_id, error=error, url=url)
    return see_other(f"/{env.mode}/developers/events/{event_id}#replays")


async def _newest(db: Pool, env: MerchantEnv, query: EventsPageQuery) -> list[WebhookEvent]:
    return await store.list_events(db, env, EventFilter(), query.window)


async def _settings(
    request: Request,
    person: Person,
    env: MerchantEnv,
    *,
    notice: str = "",
    secret: str = "",
    url: str = "",
    event_type: str = TEST_EVENT,
    error: ApiError | None = None,
) -> Response:
    services = request.services
    response = render(
        request,
        person,
        "webhooks/settings",
        error.status if error else 200,
        here="webhooks",
        done=notice,
        secret=secret,
        state=await actions.get_secret_state(services.db, env, request.now),
        is_delivery_enabled=await store.is_delivery_enabled(services.db, env),
        compatible=services.settings.deprecated_webhooks,
        saved=await actions.get_configuration(services.db, env, services),
        source_ip=services.settings.webhook_source_ip,
        url=url,
        event_type=event_type,
        test_types=[(event_type, event_type) for event_type in actions.test_types(env)],
        message=error.message if error else "",
        field_errors=by_field(error),
    )
    response.headers.update(error.headers if error else {})
    return response


async def _event(
    request: Request, person: Person, env: MerchantEnv, event_id: UUID, *, error: ApiError | None = None, url: str = ""
) -> Response:
    db = request.services.db
    found, history = await actions.get_event(db, env, event_id)
    replays_shown = await replays_store.list_newest(db, env, event_id, REPLAYS_SHOWN)
    response = render(
        request,
        person,
        "webhooks/event",
        error.status if error else 200,
        here="events",
        event=found,
        subject=subject_of(found).link,
        cause=await _cause(request, env, found),
        payload=msgspec.json.format(found.payload).decode(),
        meaning=labels.describe_status(found.status, found.destination_url),
        tries=sum(attempt.trigger == "automatic" for attempt in history),
        tries_max=1 if env.mode == "test" else 1 + len(request.services.settings.webhook_retry_schedule),
        attempts=[(attempt, labels.describe_error(attempt.error)) for attempt in history],
        exchanges={
            exchange.attempt: exchange for exchange in await store.list_exchanges(db, env, event_id, EXCHANGES_SHOWN)
        },
        replays=[(sent, labels.describe_error(sent.attempt.error if sent.attempt else None)) for sent in replays_shown],
        is_replaying=any(sent.attempt is None for sent in replays_shown),
        url=url,
        field_errors=by_field(error),
        due=found.next_attempt_at is not None and found.next_attempt_at <= request.now,
        message=error.message if error else "",
        advice=ADVICE.get(error.code, "") if error else "",
    )
    response.headers.update(error.headers if error else {})
    return response


async def _cause(request: Request, env: MerchantEnv, event: WebhookEvent) -> CausingRequest | None:
    """The API request that caused the event, as long as the log has it."""
    if event.request_id is None:
        return None
    return await request_store.get_cause(
        request.services.db, env, event.request_id, kept_since(request.services, request.now)
    )
