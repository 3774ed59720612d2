"""Operators' accounts: invitations, passwords, sign-in, and closing. Operators are invited on the command line."""

from datetime import timedelta
from uuid import UUID

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity import assertions, operators, operators_store, second_factor, second_factor_store
from tollhouse.accounts.identity.assertions import Assertion
from tollhouse.accounts.identity.browsers import remember_device
from tollhouse.accounts.identity.credentials import email_errors, email_key, password_errors, verify_password
from tollhouse.accounts.identity.model import InvalidCredentials
from tollhouse.accounts.identity.second_factor import SecondFactorRequired
from tollhouse.accounts.identity.webauthn_model import PasskeyAssertion, PasskeyRefused
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import OPERATOR_LINK_S
from tollhouse.pages.console import users_store
from tollhouse.pages.console.users_store import InvitationExpired
from tollhouse.platform.passwords import OPERATORS, hash_password

LINK_VALID_FOR = timedelta(seconds=OPERATOR_LINK_S)


async def invite(work: Work, email: str, context: OperatorContext) -> tuple[OperatorAction, str]:
    """Create an operator. Returns the action and the secret of the link to choose a password."""
    if email_errors("email", email):
        raise OperatorRefusedError(f"{email} is not an email address.")
    secret = tokens.random_base62(tokens.BODY_CHARS)
    link_hash, expires_at = tokens.digest(secret), context.at + LINK_VALID_FOR
    invited = await users_store.invite(work.tx, new_id(), email, email_key(email), link_hash, expires_at, context.at)
    if invited is None:
        raise OperatorRefusedError(f"{email} is already an operator. Run `tollhouse operator users reset` for a new link.")
    return await record.record_action(work, context, "operator_invited", None, subject_id=invited.operator_id), secret


async def invite_again(work: Work, email: str, context: OperatorContext) -> tuple[OperatorAction, str]:
    """Remove password and second factor and end all sessions. Returns the action and the secret of a new link."""
    secret = tokens.random_base62(tokens.BODY_CHARS)
    invited = await users_store.invite_again(work.tx, email_key(email), tokens.digest(secret), context.at + LINK_VALID_FOR)
    if invited is None:
        raise OperatorRefusedError(f"{email} is not an operator.")
    await operators_store.revoke_all(work.tx, invited.operator_id, context.at)
    await second_factor_store.remove(work.tx, invited.operator_id)
    return await record.record_action(work, context, "operator_invited", None, subject_id=invited.operator_id), secret


async def close(work: Work, email: str, context: OperatorContext) -> OperatorAction:
    """Close an account: remove password and second factor, and end all sessions."""
    closed = await users_store.close(work.tx, email_key(email), context.at)
    if closed is None:
        raise OperatorRefusedError(f"{email} is not an operator.")
    await operators_store.revoke_all(work.tx, closed.operator_id, context.at)
    await second_factor_store.remove(work.tx, closed.operator_id)
    return await record.record_action(work, context, "operator_closed", None, subject_id=closed.operator_id)


async def invited_email(request: Request, secret: str) -> str:
    """The email address of the invited operator. Raises `InvitationExpired`."""
    invited = await users_store.invited(request.services.db, tokens.digest(secret), request.now)
    if invited is None:
        raise InvitationExpired
    return invited.email


async def join(request: Request, secret: str, password: str) -> str:
    """Set the password and sign in. Returns the secret of the session.

    Raises `InvitationExpired`, and `ValidationFailed`, after which the link still works.
    """
    await invited_email(request, secret)
    if field_errors := password_errors("password", password):
        raise ValidationFailed(*field_errors)
    password_hash = await hash_password(password, OPERATORS, request.services.settings.password_queue)

    async def action(work: Work) -> str:
        joined = await users_store.join(work.tx, tokens.digest(secret), password_hash, request.now)
        if joined is None:
            raise InvitationExpired
        await record.record_action(
            work, OperatorContext(joined.email, request.now), "operator_joined", None, subject_id=joined.operator_id
        )
        return await operators.open_session(work.tx, request, joined.operator_id, password_hash)

    return await request.transact(action)


async def sign_in(request: Request, email: str, password: str) -> str:
    """Sign in. Returns the secret of the session. Raises as `verify_password` does, and `SecondFactorRequired`."""
    row = await verify_password(request, "operator sign-in", email, password, operators_store.find_by_email)
    if await second_factor.state(request.services.db, row["id"]) is not None:
        raise SecondFactorRequired(row["id"])
    return await _open_session(request, row["id"], row["password_hash"])


async def finish_sign_in(request: Request, operator_id: UUID, code: str) -> str:
    """Finish a sign-in with the code. Returns the secret of the session. Raises as `second_factor.verify_code` does.

    Raises `InvalidCredentials` if the operator was reset or closed since the password was checked.
    """
    password_hash = await users_store.password_of(request.services.db, operator_id)
    if password_hash is None:
        raise InvalidCredentials
    await second_factor.verify_code(request, operator_id, code)
    return await _open_session(request, operator_id, password_hash)


async def sign_in_by_passkey(request: Request, sent: PasskeyAssertion, operator_id: UUID | None = None) -> str:
    """Sign in with a passkey, which is both factors; `operator_id` has sent the password. Returns the secret of the session.

    Raises what `assertions.verify` raises.
    """
    assertion = await assertions.verify_sign_in(request, "operator", sent, operator_id)
    holder_id = assertion.passkey.holder_id
    password_hash = await users_store.password_of(request.services.db, holder_id)
    if password_hash is None:
        raise PasskeyRefused
    return await _open_session(request, holder_id, password_hash, assertion)


async def _open_session(request: Request, operator_id: UUID, password_hash: str, assertion: Assertion | None = None) -> str:
    async def action(work: Work) -> str | ApiError:
        if assertion is not None and (error := await assertions.record_use(work, request, assertion)) is not None:
            return error
        return await operators.open_session(work.tx, request, operator_id, password_hash)

    secret = await request.transact(action)
    if isinstance(secret, ApiError):
        raise secret
    remember_device(request, "operator sign-in", await users_store.email_key_of(request.services.db, operator_id))
    return secret
