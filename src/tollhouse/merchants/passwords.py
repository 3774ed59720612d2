"""Another password: by a link that is mailed to who forgot theirs, or at the dashboard by who knows it.

Either way nobody stays signed in elsewhere, earlier links set nothing any more, and the person is told by mail.
"""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.audit import author, record
from tollhouse.audit.author import Author
from tollhouse.audit.changes import made
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.identity import second_factor_store, sessions_store, throttle
from tollhouse.identity.model import Person
from tollhouse.identity.people import email_faults, email_key, password_faults, prove
from tollhouse.identity.throttle import RateLimited, Watch
from tollhouse.kernel import limits
from tollhouse.kernel.clock import parse_time_or_date
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.kernel.ids import MerchantId
from tollhouse.mail import links, outbox
from tollhouse.mail import store as mail_store
from tollhouse.mail.links import LinkIsOver
from tollhouse.mail.model import Letter
from tollhouse.merchants import passwords_store as store
from tollhouse.platform.db import Row, Tx
from tollhouse.platform.passwords import hash_password

SPAN = timedelta(seconds=limits.SIGN_IN_SPAN_S)


class PasswordChanged(ApiError):
    """409: somebody changed it after the form was made, maybe by a double click."""

    code, status = "password_changed", 409
    message = "The password was changed a moment ago. Nothing was done this time."


async def ask_for_link(request: Request, email: str) -> None:
    """Mail a link to whom this address belongs, if to anybody. Raises `RateLimited` and `ValidationFailed`.

    Whether there is an account is looked up when the mail is sent. So what is done here is the same for every address, and
    takes the same time.
    """
    if field_errors := email_faults("email", email):
        raise ValidationFailed(*field_errors)
    key = email_key(email)
    await count_asking(request, "forgot", key)
    async with request.services.db.transaction() as tx:
        await outbox.put(tx, Letter("reset", key, language_of(request)), request.now)


async def count_asking(request: Request, what: str, account: str) -> None:
    """Count that a mail was asked for, by account and by address. Raises `RateLimited`."""
    settings = request.services.settings
    watches = (
        Watch(f"{what} of", account, limits.MAIL_REQUESTS_MAX * settings.rate_limits, SPAN),
        Watch(
            f"{what} from",
            throttle.source_of(request.address),
            settings.rate_signin_address_per_15_min * settings.rate_limits,
            SPAN,
        ),
    )
    wait = await throttle.count_failure(request.services.db, watches, request.now)
    if wait is not None:
        raise RateLimited(wait)


async def email_of(request: Request, secret: str) -> str:
    """Who may choose a password by this link. Raises `LinkIsOver`."""
    holder = await links.holder_of(request, "reset", secret)
    if not holder.active:
        raise LinkIsOver
    return holder.email


async def reset(request: Request, secret: str, password: str) -> None:
    """Set the password, which uses the link up. Raises `LinkIsOver`, and `ValidationFailed`, which leaves the link.

    A second factor stays, and is asked for at the next sign-in. Where the address was never verified, somebody else may have
    signed up with it: what they made before is revoked, the second factor too.
    """
    holder = await links.holder_of(request, "reset", secret)
    if not holder.active:
        raise LinkIsOver
    if field_errors := password_faults("password", password):
        raise ValidationFailed(*field_errors)
    password_hash = await hash_password(password, queue_max=request.services.settings.password_queue)

    async def action(tx: Tx) -> None:
        person = await store.lock(tx, holder.user_id)
        if person is None or await mail_store.use(tx, "reset", holder.mail_id, request.now) != holder.user_id:
            raise LinkIsOver
        # Nothing below this line may refuse.
        await store.set_by_mail(tx, holder.user_id, password_hash, request.now)
        await sessions_store.end_all(tx, holder.user_id, request.now)
        by = author.person(request, holder.user_id)
        await record.note_of_person(tx, holder.user_id, "password.set_by_mail", request.now, by)
        if person["verified_at"] is None:
            await _revoke_all(tx, person, by, request.now)
        await _notify(tx, person, request.now)

    await request.services.db.transact(action)


async def change(request: Request, person: Person, current: str, new: str, seen: str) -> None:
    """Set another password at the dashboard. `seen` is what `version` said of the one that is changed.

    Raises `ValidationFailed`, what `prove` does, and `PasswordChanged` where it is another one already.
    """
    if field_errors := password_faults("password", new):
        raise ValidationFailed(*field_errors)
    if await version(request, person.user_id) != seen:
        raise PasswordChanged
    await prove(request, "step-up", person.email, current, sessions_store.by_email)
    password_hash = await hash_password(new, queue_max=request.services.settings.password_queue)

    async def action(tx: Tx) -> None:
        row = await store.lock(tx, person.user_id)
        if row is None or not await store.change(tx, person.user_id, password_hash, request.now, parse_time_or_date(seen)):
            raise PasswordChanged
        # Nothing below this line may refuse.
        await sessions_store.end_others(tx, person.user_id, person.session_hash, request.now)
        await record.note(tx, person.merchant_id, "password.changed", request.now)
        await _notify(tx, row, request.now)

    await request.services.db.transact(action)


async def version(request: Request, user_id: UUID) -> str:
    """Which password it is: since when, or nothing for the one of sign-up."""
    changed_at = await store.changed_at(request.services.db, user_id)
    return "" if changed_at is None else changed_at.isoformat()


async def _revoke_all(tx: Tx, person: Row, by: Author, now: datetime) -> None:
    """Everything that opens the account beside the new password. Sessions have ended, so nothing is added meanwhile."""
    merchant_id, about = MerchantId(person["merchant_id"]), made(reason="address never verified")
    for key in await store.revoke_keys(tx, merchant_id, now):
        env = MerchantEnv(merchant_id, key["mode"])
        await record.note(tx, env, "api_key.revoked", now, subject=key["id"], name=key["name"], changed=about, by=by)
    for grant in await store.revoke_grants(tx, merchant_id, now):
        env = MerchantEnv(merchant_id, grant["mode"])
        await record.note(tx, env, "grant.ended", now, subject=grant["client_id"], name=grant["name"], changed=about, by=by)
    if await second_factor_store.remove(tx, person["id"]):
        await record.note_of_person(tx, person["id"], "second_factor.removed", now, by)


async def _notify(tx: Tx, person: Row, now: datetime) -> None:
    await mail_store.end_resets(tx, person["id"], now)
    await outbox.put(tx, Letter("password_changed", person["email"], person["language"], person["id"]), now)
