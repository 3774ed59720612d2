"""A request of the Integration API from its parts to its result: credential, retries, intents, errors."""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from tollhouse_sdk.auth import Auth, Issuer
from tollhouse_sdk.errors import ApiError, error_of
from tollhouse_sdk.intents import Intent, IntentStore
from tollhouse_sdk.paths import INTEGRATION, with_query
from tollhouse_sdk.retries import Retries, send_repeatedly
from tollhouse_sdk.steps import Answer, Flow, Send, run

UNAUTHORIZED = 401
SERVER_ERROR = 500
NOT_YET = frozenset({"idempotency_in_progress", "rate_limited"})
USER_AGENT = f"tollhouse-sdk/{version('tollhouse-sdk')}"


def new_key() -> str:
    """An idempotency key that nobody else has."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Requests:
    """What all requests of a client have in common."""

    base_url: str
    auth: Auth
    retries: Retries
    intents: IntentStore | None = None

    def result(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        *,
        keyed: bool = False,
        timeout_s: float | None = None,
    ) -> Flow[Any]:
        """The decoded body of the response. `keyed`: it is sent with an idempotency key, a new one where none is given."""
        if key is None and keyed:
            key = new_key()
        intent = Intent(key, method, path, None if body is None else dict(body)) if key and self.intents else None
        if intent is not None and self.intents is not None:
            yield from run(_bound(self.intents.add, intent))
        answer = yield from self._answer(method, with_query(path, query or {}), body, key, timeout_s)
        error = None if answer.status < 300 else error_of(answer)  # noqa: PLR2004
        if intent is not None and self.intents is not None and is_outcome(error):
            yield from run(_bound(self.intents.remove, intent.key))
        if error is not None:
            raise error
        return _decoded(answer)

    def _answer(
        self, method: str, path: str, body: Mapping[str, Any] | None, key: str | None, timeout_s: float | None
    ) -> Flow[Answer]:
        issuer = Issuer(self.base_url, self.retries)
        credential = yield from self.auth.headers(issuer)
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        content = None
        if method in {"POST", "PUT", "PATCH"} and (body is not None or key is not None):
            headers["Content-Type"] = "application/json"
            content = json.dumps(body or {}).encode()
        is_safe = method == "GET" or key is not None
        url = f"{self.base_url}{INTEGRATION}{path}"
        answer = yield from send_repeatedly(
            Send(method, url, headers | credential, content, timeout_s), self.retries, is_safe=is_safe
        )
        if answer.status == UNAUTHORIZED and error_of(answer).code == "invalid_token":
            renewed = yield from self.auth.renewed(issuer, credential)
            if renewed is not None:
                request = Send(method, url, headers | renewed, content, timeout_s)
                answer = yield from send_repeatedly(request, self.retries, is_safe=is_safe)
        return answer

    def waiting(self) -> Flow[list[Intent]]:
        """Requests that were begun by a process that ended before it knew their outcome."""
        if self.intents is None:
            return []
        return list((yield from run(self.intents.waiting)))


def is_outcome(error: ApiError | None) -> bool:
    """Whether nothing more will happen: the request was carried out, or will not be."""
    return error is None or (error.status < SERVER_ERROR and error.code not in NOT_YET)


def _bound(function: Callable[[Any], None], value: Any) -> Callable[[], None]:
    return lambda: function(value)


def _decoded(answer: Answer) -> Any:
    if "json" in answer.headers.get("content-type", ""):
        return json.loads(answer.content)
    return answer.content.decode()
