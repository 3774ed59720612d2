"""A JSON-RPC client of an EVM node, and the types of its answers.

The node is configured by the operator, so private addresses are allowed. Its answers are not trusted: they are bounded in
size, matched to their requests by id, and decoded into types. A node may be several machines behind one name, which
disagree about the newest blocks.
"""

from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
ANSWER_BYTES_MAX = 32 * 1024 * 1024
BATCH_CALLS_MAX = 100
CONNECT_WITHIN_S = 5
ANSWER_WITHIN_S = 20
CONNECTIONS_MAX = 4
MESSAGE_CHARS_MAX = 200
OK = 200

Quantity = Annotated[str, Meta(pattern="^0x[0-9a-f]{1,64}$")]
"""A number in hexadecimal, as nodes write it."""
QUANTITY: type[str] = cast("Any", Quantity)
Hash = Annotated[str, Meta(pattern="^0x[0-9a-f]{64}$")]
HexData = Annotated[str, Meta(pattern="^0x([0-9a-fA-F]{2})*$")]
HEX_DATA: type[str] = cast("Any", HexData)
HexAddress = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]


class NodeError(Exception):
    """The node could not be asked, or its answer is of no use. Nothing is known; the same call may succeed later."""


class NodeUnreachableError(NodeError):
    """No answer in time: no connection, a timeout, or an HTTP status other than 200."""


class NodeAnswerError(NodeError):
    """The answer is too large, not JSON-RPC, of another type, or belongs to another request."""


class NodeCallError(NodeError):
    """The node refuses the call. `code` and `message` are its own; `data` is, for example, the reason of a revert."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class RpcCall(Struct, frozen=True):
    """A method of the node with its parameters."""

    method: str
    params: tuple[Any, ...] = ()


class RpcError(Struct, frozen=True):
    """The error of an answer."""

    code: int
    message: str
    data: Any = None


class RpcAnswer(Struct, frozen=True):
    """The answer to one call. Nodes that cannot read a request answer without its id."""

    id: int | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: RpcError | None = None


class EvmNode:
    """A node at a URL, which may contain a user and a password. Use as an asynchronous context manager."""

    def __init__(self, url: str, answer_within_s: int = ANSWER_WITHIN_S) -> None:
        self._url = url
        self._answer_within_s = answer_within_s
        self._ids = count(1)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def call(self, answer: type[T], method: str, *params: Any) -> T:
        """The result of a call. Raises `NodeError`, for a result that is null, too."""
        result = await self.find(answer, method, *params)
        if result is None:
            raise NodeAnswerError(f"{method} returned nothing")
        return result

    async def find(self, answer: type[T], method: str, *params: Any) -> T | None:
        """The result of a call; None if it is null, which nodes answer about what they do not know. Raises `NodeError`."""
        request = _request(next(self._ids), RpcCall(method, params))
        found = _decoded(await self._post(msgspec.json.encode(request)), RpcAnswer)
        if found.error is None and found.id != request["id"]:
            raise NodeAnswerError("the answer belongs to another request")
        return _result(found, answer)

    async def quantity(self, method: str, *params: Any) -> int:
        """The number that a call returns. Raises `NodeError`."""
        return number_of(await self.call(QUANTITY, method, *params))

    async def batch(self, answer: type[T], calls: Sequence[RpcCall]) -> list[T | None]:
        """The results of calls that return the same type, in order; null as None. Raises `NodeError` if any fails."""
        results: list[T | None] = []
        for outcome in await self.outcomes(answer, calls):
            if isinstance(outcome, NodeCallError):
                raise outcome
            results.append(outcome)
        return results

    async def outcomes(self, answer: type[T], calls: Sequence[RpcCall]) -> list[T | NodeCallError | None]:
        """As `batch`, with the error of a call that the node refuses in its place."""
        results: list[T | NodeCallError | None] = []
        for start in range(0, len(calls), BATCH_CALLS_MAX):
            results.extend(await self._batch(answer, calls[start : start + BATCH_CALLS_MAX]))
        return results

    async def _batch(self, answer: type[T], calls: Sequence[RpcCall]) -> list[T | NodeCallError | None]:
        requests = [_request(next(self._ids), call) for call in calls]
        raw = await self._post(msgspec.json.encode(requests))
        if not raw.lstrip().startswith(b"["):  # one error for all: the batch was not read
            _result(_decoded(raw, RpcAnswer), answer)
            raise NodeAnswerError("the answer to a batch is not a list")
        found = _decoded(raw, list[RpcAnswer])
        by_id = {one.id: one for one in found}
        if len(found) != len(requests) or by_id.keys() != {request["id"] for request in requests}:
            raise NodeAnswerError("the answers are not those of the batch")
        return [_outcome(by_id[request["id"]], answer) for request in requests]

    async def _post(self, body: bytes) -> bytes:
        import aiohttp  # noqa: PLC0415 - a quarter of a second, which processes without such a rail do not pay

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._answer_within_s, connect=CONNECT_WITHIN_S)
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX), timeout=timeout)
        headers = {"Content-Type": "application/json"}
        try:
            async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                raw = await _bounded(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # The error's own words may contain the URL with its password.
            raise NodeUnreachableError(f"no answer: {type(error).__name__}") from None
        if response.status != OK:
            raise NodeUnreachableError(f"HTTP status {response.status}")
        return raw


def number_of(quantity: str) -> int:
    """The number that a node wrote in hexadecimal."""
    return int(quantity, 16)


def _request(call_id: int, call: RpcCall) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "method": call.method, "params": call.params}


async def _bounded(response: "aiohttp.ClientResponse") -> bytes:
    parts = bytearray()
    async for part in response.content.iter_any():
        parts += part
        if len(parts) > ANSWER_BYTES_MAX:
            raise NodeAnswerError("the answer is too large")
    return bytes(parts)


def _result(found: RpcAnswer, answer: type[T]) -> T | None:
    outcome = _outcome(found, answer)
    if isinstance(outcome, NodeCallError):
        raise outcome
    return outcome


def _outcome(found: RpcAnswer, answer: type[T]) -> T | NodeCallError | None:
    if found.error is not None:
        return NodeCallError(found.error.code, found.error.message[:MESSAGE_CHARS_MAX], found.error.data)
    return None if bytes(found.result) == b"null" else _decoded(found.result, answer)


def _decoded(raw: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NodeAnswerError(f"unexpected answer: {str(error)[:MESSAGE_CHARS_MAX]}") from None
