"""The resource that a request names (RFC 8707)."""

from tollhouse.http.forms import Form
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.resources import PATHS, Resource, identifier_of


class InvalidTarget(ApiError):
    """400: `resource` is unknown, malformed or repeated, or not what the connection is for (RFC 8707 section 2)."""

    code, message = "invalid_target", "`resource` must be the URL of the Integration API or of /mcp, exactly, sent once."
    solution = "Send the URL that the metadata of the resource has as `resource`, or leave the parameter out."


class OtherTarget(InvalidTarget):
    """400: the code or token was granted for the other resource."""

    message = "`resource` must be the resource that the connection was granted for. Leave it out to keep it."


def requested(form: Form, base_url: str) -> Resource | None:
    """The resource that is named; None for no name. Raises `InvalidTarget`.

    RFC 8707 lets clients name several at once, for one token that opens all of them. Here a token opens one.
    """
    sent = form.all("resource")
    if sent in ([], [""]):
        return None
    for resource in PATHS:
        if sent == [identifier_of(resource, base_url)]:
            return resource
    raise InvalidTarget
