"""Commands about the installation: its schema, its settings, its routes and the state of its deliveries."""

import asyncio
import os

import msgspec

from tollhouse import main as root
from tollhouse.api import OPERATIONS
from tollhouse.cli.database import database
from tollhouse.cli.options import Json, stderr
from tollhouse.events import status as delivery_status
from tollhouse.platform import config, migrations
from tollhouse.platform.db import Pool


def migrate() -> None:
    """Migrate the database to this version's schema."""
    with database() as settings:
        for name in asyncio.run(migrations.migrate(settings.database_url or "", settings.migration_database_url)):
            print(name)


def show_config(*, as_json: Json = False) -> int:
    """Print each setting with its meaning, default and current value, and all errors."""
    try:
        settings, errors = config.load(), list[str]()
    except config.InvalidSettingsError as error:
        settings, errors = None, error.field_errors
    rows = [
        {"name": one.name, "meaning": one.meaning, "default": one.default, "value": _value(one)} for one in config.SETTINGS
    ]
    if as_json:
        print(msgspec.json.encode({"settings": rows, "errors": errors}).decode())
    else:
        for row in rows:
            print(f"{row['name']}\n    {row['meaning']}\n    default: {row['default'] or '-'}   now: {row['value'] or '-'}")
    for error in errors:
        stderr.print(error, style="red", markup=False)
    return 0 if settings is not None else 1


def routes() -> None:
    """Print every route: method, path, surface, guard, idempotency and handler."""
    print(root.route_table(OPERATIONS), end="")


def status(*, as_json: Json = False) -> None:
    """Print the state of webhook delivery: the oldest event of each lane, the queue, and recent results."""
    with database() as settings:
        current = asyncio.run(_status(settings.database_url or ""))
    if as_json:
        print(msgspec.json.encode(current).decode())
        return
    for lane in current.lanes:
        print(f"{lane.lane:<8} {lane.destinations:>6} destinations, oldest {lane.oldest_ms} ms")
    print(f"ready {current.ready}, later {current.later}, held {current.held}; claim {current.claim_ms} ms")
    for result, count in current.results.items():
        print(f"{result:<24} {count}")


async def _status(dsn: str) -> delivery_status.DeliveryStatus:
    pool = Pool(dsn, 1)
    try:
        return await delivery_status.read_status(pool)
    finally:
        await pool.close()


def _value(setting: config.Setting) -> str:
    text = os.environ.get(setting.name, "").strip()
    if setting.secret and text:
        return "(set)"
    return text or setting.default
