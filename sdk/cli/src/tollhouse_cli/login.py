"""Logging in by a code that is confirmed in the browser, or with an API key; and logging out."""

import argparse
import sys

from tollhouse_cli import config
from tollhouse_cli.output import show
from tollhouse_sdk import Application, Tollhouse, TollhouseError

SCOPES = ("account:read", "payments:read", "payments:write", "balances:read", "webhooks:read", "webhooks:write")
SCOPES_MORE = ("withdrawals:read", "withdrawals:write", "conversions:read", "conversions:write")


def login(options: argparse.Namespace) -> None:
    """Store a credential, after it was used once."""
    url, mode = config.url_of(options), config.mode_of(options)
    kept = config.stored()
    if options.key is None:
        _connect(options, url, mode)
        kept.pop(f"{mode}_key", None)
    else:
        key = sys.stdin.readline().strip() if options.key == "-" else options.key
        if not key.startswith(f"th_{mode}_"):
            raise TollhouseError(f"This is no API key of the {mode} environment: it begins with th_{mode}_.")
        with Tollhouse(url, key) as tollhouse:
            tollhouse.request("GET", "/currencies", query={"limit": 1})
        kept[f"{mode}_key"] = key
    config.store({**kept, "url": url})
    show(options, {"url": url, "mode": mode}, f"Logged in at {url}, {mode} environment.")


def _connect(options: argparse.Namespace, url: str, mode: str) -> None:
    scopes = options.scope or [*SCOPES, *(SCOPES_MORE if mode == "test" else ())]
    with Application(url, config.CLIENT_ID) as application:
        code = application.begin_device([*scopes, "offline_access"], "live" if mode == "live" else "test")
        print(f"Open {code.verification_uri} and enter {code.user_code}", file=sys.stderr, flush=True)
        config.tokens(mode).save(application.finish_device(code))


def logout(options: argparse.Namespace) -> None:
    """Delete the credential of the mode; a connection ends at the service, too."""
    mode = config.mode_of(options)
    tokens = config.tokens(mode)
    grant = tokens.load()
    if grant is not None:
        with Application(config.url_of(options), config.CLIENT_ID) as application:
            application.end(grant)
        (config.folder() / f"tokens-{mode}.json").unlink()
    kept = config.stored()
    kept.pop(f"{mode}_key", None)
    config.store(kept)
    show(options, {"mode": mode}, f"Logged out of the {mode} environment.")
