"""The two-factor authentication pages of an account, for users and for operators."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity import second_factor
from tollhouse.accounts.identity.second_factor import SecondFactorChanged
from tollhouse.http.forms import flash_message
from tollhouse.http.markup import qr_image
from tollhouse.http.operations import Guard, Operations, RecentAuthentication
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError

FactorEvent = Literal["factor_on", "factor_off"]


class TwoFactorAccount(Struct, frozen=True):
    """The account of the pages: ID, email, path of the first page, and how to render a page and send a notice."""

    holder_id: UUID
    email: str
    root: str
    render: Callable[..., Response]
    notify: Callable[[Work, FactorEvent], Awaitable[None]]


Page = Callable[[Request, TwoFactorAccount], Awaitable[Response]]


def add_operations(
    operations: Operations,
    root: str,
    account_of: Callable[[Request, Any], TwoFactorAccount],
    *,
    read: Guard,
    write: Guard,
    recent_authentication: RecentAuthentication = "no",
) -> None:
    """Declare the pages below `root`."""

    def add(method: str, path: str, action: Page, recent: RecentAuthentication) -> None:
        async def page(request: Request, caller: Any) -> Response:
            return await action(request, account_of(request, caller))

        page.__name__, page.__doc__ = action.__name__.removeprefix("_"), action.__doc__
        guard = read if method == "GET" else write
        operations.add(method, f"{root}{path}", guard=guard, recent_authentication=recent)(page)

    add("GET", "", _security, "no")
    for method, path, action in (
        ("POST", "/setup", _enrol),
        ("GET", "/setup", _setup),
        ("POST", "/confirm", _confirm),
        ("POST", "/backup-codes", _renew_backup_codes),
        ("GET", "/off", _confirm_turn_off),
        ("POST", "/off", _turn_off),
    ):
        add(method, path, action, recent_authentication)


async def _security(request: Request, account: TwoFactorAccount) -> Response:
    """Two-factor authentication, backup codes, and links to password and sessions."""
    return await _start(request, account, off=flash_message(request.query) == "off")


async def _start(
    request: Request, account: TwoFactorAccount, error: ApiError | None = None, *, off: bool = False
) -> Response:
    state = await second_factor.state(request.services.db, account.holder_id)
    since = "" if state is None or state.on_since is None else stamp(state.on_since)
    return _render(account, "start", error, state=state, since=since, off=off)


async def _enrol(request: Request, account: TwoFactorAccount) -> Response:
    """Create a secret for an authenticator app."""
    try:
        await second_factor.enrol(request, account.holder_id)
    except SecondFactorChanged:
        return see_other(account.root)
    return see_other(f"{account.root}/setup")


async def _setup(request: Request, account: TwoFactorAccount, error: ApiError | None = None) -> Response:
    """Show the secret and ask for the first code."""
    enrolment = await second_factor.enrolment(request, account.holder_id, account.email)
    if enrolment is None:
        return see_other(account.root)
    return _render(account, "setup", error, key=enrolment.key, uri=enrolment.uri, qr=qr_image(enrolment.uri))


async def _confirm(request: Request, account: TwoFactorAccount) -> Response:
    """Turn two-factor authentication on and show the backup codes."""
    try:
        codes = await second_factor.confirm(
            request, account.holder_id, request.form().one("code") or "", lambda work: account.notify(work, "factor_on")
        )
    except SecondFactorChanged:
        return see_other(account.root)
    except ApiError as error:
        return await _setup(request, account, error)
    return _render(account, "codes", codes=codes, is_new=True)


async def _renew_backup_codes(request: Request, account: TwoFactorAccount) -> Response:
    """Replace the backup codes and show them."""
    try:
        codes = await second_factor.renew_backup_codes(request, account.holder_id, request.form().one("code") or "")
    except ApiError as error:
        return await _start(request, account, error)
    return _render(account, "codes", codes=codes, is_new=False)


async def _confirm_turn_off(request: Request, account: TwoFactorAccount, error: ApiError | None = None) -> Response:
    """Ask for a code to turn two-factor authentication off."""
    if await second_factor.state(request.services.db, account.holder_id) is None:
        return see_other(account.root)
    return _render(account, "off", error)


async def _turn_off(request: Request, account: TwoFactorAccount) -> Response:
    """Turn two-factor authentication off. A second submission finds it off already."""
    try:
        await second_factor.turn_off(
            request, account.holder_id, request.form().one("code") or "", lambda work: account.notify(work, "factor_off")
        )
    except SecondFactorChanged:
        return see_other(account.root)
    except ApiError as error:
        return await _confirm_turn_off(request, account, error)
    return see_other(f"{account.root}?done=off")


def _render(account: TwoFactorAccount, name: str, error: ApiError | None = None, **context: object) -> Response:
    """A page, with the message of an error."""
    status, message = (200, "") if error is None else (error.status, error.message)
    response = account.render(
        f"identity/second_factor_{name}.html", status, root=account.root, email=account.email, message=message, **context
    )
    response.headers.update({} if error is None else error.headers)
    return response
