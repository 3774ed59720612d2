"""`authorization_details` (RFC 9396): the limits that an application asks for, and those that a merchant granted."""

from typing import Annotated, Literal

from msgspec import Struct

from tollhouse.accounts.spending.model import LimitRequest, Limits, LimitView, limit_errors, read_limits, to_limits
from tollhouse.kernel import foreign_json
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.limits import AUTHORIZATION_DETAILS_CHARS_MAX
from tollhouse.kernel.text import Text

LIMITS_TYPE = "tollhouse_limits"


class LimitsDetailRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The limits that an application asks for."""

    type: Literal["tollhouse_limits"]
    limits: list[LimitRequest]


class LimitsDetail(Struct, frozen=True):
    """The limits that were granted."""

    type: Annotated[Literal["tollhouse_limits"], example("tollhouse_limits")]
    """Always `tollhouse_limits`."""
    limits: list[LimitView]
    """What the connection may move; a kind that is not listed is not limited."""


class InvalidAuthorizationDetails(ApiError):
    """400: `authorization_details` is not one object of the type `tollhouse_limits` with valid limits."""

    code = "invalid_authorization_details"
    message = "`authorization_details` must be a JSON array of one object, with the type tollhouse_limits and valid limits."
    solution = "Correct the limits, or leave the parameter out. The merchant can set limits in any case."


def parse(text: str | None, catalogue: Catalogue) -> Limits:
    """The requested limits; none without the parameter. Raises `InvalidAuthorizationDetails`."""
    if text is None:
        return Limits()
    if len(text) > AUTHORIZATION_DETAILS_CHARS_MAX:
        raise InvalidAuthorizationDetails
    try:
        details = foreign_json.decode(text.encode(), list[LimitsDetailRequest])
    except (ForeignJsonError, UnicodeEncodeError) as error:
        raise InvalidAuthorizationDetails(detail=str(error)) from error
    if len(details) != 1:
        raise InvalidAuthorizationDetails
    for wrong in limit_errors(details[0].limits, catalogue):
        raise InvalidAuthorizationDetails(
            Text("`authorization_details` has an invalid member: %(field)s.", field=wrong.field)
        )
    return Limits(limits=to_limits(details[0].limits, catalogue))


def granted(column: str | None, catalogue: Catalogue) -> list[LimitsDetail] | None:
    """The limits of a grant, as the token response has them; None without limits."""
    return None if column is None else [LimitsDetail(LIMITS_TYPE, read_limits(column).views(catalogue))]
