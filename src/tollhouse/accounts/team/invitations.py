"""Invitations: by email, valid for seven days, once, and only for who has the invited address.

The link of the email is its ID with a MAC: nothing at rest opens it. Sent again, only the newest link works. Who accepts has
signed in with exactly this address, or signs up with it, without a merchant of the own. The invitation is used under the
lock of the team, so of two who accept at once one wins. An invitation never outlives what allowed it: it ends with the
membership of who sent it, and with a role that may not give the invited one.
"""

from datetime import timedelta
from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity import members_store, sessions, sessions_store, throttle, users_store
from tollhouse.accounts.identity.address_changes import UNDONE
from tollhouse.accounts.identity.browsers import device_hash
from tollhouse.accounts.identity.credentials import SPAN, email_errors, email_key, password_errors
from tollhouse.accounts.identity.model import AccountSuspended, AddressChange, Person
from tollhouse.accounts.identity.throttle import FailureLimit
from tollhouse.accounts.mail import links
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.accounts.merchants.actions import hash_within_limits
from tollhouse.accounts.merchants.model import EmailTaken
from tollhouse.accounts.team import store
from tollhouse.accounts.team.members import ensure_manages, ensure_settled, lock_own_role, notify_team, remove_joined
from tollhouse.accounts.team.model import (
    AlreadyMember,
    InvitationOfAnother,
    InvitationOver,
    InvitationView,
    NewInvitation,
    OpenInvitation,
    TooManyInvitations,
)
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import limits
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.ids import MerchantId, UserId, new_id

VALID_FOR = timedelta(seconds=limits.INVITATION_S)


async def invite(request: Request, person: Person, new: NewInvitation) -> InvitationView:
    """Invite somebody; an open invitation to the same address is replaced.

    Raises `ValidationFailed`, `RateLimited`, `RoleForbidden`, `OwnersWait`, `AlreadyMember` and `TooManyInvitations`.
    """
    if errors := email_errors("email", new.email.strip()):
        raise ValidationFailed(*errors)
    key = email_key(new.email)
    await _count_email(request, person, key)
    invitation_id = new_id()

    async def action(work: Work) -> InvitationView:
        tx, merchant_id = work.tx, person.merchant_id
        own = await lock_own_role(work, person)
        before = await store.find_by_address(tx, merchant_id, key, work.now)
        ensure_manages(own, new.role, *(() if before is None else (before.role,)))
        if new.role == "owner":
            await ensure_settled(work, person)
        if await store.is_member(tx, merchant_id, key):
            raise AlreadyMember
        if await store.count_open(tx, merchant_id, work.now) >= limits.INVITATIONS_OPEN_MAX:
            raise TooManyInvitations
        # Nothing below this line may refuse.
        if before is not None:
            await store.cancel(tx, merchant_id, before.invitation_id, work.now)
        mail_id = await _send(work, request, person, new)
        expires_at = work.now + VALID_FOR
        await store.insert(tx, invitation_id, merchant_id, new, key, person.user_id, mail_id, work.now, expires_at)
        changed = new_values(role=new.role)
        await record.event(
            work, merchant_id, "member.invited", subject=invitation_id, name=new.email.strip(), changed=changed
        )
        return await _get(work, merchant_id, invitation_id)

    return await request.transact(action)


async def send_again(request: Request, person: Person, invitation_id: UUID) -> InvitationView:
    """Send an invitation again, valid from now on. Raises `NotFound`, `RateLimited` and `RoleForbidden`."""
    seen = await store.get_invitation(request.services.db, person.merchant_id, invitation_id, request.now)
    if seen is None:
        raise NotFound
    await _count_email(request, person, email_key(seen.email))

    async def action(work: Work) -> InvitationView:
        invitation = await _get_own(work, person, invitation_id)
        # Nothing below this line may refuse.
        mail_id = await _send(work, request, person, NewInvitation(invitation.email, invitation.role))
        await store.send_again(work.tx, person.merchant_id, invitation_id, mail_id, work.now + VALID_FOR)
        await record.event(
            work, person.merchant_id, "member.invitation_sent_again", subject=invitation_id, name=invitation.email
        )
        return await _get(work, person.merchant_id, invitation_id)

    return await request.transact(action)


async def cancel(work: Work, person: Person, invitation_id: UUID) -> InvitationView:
    """Cancel an invitation. Raises `NotFound` and `RoleForbidden`."""
    invitation = await _get_own(work, person, invitation_id)
    await store.cancel(work.tx, person.merchant_id, invitation_id, work.now)
    await record.event(work, person.merchant_id, "member.invitation_canceled", subject=invitation_id, name=invitation.email)
    return invitation


async def undo_sent(work: Work, change: AddressChange, by: Actor) -> None:
    """End the invitations that a person sent since a change of the address that is undone, and remove who accepted one."""
    reason = new_values(reason=UNDONE)
    for sent in await store.end_sent(work.tx, change.user_id, change.requested_at, work.now):
        merchant_id, about = MerchantId(sent["merchant_id"]), sent["email"]
        await record.event(
            work, merchant_id, "member.invitation_canceled", subject=sent["id"], name=about, changed=reason, by=by
        )
    await remove_joined(work, change, by)


async def find(request: Request, secret: str) -> OpenInvitation:
    """The invitation of a link. Raises `InvitationOver`."""
    mail_id = links.parse_link_secret(request.services.keys, "invitation", secret)
    found = None if mail_id is None else await store.find(request.services.db, mail_id, request.now)
    if found is None:
        raise InvitationOver
    return found


async def accept(request: Request, secret: str, password: str | None, code: str | None = None) -> str | None:
    """Join the team; the secret of a new session, or None for who is signed in, whose session acts for the merchant then.

    Raises `InvitationOver`, `InvitationOfAnother`, `AlreadyMember`, `AccountSuspended`, and what sign-in or sign-up raise.
    """
    invitation = await find(request, secret)
    person = await sessions.current_person(request)
    if person is not None:
        if email_key(person.email) != invitation.email_key:
            raise InvitationOfAnother
        await request.transact(lambda work: _join_signed_in(work, request, invitation, person))
        return None

    async def join(work: Work, user_id: UUID) -> MerchantId:
        return await _join(work, request, invitation, user_id)

    if invitation.has_account:
        return await sessions.sign_in(request, invitation.email, password or "", code, join=join)
    return await _sign_up(request, invitation, password or "")


async def _sign_up(request: Request, invitation: OpenInvitation, password: str) -> str:
    """Create a user without a merchant, who joins the team. The link proves the address."""
    if errors := password_errors("password", password):
        raise ValidationFailed(*errors)
    password_hash = await hash_within_limits(request, password)
    user_id = UserId(new_id())

    async def action(work: Work) -> str:
        account = {"email": invitation.email, "key": invitation.email_key, "password_hash": password_hash}
        if not await users_store.insert(work.tx, user_id, None, **account, language=language_of(request), now=request.now):
            raise EmailTaken
        merchant_id = await _join(work, request, invitation, user_id)
        await users_store.record_device(work.tx, user_id, device_hash(request), request.now)
        secret, _ = await sessions.open_session(work, request, user_id, password_hash, merchant_id)
        return secret

    return await request.transact(action)


async def _join_signed_in(work: Work, request: Request, invitation: OpenInvitation, person: Person) -> None:
    merchant_id = await _join(work, request, invitation, person.user_id)
    await sessions_store.act_for(work.tx, person.session_hash, merchant_id)


async def _join(work: Work, request: Request, invitation: OpenInvitation, user_id: UUID) -> MerchantId:
    """Use the invitation and make the member, under the lock of the team; the merchant."""
    tx, merchant_id = work.tx, invitation.merchant_id
    suspended = await store.lock_team(tx, merchant_id)
    if suspended is None or not await store.accept(tx, invitation.mail_id, user_id, work.now):
        raise InvitationOver
    if suspended:
        raise AccountSuspended
    if not await members_store.insert(tx, merchant_id, UserId(user_id), invitation.role, work.now):
        raise AlreadyMember
    # Nothing below this line may refuse.
    await users_store.verify_email(tx, user_id, work.now)
    by, changed = request.actor_of("person", user_id), new_values(role=invitation.role)
    await record.event(work, merchant_id, "member.joined", subject=user_id, name=invitation.email, changed=changed, by=by)
    await notify_team(work, merchant_id, "member_joined", user_id, invitation.email, invitation.role)
    return merchant_id


async def _send(work: Work, request: Request, person: Person, new: NewInvitation) -> UUID:
    facts = {"business": mail_name(person.business_name), "by": mail_name(person.email), "new_role": new.role}
    email = Email("invitation", new.email.strip(), language_of(request), facts=facts)
    return await outbox.enqueue(work.tx, email, work.now)


async def _get(work: Work, merchant_id: MerchantId, invitation_id: UUID) -> InvitationView:
    found = await store.get_invitation(work.tx, merchant_id, invitation_id, work.now)
    if found is None:
        raise NotFound
    return found


async def _get_own(work: Work, person: Person, invitation_id: UUID) -> InvitationView:
    """An invitation that this person may change, of a locked team. Raises `NotFound` and `RoleForbidden`."""
    own = await lock_own_role(work, person)
    invitation = await _get(work, person.merchant_id, invitation_id)
    ensure_manages(own, invitation.role)
    return invitation


async def _count_email(request: Request, person: Person, key: str) -> None:
    """Count an email to this address and from this merchant. Raises `RateLimited`."""
    factor = request.services.settings.rate_limits
    failure_limits = (
        FailureLimit("invitation of", key, limits.MAIL_REQUESTS_MAX * factor, SPAN),
        FailureLimit("invitations by", str(person.merchant_id), limits.INVITATIONS_SENT_MAX * factor, SPAN),
    )
    await throttle.count_attempt(request.services.db, failure_limits, request.now)
