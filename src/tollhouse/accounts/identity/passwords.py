"""New passwords: a reset by email link, or a change in the dashboard.

Both end all other sessions, invalidate earlier reset links, and notify the user by email.
"""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity import (
    address_changes_store,
    members_store,
    second_factor_store,
    sessions_store,
    store,
    throttle,
    users_store,
)
from tollhouse.accounts.identity.credentials import SPAN, email_errors, email_key, password_errors, verify_password
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.throttle import FailureLimit, RateLimited
from tollhouse.accounts.mail import links
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.links import LinkOwner, MailLinkExpired
from tollhouse.accounts.mail.model import Email
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import limits
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.clock import parse_time_or_date
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Row, Tx
from tollhouse.platform.passwords import hash_password


class PasswordChanged(ApiError):
    """409: the password was changed after the form was loaded, for example by a double click."""

    code, status = "password_changed", 409
    message = "Your password was already changed by another request. This request changed nothing."
    solution = "Sign in with the new password."


async def request_reset(request: Request, email: str) -> None:
    """Enqueue an email with a reset link. Raises `RateLimited` and `ValidationFailed`.

    The account is looked up when the email is sent, so the response and its timing do not reveal whether there is one.
    """
    if errors := email_errors("email", email):
        raise ValidationFailed(*errors)
    key = email_key(email)
    await count_request(request, "forgot", key)
    async with request.services.db.transaction() as tx:
        await outbox.enqueue(tx, Email("reset", key, language_of(request)), request.now)


async def count_request(request: Request, kind: str, account: str) -> None:
    """Count a request for an email, by account and by address. Raises `RateLimited`."""
    settings = request.services.settings
    from_address = settings.rate_signin_address_per_15_min * settings.rate_limits
    failure_limits = (
        FailureLimit(f"{kind} of", account, limits.MAIL_REQUESTS_MAX * settings.rate_limits, SPAN),
        FailureLimit(f"{kind} from", throttle.network_of(request.address), from_address, SPAN),
    )
    wait = await throttle.record_failure(request.services.db, failure_limits, request.now)
    if wait is not None:
        raise RateLimited(wait)


async def find_reset_owner(request: Request, secret: str) -> LinkOwner:
    """The user of an active reset link. Raises `MailLinkExpired`."""
    owner = await links.find_owner(request, "reset", secret)
    if not owner.active:
        raise MailLinkExpired
    return owner


async def reset(request: Request, secret: str, password: str) -> None:
    """Set the password and use the link. Raises `MailLinkExpired`, and `ValidationFailed`, which keeps the link.

    The second factor is kept. If the address was never verified, somebody else may have signed up with it: then API keys,
    grants and the second factor are revoked. While a change of the address can be undone, the link was sent to the old one.
    """
    owner = await find_reset_owner(request, secret)
    if errors := password_errors("password", password):
        raise ValidationFailed(*errors)
    password_hash = await hash_password(password, queue_max=request.services.settings.password_queue)

    async def action(work: Work) -> None:
        user = await users_store.lock(work.tx, owner.user_id)
        if user is None or await outbox.use_link(work.tx, "reset", owner.mail_id, request.now) != owner.user_id:
            raise MailLinkExpired
        # Nothing below this line may refuse.
        await users_store.reset_password(work.tx, owner.user_id, password_hash, request.now)
        await sessions_store.revoke_all(work.tx, owner.user_id, request.now)
        by = request.actor_of("person", owner.user_id)
        await record.event_of_user(work, owner.user_id, "password.set_by_mail", by)
        change = await address_changes_store.current(work.tx, owner.user_id, request.now)
        if user["verified_at"] is None or (change is not None and not change.was_verified):
            await _revoke_all(work, user, by)
        await _notify(work.tx, user, request.now)

    await request.transact(action)


async def change(request: Request, person: Person, current: str, new: str, seen: str) -> None:
    """Change the password in the dashboard. `seen` is the `version` that the form was loaded with.

    Raises `ValidationFailed`, what `verify_password` raises, and `PasswordChanged` if it was changed since.
    """
    if errors := password_errors("password", new):
        raise ValidationFailed(*errors)
    if await version(request, person.user_id) != seen:
        raise PasswordChanged
    await verify_password(request, "step-up", person.email, current, sessions_store.find_by_email)
    password_hash = await hash_password(new, queue_max=request.services.settings.password_queue)

    async def action(work: Work) -> None:
        user = await users_store.lock(work.tx, person.user_id)
        seen_at = parse_time_or_date(seen)
        if user is None or not await users_store.change_password(
            work.tx, person.user_id, password_hash, request.now, seen_at
        ):
            raise PasswordChanged
        # Nothing below this line may refuse.
        await sessions_store.revoke_others(work.tx, person.user_id, person.session_hash, request.now)
        await record.event_of_user(work, person.user_id, "password.changed", work.actor)
        await _notify(work.tx, user, request.now)

    await request.transact(action)


async def version(request: Request, user_id: UUID) -> str:
    """When the password was last changed, in ISO 8601; empty for the password of sign-up."""
    changed_at = await users_store.password_changed_at(request.services.db, user_id)
    return "" if changed_at is None else changed_at.isoformat()


async def _revoke_all(work: Work, user: Row, by: Actor) -> None:
    """Revoke the second factor, and API keys and grants of the merchants that the user owns."""
    for merchant_id in await members_store.list_owned(work.tx, user["id"]):
        await _revoke_credentials(work, merchant_id, by)
    if await second_factor_store.remove(work.tx, user["id"]):
        await record.event_of_user(work, user["id"], "second_factor.removed", by)


async def _revoke_credentials(work: Work, merchant_id: MerchantId, by: Actor) -> None:
    """Revoke API keys and grants. The sessions of who resets the password have ended: none is created by one."""
    keys = await store.revoke_api_keys(work.tx, merchant_id, work.now)
    grants = await users_store.revoke_grants(work.tx, merchant_id, "password_reset", work.now)
    await record_revoked(work, keys, grants, "address never verified", by)


async def record_revoked(work: Work, keys: list[Row], grants: list[ChangedConnection], reason: str, by: Actor) -> None:
    """Record that API keys (`id`, `merchant_id`, `mode`, `name`) and connections were revoked, and announce it."""
    changed = new_values(reason=reason)
    for key in keys:
        env = MerchantEnv(MerchantId(key["merchant_id"]), key["mode"])
        await record.event(work, env, "api_key.revoked", subject=key["id"], name=key["name"], changed=changed, by=by)
    for grant in grants:
        await record.event(work, grant.env, "grant.ended", subject=grant.client_id, name=grant.name, changed=changed, by=by)
    await work.services.connection_webhooks.announce(work, "connection.ended", grants, "merchant")


async def _notify(tx: Tx, user: Row, now: datetime) -> None:
    await address_changes_store.withdraw(tx, user["id"], now)
    await outbox.invalidate_resets(tx, user["id"], now)
    await outbox.enqueue(tx, Email("password_changed", user["email"], user["language"], user["id"]), now)
