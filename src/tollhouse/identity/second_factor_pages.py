"""The pages on which somebody switches a second factor on and off, and makes backup codes: whoever has an account."""

from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.http.forms import flash_message
from tollhouse.http.qr import qr_image
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity import second_factor
from tollhouse.identity.second_factor import SecondFactorChanged
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError
from tollhouse.platform.db import Tx

Switched = Literal["factor_on", "factor_off"]


class AccountKind(Struct, frozen=True):
    """Who sits there: whose factor it is, where their pages begin, how a page is shown to them, and how they are told."""

    holder_id: UUID
    email: str
    root: str
    show: Callable[..., Response]
    notify: Callable[[Tx, Switched], Awaitable[None]]


async def start(request: Request, account_kind: AccountKind) -> Response:
    """Whether there is a second factor, and how many backup codes are left."""
    return await _start(request, account_kind, off=flash_message(request.query) == "off")


async def enrol(request: Request, account_kind: AccountKind) -> Response:
    """Make a secret for an authenticator. It counts when a first code of it was seen."""
    try:
        await second_factor.enrol(request, account_kind.holder_id)
    except SecondFactorChanged:
        return see_other(account_kind.root)
    return see_other(f"{account_kind.root}/setup")


async def setup(request: Request, account_kind: AccountKind, error: ApiError | None = None) -> Response:
    """The secret as a code for the camera and as a key, and the form for the first code."""
    enrolment = await second_factor.enrolment(request, account_kind.holder_id, account_kind.email)
    if enrolment is None:
        return see_other(account_kind.root)
    return _shown(account_kind, "setup", error, key=enrolment.key, uri=enrolment.uri, qr=qr_image(enrolment.uri))


async def confirm(request: Request, account_kind: AccountKind) -> Response:
    """Switch it on, and show the backup codes once."""
    try:
        codes = await second_factor.confirm(
            request,
            account_kind.holder_id,
            request.form().one("code") or "",
            lambda tx: account_kind.notify(tx, "factor_on"),
        )
    except SecondFactorChanged:
        return see_other(account_kind.root)
    except ApiError as error:
        return await setup(request, account_kind, error)
    return _shown(account_kind, "codes", codes=codes, switched_on=True)


async def renew(request: Request, account_kind: AccountKind) -> Response:
    """Make other backup codes, for a code, and show them once."""
    try:
        codes = await second_factor.renew_backup_codes(request, account_kind.holder_id, request.form().one("code") or "")
    except ApiError as error:
        return await _start(request, account_kind, error)
    return _shown(account_kind, "codes", codes=codes, switched_on=False)


async def ask_to_turn_off(request: Request, account_kind: AccountKind, error: ApiError | None = None) -> Response:
    """What switching it off means, and the form for the code that does it."""
    if await second_factor.state(request.services.db, account_kind.holder_id) is None:
        return see_other(account_kind.root)
    return _shown(account_kind, "off", error)


async def turn_off(request: Request, account_kind: AccountKind) -> Response:
    """Switch it off, for a code. Clicked twice, it is off and that is well."""
    try:
        await second_factor.turn_off(
            request,
            account_kind.holder_id,
            request.form().one("code") or "",
            lambda tx: account_kind.notify(tx, "factor_off"),
        )
    except SecondFactorChanged:
        return see_other(account_kind.root)
    except ApiError as error:
        return await ask_to_turn_off(request, account_kind, error)
    return see_other(f"{account_kind.root}?done=off")


async def _start(
    request: Request, account_kind: AccountKind, error: ApiError | None = None, *, off: bool = False
) -> Response:
    state = await second_factor.state(request.services.db, account_kind.holder_id)
    since = "" if state is None else stamp(state.on_since)
    return _shown(account_kind, "start", error, state=state, since=since, off=off)


def _shown(account_kind: AccountKind, name: str, error: ApiError | None = None, **facts: object) -> Response:
    """The page, with what was refused."""
    status, message = (200, "") if error is None else (error.status, error.message)
    shown = account_kind.show(
        f"identity/second_factor_{name}.html",
        status,
        root=account_kind.root,
        email=account_kind.email,
        message=message,
        **facts,
    )
    shown.headers.update({} if error is None else error.headers)
    return shown
