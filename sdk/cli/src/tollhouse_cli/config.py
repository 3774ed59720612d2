"""What a login has stored: the address of the service and the credential of each mode, readable by its owner only."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from tollhouse_sdk import FileTokens, OAuth, Tollhouse, TollhouseError
from tollhouse_sdk.files import read_json, write_private

DEFAULT_URL = "http://localhost:8000"
CLIENT_ID = "tollhouse-cli"
"""The public application that every service has for this command."""


def folder() -> Path:
    """The folder of the command among those of all programs of this person."""
    if named := os.environ.get("TOLLHOUSE_CLI_CONFIG"):
        return Path(named)
    if sys.platform == "win32":  # pragma: no cover
        return Path(os.environ["APPDATA"]) / "tollhouse-cli"
    if sys.platform == "darwin":  # pragma: no cover
        return Path.home() / "Library" / "Application Support" / "tollhouse-cli"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tollhouse-cli"


def stored() -> dict[str, Any]:
    """What was stored; empty at first."""
    return read_json(folder() / "config.json") or {}


def store(content: dict[str, Any]) -> None:
    """Replace what was stored."""
    write_private(folder() / "config.json", json.dumps(content, indent=2))


def tokens(mode: str) -> FileTokens:
    """The tokens of a connection in this mode."""
    return FileTokens(folder() / f"tokens-{mode}.json")


def mode_of(options: argparse.Namespace) -> str:
    """The environment: live is only what was said so."""
    return "live" if options.live else "test"


def url_of(options: argparse.Namespace) -> str:
    """The address of the service."""
    return options.url or os.environ.get("TOLLHOUSE_URL") or stored().get("url") or DEFAULT_URL


def client(options: argparse.Namespace) -> Tollhouse:
    """A client with the credential of the mode. `TOLLHOUSE_API_KEY` goes before what was stored."""
    mode = mode_of(options)
    key = os.environ.get("TOLLHOUSE_API_KEY") or stored().get(f"{mode}_key")
    if key:
        if not key.startswith(f"th_{mode}_"):
            raise TollhouseError(f"This is no API key of the {mode} environment. Live keys work with --live only.")
        return Tollhouse(url_of(options), key)
    if tokens(mode).load() is not None:
        return Tollhouse(url_of(options), OAuth(CLIENT_ID, tokens=tokens(mode)))
    live = " --live" if options.live else ""
    raise TollhouseError(f"There is no credential of the {mode} environment. Run: tollhouse-cli{live} login")
