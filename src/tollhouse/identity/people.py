"""What is asked of everybody who signs in, a merchant's person and an operator alike: an e-mail and the right password."""

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal

from tollhouse.http.request import Request
from tollhouse.identity import throttle
from tollhouse.identity.known_devices import known_device
from tollhouse.identity.model import InvalidCredentials
from tollhouse.identity.throttle import RateLimited, Watch
from tollhouse.kernel import limits, messages
from tollhouse.kernel.errors import FieldError
from tollhouse.kernel.names import is_readable
from tollhouse.platform import passwords
from tollhouse.platform.common_passwords import is_common
from tollhouse.platform.db import Pool, Row

EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)*")
COMMON = "This password is one of the 30,000 most common ones, or repeats fewer than 10 characters. Choose another one."
SPAN = timedelta(seconds=limits.SIGN_IN_SPAN_S)
Find = Callable[[Pool, str], Awaitable[Row | None]]
SignInKind = Literal["sign-in", "step-up", "operator sign-in"]
LANES = {"sign-in": passwords.UNKNOWN_DEVICES, "step-up": passwords.KNOWN_DEVICES, "operator sign-in": passwords.OPERATORS}
KNOWN_LANES = {**LANES, "sign-in": passwords.KNOWN_DEVICES}
"""Where passwords are compared: so that neither strangers nor sign-ups keep those waiting who were there before."""


def email_key(email: str) -> str:
    """The e-mail folded: one account, however it is spelt."""
    return email.strip().casefold()


def email_faults(field: str, email: str) -> list[FieldError]:
    """What is wrong with an e-mail address."""
    if len(email) > limits.EMAIL_CHARS_MAX or not EMAIL.fullmatch(email) or not is_readable(email):
        return [FieldError(field, "invalid_email", messages.AN_EMAIL)]
    return []


def password_faults(field: str, password: str) -> list[FieldError]:
    """What is wrong with a password that somebody chooses."""
    if not limits.PASSWORD_CHARS_MIN <= len(password) <= limits.PASSWORD_CHARS_MAX:
        return [
            FieldError(field, "invalid_length", messages.characters(limits.PASSWORD_CHARS_MIN, limits.PASSWORD_CHARS_MAX))
        ]
    if is_common(password):
        return [FieldError(field, "common_password", COMMON)]
    return []


async def prove(request: Request, what: SignInKind, email: str, password: str, find: Find) -> Row:
    """The account's row, whose `password_hash` is of this password. `find` looks it up by the folded e-mail.

    Raises `InvalidCredentials` in the same words and time for a wrong e-mail and a wrong password. After too many
    failures, of the account or of the address, even the right password is `RateLimited`: else one could go on
    guessing. It is looked up again behind the password, for guesses sent all at once begin before the first fails.
    Failures at one kind of sign-in (`what`) are counted apart from those at another, and those of a device that is known at
    the account apart from everybody else's. Where too many passwords wait it is `TemporarilyUnavailable`.
    """
    account = email_key(email)
    device = known_device(request, what, account)
    watches = watches_of(request, what, account) if device is None else _watches_of_device(request, what, account, device)
    await _refuse_too_many(request, watches)
    row = await find(request.services.db, account)
    lane = LANES[what] if device is None else KNOWN_LANES[what]
    right = len(password) <= limits.PASSWORD_CHARS_MAX and await passwords.verify_password(
        password, row["password_hash"] if row else None, lane, request.services.settings.password_queue
    )
    if row is None or not right:
        wait = await throttle.count_failure(request.services.db, watches, request.now)
        raise RateLimited(wait) if wait else InvalidCredentials
    await _refuse_too_many(request, watches)
    return row


def watches_of(request: Request, what: str, account: str) -> tuple[Watch, Watch]:
    """What is counted when somebody fails at this: failures of the account, and from the address."""
    settings = request.services.settings
    of_account = settings.rate_signin_account_per_15_min * settings.rate_limits
    from_address = settings.rate_signin_address_per_15_min * settings.rate_limits
    return (
        Watch(f"{what} of", account, of_account, SPAN),
        Watch(f"{what} from", throttle.source_of(request.address), from_address, SPAN),
    )


def _watches_of_device(request: Request, what: str, account: str, device: str) -> tuple[Watch, ...]:
    """The same of a device that is known at the account: its own failures, and nobody else's."""
    settings = request.services.settings
    most = settings.rate_signin_account_per_15_min * settings.rate_limits
    return (Watch(f"{what} at", f"{account}\0{device}", most, SPAN),)


async def _refuse_too_many(request: Request, watches: tuple[Watch, ...]) -> None:
    wait = await throttle.wait_for(request.services.db, watches, request.now)
    if wait is not None:
        raise RateLimited(wait)
