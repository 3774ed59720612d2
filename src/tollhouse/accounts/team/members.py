"""Members: change a role, remove, leave, and transfer the ownership.

Each action locks the team first and reads the roles after that. So of two that contradict each other the second one sees the
first one's result, and a form that was open while a role changed does what the role of now allows.
"""

from uuid import UUID

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import changes
from tollhouse.accounts.identity import address_changes_store, members_store, sessions_store, users_store
from tollhouse.accounts.identity.address_changes import UNDONE
from tollhouse.accounts.identity.model import AddressChange, Person, RoleForbidden
from tollhouse.accounts.identity.passwords import record_revoked
from tollhouse.accounts.identity.stepup import require_recent
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, EmailKind, NotificationEvent, mail_name
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.merchants import store as merchants_store
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.accounts.team import store
from tollhouse.accounts.team.model import FormerMemberView, LastOwner, OwnersWait, TeamMemberView
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import Actor
from tollhouse.kernel.errors import AuthenticationRequired, NotFound
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.roles import MANAGED_BY, NAMES, ROLES, Role
from tollhouse.platform.database.pool import Pool, Tx


async def lock_own_role(work: Work, person: Person) -> Role:
    """Lock the team; the person's role now. Raises `AuthenticationRequired` for who has left, or whose session has ended."""
    is_open = await store.lock_team(work.tx, person.merchant_id) is not None
    acts = is_open and await sessions_store.lock(work.tx, person.session_hash)
    role = await store.get_role(work.tx, person.merchant_id, person.user_id) if acts else None
    if role is None:
        raise AuthenticationRequired
    return role


def ensure_manages(own: Role, *others: Role) -> None:
    """Raises `RoleForbidden` unless who has the own role may invite, remove, and change members with these roles."""
    if not set(others) <= MANAGED_BY[own]:
        raise RoleForbidden(own, [role for role in ROLES if set(others) <= MANAGED_BY[role]])


async def ensure_settled(work: Work, person: Person) -> None:
    """Raises `OwnersWait` while a change of the person's address waits or can be undone.

    Nobody could remove an owner whom a stranger in the account made. The lock keeps a request for an address waiting.
    """
    await users_store.share(work.tx, person.user_id)
    change = await address_changes_store.current(work.tx, person.user_id, work.now)
    if change is not None:
        raise OwnersWait(change.ends_at)


async def change_role(work: Work, person: Person, user_id: UUID, role: Role) -> TeamMemberView:
    """Change the role of a member. Raises `NotFound`, `RoleForbidden`, `OwnersWait` and `LastOwner`."""
    own, member = await lock_own_role(work, person), await _get(work.tx, person.merchant_id, user_id)
    ensure_manages(own, member.role, role)
    if member.role == role:
        return member
    if "owner" in {member.role, role}:
        await ensure_settled(work, person)
    await _keep_owner(work.tx, person.merchant_id, member)
    # Nothing below this line may refuse.
    await _set_role(work, person, member, role)
    return await _get(work.tx, person.merchant_id, user_id)


async def transfer_ownership(work: Work, person: Person, user_id: UUID) -> TeamMemberView:
    """Make a member an owner instead of the person, who becomes an administrator.

    Raises `NotFound`, `RoleForbidden` and `OwnersWait`.
    """
    own, member = await lock_own_role(work, person), await _get(work.tx, person.merchant_id, user_id)
    if own != "owner" or member.user_id == person.user_id:
        raise RoleForbidden(own, ["owner"])
    await ensure_settled(work, person)
    # Nothing below this line may refuse.
    if member.role != "owner":
        await _set_role(work, person, member, "owner")
    await _set_role(work, person, await _get(work.tx, person.merchant_id, person.user_id), "administrator")
    return await _get(work.tx, person.merchant_id, user_id)


async def remove(work: Work, person: Person, user_id: UUID) -> FormerMemberView:
    """Remove a member, or leave. Returns what the person made.

    Raises `NotFound`, `RoleForbidden`, `LastOwner`, `OwnersWait`, and `RecentAuthenticationRequired` for another owner
    if the authentication is not recent: a stranger in a session must not end the access of those who could stop it.
    """
    tx, merchant_id = work.tx, person.merchant_id
    own, member = await lock_own_role(work, person), await _get(tx, merchant_id, user_id)
    leaves = member.user_id == person.user_id
    if not leaves:
        ensure_manages(own, member.role)
    await _keep_owner(tx, merchant_id, member)
    if member.role == "owner" and not leaves:
        require_recent(person, work.now)
        await ensure_settled(work, person)
    # Nothing below this line may refuse.
    await _remove(work, merchant_id, member, "member.left" if leaves else "member.removed")
    if not leaves:
        await _tell(work, person.business_name, person.email, "team_left", member)
    return await _former(tx, work.services, merchant_id, user_id, member.email)


async def remove_joined(work: Work, change: AddressChange, by: Actor) -> None:
    """Remove who joined by an invitation of a person since a change of the address that is undone, and what they made."""
    for joined in await store.list_joined(work.tx, change.user_id, change.requested_at):
        merchant_id = MerchantId(joined["merchant_id"])
        member = await _get(work.tx, merchant_id, joined["user_id"])
        await _remove(work, merchant_id, member, "member.removed", by)
        await _tell(work, joined["business_name"], change.old_email, "team_left", member)
        since = change.requested_at
        made = await address_changes_store.revoke_made(work.tx, member.user_id, since, work.now, merchant_id)
        await record_revoked(work, *made, UNDONE, by)


async def find_former(services: Services, merchant_id: MerchantId, user_id: UUID) -> FormerMemberView:
    """A person who has left the team, with the keys and applications of then. Raises `NotFound`."""
    found = await store.find_former(services.db, merchant_id, user_id)
    if found is None:
        raise NotFound
    return await _former(services.db, services, merchant_id, user_id, found["email"])


async def notify_team(
    work: Work, merchant_id: MerchantId, event: NotificationEvent, user_id: UUID, email: str, role: Role | None = None
) -> None:
    """Notify those who manage members. The person concerned gets an email of the own, or did it."""
    facts = NoticeFacts(name=mail_name(email), role="" if role is None else NAMES[role])
    await notify_members(work, event, Occurrence(merchant_id, new_id(), facts, mailed=user_id))


async def _tell(
    work: Work, business: str, by: str, kind: EmailKind, member: TeamMemberView, role: Role | None = None
) -> None:
    """Send the person concerned an email of what was done by another one, who has this address."""
    facts = {"business": mail_name(business), "by": mail_name(by), "email": mail_name(member.email)}
    if role is not None:
        facts["new_role"] = role
    reader = await store.get_reader(work.tx, member.user_id)
    await outbox.enqueue(work.tx, Email(kind, reader.email, reader.language, reader.user_id, facts), work.now)


async def _get(db: Pool | Tx, merchant_id: MerchantId, user_id: UUID) -> TeamMemberView:
    member = await store.get_member(db, merchant_id, user_id)
    if member is None:
        raise NotFound
    return member


async def _keep_owner(tx: Tx, merchant_id: MerchantId, member: TeamMemberView) -> None:
    """Raises `LastOwner` if the member is the only owner."""
    if member.role == "owner" and len(await store.list_owners(tx, merchant_id)) == 1:
        raise LastOwner


async def _remove(
    work: Work, merchant_id: MerchantId, member: TeamMemberView, event_type: AuditEventType, undone_by: Actor | None = None
) -> None:
    """End the membership of a locked team, with its sessions and the invitations that the member sent."""
    user_id, email = member.user_id, member.email
    await members_store.remove(work.tx, merchant_id, user_id, work.now)
    await sessions_store.revoke_of_member(work.tx, merchant_id, user_id, work.now)
    await store.cancel_beyond(work.tx, merchant_id, user_id, (), work.now)
    changed = changes({"role": member.role}, {"role": None, "reason": undone_by and UNDONE})
    await record.event(work, merchant_id, event_type, subject=user_id, name=email, changed=changed, by=undone_by)
    await notify_team(work, merchant_id, "member_removed", user_id, email)


async def _set_role(work: Work, person: Person, member: TeamMemberView, role: Role) -> None:
    """Write a new role. Invitations to roles that the member may not give any more end."""
    tx, merchant_id = work.tx, person.merchant_id
    await members_store.set_role(tx, merchant_id, member.user_id, role)
    await store.cancel_beyond(tx, merchant_id, member.user_id, MANAGED_BY[role], work.now)
    changed = changes({"role": member.role}, {"role": role})
    await record.event(work, merchant_id, "member.role_changed", subject=member.user_id, name=member.email, changed=changed)
    await _tell(work, person.business_name, person.email, "team_role_changed", member, role)
    await notify_team(work, merchant_id, "member_role_changed", member.user_id, member.email, role)


async def _former(db: Pool | Tx, services: Services, merchant_id: MerchantId, user_id: UUID, email: str) -> FormerMemberView:
    made = await store.list_made_keys(db, merchant_id, user_id)
    keys = await merchants_store.list_api_keys(db, merchant_id, services.catalogue) if made else []
    return FormerMemberView(
        user_id=user_id,
        email=email,
        api_keys=[key for key in keys if key.api_key_id in made],
        applications=await store.list_made_applications(db, merchant_id, user_id),
    )
