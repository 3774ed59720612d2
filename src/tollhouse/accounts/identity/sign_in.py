"""Sign-in of users: password, second factor, session, and the email about a new device."""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity import second_factor, sessions, users_store
from tollhouse.accounts.identity.credentials import email_key, verify_password
from tollhouse.accounts.identity.known_devices import remember_device
from tollhouse.accounts.identity.second_factor import SecondFactorChanged, SecondFactorRequired
from tollhouse.accounts.identity.user_agents import browser_of, device_hash, system_of, user_agent_of
from tollhouse.accounts.mail import outbox
from tollhouse.accounts.mail.model import Email
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.errors import AuthenticationRequired
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Row, Tx


async def sign_in(request: Request, email: str, password: str, code: str | None = None) -> tuple[Row, str]:
    """The user's row, and the secret of a new session.

    Raises what `verify_password` and `verify_code` raise, and `SecondFactorRequired` if a code is needed and missing.
    """
    row = await verify_password(request, "sign-in", email, password, users_store.find_by_email)
    if await second_factor.state(request.services.db, row["id"]) is not None:
        if code is None:
            raise SecondFactorRequired(row["id"])
        await second_factor.verify_code(request, row["id"], code)
    return row, await _open_session(request, row)


async def finish_sign_in(request: Request, user_id: UUID, password_verified_at: datetime, code: str) -> str:
    """The secret of a new session after the code. Raises what `verify_code` raises.

    `SecondFactorChanged` also if the password was changed since it was verified: the sign-in starts again.
    """
    row = await users_store.get(request.services.db, user_id)
    if row is None:
        raise AuthenticationRequired
    if row["password_changed_at"] is not None and password_verified_at < row["password_changed_at"]:
        raise SecondFactorChanged
    await second_factor.verify_code(request, user_id, code)
    return await _open_session(request, row)


async def _open_session(request: Request, row: Row) -> str:
    async def action(work: Work) -> str:
        secret = await sessions.open_session(work, request, row["id"], row["password_hash"])
        by = request.actor_of("person", row["id"])
        await record.event(work, MerchantId(row["merchant_id"]), "session.begun", by=by)
        await _notify_of_new_device(work.tx, request, row)
        return secret

    secret = await request.transact(action)
    remember_device(request, "sign-in", email_key(row["email"]))
    return secret


async def _notify_of_new_device(tx: Tx, request: Request, row: Row) -> None:
    if await users_store.record_device(tx, row["id"], device_hash(request), request.now):
        agent = user_agent_of(request)
        facts = {"browser": browser_of(agent), "system": system_of(agent), "address": request.address}
        await outbox.enqueue(tx, Email("new_device", row["email"], row["language"], row["id"], facts), request.now)
