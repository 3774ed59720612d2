"""From an admitted request to the handler's response: decoding, transaction and Idempotency-Key."""

import hashlib
from datetime import datetime
from typing import Any, Protocol, cast
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.bodies import ValidationContext, decode_body, decode_query
from tollhouse.http.json_text import parse_json
from tollhouse.http.lists import page_request_of
from tollhouse.http.operations import Operation, ReauthenticatingGuard
from tollhouse.http.request import Request
from tollhouse.http.responses import ENCODER, JsonResponse
from tollhouse.http.services import Work
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX
from tollhouse.platform.database.pool import Tx

CANONICAL = msgspec.json.Encoder(order="deterministic")


class StoredResponse(Struct, frozen=True):
    """The stored response of an earlier request with the same key, byte for byte."""

    status: int
    body: bytes


class IdempotencyStore(Protocol):
    """Stores the responses of requests with an Idempotency-Key."""

    async def claim(self, tx: Tx, caller: Any, key: str, fingerprint: bytes, now: datetime) -> StoredResponse | None:
        """Claim the key, or return the response of its first request. Raises an error for another fingerprint."""
        ...

    async def store_response(
        self, tx: Tx, caller: Any, key: str, fingerprint: bytes, stored: StoredResponse, now: datetime
    ) -> None:
        """Store the response under the claimed key."""
        ...


class IdempotencyKeyRequired(ApiError):
    """400: the operation moves money or resends events and requires a key."""

    code, message = "idempotency_key_required", "The Idempotency-Key header is required."
    solution = "Send an `Idempotency-Key`, a new one for each action, such as a UUID."


class IdempotencyKeyInvalid(ApiError):
    """400: an empty, repeated, overlong or non-ASCII key."""

    code, message = "idempotency_key_invalid", "Idempotency-Key must be 1 to 255 visible ASCII characters, sent once."
    solution = "Send one `Idempotency-Key` of 1 to 255 visible ASCII characters, such as a UUID."


class Dispatcher:
    """Executes an operation, with errors in the documented order.

    Guard, key syntax, JSON, recent authentication, key look-up, validation, action.
    """

    def __init__(self, idempotency: IdempotencyStore) -> None:
        self._idempotency = idempotency

    async def response(self, request: Request, operation: Operation) -> Any:
        """The result of the handler, or the stored response of its first call. Raises `ApiError`."""
        caller = await operation.guard.admit(request)
        response = await self._answer(request, operation, caller)
        if not isinstance(response, ApiError):
            await operation.guard.record_use(request, caller)
        return response

    async def _answer(self, request: Request, operation: Operation, caller: Any) -> Any:
        key = _key(request) if operation.idempotency != "no" else None
        if key is None and operation.idempotency == "required":
            raise IdempotencyKeyRequired
        parsed = _parsed(request, operation)
        caller = await _recent(request, operation, caller, parsed)
        supply = {
            "caller": caller,
            "db": request.services.db,
            "now": request.now,
            "catalogue": request.services.catalogue,
            "services": request.services,
            "request": request,
        }
        if operation.query is not None:
            context = _context(request, caller)
            supply["query"] = decode_query(request.query, operation.query, context)
            if "page" in operation.needs:
                supply["page"] = page_request_of(supply["query"], context)
        if key is None and not operation.in_transaction:
            return await _call(operation, supply, parsed)

        async def action(work: Work) -> Any:
            supplied = {**supply, "work": work, "tx": work.tx}
            if key is None:
                return await _call(operation, supplied, parsed)
            return await self._with_idempotency_key(work.tx, request, operation, key=key, parsed=parsed, supply=supplied)

        return await request.transact(action)

    async def _with_idempotency_key(
        self, tx: Tx, request: Request, operation: Operation, *, key: str, parsed: Any, supply: dict[str, Any]
    ) -> Any:
        fingerprint = hashlib.sha256(CANONICAL.encode([request.method, request.path, parsed])).digest()
        stored = await self._idempotency.claim(tx, supply["caller"], key, fingerprint, request.now)
        if stored is not None:
            return JsonResponse(stored.body, stored.status, {"Idempotency-Replayed": "true"})
        response = await _call(operation, supply, parsed)
        if isinstance(response, ApiError):
            raise TypeError("an operation with a key raises its errors, so that the key is released")
        body = ENCODER.encode(response)
        stored = StoredResponse(operation.status, body)
        await self._idempotency.store_response(tx, supply["caller"], key, fingerprint, stored, request.now)
        return JsonResponse(body, operation.status)


async def _recent(request: Request, operation: Operation, caller: Any, parsed: Any) -> Any:
    """The caller, with recent authentication if the operation requires it."""
    when = operation.recent_authentication
    if when in {"no", "by_content"} or (when == "live" and _mode(request, parsed) != "live"):
        return caller
    if not isinstance(operation.guard, ReauthenticatingGuard):
        raise TypeError("such an operation is not declared")
    return await operation.guard.reauthenticate(request, caller)


def _mode(request: Request, parsed: Any) -> object:
    """The mode of the path or of the body. Validation rejects other values than live and test."""
    return request.params.get("mode") or (
        cast("dict[str, object]", parsed).get("mode") if isinstance(parsed, dict) else None
    )


async def _call(operation: Operation, supply: dict[str, Any], parsed: Any) -> Any:
    request: Request = supply["request"]
    if operation.accepts is not None:
        # If an object is looked up, the rules of the body are checked before: 422 comes before 404.
        supply["body"] = decode_body(
            parsed, operation.accepts, _context(request, supply["caller"]), always_check_rules=bool(request.params)
        )
    supply |= _path_values(request, operation)
    if "env" in operation.needs:
        supply["env"] = supply["caller"].env(request.params["mode"])
    return await operation.handler(**{name: supply[name] for name in operation.needs})


def _context(request: Request, caller: Any) -> ValidationContext:
    return ValidationContext(caller, request.path, request.services.settings, request.services.catalogue, request.now)


def _parsed(request: Request, operation: Operation) -> Any:
    """The parsed body; no body is an empty object if nothing in it is required. None: the operation has no body."""
    if operation.accepts is None:
        return None
    request.require_json()
    return {} if not request.raw and operation.body_optional else parse_json(request.raw)


def _path_values(request: Request, operation: Operation) -> dict[str, UUID | str]:
    values: dict[str, UUID | str] = dict(request.params)
    for name in operation.uuids:
        found = parse_id(request.params[name])
        if found is None:
            raise NotFound
        values[name] = found
    return values


def _key(request: Request) -> str | None:
    sent = request.headers.getlist("idempotency-key")
    if not sent:
        return None
    key = sent[0]
    if len(sent) > 1 or not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX or not all("!" <= char <= "~" for char in key):
        raise IdempotencyKeyInvalid
    return key
