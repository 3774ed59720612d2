"""All probes, at the same time, each with a deadline. Only what is configured is called."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.doctor import host, network
from tollhouse.instance.doctor.database import examine_database
from tollhouse.instance.doctor.model import Finding
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import InvalidSettingsError, Settings
from tollhouse.platform.settings.values import key_ring

DEADLINE_S = 20
"""For a probe of several steps, each of which has a shorter one."""
Probe = Callable[[], Awaitable[list[Finding]]]


async def examine(environ: Mapping[str, str], working_dir: Path) -> list[Finding]:
    """Everything there is to say about the instance with these settings."""
    try:
        settings = data_folder.load_for_command(environ)
    except InvalidSettingsError as error:
        advice = "Correct it; `tollhouse config` describes each setting."
        return [Finding("configuration", "failure", line, advice) for line in error.field_errors]
    findings = [
        Finding("configuration", "warning", line, "See docs/configuration.md.")
        for line in config.list_warnings(settings, environ)
    ] or [Finding("configuration", "ok", "All settings are valid.")]

    async def on_this_machine() -> list[Finding]:
        files = host.examine_files(settings, environ, working_dir)
        return [*files, *host.examine_disk(settings), *host.examine_base_backups(settings)]

    async def in_database() -> list[Finding]:
        with_url = _locate_database(settings)
        return [with_url] if isinstance(with_url, Finding) else await examine_database(with_url)

    probes: dict[str, Probe] = {
        "files": on_this_machine,
        "base_url": lambda: network.examine_base_url(settings),
        "mail": lambda: network.examine_mail(settings),
        "database": in_database,
    }
    found = await asyncio.gather(*(_probe(check, probe) for check, probe in probes.items()))
    return [*findings, *(finding for part in found for finding in part)]


async def _probe(check: str, probe: Probe) -> list[Finding]:
    """Its findings. One that fails must not hide the others."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            return await probe()
    except TimeoutError:
        return [Finding(check, "failure", f"No answer within {DEADLINE_S} seconds.", "Run `tollhouse doctor` again.")]
    except Exception as error:  # noqa: BLE001 - as said above
        detail = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else type(error).__name__
        return [Finding(check, "failure", f"The check failed: {detail}.", "Run it as the account of the service.")]


def _locate_database(settings: Settings) -> Settings | Finding:
    """The settings with the URL and keys of the embedded database, which is not started."""
    if settings.database_url is not None:
        return settings
    if not data_folder.has_database(settings.data_dir):
        message = f"There is no database in {settings.data_dir} yet."
        return Finding("database", "warning", message, "Run `tollhouse serve`, or set DATABASE_URL.")
    cluster = embedded.locate(settings.data_dir)
    if not cluster.responses:
        advice = f"Run `tollhouse serve`; if it does not start, see its log in {cluster.folder}."
        return Finding("database", "failure", "The embedded database is not running.", advice)
    keys = settings.secret_keys or key_ring((settings.data_dir / data_folder.KEYS).read_text().strip())
    return msgspec.structs.replace(settings, database_url=cluster.application_dsn, secret_keys=keys)
