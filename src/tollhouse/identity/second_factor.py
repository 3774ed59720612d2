"""The second factor: codes that an authenticator makes of a secret it shares with us (RFC 6238), and ten to fall back on.

Of one account, codes are looked at one after another, behind a lock: so a code opens one door, however often it is sent at
once, and every guess is counted before the next one is looked at.
"""

import hmac
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from secrets import choice
from uuid import UUID

import pyotp
from msgspec import Struct
from pyotp.totp import TOTP

from tollhouse.audit import author, record
from tollhouse.audit.event_types import AuditEventType
from tollhouse.http.request import Request
from tollhouse.identity import second_factor_store as store
from tollhouse.identity import throttle
from tollhouse.identity.people import watches_of
from tollhouse.identity.throttle import RateLimited
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.limits import BACKUP_CODES, CODE_PERIOD_S, ENROLMENT_S
from tollhouse.kernel.tokens import digest
from tollhouse.platform.db import Pool, Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted, KeyRing
from tollhouse.platform.log import log

ISSUER = "Tollhouse"
STEPS = (0, -1, 1)
"""The code of now, and for clocks that differ the one before and the one behind."""
CODE_CHARS = 6
BACKUP_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
BACKUP_GROUPS, GROUP_CHARS = 4, 4
"""Sixteen characters hold 79 random bits, which need no slow hash: nobody tries them all."""
ENROLMENT = timedelta(seconds=ENROLMENT_S)
Act = Callable[[Tx], Awaitable[object]]


class Enrolment(Struct, frozen=True):
    """What an authenticator needs: the address that a code for the camera holds, and the key to be typed."""

    uri: str
    key: str


class FactorState(Struct, frozen=True):
    """Since when codes are asked for, and how many backup codes are left."""

    on_since: datetime
    codes_left: int


class SecondFactorRequired(ApiError):
    """401: the password is right, and the account has a second factor as well."""

    code, status = "second_factor_required", 401
    message = "This account has a second factor. Send its code too."

    def __init__(self, holder_id: UUID) -> None:
        self.holder_id = holder_id
        super().__init__()


class InvalidCode(ApiError):
    """401: the code of the second factor is wrong, too old, or was used."""

    code, status, message = "invalid_code", 401, "This code is wrong, too old, or was used already."


class SecondFactorChanged(ApiError):
    """409: the second factor was switched on or off meanwhile."""

    code, status, message = "second_factor_changed", 409, "The second factor was changed meanwhile. Nothing was done."


async def state(db: Pool, holder_id: UUID) -> FactorState | None:
    """How the account's second factor stands; None where there is none."""
    row = await store.state(db, holder_id)
    return None if row is None else FactorState(row["confirmed_at"], row["codes_left"])


async def enrol(request: Request, holder_id: UUID) -> None:
    """Make a secret, which counts when a first code of it was seen. Raises `SecondFactorChanged` where one counts."""
    secret = request.services.keys.encrypt(pyotp.random_base32().encode(), _bound(holder_id))
    if not await request.services.db.transact(lambda tx: store.enrol(tx, holder_id, secret, request.now)):
        raise SecondFactorChanged


async def enrolment(request: Request, holder_id: UUID, email: str) -> Enrolment | None:
    """What the authenticator is to be told; None when no secret waits."""
    waiting = await store.waiting(request.services.db, holder_id, request.now - ENROLMENT)
    secret = None if waiting is None else _opened(request.services.keys, holder_id, waiting)
    if secret is None:
        return None
    key = " ".join(secret[at : at + GROUP_CHARS] for at in range(0, len(secret), GROUP_CHARS))
    return Enrolment(TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER), key)


async def confirm(request: Request, holder_id: UUID, code: str, also: Act) -> list[str]:
    """Ask for codes from now on, a first one of which is this; the backup codes, which are shown once.

    `also` is done with it. Raises `InvalidCode`, `RateLimited`, and `SecondFactorChanged` when no secret waits.
    """
    codes = _new_backup_codes()

    async def action(tx: Tx) -> None:
        await store.confirm(tx, holder_id, request.now)
        await store.replace_codes(tx, holder_id, [_hash(code) for code in codes])
        await _note(tx, request, holder_id, "second_factor.on")
        await also(tx)

    await _use(request, holder_id, code, action, waiting=True)
    return codes


async def check(request: Request, holder_id: UUID, code: str) -> None:
    """Use the code up. Raises what `confirm` does: `SecondFactorChanged` where no code is asked for any more."""

    async def nothing_more(_: Tx) -> None:
        pass

    await _use(request, holder_id, code, nothing_more)


async def renew_backup_codes(request: Request, holder_id: UUID, code: str) -> list[str]:
    """Other backup codes in place of all there were. Raises what `confirm` does."""
    codes = _new_backup_codes()

    async def action(tx: Tx) -> None:
        await store.replace_codes(tx, holder_id, [_hash(code) for code in codes])
        await _note(tx, request, holder_id, "second_factor.codes_renewed")

    await _use(request, holder_id, code, action)
    return codes


async def turn_off(request: Request, holder_id: UUID, code: str, also: Act) -> None:
    """Ask for no codes any more, and do what is to be done with it. Raises what `confirm` does."""

    async def action(tx: Tx) -> None:
        await store.remove(tx, holder_id)
        await _note(tx, request, holder_id, "second_factor.off")
        await also(tx)

    await _use(request, holder_id, code, action)


def rotate(keys: KeyRing, holder_id: UUID, secret: Encrypted) -> Encrypted:
    """The same secret under the first key of the ring. Raises `DecryptionError`."""
    return keys.encrypt(keys.open(secret, _bound(holder_id)), _bound(holder_id))


def step_of(totp: TOTP, code: str, now: datetime) -> int | None:
    """Which 30 seconds this is the code of, among those that count now."""
    current = int(now.timestamp()) // CODE_PERIOD_S
    steps = (current + step for step in STEPS)
    return next((step for step in steps if hmac.compare_digest(totp.generate_otp(step).encode(), code.encode())), None)


async def _use(request: Request, holder_id: UUID, code: str, action: Act, *, waiting: bool = False) -> None:
    """Use the code up and do the deed, in one transaction. What counts a failure commits too."""
    watches = watches_of(request, "code", str(holder_id))

    async def once(tx: Tx) -> ApiError | None:
        row = await store.lock(tx, holder_id)
        secret = store.encrypted(row)
        if row is None or secret is None or _waits(row["created_at"], row["confirmed_at"], request.now) is not waiting:
            return SecondFactorChanged()
        wait = await throttle.wait_for(tx, watches, request.now)
        if wait is not None:
            return RateLimited(wait)
        if not await _is_right(tx, request, holder_id, secret, code):
            wait = await throttle.count_failure(tx, watches, request.now)
            await _note(tx, request, holder_id, "second_factor.refused")
            return InvalidCode() if wait is None else RateLimited(wait)
        await action(tx)
        return None

    error = await request.services.db.transact(once)
    if error is not None:
        raise error


async def _note(tx: Tx, request: Request, holder_id: UUID, action: AuditEventType) -> None:
    await record.note_of_person(tx, holder_id, action, request.now, author.person(request, holder_id))


def _waits(created_at: datetime, confirmed_at: datetime | None, now: datetime) -> bool | None:
    """Whether a factor waits for its first code; None when it has waited too long."""
    if confirmed_at is not None:
        return False
    return True if created_at > now - ENROLMENT else None


async def _is_right(tx: Tx, request: Request, holder_id: UUID, encrypted: Encrypted, code: str) -> bool:
    typed = _as_kept(code)
    if len(typed) != CODE_CHARS:
        return await store.use_backup_code(tx, holder_id, digest(typed), request.now)
    secret = _opened(request.services.keys, holder_id, encrypted)
    step = None if secret is None else step_of(TOTP(secret), typed, request.now)
    return step is not None and await store.use_step(tx, holder_id, step)


def _opened(keys: KeyRing, holder_id: UUID, encrypted: Encrypted) -> str | None:
    """The secret; None where its key is lost, and then backup codes are what is left."""
    try:
        return keys.open(encrypted, _bound(holder_id)).decode()
    except DecryptionError as fault:
        log.error("cannot open a second factor", holder_id=str(holder_id), detail=str(fault))
        return None


def _new_backup_codes() -> list[str]:
    groups = [
        ["".join(choice(BACKUP_ALPHABET) for _ in range(GROUP_CHARS)) for _ in range(BACKUP_GROUPS)]
        for _ in range(BACKUP_CODES)
    ]
    return ["-".join(group) for group in groups]


def _hash(code: str) -> bytes:
    return digest(_as_kept(code))


def _as_kept(code: str) -> str:
    """The code without what people put between its characters."""
    return "".join(code.split()).replace("-", "").lower()


def _bound(holder_id: UUID) -> str:
    return f"second-factor/{holder_id}"
