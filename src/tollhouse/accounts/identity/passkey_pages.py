"""The pages of an account's passkeys, for users and for operators: adding, renaming and removing them."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity import assertions, passkeys, second_factor
from tollhouse.accounts.identity import webauthn_model as webauthn
from tollhouse.accounts.identity.browsers import browser_of, system_of, user_agent_of
from tollhouse.accounts.identity.passkeys import NewPasskey
from tollhouse.accounts.identity.second_factor import LastSecondFactor
from tollhouse.accounts.identity.two_factor_account import AccountOf, TwoFactorAccount
from tollhouse.accounts.identity.webauthn_model import CREATED, PasskeyRegistration, PasskeysUnavailable
from tollhouse.http.forms import by_field
from tollhouse.http.operations import Guard, Operations, RecentAuthentication
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import ApiError, NotFound


def add_operations(
    operations: Operations,
    root: str,
    account_of: AccountOf,
    start: Callable[[Request, TwoFactorAccount, ApiError], Awaitable[Response]],
    *,
    read: Guard,
    write: Guard,
    recent_authentication: RecentAuthentication,
) -> None:
    """Declare the pages below `root`, where `start` shows an error."""
    path = f"{root}/passkeys"

    @operations.add("GET", f"{path}/new", guard=read, recent_authentication=recent_authentication)
    async def new_passkey(request: Request, caller: Any) -> Response:
        """The form for a new passkey."""
        return await _form(request, account_of(request, caller))

    @operations.add("POST", path, guard=write, recent_authentication=recent_authentication)
    async def add_passkey(request: Request, caller: Any) -> Response:
        """Add a passkey. The first second factor shows backup codes."""
        account, form = account_of(request, caller), request.form()
        name = form.one("name") or ""
        try:
            new = NewPasskey(name=name, credential=webauthn.read(form.one("credential") or "", PasskeyRegistration, CREATED))
            made = await passkeys.add(request, account.holder, new)
        except ApiError as error:
            return await _form(request, account, name, error)
        if made.backup_codes:
            return account.show("second_factor_codes", codes=made.backup_codes, is_new=True)
        return see_other(f"{root}?done=added")

    @operations.add("POST", f"{path}/{{passkey_id}}/rename", guard=write)
    async def rename_passkey(request: Request, caller: Any, passkey_id: UUID) -> Response:
        """Rename a passkey."""
        holder, name = account_of(request, caller).holder, request.form().one("name") or ""
        await request.transact(lambda work: passkeys.rename(work, holder, passkey_id, name))
        return see_other(f"{root}?done=renamed")

    @operations.add("POST", f"{path}/{{passkey_id}}/remove", guard=write, recent_authentication=recent_authentication)
    async def remove_passkey(request: Request, caller: Any, passkey_id: UUID) -> Response:
        """Remove a passkey. A second submission finds it removed already."""
        account = account_of(request, caller)
        try:
            await request.transact(lambda work: passkeys.remove(work, account.holder, passkey_id))
        except NotFound:
            return see_other(root)
        except LastSecondFactor as error:
            return await start(request, account, error)
        return see_other(f"{root}?done=removed")


async def _form(request: Request, account: TwoFactorAccount, name: str = "", error: ApiError | None = None) -> Response:
    agent = user_agent_of(request)
    suggested = " · ".join(part for part in (browser_of(agent), system_of(agent)) if part)
    try:
        options = assertions.as_attribute(await passkeys.creation_options(request, account.holder))
    except PasskeysUnavailable:
        options = ""
    is_first = await second_factor.state(request.services.db, account.holder.holder_id) is None
    return account.show(
        "passkey_new",
        error,
        options=options,
        is_first=is_first,
        name=name if error is not None else suggested,
        field_errors={} if error is None else by_field(error),
    )
