"""The page on which a merchant enters the code of a device. It leads to the consent page of the device's request."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited, count_attempt, network_of, require_below
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel import clock
from tollhouse.kernel.limits import SIGN_IN_SPAN_S
from tollhouse.kernel.text import Translatable
from tollhouse.oauth import requests_store
from tollhouse.oauth.device import read_code, request_id_of, shown_code

OPERATIONS = Operations(PAGES)


class DeviceQuery(Struct, frozen=True):
    """The code to fill in, or the decision that was made."""

    user_code: Annotated[str, Meta(max_length=40)] = ""
    decision: Literal["", "allowed", "denied"] = ""


@OPERATIONS.add("GET", "/device", guard=signed_in_page("connections"))
async def show(request: Request, caller: Person, query: DeviceQuery) -> Response:
    """The form for a code, or the result of the decision."""
    return _page(request, caller, query.user_code, decision=query.decision)


@OPERATIONS.add("POST", "/device", guard=signed_in_page("connections"), errors=(RateLimited,))
async def enter(request: Request, caller: Person) -> Response:
    """Continue with the request of this code. Wrong codes are counted like wrong passwords."""
    entered = request.form().one("user_code") or ""
    db, limits = request.services.db, _limits(request, caller)
    await require_below(db, limits, request.now)
    user_code = read_code(entered)
    found = None if user_code is None else await requests_store.find_by_user_code(db, user_code, request.now)
    if user_code is None or found is None:
        await count_attempt(db, limits, request.now)
        message = "This code is wrong or has expired. Check it, or start again on the device."
        return _page(request, caller, entered, message=message)
    return see_other(f"/oauth/consent/{request_id_of(user_code, found)}")


def _limits(request: Request, caller: Person) -> tuple[FailureLimit, ...]:
    """Wrong codes of the account and of the address, as many as failed sign-ins."""
    settings, span = request.services.settings, clock.seconds(SIGN_IN_SPAN_S)
    account = settings.rate_signin_account_per_15_min * settings.rate_limits
    address = settings.rate_signin_address_per_15_min * settings.rate_limits
    return (
        FailureLimit("device code by", str(caller.user_id), account, span),
        FailureLimit("device code from", network_of(request.address), address, span),
    )


def _page(request: Request, caller: Person, entered: str, *, decision: str = "", message: Translatable = "") -> Response:
    user_code = read_code(entered)
    return page(
        request,
        "dashboard/consent/device.html",
        422 if message else 200,
        person=caller,
        code=shown_code(user_code) if user_code else entered,
        decision=decision,
        message=message,
    )
