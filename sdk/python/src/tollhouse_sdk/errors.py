"""What can go wrong, as exceptions: `TollhouseError` is above all of them."""

import json
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

from tollhouse_sdk.steps import Answer


class TollhouseError(Exception):
    """Everything that the SDK raises on purpose."""


class ConnectionFailed(TollhouseError):
    """No response arrived. `was_sent` is False when the request cannot have reached the service."""

    def __init__(self, message: str, *, was_sent: bool) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class SignatureInvalid(TollhouseError):
    """A webhook is not genuine, or too old: respond with 4xx, and do nothing else."""


class CallbackInvalid(TollhouseError):
    """The callback of an authorization does not belong to it, or says that access was denied. `error` is the code."""

    def __init__(self, message: str, error: str = "invalid_callback") -> None:
        super().__init__(message)
        self.error = error


class NotConnected(TollhouseError):
    """There are no tokens, or they can no longer be refreshed: the merchant has to connect again."""


class LockTimeout(TollhouseError):
    """Another process has held the lock of the tokens for too long."""


class ApiError(TollhouseError):
    """The service refused a request. `code` is for programs, the message for people."""

    code = ""

    def __init__(self, answer: Answer, body: Mapping[str, Any]) -> None:
        self.status = answer.status
        self.code = str(body.get("error") or self.code or f"http_{answer.status}")
        self.description = str(body.get("error_description") or f"The response has the status {answer.status}.")
        self.request_id = str(body.get("request_id") or answer.headers.get("x-request-id") or "")
        self.doc_url: str | None = body.get("doc_url")
        self.scope: str | None = body.get("scope")
        self.errors: list[dict[str, str]] = body.get("errors") or []
        """The invalid fields: `field`, `code` and `message` of each."""
        self.details: dict[str, Any] = body.get("details") or {}
        self.retry_after_s = retry_after_s(answer)
        fields = "".join(f" {one.get('field')}: {one.get('message')}" for one in self.errors)
        more = f" See {self.doc_url}" if self.doc_url else ""
        super().__init__(f"{self.code}: {self.description}{fields} (request {self.request_id}){more}")


class FeedReset(ApiError):
    """The feed is another one, for example after a restore: read it from its beginning, or from a position you choose."""

    code = "feed_reset"


class EventsExpired(ApiError):
    """Events after the checkpoint have been deleted by age. `oldest` is the first position that is left."""

    code = "events_expired"

    @property
    def oldest(self) -> int | None:
        """The first position that is left."""
        return self.details.get("oldest")


def error_of(answer: Answer) -> ApiError:
    """The exception for a response that is no success."""
    from tollhouse_sdk.generated import error_types  # noqa: PLC0415 - they are subclasses of what this module defines

    body = _object(answer.content)
    kinds: dict[str, type[ApiError]] = {kind.code: kind for kind in ApiError.__subclasses__()}
    assert error_types  # noqa: S101 - it is imported so that its classes are there
    return kinds.get(str(body.get("error")), ApiError)(answer, body)


def retry_after_s(answer: Answer) -> float | None:
    """What `Retry-After` says, in seconds. A date is compared with the `Date` of the response."""
    said = answer.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        until, now = parsedate_to_datetime(said), parsedate_to_datetime(answer.headers["date"])
        return max((until - now).total_seconds(), 0.0)
    except (ValueError, KeyError, TypeError):
        return None


def _object(content: bytes) -> dict[str, Any]:
    try:
        body: Any = json.loads(content)
    except ValueError:
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}
