"""The dashboard's page of the audit log, and the log as a file. People of a suspended merchant can read it too."""

from collections.abc import AsyncIterator, Mapping

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.audit.changes import Value
from tollhouse.audit_log import labels, store
from tollhouse.audit_log.model import AuditQuery, KnownAuthor, Line, Wanted
from tollhouse.http.csv_table import download, file_name, lines
from tollhouse.http.form_errors import NO_ERRORS, form_errors_of
from tollhouse.http.keyset import NEWEST, keyset_links
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool

OPERATIONS = Operations(PAGES)
PATH = "/settings/audit"
HEADER = (
    "id", "created_at", "mode", "deed", "author_kind", "author", "author_name", "address", "request_id", "subject", "name",
    "changed",
)  # fmt: skip
PLACES: Mapping[str, str] = {
    "payment": "payments/",
    "refund": "payments/",
    "withdrawal": "withdrawals/",
    "conversion": "conversions/",
    "fulfillment": "fulfillments/",
    "project": "projects/",
}
"""Below an environment, where what a deed was done to has a page of its own."""
OF_PROGRAMS = {"api_key", "application"}


class ShownChange(Struct, frozen=True):
    """What one thing was before and is now. No `before`: it was not there. `ours`: the values are words of ours."""

    name: str
    before: str
    after: str
    ours: bool


class ShownLine(Struct, frozen=True, kw_only=True):
    """A deed as the page tells it. No `path`: what it was done to has no page; `requests`: the request it was asked by."""

    at: Timestamp
    action: str
    name: str
    amount: tuple[str, str]
    path: str
    who: str
    by_name: bool
    address: str
    environment: str
    requests: str
    changes: list[ShownChange]


@OPERATIONS.add("GET", PATH, guard=signed_in_page)
async def audit(request: Request, caller: Person, query: AuditQuery) -> Response:
    """What was done to this account in both environments, newest first, as the address filters it."""
    db = request.services.db
    form_errors = NO_ERRORS
    found, more = list[Line](), False
    try:
        wanted = query.wanted(caller.zone)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, ("from", "to"))
    else:
        than = NEWEST if query.before is None else await store.place_of(db, caller.merchant_id, query.before)
        if than is None:
            raise NotFound
        found, more = query.cut(await store.older(db, caller.merchant_id, wanted, than, query.fetch))
    authors = await store.authors(db, caller.merchant_id)
    names = _names(authors)
    return page(
        request,
        "audit_log/list.html",
        form_errors.status,
        person=caller,
        mode="test",
        here="audit",
        query=query,
        form_errors=form_errors,
        path=PATH,
        lines=[_shown(line, names) for line in found],
        topics=list(labels.TOPICS.items()),
        environments=list(labels.ENVIRONMENTS.items()),
        kinds=list(labels.AUTHORS.items()),
        authors=[(f"{one.kind}:{one.id}", one.name) for one in authors],
        days=request.services.settings.audit_kept_days,
        page_links=keyset_links(query, PATH, found[-1].id if more else None),
        file=f"{PATH}.csv{query.address(None)}",
    )


@OPERATIONS.add("GET", f"{PATH}.csv", guard=signed_in_page)
async def audit_csv(request: Request, caller: Person, query: AuditQuery) -> Response:
    """Every line that the filters mean, newest first, as CSV. What is done while it is sent is not in it."""
    db, merchant_id = request.services.db, caller.merchant_id
    names = _names(await store.authors(db, merchant_id))
    return download(file_name("audit", request.now), _parts(db, merchant_id, query.wanted(caller.zone), names))


def _names(authors: list[KnownAuthor]) -> dict[str, str]:
    return {one.id: one.name for one in authors}


def _shown(line: Line, names: Mapping[str, str]) -> ShownLine:
    _, amount = line.changed.get("amount", (None, None))
    value, _, currency = amount.partition(" ") if isinstance(amount, str) else ("", "", "")
    known = names.get(line.author)
    return ShownLine(
        at=stamp(line.created_at),
        action=_DEEDS.get(line.action, line.action),
        name=line.name or "",
        amount=(value, currency),
        path=_path(line),
        who=known or line.author or labels.AUTHORS[line.author_kind],
        by_name=bool(line.author),
        address=line.address or "",
        environment="" if line.mode is None else labels.ENVIRONMENTS[line.mode],
        requests=_requests(line),
        changes=[
            ShownChange(labels.field(name), _said(before), _said(after), isinstance(after, bool))
            for name, (before, after) in line.changed.items()
            if name != "amount"
        ],
    )


_DEEDS: Mapping[str, str] = {str(action): said for action, said in labels.DEEDS.items()}


def _path(line: Line) -> str:
    kind = line.action.partition(".")[0]
    if kind == "application" and line.subject is not None:
        return f"/developers/apps/{line.subject}"
    return f"/{line.mode}/{PLACES[kind]}{line.subject}" if line.mode and line.subject and kind in PLACES else ""


def _requests(line: Line) -> str:
    """Where the request is logged, for as long as it is."""
    if line.author_kind not in OF_PROGRAMS or line.mode is None or line.request_id is None:
        return ""
    return f"/{line.mode}/developers/requests/{line.request_id}"


def _said(value: Value) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(value)
    return "" if value is None else str(value)


async def _parts(db: Pool, merchant_id: MerchantId, wanted: Wanted, names: Mapping[str, str]) -> AsyncIterator[str]:
    yield lines([HEADER])
    async for batch in store.all_lines(db, merchant_id, wanted):
        yield lines(_cells(line, names) for line in batch)


def _cells(line: Line, names: Mapping[str, str]) -> tuple[str, ...]:
    return (
        str(line.id),
        stamp(line.created_at),
        line.mode or "",
        line.action,
        line.author_kind,
        line.author,
        names.get(line.author, ""),
        line.address or "",
        "" if line.request_id is None else str(line.request_id),
        line.subject or "",
        line.name or "",
        msgspec.json.encode(line.changed).decode() if line.changed else "",
    )
