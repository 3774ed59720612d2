"""Two-factor authentication: passkeys, TOTP codes of an authenticator app (RFC 6238), and ten backup codes.

It is on while an account has an authenticator or a passkey. The codes of an account are verified one after another, behind
a row lock: each code is accepted once, and each failure counts before the next attempt.
"""

import hmac
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from secrets import choice
from typing import Literal
from uuid import UUID

import pyotp
from msgspec import Struct
from pyotp.totp import TOTP

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.identity import assertions, passkeys_store, throttle
from tollhouse.accounts.identity import second_factor_store as store
from tollhouse.accounts.identity.assertions import Assertion, Holder
from tollhouse.accounts.identity.credentials import failure_limits_of
from tollhouse.accounts.identity.key_rotation import EncryptedTable
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.http.request import Request
from tollhouse.http.services import Services, Work
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.limits import BACKUP_CODES, CODE_PERIOD_S, ENROLMENT_S
from tollhouse.kernel.text import Text
from tollhouse.kernel.tokens import digest
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.platform.log.events import log

ISSUER = "Tollhouse"
STEPS = (0, -1, 1)
"""The current time step, and one before and after it for clock differences."""
CODE_CHARS = 6
BACKUP_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
BACKUP_GROUPS, GROUP_CHARS = 4, 4
"""16 characters hold 79 random bits: no slow hash is needed."""
ENROLMENT_LIFETIME = timedelta(seconds=ENROLMENT_S)
Action = Callable[[Work], Awaitable[object]]


class Enrolment(Struct, frozen=True):
    """The secret for an authenticator app: an `otpauth:` URI for the QR code, and the key to type."""

    uri: str
    key: str


class FactorState(Struct, frozen=True):
    """When the authenticator was added, None without one; the number of passkeys; how many backup codes are unused."""

    on_since: datetime | None
    passkeys: int
    codes_left: int


class SecondFactorRequired(ApiError):
    """401: the password is right, and the account needs a code or a passkey."""

    code, status = "second_factor_required", 401
    message = "This account uses two-factor authentication. Send the code too, or use a passkey."
    solution = "Send the code of the authenticator, or a backup code, as `code`. Or use a passkey instead of the password."

    def __init__(self, holder_id: UUID) -> None:
        self.holder_id = holder_id
        super().__init__()


class InvalidCode(ApiError):
    """401: the code is wrong, expired or used."""

    code, status, message = "invalid_code", 401, "This code is incorrect, has expired, or was already used."
    solution = "Enter the code that the authenticator shows now, or an unused backup code."


class SecondFactorChanged(ApiError):
    """409: two-factor authentication was turned on or off concurrently."""

    code, status = "second_factor_changed", 409
    message = "Two-factor authentication was changed in the meantime. This request changed nothing."
    solution = "Load the page again."


class LastSecondFactor(ApiError):
    """409: a merchant of the user, or live use, requires a second factor, and this is the last one."""

    code, status = "last_second_factor", 409
    message = "Operators need two-factor authentication in live use. Add another factor first."
    solution = "Add a passkey or an authenticator first, or ask an owner to require second factors no longer."

    def __init__(self, business_name: str = "") -> None:
        required = Text("%(business)s requires two-factor authentication. Add another factor first.", business=business_name)
        super().__init__(required if business_name else None)


async def state(db: Pool, holder_id: UUID) -> FactorState | None:
    """The state of the account's second factor; None if it has none."""
    row = await store.state(db, holder_id)
    return None if row is None else FactorState(row["confirmed_at"], row["passkeys"], row["codes_left"])


async def enrol(request: Request, holder_id: UUID) -> None:
    """Create a secret, which `confirm` activates. Raises `SecondFactorChanged` if one is active."""
    secret = request.services.keys.encrypt(pyotp.random_base32().encode(), _bound_to(holder_id))
    if not await request.services.db.transact(lambda tx: store.enrol(tx, holder_id, secret, request.now)):
        raise SecondFactorChanged


async def enrolment(request: Request, holder_id: UUID, email: str) -> Enrolment | None:
    """The pending secret; None if there is none."""
    pending = await store.pending_secret(request.services.db, holder_id, request.now - ENROLMENT_LIFETIME)
    secret = None if pending is None else _decrypt(request.services.keys, holder_id, pending)
    if secret is None:
        return None
    key = " ".join(secret[at : at + GROUP_CHARS] for at in range(0, len(secret), GROUP_CHARS))
    return Enrolment(TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER), key)


async def confirm(request: Request, holder_id: UUID, code: str, also: Action) -> list[str]:
    """Activate the pending secret with its first code, and run `also`; the backup codes, shown once.

    Raises `InvalidCode`, `RateLimited`, and `SecondFactorChanged` if no secret is pending.
    """
    codes: list[str] = []

    async def action(work: Work) -> None:
        await store.confirm(work.tx, holder_id, request.now)
        codes[:] = await replace_backup_codes(work, holder_id)
        await _record_event(work, request, holder_id, "second_factor.on")
        await also(work)

    await _use_code(request, holder_id, code, action, "pending")
    return codes


async def verify_code(request: Request, holder_id: UUID, code: str) -> None:
    """Use a code. Raises what `confirm` raises; `SecondFactorChanged` if two-factor authentication is off."""

    async def nothing_more(_: Work) -> None:
        pass

    await _use_code(request, holder_id, code, nothing_more)


async def replace_backup_codes(work: Work, holder_id: UUID) -> list[str]:
    """New backup codes in place of all others, to be shown once."""
    codes = _new_backup_codes()
    await store.replace_codes(work.tx, holder_id, [_hash(code) for code in codes])
    return codes


async def renew_backup_codes(request: Request, holder_id: UUID, code: str | Assertion) -> list[str]:
    """Replace all backup codes. Raises what `confirm` raises."""
    codes: list[str] = []

    async def action(work: Work) -> None:
        codes[:] = await replace_backup_codes(work, holder_id)
        await _record_event(work, request, holder_id, "second_factor.codes_renewed")

    await _use_code(request, holder_id, code, action)
    return codes


async def turn_off(request: Request, holder: Holder, code: str | Assertion, also: Action) -> None:
    """Remove the authenticator and run `also`. Passkeys and, with them, backup codes stay.

    Raises `LastSecondFactor`, before the code is looked at, and what `confirm` raises.
    """
    if (error := await last_factor_error(request, holder)) is not None:
        raise error

    async def action(work: Work) -> None:
        error = await lock_factors(work, holder)
        await store.remove_authenticator(work.tx, holder.holder_id)
        if error is not None and not await store.has_any(work.tx, holder.holder_id):
            raise error
        await _record_event(work, request, holder.holder_id, "second_factor.off")
        await also(work)

    await _use_code(request, holder.holder_id, code, action, "authenticator")


async def lock_factors(work: Work, holder: Holder) -> LastSecondFactor | None:
    """Lock an account against other removals; the error if its last factor must stay, or None."""
    error = await _error_of_last(work.tx, work.services, holder, lock=True)
    await passkeys_store.lock_holder(work.tx, holder.kind, holder.holder_id)
    return error


async def last_factor_error(request: Request, holder: Holder) -> LastSecondFactor | None:
    """The error if an account has one factor, which must stay, or None."""
    found = await state(request.services.db, holder.holder_id)
    if found is None or found.passkeys + (found.on_since is not None) > 1:
        return None
    return await _error_of_last(request.services.db, request.services, holder)


async def _error_of_last(
    db: Pool | Tx, services: Services, holder: Holder, *, lock: bool = False
) -> LastSecondFactor | None:
    if holder.person is None:
        return LastSecondFactor() if services.settings.is_live_use else None
    name = await store.find_requiring(db, holder.holder_id, lock=lock)
    return None if name is None else LastSecondFactor(name)


def step_of(totp: TOTP, code: str, now: datetime) -> int | None:
    """The time step of this code among the accepted ones; None if it belongs to none."""
    current = int(now.timestamp()) // CODE_PERIOD_S
    steps = (current + step for step in STEPS)
    return next((step for step in steps if hmac.compare_digest(totp.generate_otp(step).encode(), code.encode())), None)


async def _use_code(
    request: Request,
    holder_id: UUID,
    code: str | Assertion,
    action: Action,
    needs: Literal["pending", "authenticator", "any"] = "any",
) -> None:
    """Use the code, or a passkey, and run the action in one transaction. A failure is counted and committed too.

    `needs` is what the account must have: an authenticator that waits for its first code, one that is active, or that or
    passkeys.
    """
    failure_limits = failure_limits_of(request, "code", str(holder_id))

    async def verify_and_act(work: Work) -> ApiError | None:
        row = await store.lock(work.tx, holder_id)
        is_pending = None if row is None else _is_pending(row, request.now)
        secret = store.encrypted(row) if is_pending is (needs == "pending") else None
        if secret is None and not (needs == "any" and await store.lock_passkeys(work.tx, holder_id)):
            return SecondFactorChanged()
        if isinstance(code, Assertion):
            if (error := await assertions.record_use(work, request, code)) is None:
                await action(work)
            return error
        wait = await throttle.retry_after(work.tx, failure_limits, request.now)
        if wait is not None:
            return RateLimited(wait)
        if not await _is_valid(work.tx, request, holder_id, secret, code):
            wait = await throttle.record_failure(work.tx, failure_limits, request.now)
            await _record_event(work, request, holder_id, "second_factor.refused")
            return InvalidCode() if wait is None else RateLimited(wait)
        await action(work)
        return None

    error = await request.transact(verify_and_act)
    if error is not None:
        raise error


async def _record_event(work: Work, request: Request, holder_id: UUID, event_type: AuditEventType) -> None:
    await record.event_of_user(work, holder_id, event_type, request.actor_of("person", holder_id))


def _is_pending(row: Row, now: datetime) -> bool | None:
    """Whether the secret waits for its first code; None if the enrolment has expired."""
    if row["confirmed_at"] is not None:
        return False
    return True if row["created_at"] > now - ENROLMENT_LIFETIME else None


async def _is_valid(tx: Tx, request: Request, holder_id: UUID, encrypted: Encrypted | None, code: str) -> bool:
    normalized = _normalize(code)
    if len(normalized) != CODE_CHARS:
        return await store.use_backup_code(tx, holder_id, digest(normalized), request.now)
    if encrypted is None:
        return False
    secret = _decrypt(request.services.keys, holder_id, encrypted)
    step = None if secret is None else step_of(TOTP(secret), normalized, request.now)
    return step is not None and await store.use_step(tx, holder_id, step)


def _decrypt(keys: KeyRing, holder_id: UUID, encrypted: Encrypted) -> str | None:
    """The secret; None if its key is lost, so that only backup codes work."""
    try:
        return keys.open(encrypted, _bound_to(holder_id)).decode()
    except DecryptionError as error:
        log.error("second_factor_not_decrypted", holder_id=str(holder_id), detail=str(error))
        return None


def _new_backup_codes() -> list[str]:
    groups = [
        ["".join(choice(BACKUP_ALPHABET) for _ in range(GROUP_CHARS)) for _ in range(BACKUP_GROUPS)]
        for _ in range(BACKUP_CODES)
    ]
    return ["-".join(group) for group in groups]


def _hash(code: str) -> bytes:
    return digest(_normalize(code))


def _normalize(code: str) -> str:
    """The code in lower case without spaces and dashes."""
    return "".join(code.split()).replace("-", "").lower()


def _bound_to(holder_id: UUID) -> str:
    return f"second-factor/{holder_id}"


def _log_failure(row: Row, reason: str) -> None:
    log.error("second_factor_not_decrypted", holder_id=str(row["holder_id"]), detail=reason)


ENCRYPTED = EncryptedTable(
    key=("holder_id",),
    first_key=(UUID(int=0),),
    lock_old_keys=store.LOCK_OLD_KEYS,
    reencrypt=store.REENCRYPT,
    count_by_key=store.COUNT_BY_KEY,
    bound_to=lambda row: _bound_to(row["holder_id"]),
    log_failure=_log_failure,
)
