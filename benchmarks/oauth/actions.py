"""What is measured: three actions, and how each is asked of a server."""

from typing import Literal

from msgspec import Struct

from benchmarks.oauth.seed import CALLBACK, CLIENT, CLIENT_SECRET, VERIFIER, Side

Action = Literal["account", "refresh", "exchange"]
ACTIONS: tuple[Action, ...] = ("account", "refresh", "exchange")
CONNECTIONS = 32
KEEP_ALIVE = "Host: 127.0.0.1\r\nUser-Agent: load\r\nAccept: */*\r\n"


class Job(Struct, frozen=True):
    """What the load generator is to do: `before + item + after` is one request.

    `renews`: the answer holds the item that follows this one. `once`: an item is good for one request.
    """

    port: int
    seconds: float
    connections: int
    before: str
    after: str
    items: list[str]
    renews: bool = False
    once: bool = False


class Load(Struct, frozen=True):
    """What the load generator saw. `seconds` is from the first request to the last answer."""

    seconds: float
    latencies_us: list[int]
    failed: int
    failure: str
    items: list[str]


def job(action: Action, side: Side, port: int, seconds: float) -> Job:
    """This action on this side, for the server on this port."""
    match action:
        case "account":
            before = f"GET /api/v2/integration/account HTTP/1.1\r\n{KEEP_ALIVE}Authorization: Bearer "
            return Job(port, seconds, CONNECTIONS, before, "\r\n\r\n", side.access_tokens)
        case "refresh":
            form = f"grant_type=refresh_token&{_client()}&refresh_token="
            return _post(port, seconds, form, side.refresh_tokens, renews=True)
        case "exchange":
            form = f"grant_type=authorization_code&{_client()}&redirect_uri={CALLBACK}&code_verifier={VERIFIER}&code="
            return _post(port, seconds, form, side.codes, once=True)


def _client() -> str:
    return f"client_id={CLIENT}&client_secret={CLIENT_SECRET}"


def _post(port: int, seconds: float, form: str, items: list[str], *, renews: bool = False, once: bool = False) -> Job:
    """A form whose last value is the item. Items are of one length, so the head is always the same."""
    before = (
        f"POST /api/v2/oauth/token HTTP/1.1\r\n{KEEP_ALIVE}Content-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(form) + len(items[0])}\r\n\r\n{form}"
    )
    return Job(port, seconds, CONNECTIONS, before, "", items, renews, once)
