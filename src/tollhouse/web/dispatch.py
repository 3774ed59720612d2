"""From an admitted request to a handler's answer: decoding, the transaction, and the Idempotency-Key around both."""

import hashlib
from typing import Any, Protocol, cast
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX
from tollhouse.kernel.refusals import NotFound, Refusal
from tollhouse.platform.db import Tx
from tollhouse.web.answers import ENCODER, JsonResponse
from tollhouse.web.ask import Ask
from tollhouse.web.bodies import RequestFacts, shape, shape_query
from tollhouse.web.json_text import parse_json
from tollhouse.web.lists import part_of
from tollhouse.web.operations import Operation, ReauthenticatingGuard

CANONICAL = msgspec.json.Encoder(order="deterministic")


class Stored(Struct, frozen=True):
    """The answer that an earlier request with the same key got, byte for byte."""

    status: int
    body: bytes


class Keeper(Protocol):
    """Keeps the answers of requests that carry an Idempotency-Key."""

    async def claim(self, tx: Tx, caller: Any, key: str, fingerprint: bytes, ask: Ask) -> Stored | None:
        """Claim the key, or return what its first request was answered. Raises a refusal for another fingerprint."""
        ...

    async def keep(self, tx: Tx, caller: Any, key: str, stored: Stored) -> None:
        """Keep the answer under the claimed key."""
        ...


class IdempotencyKeyRequired(Refusal):
    """400: money moves or an event is sent again, and no key came with it."""

    code, message = "idempotency_key_required", "This needs an Idempotency-Key header."


class IdempotencyKeyInvalid(Refusal):
    """400: an empty, repeated, overlong or non-ASCII key."""

    code, message = "idempotency_key_invalid", "Idempotency-Key must be 1 to 255 visible ASCII characters, sent once."


class Answerer:
    """Answers an operation in the documented order.

    Guard, key syntax, JSON, recent authentication, key look-up, validation, action.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    async def answer(self, ask: Ask, operation: Operation) -> Any:
        """What the handler returned, or the stored answer of its first call. Raises refusals."""
        caller = await operation.guard.admit(ask)
        answer = await self._answer(ask, operation, caller)
        if not isinstance(answer, Refusal):
            await operation.guard.note_use(ask, caller)
        return answer

    async def _answer(self, ask: Ask, operation: Operation, caller: Any) -> Any:
        key = _key(ask) if operation.idempotency != "no" else None
        if key is None and operation.idempotency == "required":
            raise IdempotencyKeyRequired
        parsed = _parsed(ask, operation)
        caller = await _recent(ask, operation, caller, parsed)
        supply = {"caller": caller, "db": ask.house.db, "now": ask.now, "house": ask.house, "ask": ask}
        if operation.query is not None:
            facts = _facts(ask, caller)
            supply["query"] = shape_query(ask.query, operation.query, facts)
            if "part" in operation.needs:
                supply["part"] = part_of(supply["query"], facts)
        if key is None and "tx" not in operation.needs:
            return await _call(operation, supply, parsed)

        async def deed(tx: Tx) -> Any:
            if key is None:
                return await _call(operation, {**supply, "tx": tx}, parsed)
            return await self._once(tx, ask, operation, key=key, parsed=parsed, supply={**supply, "tx": tx})

        return await ask.house.db.transact(deed)

    async def _once(self, tx: Tx, ask: Ask, operation: Operation, *, key: str, parsed: Any, supply: dict[str, Any]) -> Any:
        fingerprint = hashlib.sha256(CANONICAL.encode([ask.method, ask.path, parsed])).digest()
        stored = await self._keeper.claim(tx, supply["caller"], key, fingerprint, ask)
        if stored is not None:
            return JsonResponse(stored.body, stored.status, {"Idempotency-Replayed": "true"})
        answer = await _call(operation, supply, parsed)
        if isinstance(answer, Refusal):
            raise TypeError("an operation with a key raises its refusals, so that the key is released")
        body = ENCODER.encode(answer)
        await self._keeper.keep(tx, supply["caller"], key, Stored(operation.status, body))
        return JsonResponse(body, operation.status)


async def _recent(ask: Ask, operation: Operation, caller: Any, parsed: Any) -> Any:
    """The caller, who authenticated recently where the operation wants it."""
    when = operation.recent_authentication
    if when in {"no", "by_content"} or (when == "live" and _mode(ask, parsed) != "live"):
        return caller
    if not isinstance(operation.guard, ReauthenticatingGuard):
        raise TypeError("such an operation is not declared")
    return await operation.guard.reauthenticate(ask, caller)


def _mode(ask: Ask, parsed: Any) -> object:
    """The mode of the path, else of the body. What is neither live nor test is refused by validation."""
    return ask.params.get("mode") or (cast("dict[str, object]", parsed).get("mode") if isinstance(parsed, dict) else None)


async def _call(operation: Operation, supply: dict[str, Any], parsed: Any) -> Any:
    ask: Ask = supply["ask"]
    if operation.accepts is not None:
        # Where there is an object to look up, the rules of the body are judged before: 422 comes before 404.
        supply["body"] = shape(parsed, operation.accepts, _facts(ask, supply["caller"]), judged=bool(ask.params))
    supply |= _path_values(ask, operation)
    return await operation.handler(**{name: supply[name] for name in operation.needs})


def _facts(ask: Ask, caller: Any) -> RequestFacts:
    return RequestFacts(caller, ask.path, ask.house.settings, ask.now)


def _parsed(ask: Ask, operation: Operation) -> Any:
    """The body in plain Python; no body is an empty one where nothing in it is required. None: none is looked at."""
    if operation.accepts is None:
        return None
    ask.require_json()
    return {} if not ask.raw and operation.body_optional else parse_json(ask.raw)


def _path_values(ask: Ask, operation: Operation) -> dict[str, UUID | str]:
    values: dict[str, UUID | str] = dict(ask.params)
    for name in operation.uuids:
        found = parse_id(ask.params[name])
        if found is None:
            raise NotFound
        values[name] = found
    return values


def _key(ask: Ask) -> str | None:
    sent = ask.headers.getlist("idempotency-key")
    if not sent:
        return None
    key = sent[0]
    if len(sent) > 1 or not 1 <= len(key) <= IDEMPOTENCY_KEY_CHARS_MAX or not all("!" <= char <= "~" for char in key):
        raise IdempotencyKeyInvalid
    return key
