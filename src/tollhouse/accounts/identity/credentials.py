"""The rules of email addresses and passwords, and the throttled verification of a password at sign-in."""

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity import throttle
from tollhouse.accounts.identity.browsers import find_known_device
from tollhouse.accounts.identity.model import InvalidCredentials
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited
from tollhouse.http.request import Request
from tollhouse.kernel import limits, messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.names import is_readable
from tollhouse.platform import passwords
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.platform.passwords import is_common

EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)*")
COMMON_PASSWORD = "This is one of the 30,000 most common passwords, or a short text repeated. Choose another password."  # noqa: S105
NOBODY = UUID(int=0)
SPAN = timedelta(seconds=limits.SIGN_IN_SPAN_S)
FindAccount = Callable[[Pool, str], Awaitable[Row | None]]
SignInKind = Literal["sign-in", "step-up", "operator sign-in"]
LANES = {"sign-in": passwords.UNKNOWN_DEVICES, "step-up": passwords.KNOWN_DEVICES, "operator sign-in": passwords.OPERATORS}
KNOWN_LANES = {**LANES, "sign-in": passwords.KNOWN_DEVICES}
"""The queues of password hashing, so that unknown browsers and sign-ups do not delay known users."""


def email_key(email: str) -> str:
    """The email address in lower case, which identifies an account."""
    return email.strip().casefold()


def email_errors(field: str, email: str) -> list[FieldError]:
    """The errors of an email address."""
    if len(email) > limits.EMAIL_CHARS_MAX or not EMAIL.fullmatch(email) or not is_readable(email):
        return [FieldError(field, "invalid_email", messages.AN_EMAIL)]
    return []


def password_errors(field: str, password: str) -> list[FieldError]:
    """The errors of a new password."""
    if not limits.PASSWORD_CHARS_MIN <= len(password) <= limits.PASSWORD_CHARS_MAX:
        return [
            FieldError(field, "invalid_length", messages.characters(limits.PASSWORD_CHARS_MIN, limits.PASSWORD_CHARS_MAX))
        ]
    if is_common(password):
        return [FieldError(field, "common_password", COMMON_PASSWORD)]
    return []


async def verify_password(request: Request, kind: SignInKind, email: str, password: str, find_account: FindAccount) -> Row:
    """The row of the account, which `find_account` looks up by `email_key`; it has a `password_hash`.

    Raises `InvalidCredentials` with the same message and timing for an unknown email and a wrong password, `RateLimited`
    after too many failures of the account or from the address, even for the right password, and `TemporarilyUnavailable`
    while too many passwords wait. The limit is checked again after hashing, since parallel guesses all pass the first check.
    Each kind of sign-in, and each known device of the account, has its own count.
    """
    account = email_key(email)
    device = find_known_device(request, kind, account)
    failure_limits = (
        failure_limits_of(request, kind, account)
        if device is None
        else _failure_limits_of_device(request, kind, account, device)
    )
    await throttle.require_below(request.services.db, failure_limits, request.now)
    row = await find_account(request.services.db, account)
    lane = LANES[kind] if device is None else KNOWN_LANES[kind]
    is_right = len(password) <= limits.PASSWORD_CHARS_MAX and await passwords.verify_password(
        password, row["password_hash"] if row else None, lane, request.services.settings.password_queue
    )
    if row is None or not is_right:
        wait = await throttle.record_failure(request.services.db, failure_limits, request.now)
        if kind == "sign-in":
            await _record_failed_sign_in(request, NOBODY if row is None else row["id"])
        raise RateLimited(wait) if wait else InvalidCredentials
    await throttle.require_below(request.services.db, failure_limits, request.now)
    return row


async def _record_failed_sign_in(request: Request, user_id: UUID) -> None:
    """Record a failed sign-in in the log of the user. For nobody the same is done in the same time, and nothing recorded."""
    by = request.actor_of("person", user_id)
    await request.transact(lambda work: record.event_of_user(work, user_id, "session.refused", by))


def failure_limits_of(request: Request, kind: str, account: str) -> tuple[FailureLimit, FailureLimit]:
    """The limits of failed attempts: for the account, and from the address."""
    settings = request.services.settings
    of_account = settings.rate_signin_account_per_15_min * settings.rate_limits
    from_address = settings.rate_signin_address_per_15_min * settings.rate_limits
    return (
        FailureLimit(f"{kind} of", account, of_account, SPAN),
        FailureLimit(f"{kind} from", throttle.network_of(request.address), from_address, SPAN),
    )


def _failure_limits_of_device(request: Request, kind: str, account: str, device: str) -> tuple[FailureLimit, ...]:
    """The limit of a known device: only its own failures count."""
    settings = request.services.settings
    limit = settings.rate_signin_account_per_15_min * settings.rate_limits
    return (FailureLimit(f"{kind} at", f"{account}\0{device}", limit, SPAN),)
