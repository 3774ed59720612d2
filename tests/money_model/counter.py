"""The running service as its merchants reach it: one kept connection, credentials, and the idempotency of what was sent."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from hypothesis import note
from starlette.datastructures import Headers

from tests.cast import INTEGRATION
from tests.running import Service
from tests.wire import Wire


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Headers
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON body."""
        return msgspec.json.decode(self.raw)

    @property
    def outcome(self) -> str:
        """`ok`, or the code of the refusal."""
        return "ok" if self.status < 300 else str(self.body["error"])

    @property
    def replayed(self) -> bool:
        """Whether it is the stored answer of an earlier request."""
        return self.headers.get("Idempotency-Replayed") == "true"


class Sent(NamedTuple):
    """A request with a key, by whom, and what it was answered."""

    by: str
    path: str
    body: dict[str, Any]
    key: str
    reply: Reply


class Counter:
    """Where requests are made. A credential is an API key or an access token."""

    def __init__(self, service: Service) -> None:
        self._wire = Wire(service.url)

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def get(self, path: str, credential: str) -> Any:
        """GET of the Integration API: the body."""
        reply = self._send("GET", INTEGRATION + path, None, _header(credential))
        assert reply.status == 200, (path, reply.raw)
        return reply.body

    def post(self, path: str, body: dict[str, Any], credential: str, key: str) -> Reply:
        """POST of the Integration API."""
        headers = {**_header(credential), "Content-Type": "application/json", "Idempotency-Key": key}
        reply = self._send("POST", INTEGRATION + path, msgspec.json.encode(body), headers)
        note(f"POST {path} {body} {key} by {credential[:7]} -> {reply.status} {reply.raw.decode()[:600]}")
        return reply

    def delete(self, path: str, credential: str) -> Reply:
        """DELETE of the Integration API."""
        reply = self._send("DELETE", INTEGRATION + path, None, _header(credential))
        note(f"DELETE {path} -> {reply.status}")
        return reply

    def form(self, path: str, fields: dict[str, str]) -> str:
        """Post a form of the checkout page, as the customer's browser does: where it is sent then."""
        reply = self._send("POST", path, urlencode(fields).encode(), {"Content-Type": "application/x-www-form-urlencoded"})
        note(f"POST {path} {fields} -> {reply.status} {reply.headers.get('Location')}")
        assert reply.status == 303, (path, reply.raw)
        return reply.headers["Location"]

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        return Reply(*self._wire.request(method, path, body, headers))


def _header(credential: str) -> dict[str, str]:
    return {"X-API-Key": credential} if credential.startswith("th_") else {"Authorization": f"Bearer {credential}"}
