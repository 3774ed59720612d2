"""Commands about the installation: its schema, settings, routes and deliveries, its health, a story, what is deleted."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from cyclopts import Parameter, validators
from msgspec import Struct

from tollhouse.accounts.audit import store as audit_store
from tollhouse.http.services import Services
from tollhouse.instance import main as root
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.cli.actions import database, print_rows, print_table, run
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.instance.doctor.examine import examine
from tollhouse.instance.trace.story import trace
from tollhouse.kernel import clock
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.platform.database import migrations, partitions
from tollhouse.platform.settings import config, env_files
from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.settings.config import SETTINGS, Setting
from tollhouse.webhooks.delivery import jobs as delivery

DEFAULT = "default"
Named = Annotated[
    UUID, Parameter(help="The ID of a payment, link, refund, withdrawal, event or other object, or an X-Request-Id.")
]
Days = Annotated[int | None, Parameter(help="As if the setting had this value.", validator=validators.Number(gte=0))]
AuditDays = Annotated[
    int | None, Parameter(help="As if the setting had this value, at least 365.", validator=validators.Number(gte=365))
]
Kind = Literal["webhook_events", "request_log", "audit_log"]


class Expired(Struct, frozen=True):
    """What has been kept for its time. `before` is null if it never ends, `bytes` if others are among them."""

    data: Kind
    kept_days: int
    before: Timestamp | None
    rows: int
    bytes: int | None


def migrate() -> None:
    """Migrate the database to this version's schema."""
    with database() as settings:
        for name in asyncio.run(migrations.migrate(settings.database_url or "", settings.migration_database_url)):
            print(name)


def show_config(*, as_json: Json = False) -> int:
    """Print each setting with its meaning, default, current value and source, all errors, and warnings."""
    errors, warnings = list[str](), list[str]()
    try:
        settings = config.load()
        warnings = config.list_warnings(settings)
    except config.InvalidSettingsError as error:
        settings, errors = None, error.field_errors
    rows = [_described(setting) for setting in SETTINGS]
    if as_json:
        print(msgspec.json.encode({"settings": rows, "errors": errors, "warnings": warnings}).decode())
    else:
        for row in rows:
            print(f"{row['name']}\n    {row['meaning']}\n    default: {row['default'] or '-'}   now: {row['value'] or '-'}")
            if row["source"] != DEFAULT:
                print(f"    from: {row['source']}")
    for lines, style in ((errors, "red"), (warnings, "yellow")):
        for line in lines:
            stderr.print(line, style=style, markup=False)
    return 0 if settings is not None else 1


def routes() -> None:
    """Print every route: method, path, surface, guard, idempotency and handler."""
    print(root.route_table(OPERATIONS), end="")


def status(*, as_json: Json = False) -> None:
    """Print the state of webhook delivery: the oldest event of each lane, the queue, and recent results."""
    current = run(lambda services: delivery.read_status(services.db))
    if as_json:
        print(msgspec.json.encode(current).decode())
        return
    for lane in current.lanes:
        print(f"{lane.lane:<8} {lane.destinations:>6} destinations, oldest {lane.oldest_ms} ms")
    print(f"ready {current.ready}, later {current.later}, held {current.held}; claim {current.claim_ms} ms")
    for result, count in current.results.items():
        print(f"{result:<24} {count}")


def _described(setting: Setting) -> dict[str, str]:
    """A setting with its value, hidden if it is secret, and what the value comes from."""
    text = os.environ.get(setting.name, "").strip()
    file = os.environ.get(setting.file_name or "", "").strip()
    if not text and not file:
        value, source = setting.default, DEFAULT
    else:
        value = "(set)" if setting.secret else setting_values.without_secrets(text)
        source = str(file or env_files.sources.get(setting.name, "environment"))
    return {"name": setting.name, "meaning": setting.meaning, "default": setting.default, "value": value, "source": source}


def examine_installation(*, as_json: Json = False) -> int:
    """Check settings, base URL, files, database, worker, mail and bank. Changes nothing. Exits 1 after a failure."""
    findings = asyncio.run(examine(os.environ, Path()))
    is_healthy = all(finding.status != "failure" for finding in findings)
    if as_json:
        print(msgspec.json.encode({"healthy": is_healthy, "findings": findings}).decode())
        return 0 if is_healthy else 1
    for finding in findings:
        print(f"{finding.status:<8} {finding.check:<14} {finding.message}")
        if finding.advice:
            print(f"{'':<24}{finding.advice}")
    return 0 if is_healthy else 1


def print_trace(named: Named, /, *, as_json: Json = False) -> int:
    """Print everything that happened to an object, or by a request, in order of time.

    Requests, operators' actions, the audit log, states, reports of rails, the ledger, events and attempts to deliver them.
    Finds objects of all merchants in both environments, and changes nothing. Exits 1 if nothing has this ID.
    """
    story = run(lambda services: trace(services, named, clock.now()))
    if story is None:
        stderr.print(
            f"Nothing has the ID {named}: no object or event, and no request that is in the log or changed one.",
            style="red",
            markup=False,
        )
        return 1
    if as_json:
        print(msgspec.json.encode(story).decode())
        return 0
    print_table(story.entries)
    for line in story.left_out:
        stderr.print(line, markup=False)
    return 0


def show_retention(
    *, webhook_events_days: Days = None, request_log_days: Days = None, audit_days: AuditDays = None, as_json: Json = False
) -> None:
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

    print_rows("rules", list_expired, as_json=as_json)


def _first(days: int | None, configured: int) -> int:
    return configured if days is None else days


async def _events(services: Services, days: int) -> Expired:
    if not days:
        return Expired("webhook_events", 0, None, 0, 0)
    before = await delivery.without_pending(services.db, clock.now() - timedelta(days=days))
    ended = [await partitions.list_ended(services.db, table, before) for table in delivery.TABLES]
    return Expired(
        "webhook_events", days, stamp(before), sum(table.rows for table in ended), sum(table.bytes for table in ended)
    )


async def _requests(services: Services, days: int) -> Expired:
    before = clock.now() - timedelta(days=days)
    ended = await partitions.list_ended(services.db, "api_requests", before)
    return Expired("request_log", days, stamp(before), ended.rows, ended.bytes)


async def _audit_log(services: Services, days: int) -> Expired:
    if not days:
        return Expired("audit_log", 0, None, 0, None)
    before = clock.now() - timedelta(days=days)
    row = await services.db.read_row(audit_store.COUNT_EVENTS, before)
    return Expired("audit_log", days, stamp(before), 0 if row is None else row["count"], None)
