"""A JSON-RPC client of a node that the operator configured, so private addresses are allowed.

Its responses are not trusted: they are bounded in size, matched to their requests by id, and decoded into types. A node may
be several machines behind one name, which disagree about the newest blocks.
"""

import secrets
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
from msgspec import Struct

from tollhouse.kernel import foreign_json
from tollhouse.kernel.foreign_json import ForeignJsonError

if TYPE_CHECKING:
    import aiohttp


T = TypeVar("T")
RESPONSE_BYTES_MAX = 32 * 1024 * 1024
BATCH_CALLS_MAX = 100
CONNECT_WITHIN_S = 5
RESPONSE_WITHIN_S = 20
CONNECTIONS_MAX = 4
MESSAGE_CHARS_MAX = 200
OK = 200
FIRST_ID_MAX = 2**48
"""Each client begins with a random id, so that no answer to a request of another one is taken for its own."""


async def read_bounded(response: "aiohttp.ClientResponse", bytes_max: int) -> bytes | None:
    """The body; None if it is larger, of which no more is read."""
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > bytes_max:
            return None
    return bytes(raw)


class NodeError(Exception):
    """The node could not be asked, or its response is of no use. Nothing is known; the same call may succeed later."""


class NodeUnreachableError(NodeError):
    """No response in time: no connection, a timeout, or an HTTP status other than 200."""


class NodeResponseError(NodeError):
    """The response is too large, not JSON-RPC, of another type, or belongs to another request."""


class NodeCallError(NodeError):
    """The node refuses the call. `code` and `message` are its own."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message


class RpcCall(Struct, frozen=True):
    """A method of the node with its parameters."""

    method: str
    params: tuple[Any, ...] = ()


class RpcError(Struct, frozen=True):
    """The error of a response."""

    code: int
    message: str


class RpcResponse(Struct, frozen=True):
    """The response to one call. Nodes that cannot read a request respond without its id."""

    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: RpcError | None = None


class JsonRpcNode:
    """A node at a URL, which may contain a user and a password. Use as an asynchronous context manager."""

    def __init__(self, url: str, response_within_s: int = RESPONSE_WITHIN_S) -> None:
        self._url = url
        self._response_within_s = response_within_s
        self._ids = count(secrets.randbelow(FIRST_ID_MAX))
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def call(self, kind: type[T], method: str, *params: Any) -> T:
        """The result of a call. Raises `NodeError`, for a result that is null, too."""
        result = await self.find(kind, method, *params)
        if result is None:
            raise NodeResponseError(f"{method} returned nothing")
        return result

    async def find(self, kind: type[T], method: str, *params: Any) -> T | None:
        """The result of a call; None if it is null, which nodes return for what they do not know. Raises `NodeError`."""
        request = _request(next(self._ids), RpcCall(method, params))
        found = _decoded(await self._post(msgspec.json.encode(request)), RpcResponse)
        if found.error is None and found.id != request["id"]:
            raise NodeResponseError("the response belongs to another request")
        return _result(found, kind)

    async def batch(self, kind: type[T], calls: Sequence[RpcCall]) -> list[T | None]:
        """The results of calls that return the same type, in order; null as None. Raises `NodeError` if any fails."""
        results: list[T | None] = []
        for outcome in await self.outcomes(kind, calls):
            if isinstance(outcome, NodeCallError):
                raise outcome
            results.append(outcome)
        return results

    async def outcomes(self, kind: type[T], calls: Sequence[RpcCall]) -> list[T | NodeCallError | None]:
        """The results of calls in order; null as None, and the error of a call that the node refuses in its place."""
        results: list[T | NodeCallError | None] = []
        for start in range(0, len(calls), BATCH_CALLS_MAX):
            results.extend(await self._batch(kind, calls[start : start + BATCH_CALLS_MAX]))
        return results

    async def _batch(self, kind: type[T], calls: Sequence[RpcCall]) -> list[T | NodeCallError | None]:
        requests = [_request(next(self._ids), call) for call in calls]
        raw = await self._post(msgspec.json.encode(requests))
        if not raw.lstrip().startswith(b"["):  # one error for all: the batch was not read
            _result(_decoded(raw, RpcResponse), kind)
            raise NodeResponseError("the response to a batch is not a list")
        found = _decoded(raw, list[RpcResponse])
        by_id = {response.id: response for response in found}
        if len(found) != len(requests) or by_id.keys() != {request["id"] for request in requests}:
            raise NodeResponseError("the responses are not those of the batch")
        return [_outcome(by_id[request["id"]], kind) for request in requests]

    async def _post(self, body: bytes) -> bytes:
        import aiohttp  # noqa: PLC0415 - a quarter of a second, which processes without such a rail do not pay

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._response_within_s, connect=CONNECT_WITHIN_S)
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX), timeout=timeout)
        headers = {"Content-Type": "application/json"}
        try:
            async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                raw = await read_bounded(response, RESPONSE_BYTES_MAX)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # The error's own words may contain the URL with its password.
            raise NodeUnreachableError(f"no response: {type(error).__name__}") from None
        if raw is None:
            raise NodeResponseError("the response is too large")
        if response.status != OK:
            raise NodeUnreachableError(f"HTTP status {response.status}")
        return raw


def _request(call_id: int, call: RpcCall) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "method": call.method, "params": call.params}


def _result(found: RpcResponse, kind: type[T]) -> T | None:
    outcome = _outcome(found, kind)
    if isinstance(outcome, NodeCallError):
        raise outcome
    return outcome


def _outcome(found: RpcResponse, kind: type[T]) -> T | NodeCallError | None:
    if found.error is not None:
        return NodeCallError(found.error.code, found.error.message[:MESSAGE_CHARS_MAX])
    return None if bytes(found.result) == b"null" else _decoded(found.result, kind)


def _decoded(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        return foreign_json.decode(raw, kind)
    except ForeignJsonError as error:
        raise NodeResponseError(f"unexpected response: {str(error)[:MESSAGE_CHARS_MAX]}") from None
