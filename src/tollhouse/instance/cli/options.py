"""Options that several commands have, what they determine, and how errors are printed."""

import os
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console

from tollhouse.platform import rights
from tollhouse.platform.log.events import log
from tollhouse.platform.settings import config

stderr = Console(stderr=True, highlight=False)

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
Yes = Annotated[bool, Parameter(negative=(), help="Do not ask.")]
Host = Annotated[str, Parameter(help="Address to listen on.")]
Port = Annotated[int, Parameter(help="Port to listen on.")]
Workers = Annotated[int, Parameter(help="Number of web processes.")]
MetricsPort = Annotated[
    int | None, Parameter(help="Port of the metrics, instead of that in TOLLHOUSE_METRICS_ADDRESS. No metrics without it.")
]
OWNER = "TOLLHOUSE_MIGRATION_DATABASE_URL"


def settings_for(port: int | None, metrics_port: int | None = None) -> config.Settings:
    """The settings, with a base URL for this port unless one is configured, and with this port of the metrics."""
    environ: dict[str, str] = dict(os.environ)
    if port is not None:
        environ.setdefault("TOLLHOUSE_BASE_URL", f"http://localhost:{port}")
    settings = config.load(environ)
    if metrics_port is None or settings.metrics_address is None:
        return settings
    return msgspec.structs.replace(settings, metrics_address=(settings.metrics_address[0], metrics_port))


def log_warnings(settings: config.Settings) -> None:
    """Log what is allowed in the settings, but probably not meant."""
    for warning in config.list_warnings(settings):
        log.warning("setting_questionable", detail=warning)


def log_needless_owner(settings: config.Settings) -> None:
    """Log that web or worker got the password of the database's owner, who can switch off what binds them."""
    if settings.migration_database_url is not None:
        log.warning(
            "setting_questionable",
            detail=f"{OWNER} is set for a process that has no use for it. Keep it in a file "
            "of its own, which only `tollhouse migrate` and `tollhouse backup` get.",
        )


def give_up_rights(settings: config.Settings) -> None:
    """Become the owner of the data folder, if root started this process: after its port is open, before anything else."""
    rights.give_up(settings.data_dir)


def require_database(settings: config.Settings) -> config.Settings:
    """These settings. Raises `InvalidSettingsError` if they have no database URL."""
    if settings.database_url is None:
        raise config.InvalidSettingsError(["DATABASE_URL is required. To use the embedded database, run `tollhouse serve`."])
    return settings
