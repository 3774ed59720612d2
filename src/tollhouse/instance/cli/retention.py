"""`tollhouse retention`: what the worker deletes with these settings, or would delete with others."""

from datetime import timedelta
from typing import Annotated, Literal

from cyclopts import Parameter, validators
from msgspec import Struct

from tollhouse.accounts.audit import store as audit_store
from tollhouse.http.services import Services
from tollhouse.instance.cli.actions import print_rows
from tollhouse.instance.cli.options import Json
from tollhouse.kernel import clock
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.platform.database import partitions
from tollhouse.webhooks.delivery import jobs as events

Days = Annotated[int | None, Parameter(help="As if the setting had this value.", validator=validators.Number(gte=0))]
AuditDays = Annotated[
    int | None,
    Parameter(help="As if the setting had this value, at least 365.", validator=validators.Number(gte=365)),
]
Kind = Literal["webhook_events", "request_log", "audit_log"]


class Expired(Struct, frozen=True):
    """What is older than it is kept. `before` is null if it is kept for ever; `bytes` if they cannot be told from others."""

    data: Kind
    kept_days: int
    before: Timestamp | None
    rows: int
    bytes: int | None


def show_retention(
    *, webhook_events_days: Days = None, request_log_days: Days = None, audit_days: AuditDays = None, as_json: Json = False
) -> int:
    """List what the worker deletes next: data, days it is kept, time of the newest that is too old, rows and bytes.

    Deletes nothing. With other numbers of days, it shows what would be deleted if the settings were changed to them. Events
    are deleted by whole months, and requests by whole days.
    """

    async def list_expired(services: Services) -> list[Expired]:
        settings = services.settings
        return [
            await _events(services, _first(webhook_events_days, settings.webhook_events_kept_days)),
            await _requests(services, _first(request_log_days, settings.request_log_kept_days)),
            await _audit_log(services, _first(audit_days, settings.audit_kept_days)),
        ]

    return print_rows("rules", list_expired, as_json=as_json)


def _first(days: int | None, configured: int) -> int:
    return configured if days is None else days


async def _events(services: Services, days: int) -> Expired:
    if not days:
        return Expired("webhook_events", 0, None, 0, 0)
    before = await events.without_pending(services.db, clock.now() - timedelta(days=days))
    found = [await partitions.list_ended(services.db, table, before) for table in events.TABLES]
    return Expired("webhook_events", days, stamp(before), sum(one.rows for one in found), sum(one.bytes for one in found))


async def _requests(services: Services, days: int) -> Expired:
    before = clock.now() - timedelta(days=days)
    found = await partitions.list_ended(services.db, "api_requests", before)
    return Expired("request_log", days, stamp(before), found.rows, found.bytes)


async def _audit_log(services: Services, days: int) -> Expired:
    if not days:
        return Expired("audit_log", 0, None, 0, None)
    before = clock.now() - timedelta(days=days)
    row = await services.db.read_row(audit_store.COUNT_EVENTS, before)
    return Expired("audit_log", days, stamp(before), 0 if row is None else row["count"], None)
