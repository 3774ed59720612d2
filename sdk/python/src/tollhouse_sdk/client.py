"""The clients of the Integration API: `Tollhouse`, and `AsyncTollhouse` for asyncio."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, TypeVar

from tollhouse_sdk.auth import ApiKey, Auth
from tollhouse_sdk.errors import ApiError
from tollhouse_sdk.generated.async_operations import AsyncOperations
from tollhouse_sdk.generated.operations import Operations
from tollhouse_sdk.intents import Intent, IntentStore
from tollhouse_sdk.paths import base_url as checked_url
from tollhouse_sdk.requests import Requests
from tollhouse_sdk.retries import Retries
from tollhouse_sdk.steps import Flow
from tollhouse_sdk.transports import AsyncClosing, AsyncTransport, Closing, Transport

T = TypeVar("T")
RETRIES = Retries()
PAGE_MAX = 100


class Tollhouse(Closing, Operations):
    """The Integration API of a merchant in one mode. `auth` is an API key, or `OAuth` for a connection.

    One client can be shared by several threads. Use it in `with`, or call `close()`.
    """

    def __init__(
        self,
        base_url: str,
        auth: str | Auth,
        *,
        retries: Retries = RETRIES,
        intents: IntentStore | None = None,
        transport: Transport | None = None,
        allow_http: bool = False,
    ) -> None:
        super().__init__(transport)
        self.requests = Requests(checked_url(base_url, allow_http=allow_http), _auth(auth), retries, intents)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Any request; the path is relative to `/api/v2/integration`. A POST without a key is sent once only."""
        flow = self.requests.result(method, path, query, body, idempotency_key, timeout_s=timeout_s)
        return self.complete(flow)

    def complete(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        return self._transport.complete(flow)

    def resume(self) -> Iterator[tuple[Intent, Any]]:
        """Send again what ended processes had begun, with the same keys; yields the result of each, or its `ApiError`."""
        for intent in self._transport.complete(self.requests.waiting()):
            try:
                result = self._send(intent.method, intent.path, {}, intent.body, intent.key, keyed=True)
            except ApiError as error:
                result = error
            yield intent, result

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        key: str | None,
        *,
        keyed: bool,
    ) -> Any:
        return self._transport.complete(self.requests.result(method, path, query, body, key, keyed=keyed))

    def _pages(self, path: str, query: Mapping[str, Any], name: str) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._send("GET", path, _page_query(query, cursor), None, None, keyed=False)
            yield from page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return


class AsyncTollhouse(AsyncClosing, AsyncOperations):
    """The Integration API of a merchant in one mode, for asyncio. `auth` is an API key, or `OAuth` for a connection."""

    def __init__(
        self,
        base_url: str,
        auth: str | Auth,
        *,
        retries: Retries = RETRIES,
        intents: IntentStore | None = None,
        transport: AsyncTransport | None = None,
        allow_http: bool = False,
    ) -> None:
        super().__init__(transport)
        self.requests = Requests(checked_url(base_url, allow_http=allow_http), _auth(auth), retries, intents)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Any request; the path is relative to `/api/v2/integration`. A POST without a key is sent once only."""
        flow = self.requests.result(method, path, query, body, idempotency_key, timeout_s=timeout_s)
        return await self.complete(flow)

    async def complete(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        return await self._transport.complete(flow)

    async def resume(self) -> AsyncIterator[tuple[Intent, Any]]:
        """Send again what ended processes had begun, with the same keys; yields the result of each, or its `ApiError`."""
        for intent in await self._transport.complete(self.requests.waiting()):
            try:
                result = await self._send(intent.method, intent.path, {}, intent.body, intent.key, keyed=True)
            except ApiError as error:
                result = error
            yield intent, result

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        key: str | None,
        *,
        keyed: bool,
    ) -> Any:
        return await self._transport.complete(self.requests.result(method, path, query, body, key, keyed=keyed))

    async def _pages(self, path: str, query: Mapping[str, Any], name: str) -> AsyncIterator[Any]:
        cursor = None
        while True:
            page = await self._send("GET", path, _page_query(query, cursor), None, None, keyed=False)
            for item in page[name]:
                yield item
            cursor = page["next_cursor"]
            if cursor is None:
                return


def _auth(auth: str | Auth) -> Auth:
    return ApiKey(auth) if isinstance(auth, str) else auth


def _page_query(query: Mapping[str, Any], cursor: str | None) -> dict[str, Any]:
    return {**query, "limit": query.get("limit") or PAGE_MAX, "cursor": cursor}
