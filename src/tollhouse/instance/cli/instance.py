"""Commands about the installation: its schema, its settings, its routes and the state of its deliveries."""

import asyncio
import os

import msgspec

from tollhouse.instance import main as root
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.cli.database import database
from tollhouse.instance.cli.options import Json, stderr
from tollhouse.platform.database import migrations
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.settings import config, env_files
from tollhouse.platform.settings import values as setting_values
from tollhouse.platform.settings.config import SETTINGS, Setting
from tollhouse.webhooks.delivery import jobs as delivery_status

DEFAULT = "default"


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


def _described(setting: Setting) -> dict[str, str]:
    """A setting with its value, hidden if it is secret, and what the value comes from."""
    text = os.environ.get(setting.name, "").strip()
    file = os.environ.get(setting.file_name or "", "").strip()
    if not text and not file:
        value, source = setting.default, DEFAULT
    else:
        value = "(set)" if setting.secret else setting_values.without_secrets(text)
        source = str(file or env_files.sources.get(setting.name, "environment"))
    return {
        "name": setting.name,
        "meaning": setting.meaning,
        "default": setting.default,
        "value": value,
        "source": source,
    }
