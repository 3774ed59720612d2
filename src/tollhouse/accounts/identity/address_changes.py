"""Changes of the address by which a person signs in: requested, confirmed at the new address, undone at the old one.

The old address keeps the account for 72 hours: it gets the password resets, can undo the change without sign-in, and nobody
else can take it. Until then there is no second change, so there is always one address to go back to.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.identity import address_changes_store as store
from tollhouse.accounts.identity import sessions_store, users_store
from tollhouse.accounts.identity.credentials import email_errors, email_key
from tollhouse.accounts.identity.model import AddressChange, Person
from tollhouse.accounts.identity.passwords import count_request, record_revoked
from tollhouse.accounts.mail import links
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.links import MailLinkExpired
from tollhouse.accounts.mail.model import LINK_FACT, Email, EmailKind, LinkKind, mail_name
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.errors import ApiError, AuthenticationRequired, FieldError, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.limits import ADDRESS_LINK_S, ADDRESS_UNDO_S
from tollhouse.kernel.tokens import BODY_CHARS, random_base62
from tollhouse.platform.database.pool import Row
from tollhouse.platform.passwords import hash_password

CONFIRMED_WITHIN = timedelta(seconds=ADDRESS_LINK_S)
UNDONE_WITHIN = timedelta(seconds=ADDRESS_UNDO_S)
UNDONE = "email address change undone"
UndoInvitations = Callable[[Work, AddressChange, Actor], Awaitable[None]]
"""Ends invitations that the person sent since the change, and removes who joined by one: `team.invitations.undo_sent`."""


class AddressChangedRecently(ApiError):
    """409: the address was changed less than 72 hours ago, and that can still be undone."""

    code, status = "address_changed_recently", 409
    message = "Your email address was changed in the last 72 hours. You can change it again after that."
    solution = "Wait until `details.until`, or undo the change with the link that was sent to the old address."

    def __init__(self, change: AddressChange) -> None:
        super().__init__(members={"details": {"until": stamp(change.ends_at)}})


class AddressTaken(ApiError):
    """409: the new address got another account before it was confirmed."""

    code, status = "email_taken", 409
    message = "Another account uses this email address. Nothing was changed."
    solution = "Request the change again with another address."


async def request_change(request: Request, person: Person, email: str) -> AddressChange:
    """Send a link to the new address, and a notice to the present one. A request that waits is replaced.

    Whether the address has an account is not looked up before it is confirmed, so nobody learns it here. Raises
    `ValidationFailed`, `RateLimited`, `AddressChangedRecently`, and `AuthenticationRequired` if the session has ended.
    """
    email = email.strip()
    key = email_key(email)
    field_errors = email_errors("email", email)
    if not field_errors and key == email_key(person.email):
        field_errors = [FieldError("email", "unchanged", messages.ANOTHER_EMAIL)]
    if field_errors:
        raise ValidationFailed(*field_errors)
    await count_request(request, "address", str(person.user_id))

    async def action(work: Work) -> AddressChange:
        user = await users_store.lock(work.tx, person.user_id)
        if user is None or not await sessions_store.lock(work.tx, person.session_hash):
            raise AuthenticationRequired
        recent = await store.current(work.tx, person.user_id, work.now)
        if recent is not None and recent.confirmed_at is not None:
            raise AddressChangedRecently(recent)
        # Nothing below this line may refuse.
        change_id = new_id()
        await store.insert(work.tx, change_id, person.user_id, email, key, work.now, work.now + CONFIRMED_WITHIN)
        await record.event_of_user(work, person.user_id, "address.requested", work.actor)
        about = {"old": mail_name(user["email"]), "new": mail_name(email)}
        await _send(work, user, "confirm_address", email, about | {LINK_FACT: str(change_id)})
        await _send(work, user, "address_requested", user["email"], about)
        return await _get(work, change_id)

    return await request.transact(action)


async def withdraw(work: Work, person: Person) -> None:
    """Withdraw the request that waits, if there is one: its link does not work any more."""
    await users_store.lock(work.tx, person.user_id)
    if await store.withdraw(work.tx, person.user_id, work.now):
        await record.event_of_user(work, person.user_id, "address.withdrawn", work.actor)


async def find(request: Request, kind: LinkKind, secret: str) -> AddressChange:
    """The change of a link that works, or has done its work. Raises `MailLinkExpired`."""
    change_id = links.parse_link_secret(request.services.keys, kind, secret)
    change = None if change_id is None else await store.get(request.services.db, change_id)
    if change is None or not (change.can_be_confirmed if kind == "confirm_address" else change.can_be_undone)(request.now):
        raise MailLinkExpired
    return change


async def confirm(request: Request, secret: str) -> AddressChange:
    """Change the address, and announce it at the old one. Confirmed already, nothing happens.

    Raises `MailLinkExpired` and `AddressTaken`.
    """
    found = await find(request, "confirm_address", secret)

    async def action(work: Work) -> AddressChange:
        user, change = await _lock(work, found)
        if not change.can_be_confirmed(work.now):
            raise MailLinkExpired
        if change.confirmed_at is not None:
            return change
        for key in sorted((change.old_key, change.new_key)):
            await users_store.lock_address(work.tx, key)
        if not await store.confirm(work.tx, change, work.now, work.now + UNDONE_WITHIN):
            raise AddressTaken
        # Nothing below this line may refuse.
        await record.event_of_user(work, change.user_id, "address.changed", _by(request, change))
        about = {"old": mail_name(change.old_email), "new": mail_name(change.new_email), LINK_FACT: str(change.id)}
        await _send(work, user, "undo_address", change.old_email, about)
        return await _get(work, change.id)

    return await request.transact(action)


async def undo(request: Request, secret: str, undo_invitations: UndoInvitations) -> AddressChange:
    """Restore the old address, and end what could have been made by whoever changed it. Undone already, nothing happens.

    Every session ends and the password opens nothing: a link to choose another one is sent to the old address. API keys that
    the person made since the request, connections that the person allowed and second factors that were added are
    revoked, invitations that the person sent end, and who joined by one is removed. Raises `MailLinkExpired`.
    """
    found = await find(request, "undo_address", secret)
    password_hash = await hash_password(random_base62(BODY_CHARS), queue_max=request.services.settings.password_queue)

    async def action(work: Work) -> AddressChange:
        user, change = await _lock(work, found)
        if not change.can_be_undone(work.now):
            raise MailLinkExpired
        if change.undone_at is not None:
            return change
        # Nothing below this line may refuse.
        by = _by(request, change)
        await store.undo(work.tx, change, password_hash, work.now)
        await sessions_store.revoke_all(work.tx, change.user_id, work.now)
        await record.event_of_user(work, change.user_id, "address.undone", by)
        made = await store.revoke_made(work.tx, change.user_id, change.requested_at, work.now)
        await record_revoked(work, *made, UNDONE, by)
        if await store.remove_factor(work.tx, change.user_id, change.requested_at):
            await record.event_of_user(work, change.user_id, "second_factor.removed", by)
        await undo_invitations(work, change, by)
        await outbox.invalidate_resets(work.tx, change.user_id, work.now)
        await _send(work, user, "reset", change.old_email, {})
        await _send(work, user, "address_undone", change.new_email, {"old": mail_name(change.old_email)})
        return await _get(work, change.id)

    return await request.transact(action)


async def _lock(work: Work, found: AddressChange) -> tuple[Row, AddressChange]:
    """The user, locked, and the present state of the change, which only changes under this lock."""
    user = await users_store.lock(work.tx, found.user_id)
    if user is None:
        raise MailLinkExpired
    return user, await _get(work, found.id)


async def _get(work: Work, change_id: UUID) -> AddressChange:
    change = await store.get(work.tx, change_id)
    if change is None:
        raise MailLinkExpired
    return change


async def _send(work: Work, user: Row, kind: EmailKind, recipient: str, facts: dict[str, str]) -> None:
    await outbox.enqueue(work.tx, Email(kind, recipient, user["language"], user["id"], facts), work.now)


def _by(request: Request, change: AddressChange) -> Actor:
    return request.actor_of("person", change.user_id)
