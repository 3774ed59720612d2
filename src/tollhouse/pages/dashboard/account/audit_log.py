"""The audit log page and its CSV export. Users of a suspended merchant can read both."""

from collections.abc import AsyncIterator, Mapping

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.audit import labels
from tollhouse.accounts.audit import store as log_store
from tollhouse.accounts.audit.model import AuditEvent, AuditFilter, AuditQuery, NamedActor, Value
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.csv_table import cells, download, file_name, lines
from tollhouse.http.forms import NO_ERRORS, form_errors_of
from tollhouse.http.lists import NEWEST
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.layout import render
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
PATH = "/settings/audit"
HEADER = (
    "id", "created_at", "mode", "deed", "author_kind", "author", "author_name", "address", "request_id", "subject", "name",
    "changed",
)  # fmt: skip
SUBJECT_PAGES: Mapping[str, str] = {
    "payment": "payments/{}",
    "refund": "payments/{}",
    "customer": "customers/{}",
    "withdrawal": "withdrawals/{}",
    "withdrawal.batch_requested": "withdrawals/batches/{}",
    "withdrawal.schedule_created": "withdrawals/schedules",
    "withdrawal.schedule_paused": "withdrawals/schedules",
    "withdrawal.schedule_resumed": "withdrawals/schedules",
    "withdrawal.schedule_ended": "withdrawals/schedules",
    "conversion": "conversions/{}",
    "fulfillment": "fulfillments/{}",
    "payment_link": "payment-links/{}",
    "project": "projects/{}",
}
"""The path of an event's subject below its environment, where it has a page: by the event type, or by its first part."""
API_ACTORS = {"api_key", "application"}


class ChangeView(Struct, frozen=True):
    """A changed field. `before` is empty for a new value; `translated` values are labels."""

    name: Translatable
    before: str
    after: str
    translated: bool


class AuditEventView(Struct, frozen=True, kw_only=True):
    """An event on the page. `path` is the page of its subject and `requests` of its request, empty where there is none.

    An event of the other mode has no links: only the switch changes the mode.
    """

    at: Timestamp
    label: str
    name: str
    amount: tuple[str, str]
    path: str
    actor: str
    actor_has_name: bool
    address: str
    environment: str
    requests: str
    changes: list[ChangeView]


@OPERATIONS.add("GET", PATH, guard=signed_in_page("read"))
async def audit(request: Request, caller: Person, query: AuditQuery) -> Response:
    """The audit events of both environments, newest first, filtered by the query."""
    db = request.services.db
    form_errors = NO_ERRORS
    found, more = list[AuditEvent](), False
    try:
        filters = query.to_filter(caller.zone)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, ("from", "to"))
    else:
        after = NEWEST if query.before is None else await log_store.find_position(db, caller.merchant_id, query.before)
        if after is None:
            raise NotFound
        found, more = query.cut(await log_store.list_older(db, caller.merchant_id, filters, after, query.fetch))
    actors = await log_store.list_actors(db, caller.merchant_id)
    names = _names(actors)
    return render(
        request,
        caller,
        "audit_log/list",
        here="audit",
        query=query,
        form_errors=form_errors,
        path=PATH,
        events=[_view(event, names, request.mode) for event in found],
        topics=list(labels.TOPICS.items()),
        environments=list(labels.ENVIRONMENTS.items()),
        kinds=list(labels.ACTORS.items()),
        actors=[(f"{actor.kind}:{actor.id}", actor.name) for actor in actors],
        days=request.services.settings.audit_kept_days,
        page_links=query.links(PATH, found, more=more),
        file=f"{PATH}.csv{query.address(None)}",
    )


@OPERATIONS.add("GET", f"{PATH}.csv", guard=signed_in_page("read"))
async def audit_csv(request: Request, caller: Person, query: AuditQuery) -> Response:
    """The filtered audit events as CSV, newest first. Events recorded during the download are not included."""
    db, merchant_id = await request.services.reports_db(), caller.merchant_id
    names = _names(await log_store.list_actors(db, merchant_id))
    return download(file_name("audit", request.now), _csv_parts(db, merchant_id, query.to_filter(caller.zone), names))


def _names(actors: list[NamedActor]) -> dict[str, str]:
    return {actor.id: actor.name for actor in actors}


def _view(event: AuditEvent, names: Mapping[str, str], mode: Mode | None) -> AuditEventView:
    is_other_mode = event.mode is not None and event.mode != mode
    _, amount = event.changed.get("amount", (None, None))
    value, _, currency = amount.partition(" ") if isinstance(amount, str) else ("", "", "")
    return AuditEventView(
        at=stamp(event.created_at),
        label=_LABELS.get(event.event_type, event.event_type),
        name=event.name or "",
        amount=(value, currency),
        path="" if is_other_mode else _subject_path(event),
        actor=names.get(event.actor) or event.actor or labels.ACTORS[event.actor_kind],
        actor_has_name=bool(event.actor),
        address=event.address or "",
        environment="" if event.mode is None else labels.ENVIRONMENTS[event.mode],
        requests="" if is_other_mode else _request_path(event),
        changes=[
            ChangeView(labels.field(name), _text(before), _text(after), isinstance(after, bool))
            for name, (before, after) in event.changed.items()
            if name != "amount"
        ],
    )


_LABELS: Mapping[str, str] = {str(event_type): label for event_type, label in labels.EVENTS.items()}


def _subject_path(event: AuditEvent) -> str:
    kind = event.event_type.partition(".")[0]
    if kind == "application" and event.subject is not None:
        return f"/developers/apps/{event.subject}"
    path = SUBJECT_PAGES.get(event.event_type) or SUBJECT_PAGES.get(kind)
    return f"/{event.mode}/{path.format(event.subject)}" if path and event.mode and event.subject else ""


def _request_path(event: AuditEvent) -> str:
    """The request in the request log, which keeps it for a limited time."""
    if event.actor_kind not in API_ACTORS or event.mode is None or event.request_id is None:
        return ""
    return f"/{event.mode}/developers/requests/{event.request_id}"


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(value)
    return "" if value is None else str(value)


async def _csv_parts(
    db: Pool, merchant_id: MerchantId, filters: AuditFilter, names: Mapping[str, str]
) -> AsyncIterator[str]:
    yield lines([HEADER])
    async for batch in log_store.iterate(db, merchant_id, filters):
        yield lines(_cells(event, names) for event in batch)


def _cells(event: AuditEvent, names: Mapping[str, str]) -> list[str]:
    return cells(
        event,
        HEADER,
        author_kind=event.actor_kind,
        author=event.actor,
        author_name=names.get(event.actor),
        changed=msgspec.json.encode(event.changed).decode() if event.changed else None,
        **{"deed": event.event_type},  # noqa: PIE804 - a word of the file alone
    )
