"""The four tools, their arguments and what each of them does with the Integration API."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.request import Request
from tollhouse.instance.mcp import results
from tollhouse.instance.mcp.calls import CallResponse, call
from tollhouse.instance.mcp.table import PROPOSALS, PROPOSED, WITHHELD_MEMBERS, OperationTable, ToolOperation
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX, MCP_RESULT_BYTES_MAX, MCP_ROWS_DEFAULT

Json = dict[str, Any]
ERROR, SERVER_ERROR = 400, 500
FOUND_AT_ONCE = 5
OFFSET = re.compile(r"rows:(\d{1,6})")
"""A cursor of the list of operations."""
IN_ERRORS = frozenset({"request_id", "doc_url"})
NAME = "Name of an operation, as find_operation returns it."
KEY = "A new random text for each action, such as a UUID. Repeat it only to repeat the very same action after a failure."
INSTRUCTIONS = f"""\
Tollhouse is a payment platform for merchants. You act for one merchant, in one environment (live or test), with the
permissions that the merchant gave to this connection. Start with find_operation; then call what it names by the tool that it
names. Amounts are decimal strings in major units. {results.NOTE} If an action is refused with
proposal_required, use propose: a person decides about it. Never invent IDs."""


class Context(Struct, frozen=True):
    """For whom a tool runs."""

    request: Request
    caller: Caller


class ToolError(Exception):
    """A tool cannot do what its arguments say."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class RefusedError(Exception):
    """The API refused a call. `shown` is the result of the tool."""

    def __init__(self, answer: CallResponse) -> None:
        body = answer.body
        self.answer = answer
        self.shown = {"status": answer.status, **{name: item for name, item in body.items() if name not in IN_ERRORS}}
        if "retry-after" in answer.headers:
            self.shown["retry_after_s"] = answer.headers["retry-after"]
        super().__init__(str(self.shown.get("error")))


class FindArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `find_operation`."""

    words: Annotated[str, Meta(max_length=200, description="Words such as: list payments, refund. Empty: all.")] = ""
    cursor: Annotated[str, Meta(max_length=20, description="`next` of the previous result.")] = ""


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `read`."""

    operation: Annotated[str, Meta(max_length=100, description=NAME)]
    parameters: Annotated[dict[str, Any], Meta(description="Parameters of its path and query, by name.")] = {}
    cursor: Annotated[str, Meta(max_length=500, description="`next` of the previous result.")] = ""


class ProposeArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `propose`."""

    operation: Annotated[
        Literal["withdrawals", "refunds", "balance_payments", "conversions", "fulfillments"],
        Meta(description="What to propose."),
    ]
    body: Annotated[
        dict[str, Any],
        Meta(description="The body of the operation that creates it; for refunds with `transaction_id`."),
    ]
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=IDEMPOTENCY_KEY_CHARS_MAX, description=KEY)]


class ActArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of `act`."""

    operation: Annotated[str, Meta(max_length=100, description=NAME)]
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=IDEMPOTENCY_KEY_CHARS_MAX, description=KEY)]
    parameters: Annotated[dict[str, Any], Meta(description="Parameters of its path, by name.")] = {}
    body: Annotated[dict[str, Any] | None, Meta(description="The body of the operation.")] = None


async def find_operation(context: Context, arguments: FindArguments) -> Json:
    """The operations that the words describe, a few at a time."""
    found = (await _table(context.request)).search(arguments.words)
    start = _offset(arguments.cursor)
    shown = [_shown(operation, context.caller) for operation in found[start : start + FOUND_AT_ONCE]]
    is_last = start + FOUND_AT_ONCE >= len(found)
    return {"operations": shown, "next": None if is_last else f"rows:{start + FOUND_AT_ONCE}"}


async def read(context: Context, arguments: ReadArguments) -> Json:
    """The data of a GET. Lists come in pages."""
    operation, path = await _find(context, "GET", arguments.operation, arguments.parameters)
    query = {name: value for name, value in arguments.parameters.items() if name not in operation.in_path}
    if operation.is_paged:
        query = {"limit": MCP_ROWS_DEFAULT} | query | ({"cursor": arguments.cursor} if arguments.cursor else {})
    answer = await _call(context, "GET", path, query=query)
    body = answer.body
    after = body.pop("next_cursor", None)
    if operation.is_paged and len(answer.raw) > MCP_RESULT_BYTES_MAX:
        raise ToolError("result_too_large", "The rows are too large for one result. Send a smaller `limit`.")
    return _result(context, answer, body) | {"next": after}


async def propose(context: Context, arguments: ProposeArguments) -> Json:
    """A proposal, about which the merchant decides."""
    _require_no_webhooks(arguments.body)
    sent = {"operation": arguments.operation, "body": arguments.body}
    answer = await _call(context, "POST", PROPOSALS, body=sent, idempotency_key=arguments.idempotency_key)
    return _result(context, answer, answer.body)


async def act(context: Context, arguments: ActArguments) -> Json:
    """The result of an operation that changes something."""
    operation, path = await _find(context, "", arguments.operation, arguments.parameters)
    unknown = arguments.parameters.keys() - set(operation.in_path)
    if unknown:
        raise ToolError("invalid_arguments", "`parameters` has values that are not in the path of this operation.")
    _require_no_webhooks(arguments.body)
    body = arguments.body if operation.body is None or arguments.body is not None else {}
    answer = await _call(context, operation.method, path, body=body, idempotency_key=arguments.idempotency_key)
    return _result(context, answer, answer.body)


class Tool(Struct, frozen=True):
    """A tool: what a model reads about it, the type of its arguments, and what it does."""

    title: str
    description: str
    arguments: type[Struct]
    run: Callable[[Context, Any], Awaitable[Json]]
    only_reads: bool = False

    @property
    def schema(self) -> Json:
        """The JSON Schema of the arguments."""
        _, components = msgspec.json.schema_components((self.arguments,))
        shown = components[self.arguments.__name__]
        return {name: shown[name] for name in ("type", "properties", "required", "additionalProperties") if name in shown}


TOOLS: Mapping[str, Tool] = {
    "find_operation": Tool(
        "Find an operation",
        "Search the operations by words. Returns name, scopes, the tool that calls it, and the schema of its arguments. "
        "`allowed` says whether this connection has the permission.",
        FindArguments,
        find_operation,
        only_reads=True,
    ),
    "read": Tool(
        "Read data",
        f"Call an operation that reads. If `next` is not null, there are more rows: send it as `cursor`. {results.NOTE}",
        ReadArguments,
        read,
        only_reads=True,
    ),
    "propose": Tool(
        "Propose a payment",
        "Propose a withdrawal, refund, balance payment, conversion or fulfillment. Nothing happens until a person at the "
        "merchant approves it in the dashboard. Read the proposal later to see its status.",
        ProposeArguments,
        propose,
    ),
    "act": Tool(
        "Change something",
        "Call an operation that changes something. It takes effect at once, and may move money.",
        ActArguments,
        act,
    ),
}
_tables: dict[str, OperationTable] = {}


async def _table(request: Request) -> OperationTable:
    """The operations, read from the API reference once in a process."""
    base_url = request.services.settings.base_url
    if base_url not in _tables:
        document = await call(request, "GET", "/openapi.json")
        _tables[base_url] = await asyncio.to_thread(lambda: OperationTable(document.body))
    return _tables[base_url]


def _shown(operation: ToolOperation, caller: Caller) -> Json:
    return {
        "name": operation.name,
        "tool": operation.tool,
        "proposal": PROPOSED.get(operation.name),
        "method": operation.method,
        "path": operation.path,
        "scopes": list(operation.scopes),
        "allowed": not operation.scopes or any(scope in caller.scopes for scope in operation.scopes),
        "summary": operation.summary,
        "input_schema": operation.input_schema,
    }


async def _find(context: Context, method: str, name: str, parameters: Mapping[str, Any]) -> tuple[ToolOperation, str]:
    """The operation and the path of a call. Raises `ToolError`."""
    table = await _table(context.request)
    operation = table.get(name)
    if operation is None or (operation.method == "GET") != (method == "GET"):
        kind = "reads" if method == "GET" else "changes something"
        raise ToolError("unknown_operation", f"No operation of this name {kind}. Use find_operation.")
    path = table.path(operation, parameters)
    if path is None:
        names = ", ".join(operation.in_path)
        raise ToolError("not_found", f"`parameters` needs an ID for each of: {names}.")
    return operation, path


def _require_no_webhooks(value: Any) -> None:
    """Raises `ToolError` if a body says where events are sent."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            _require_no_webhooks(item)
    elif isinstance(value, dict):
        members = cast("Json", value)
        if not WITHHELD_MEMBERS.isdisjoint(members):
            raise ToolError("invalid_arguments", "`webhook_url` cannot be set here. The merchant chooses where events go.")
        for item in members.values():
            _require_no_webhooks(item)


async def _call(context: Context, method: str, path: str, **sent: Any) -> CallResponse:
    context.request.has_calls = True
    answer = await call(context.request, method, path, **sent)
    if answer.status >= ERROR:
        raise RefusedError(answer)
    return answer


def _offset(cursor: str) -> int:
    if not cursor:
        return 0
    found = OFFSET.fullmatch(cursor)
    if found is None:
        raise ToolError("invalid_arguments", "`cursor` must be `next` of the previous result.")
    return int(found[1])


def _result(context: Context, answer: CallResponse, body: Json) -> Json:
    shown = results.bounded(results.marked(body, context.request.services.settings.base_url))
    note = {"note": results.NOTE} if results.has_marks(shown) else {}
    replayed = {"replayed": True} if answer.headers.get("idempotency-replayed") else {}
    return {"status": answer.status, **replayed, **note, "data": shown}
