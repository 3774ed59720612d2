"""The two-factor authentication pages of an account, for users and for operators."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from tollhouse.accounts.identity import assertions, passkey_pages, passkeys, second_factor
from tollhouse.accounts.identity.assertions import Assertion
from tollhouse.accounts.identity.second_factor import SecondFactorChanged
from tollhouse.accounts.identity.two_factor_account import AccountOf, TwoFactorAccount
from tollhouse.http.forms import flash_message
from tollhouse.http.markup import qr_image
from tollhouse.http.operations import Guard, Operations, RecentAuthentication
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError

IS_OFF = "Two-factor authentication is off. Signing in requires only your password."
NOTICES = {
    "off": "The authenticator app was removed.",
    "added": "The passkey was added.",
    "renamed": "The passkey was renamed.",
    "removed": "The passkey was removed.",
}
Page = Callable[[Request, TwoFactorAccount], Awaitable[Response]]


def add_operations(
    operations: Operations,
    root: str,
    account_of: AccountOf,
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
    passkey_pages.add_operations(
        operations, root, account_of, _security, read=read, write=write, recent_authentication=recent_authentication
    )


async def _security(request: Request, account: TwoFactorAccount, error: ApiError | None = None) -> Response:
    """Two-factor authentication, backup codes, and links to password and sessions."""
    state = await second_factor.state(request.services.db, account.holder.holder_id)
    done = flash_message(request.query)
    return account.show(
        "second_factor_start",
        error,
        state=state,
        since="" if state is None or state.on_since is None else stamp(state.on_since),
        passkeys=await passkeys.list_of(request, account.holder.holder_id),
        options=await assertions.confirmation_attribute(request, account.holder),
        last=await second_factor.last_factor_error(request, account.holder),
        notice=IS_OFF if done == "off" and state is None else NOTICES.get(done, ""),
    )


async def _enrol(request: Request, account: TwoFactorAccount) -> Response:
    """Create a secret for an authenticator app."""
    try:
        await second_factor.enrol(request, account.holder.holder_id)
    except SecondFactorChanged:
        return see_other(account.root)
    return see_other(f"{account.root}/setup")


async def _setup(request: Request, account: TwoFactorAccount, error: ApiError | None = None) -> Response:
    """Show the secret and ask for the first code."""
    enrolment = await second_factor.enrolment(request, account.holder.holder_id, account.holder.email)
    if enrolment is None:
        return see_other(account.root)
    return account.show("second_factor_setup", error, key=enrolment.key, uri=enrolment.uri, qr=qr_image(enrolment.uri))


async def _confirm(request: Request, account: TwoFactorAccount) -> Response:
    """Turn two-factor authentication on and show the backup codes."""
    try:
        codes = await second_factor.confirm(
            request,
            account.holder.holder_id,
            request.form().one("code") or "",
            lambda work: passkeys.announce_factor(work, account.holder, "factor_on"),
        )
    except SecondFactorChanged:
        return see_other(account.root)
    except ApiError as error:
        return await _setup(request, account, error)
    return account.show("second_factor_codes", codes=codes, is_new=True)


async def _renew_backup_codes(request: Request, account: TwoFactorAccount) -> Response:
    """Replace the backup codes and show them."""
    try:
        codes = await second_factor.renew_backup_codes(request, account.holder.holder_id, await _proof(request, account))
    except ApiError as error:
        return await _security(request, account, error)
    return account.show("second_factor_codes", codes=codes, is_new=False)


async def _confirm_turn_off(request: Request, account: TwoFactorAccount, error: ApiError | None = None) -> Response:
    """Ask for a code to turn two-factor authentication off."""
    state = await second_factor.state(request.services.db, account.holder.holder_id)
    if state is None or state.on_since is None:
        return see_other(account.root)
    options = await assertions.confirmation_attribute(request, account.holder)
    last = await second_factor.last_factor_error(request, account.holder)
    return account.show("second_factor_off", error, options=options, keeps_passkeys=state.passkeys > 0, last=last)


async def _turn_off(request: Request, account: TwoFactorAccount) -> Response:
    """Turn two-factor authentication off. A second submission finds it off already."""
    try:
        await second_factor.turn_off(
            request,
            account.holder,
            await _proof(request, account),
            lambda work: passkeys.announce_factor(work, account.holder, "factor_off"),
        )
    except SecondFactorChanged:
        return see_other(account.root)
    except ApiError as error:
        return await _confirm_turn_off(request, account, error)
    return see_other(f"{account.root}?done=off")


async def _proof(request: Request, account: TwoFactorAccount) -> str | Assertion:
    """The code of the form, or the passkey that was used instead. Raises what `assertions.verify` raises."""
    form = request.form()
    if sent := form.one("passkey"):
        return await assertions.verify(request, account.holder, assertions.read_form(sent))
    return form.one("code") or ""
