"""The operator's account at the provider, and requests to its API.

A request that writes has an `Idempotency-Key`, so that it can be repeated: the provider carries it out once and repeats its
first response. A response of 4xx is definite. Without one, and after 5xx, 409 or 429, nobody knows what happened.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

from msgspec import Struct

from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.rails.provider import RailUnavailableError
from tollhouse.platform.log.events import log
from tollhouse.rails.cards.settings import STRIPE_API_URL, StripeSettings
from tollhouse.rails.cards.stripe.objects import StripeErrorBody, StripeErrorObject
from tollhouse.rails.json_rpc import read_bounded
from tollhouse.rails.settings import secret

if TYPE_CHECKING:
    import aiohttp


API_VERSION = "2024-06-20"
"""The version of the API whose names and values `objects` has. The provider answers in it, whatever its newest one is."""
TIMEOUT_S, CONNECT_TIMEOUT_S = 8, 4
TRIES, RETRY_AFTER_MS = 2, 300
BODY_BYTES_MAX = 1024 * 1024
UNDECIDED = frozenset({401, 403, 408, 409, 429})
"""Statuses of errors that concern the request or the key, not the object."""
T = TypeVar("T")


class StripeAccount(Struct, frozen=True, kw_only=True):
    """Where the API is, and the secrets, of which `repr` shows none. See `StripeSettings`."""

    rail: str
    secret_key: str
    webhook_secrets: tuple[bytes, ...]
    api_url: str = STRIPE_API_URL
    statement_suffix: str | None = None
    takes_test_payments: bool = False

    def __repr__(self) -> str:
        return f"StripeAccount({self.rail!r}, {self.api_url!r})"


def read_account(rail: str, settings: StripeSettings) -> StripeAccount:
    """The account that these settings describe. Raises `ValueError` if a file has gone since they were verified."""
    return StripeAccount(
        rail=rail,
        secret_key=secret(None, settings.secret_key_file) or "",
        webhook_secrets=tuple((secret(None, file) or "").encode() for file in settings.webhook_secret_files),
        api_url=settings.api_url,
        statement_suffix=settings.statement_suffix,
        takes_test_payments=settings.takes_test_payments,
    )


class StripeError(Exception):
    """An error that is definite, by its HTTP status and code. The message is not kept, since it may quote what was sent."""

    def __init__(self, status: int, error: StripeErrorObject) -> None:
        super().__init__(f"{status} {error.code or error.type}".strip())


class StripeClient:
    """The API of one account."""

    def __init__(self, account: StripeAccount) -> None:
        self._account = account

    async def get(self, path: str, kind: type[T], **query: str) -> T:
        """Read an object. Raises `StripeError`, and `RailUnavailableError` if there is no definite response."""
        return await self._request("GET", f"{path}?{_encode(query)}" if query else path, kind, None, {})

    async def post(self, path: str, kind: type[T], form: Mapping[str, str], idempotency_key: str) -> T:
        """Write, once per key. Raises as `get`; after `RailUnavailableError` the write may have happened."""
        headers = {"Idempotency-Key": idempotency_key, "Content-Type": "application/x-www-form-urlencoded"}
        return await self._request("POST", path, kind, _encode(form).encode(), headers)

    async def _request(self, method: str, path: str, kind: type[T], body: bytes | None, headers: Mapping[str, str]) -> T:
        status, raw = await self._response(method, path, body, headers)
        if status >= 300:  # noqa: PLR2004 - redirects are not followed
            error = _error(raw)
            if error.type == "idempotency_error":  # an earlier request with this key said something else
                raise RailUnavailableError(error.type)
            raise StripeError(status, error)
        try:
            return foreign_json.decode(raw, kind)
        except ForeignJsonError as error:
            log.error("provider_response_invalid", part=self._account.rail, detail=str(error))
            raise RailUnavailableError("invalid response") from None

    async def _response(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The first definite response. Raises `RailUnavailableError` after the last try."""
        import aiohttp  # noqa: PLC0415 - only installations with a card provider need it

        reason = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(RETRY_AFTER_MS / 1000)
            try:
                async with (
                    self._open() as session,
                    session.request(
                        method, self._account.api_url + path, data=body, headers=headers, allow_redirects=False
                    ) as response,
                ):
                    status, raw = response.status, await read_bounded(response, BODY_BYTES_MAX)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                reason = type(error).__name__
                continue
            if raw is None:
                raise RailUnavailableError("response too large")
            if status < 500 and status not in UNDECIDED:  # noqa: PLR2004 - what 5xx means
                return status, raw
            reason = f"http_{status}"
        log.warning("provider_unavailable", part=self._account.rail, reason=reason)
        raise RailUnavailableError(reason)

    def _open(self) -> "aiohttp.ClientSession":
        """A session for one request: requests are rare, and a kept connection would belong to one event loop."""
        import aiohttp  # noqa: PLC0415 - as above

        headers = {"Authorization": f"Bearer {self._account.secret_key}", "Stripe-Version": API_VERSION}
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
        return aiohttp.ClientSession(headers=headers, timeout=timeout)


def _encode(form: Mapping[str, str]) -> str:
    """The encoded form. A name that ends with `[]` has several values, separated by spaces."""
    pairs = [(name, part) for name, value in form.items() for part in (value.split() if name.endswith("[]") else (value,))]
    return urlencode(pairs)


def _error(raw: bytes) -> StripeErrorObject:
    try:
        return foreign_json.decode(raw, StripeErrorBody).error
    except ForeignJsonError:
        return StripeErrorObject()
