"""Options that several commands have, what they determine, and how errors are printed."""

import os
import socket
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from tollhouse.platform import config, listening
from tollhouse.platform.log import log

stderr = Console(stderr=True, highlight=False)

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
Yes = Annotated[bool, Parameter(negative=(), help="Do not ask.")]
Host = Annotated[str, Parameter(help="Address to listen on.")]
Port = Annotated[int, Parameter(help="Port to listen on.")]
Workers = Annotated[int, Parameter(help="Number of web processes.")]


def settings_for(port: int) -> config.Settings:
    """The settings, with a base URL for this port unless one is configured."""
    environ: dict[str, str] = dict(os.environ)
    environ.setdefault("TOLLHOUSE_BASE_URL", f"http://localhost:{port}")
    return config.load(environ)


def log_warnings(settings: config.Settings) -> None:
    """Log what is allowed in the settings, but probably not meant."""
    for warning in config.list_warnings(settings):
        log.warning("setting_questionable", detail=warning)


def bind_metrics(settings: config.Settings) -> socket.socket | None:
    """The bound socket of the metrics, unless they are off. Raises `ListenError`."""
    return None if settings.metrics_address is None else listening.bind(*settings.metrics_address)


def require_database(settings: config.Settings) -> config.Settings:
    """These settings. Raises `InvalidSettingsError` if they have no database URL."""
    if settings.database_url is None:
        raise config.InvalidSettingsError(["DATABASE_URL is required. To use the embedded database, run `tollhouse serve`."])
    return settings
