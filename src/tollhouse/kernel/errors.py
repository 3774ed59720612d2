"""How a request is refused: a code and a status for the caller, a sentence for people, a detail for the log alone."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from tollhouse.kernel.text import Translatable

DOC_PATH = "/docs/errors/"


class FieldError(Struct, frozen=True):
    """One refused member of a body or parameter: where (`redirect_uris.0`), a code, and a sentence.

    `suggestion` is the name that an unknown member may have meant.
    """

    field: str
    code: str
    message: Translatable
    suggestion: str | None = None


class ApiError(Exception):
    """A request that is not done. `message` reaches the caller and never holds a secret; `detail` is for the log only.

    The page of the code shows the docstring after the status as the cause, and `solution` as what to do.

    Raised, it rolls the transaction back. Returned from a handler, it is answered after the commit: so a replayed
    code can revoke its grant and be refused all the same.
    """

    code: ClassVar[str] = "invalid_request"
    status: ClassVar[int] = 400
    message: Translatable = "The request is malformed."
    solution: ClassVar[str] = ""

    def __init__(
        self,
        message: Translatable | None = None,
        *,
        detail: str = "",
        field_errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        self.message = message or type(self).message
        self.detail = detail
        self.field_errors = tuple(field_errors)
        self.headers = dict(headers or {})
        self.members = dict(members or {})
        super().__init__(self.message)

    @classmethod
    def doc_url(cls, base_url: str) -> str:
        """The address of the page of the code."""
        return f"{base_url}{DOC_PATH}{cls.code}"


class InvalidRequest(ApiError):
    """400: malformed JSON or a malformed parameter."""

    solution = "Correct the JSON or the parameters; a member may be named only once."


class ValidationFailed(ApiError):
    """422: the body or a parameter was understood and is refused; `errors` names each field."""

    code, status, message = "validation_failed", 422, "Some fields are invalid. Correct them and try again."
    solution = "Correct every field that `errors` names. A `suggestion` is the name you may have meant."

    def __init__(self, *field_errors: FieldError) -> None:
        super().__init__(field_errors=field_errors)


class AuthenticationRequired(ApiError):
    """401: no credential was sent."""

    code, status, message = "authentication_required", 401, "Authentication is required."
    solution = "Send an API key or an access token; for endpoints of the dashboard, sign in."


class Forbidden(ApiError):
    """403: a form token is missing or wrong."""

    code, status, message = "forbidden", 403, "This form has expired. Reload the page and try again."
    solution = "Load the page again and send the form once more."


class CrossOriginForbidden(ApiError):
    """403: a browser sent the session cookie from another site."""

    code, status, message = "cross_origin_forbidden", 403, "Requests from other sites are not allowed."
    solution = "Send the request from a page of the service, or use an API key or an access token."


class NotFound(ApiError):
    """404: there is nothing here, or it belongs to somebody else."""

    code, status, message = "not_found", 404, "This page or object does not exist."
    solution = "Check the ID, and that the credential is of the same merchant and environment."


class MethodNotAllowed(ApiError):
    """405: the address does not have this method; `Allow` names those that it has."""

    code, status, message = "method_not_allowed", 405, "This method is not allowed for this address."
    solution = "Use a method that the header `Allow` names."


class PayloadTooLarge(ApiError):
    """413: the body is over 64 KiB, or over what its operation takes."""

    code, status, message = "payload_too_large", 413, "The request body must be at most 64 KiB."
    solution = "Send a smaller body."


class RequestHeadersTooLarge(ApiError):
    """431: the request line and headers are over 32 KiB, or more than 100 headers."""

    code, status = "request_headers_too_large", 431
    message = "The request line and headers must be at most 32 KiB, in at most 100 headers."
    solution = "Send fewer or shorter headers."


class RequestTimeout(ApiError):
    """408: the head or the body of a request did not arrive in time."""

    code, status, message = "request_timeout", 408, "The request did not arrive in time. Send it again."
    solution = "Send the request again, with the same `Idempotency-Key`."


class TooManyConnections(ApiError):
    """429: one address has as many connections open as it may have."""

    code, status = "rate_limited", 429
    message = "Too many connections are open from your IP address. Close some, or reuse them for several requests."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "1"})


class MisdirectedRequest(ApiError):
    """421: a page with a session was asked for under another host than that of the base URL."""

    code, status = "misdirected_request", 421
    message = "This page is not available at this address. Open it at the address that your operator gave you."
    solution = "Open the page at the base URL of the service."


class UnsupportedMediaType(ApiError):
    """415: a body that is not application/json."""

    code, status, message = "unsupported_media_type", 415, "The Content-Type must be application/json."
    solution = "Send the header `Content-Type: application/json`."


class ServerError(ApiError):
    """500: an error of the server. Nothing was done."""

    code, status, message = "server_error", 500, "An internal error occurred. Nothing was changed."
    solution = "Repeat the request with the same `Idempotency-Key`. If it fails again, give the operator the `request_id`."


class TemporarilyUnavailable(ApiError):
    """503: the database cannot be reached or is busy. Nothing was done."""

    code, status, message = (
        "temporarily_unavailable",
        503,
        "The service is temporarily unavailable. Nothing was changed. Try again.",
    )
    solution = "Repeat the request after `Retry-After` with the same `Idempotency-Key`."

    def __init__(self, *, detail: str = "") -> None:
        super().__init__(detail=detail, headers={"Retry-After": "1"})
