"""What is measured: reading the account by token and by API key, refreshing, and exchanging a code."""

from typing import Any

import asyncpg

from benchmarks.harness.operations import Operation
from benchmarks.harness.requests import ACCOUNT, TOKEN, Wire
from benchmarks.oauth.seed import CALLBACK, CLIENT, CLIENT_SECRET, RING, VERIFIER, Application
from tollhouse.kernel import tokens
from tollhouse.kernel.ids import new_id
from tollhouse.oauth import refresh_tokens

KEEP_ALIVE = "Host: 127.0.0.1\r\nUser-Agent: load\r\nAccept: */*\r\n"
CREDENTIALS = f"client_id={CLIENT}&client_secret={CLIENT_SECRET}"
REFRESHES = "SELECT coalesce(sum(refresh_generation), 0) FROM oauth_grants"
EXCHANGES = "SELECT count(*) FROM oauth_grants"


async def operations(connection: "asyncpg.Connection[Any]") -> list[Operation]:
    """The operations, on data of their own."""
    application = Application(connection)
    await application.open()
    refresh = f"grant_type=refresh_token&{CREDENTIALS}&refresh_token="
    code = f"grant_type=authorization_code&{CREDENTIALS}&redirect_uri={CALLBACK}&code_verifier={VERIFIER}&code="
    read = f"GET {ACCOUNT} HTTP/1.1\r\n{KEEP_ALIVE}"
    by_token, by_key = Wire(f"{read}Authorization: Bearer ", "\r\n\r\n"), Wire(f"{read}X-API-Key: ", "\r\n\r\n")
    refresh_chars = len(refresh_tokens.mint(RING, new_id(), 0))
    code_chars = len(tokens.mint("thac"))
    return [
        Operation("account by token", "account", "≥ 0.90, ≥ twice others", by_token, application.accounts),
        Operation("account by API key", "key", "≥ 0.90", by_key, application.keys),
        Operation(
            "refresh", "refresh", "≥ 0.80", form_to(TOKEN, refresh, refresh_chars), application.refreshes,
            renews=True, done=REFRESHES, keep=application.keep,
        ),
        Operation(
            "code exchange", "exchange", "≥ 0.80", form_to(TOKEN, code, code_chars), application.codes,
            once=True, done=EXCHANGES,
        ),
    ]  # fmt: skip


def form_to(path: str, text: str, item_chars: int) -> Wire:
    """A form whose last value is the item."""
    length = len(text) + item_chars
    head = f"{KEEP_ALIVE}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n"
    return Wire(f"POST {path} HTTP/1.1\r\n{head}{text}")
