"""Passkeys as JSON: the user's own, sign-in with one, and the confirmation of a session."""

from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity import assertions, passkeys
from tollhouse.accounts.identity.assertions import Holder
from tollhouse.accounts.identity.guards import anyone_with_cookie, signed_in, signed_in_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.passkeys import (
    NewPasskey,
    NewPasskeyView,
    PasskeyExists,
    PasskeyList,
    PasskeyName,
    PasskeyView,
    TooManyPasskeys,
)
from tollhouse.accounts.identity.second_factor import LastSecondFactor
from tollhouse.accounts.identity.webauthn_model import (
    ChallengeExpired,
    CreationOptions,
    PasskeysUnavailable,
    RequestOptions,
    UserVerificationRequired,
    WrongOrigin,
)
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.errors import NotFound, ValidationFailed

OPERATIONS = Operations(DASHBOARD)


@OPERATIONS.add("GET", "/passkeys", guard=signed_in("own"))
async def list_passkeys(request: Request, caller: Person) -> PasskeyList:
    """List passkeys. Those of the user, oldest first."""
    return PasskeyList(await passkeys.list_of(request, caller.user_id))


@OPERATIONS.add(
    "POST",
    "/passkeys/options",
    guard=signed_in_while_suspended("own"),
    errors=(PasskeysUnavailable,),
    recent_authentication="always",
)
async def new_passkey_options(request: Request, caller: Person) -> CreationOptions:
    """Request the options of a new passkey. For `navigator.credentials.create()`; valid for five minutes in this session."""
    return await passkeys.creation_options(request, Holder.of(request, caller))


@OPERATIONS.add(
    "POST",
    "/passkeys",
    guard=signed_in_while_suspended("own"),
    status=201,
    errors=(
        PasskeysUnavailable,
        WrongOrigin,
        ChallengeExpired,
        UserVerificationRequired,
        ValidationFailed,
        TooManyPasskeys,
        PasskeyExists,
    ),
    recent_authentication="always",
)
async def add_passkey(request: Request, caller: Person, body: NewPasskey) -> NewPasskeyView:
    """Add a passkey. If it is the first second factor, the response has backup codes, and other sessions end."""
    return await passkeys.add(request, Holder.of(request, caller), body)


@OPERATIONS.add("PATCH", "/passkeys/{passkey_id}", guard=signed_in("own"), errors=(ValidationFailed, NotFound))
async def rename_passkey(request: Request, caller: Person, passkey_id: UUID, body: PasskeyName, work: Work) -> PasskeyView:
    """Rename a passkey."""
    return await passkeys.rename(work, Holder.of(request, caller), passkey_id, body.name)


@OPERATIONS.add(
    "DELETE",
    "/passkeys/{passkey_id}",
    guard=signed_in_while_suspended("own"),
    status=204,
    errors=(NotFound, LastSecondFactor),
    recent_authentication="by_content",
)
async def remove_passkey(request: Request, caller: Person, passkey_id: UUID, work: Work) -> Response:
    """Remove a passkey. The last factor turns two-factor authentication off, unless a merchant account requires it."""
    await passkeys.remove(work, Holder.of(request, caller), passkey_id)
    return Response(status_code=204)


@OPERATIONS.add("POST", "/login/passkey/options", guard=anyone_with_cookie, errors=(PasskeysUnavailable,))
async def sign_in_options(request: Request) -> RequestOptions:
    """Request the options of a sign-in with a passkey. No email address is needed. Valid for five minutes."""
    return assertions.sign_in_options(request, "person")


@OPERATIONS.add("POST", "/session/confirm/options", guard=signed_in_while_suspended("own"), errors=(PasskeysUnavailable,))
async def confirmation_options(request: Request, caller: Person) -> RequestOptions:
    """Request the options to confirm with a passkey. Valid for five minutes in this session."""
    return await assertions.confirmation_options(request, Holder.of(request, caller))
