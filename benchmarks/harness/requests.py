"""What a request of each operation looks like on the wire, and what the floor reads from it."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from msgspec import Struct
from uuid_utils.compat import uuid7

ACCOUNT = "/api/v2/integration/account"
TOKEN = "/api/v2/oauth/token"  # noqa: S105 - a path
TOKEN_CHARS = 160
"""Of a refresh token of the floor."""
LINKS = "/api/v2/integration/payment-links"
CAPTURE = "/api/v2/integration/test/transactions/"
PAYMENT, LINK, API_KEY, MERCHANT = 3, 2, 4, 1
"""What an id is of: its first eight digits."""
GRANT_CHARS, GENERATION_CHARS = 32, 8


class Wire(Struct, frozen=True):
    """`before + item + after` is one request. All items of an operation are of one length."""

    before: str
    after: str = ""

    def of(self, item: str) -> str:
        """The request of an item."""
        return f"{self.before}{item}{self.after}"


def numbered(what: int, number: int) -> UUID:
    """The id of this number."""
    return UUID(f"{what:08x}-0000-7000-8000-{number:012x}")


def same_number(what: int, other: UUID) -> UUID:
    """The id of something else with the number of this one."""
    return UUID(f"{what:08x}{str(other)[8:]}")


def digest(text: str | bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).digest()


def operation_of(method: str, path: str, headers: "Headers", body: bytes) -> str:
    """Which operation a request is of."""
    if path == TOKEN:
        return "refresh" if b"grant_type=refresh_token" in body else "exchange"
    if path.startswith(CAPTURE):
        return "capture"
    if method == "GET" and path == ACCOUNT:
        return "account" if b"authorization" in headers else "key"
    return "link" if path == LINKS else ""


Headers = Mapping[bytes, bytes]
Reader = Callable[[Headers, str, bytes, Mapping[str, UUID]], dict[str, Any]]


def read_account(headers: Headers, _path: str, _body: bytes, _merchants: Mapping[str, UUID]) -> dict[str, Any]:
    """The digest of the token."""
    return {"token_hash": digest(headers[b"authorization"][7:])}


def read_refresh(_headers: Headers, _path: str, body: bytes, _merchants: Mapping[str, UUID]) -> dict[str, Any]:
    """The grant and its next tokens."""
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    token = form["refresh_token"]
    place = token.index("_") + 1
    grant, generation = token[place : place + GRANT_CHARS], token[place + GRANT_CHARS :][:GENERATION_CHARS]
    number = int(generation, 16)
    following = refresh_token(grant, number + 1, len(token))
    facts = {
        "grant_id": UUID(grant), "generation": number, "next_generation": number + 1, "refresh_hash": digest(token),
        "secret_hash": digest(form["client_secret"]),
    }  # fmt: skip
    return facts | _issued(following, form["client_id"])


def read_exchange(_headers: Headers, _path: str, body: bytes, _merchants: Mapping[str, UUID]) -> dict[str, Any]:
    """The code, its challenge, and the new grant with its tokens."""
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    grant = uuid7()
    facts = {"grant_id": grant, "code_hash": digest(form["code"]), "challenge": digest(form["code_verifier"])}
    return (
        facts
        | {"secret_hash": digest(form["client_secret"])}
        | _issued(refresh_token(grant.hex, 0, TOKEN_CHARS), form["client_id"])
    )


def read_key(headers: Headers, _path: str, _body: bytes, _merchants: Mapping[str, UUID]) -> dict[str, Any]:
    """The digest of the key."""
    return {"api_key_hash": digest(headers[b"x-api-key"])}


def read_link(headers: Headers, _path: str, body: bytes, merchants: Mapping[str, UUID]) -> dict[str, Any]:
    """Who calls, with which key."""
    del body
    return _caller(headers, merchants) | {"key_hash": digest(headers[b"idempotency-key"])}


def read_capture(headers: Headers, path: str, _body: bytes, merchants: Mapping[str, UUID]) -> dict[str, Any]:
    """Who calls, and the payment."""
    name = path.removeprefix(CAPTURE).partition("/")[0]
    payment = UUID(name)
    return _caller(headers, merchants) | {"payment_id": payment, "link_id": same_number(LINK, payment)}


def _caller(headers: Headers, merchants: Mapping[str, UUID]) -> dict[str, Any]:
    key = headers[b"x-api-key"]
    merchant = merchants[key.decode()]
    return {"api_key_hash": digest(key), "merchant_id": merchant, "api_key_id": same_number(API_KEY, merchant)}


def _issued(refresh: str, client_id: str) -> dict[str, Any]:
    access = f"that_{secrets.token_hex(24)}"
    return {
        "client_id": client_id, "access_token": access, "access_hash": digest(access),
        "next_refresh_token": refresh, "next_refresh_hash": digest(refresh),
    }  # fmt: skip


def refresh_token(grant: str, generation: int, length: int) -> str:
    """A refresh token of the floor: grant and generation in hex, then random digits."""
    start = f"thrt_{grant}{generation:0{GENERATION_CHARS}x}"
    return f"{start}{secrets.token_hex(length)}"[:length]


READERS: dict[str, Reader] = {
    "account": read_account,
    "key": read_key,
    "refresh": read_refresh,
    "exchange": read_exchange,
    "link": read_link,
    "capture": read_capture,
}
