"""The team as JSON: members, ownership and invitations."""

from datetime import datetime
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity import sessions
from tollhouse.accounts.identity.guards import anyone_with_cookie, signed_in, signed_in_while_suspended
from tollhouse.accounts.identity.model import AccountSuspended, InvalidCredentials, Person, RoleForbidden
from tollhouse.accounts.identity.second_factor import InvalidCode, SecondFactorChanged, SecondFactorRequired
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.merchants.model import EmailTaken
from tollhouse.accounts.team import invitations, members, store
from tollhouse.accounts.team.model import (
    Acceptance,
    AlreadyMember,
    FormerMemberView,
    InvitationList,
    InvitationOfAnother,
    InvitationOver,
    InvitationView,
    LastOwner,
    NewInvitation,
    OwnersWait,
    RoleChange,
    TeamMemberList,
    TeamMemberView,
    TooManyInvitations,
)
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool

DASHBOARD_OPERATIONS = Operations(DASHBOARD)


@DASHBOARD_OPERATIONS.add("GET", "/members", guard=signed_in("read"))
async def list_members(caller: Person, db: Pool) -> TeamMemberList:
    """List members. Those for longest first."""
    return TeamMemberList(await store.list_members(db, caller.merchant_id))


@DASHBOARD_OPERATIONS.add(
    "PATCH",
    "/members/{user_id}",
    guard=signed_in("team"),
    errors=(ValidationFailed, NotFound, RoleForbidden, OwnersWait, LastOwner),
    recent_authentication="always",
)
async def change_member(caller: Person, user_id: UUID, body: RoleChange, work: Work) -> TeamMemberView:
    """Change the role of a member. Applies from the next request of the member."""
    return await members.change_role(work, caller, user_id, body.role)


@DASHBOARD_OPERATIONS.add(
    "DELETE",
    "/members/{user_id}",
    guard=signed_in_while_suspended("own"),
    errors=(NotFound, RoleForbidden, OwnersWait, LastOwner),
    recent_authentication="by_content",
)
async def remove_member(caller: Person, user_id: UUID, work: Work) -> FormerMemberView:
    """Remove a member, or leave. Ends the person's sessions. Returns the keys to replace."""
    return await members.remove(work, caller, user_id)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/members/{user_id}/transfer-ownership",
    guard=signed_in("team"),
    errors=(NotFound, RoleForbidden, OwnersWait),
    recent_authentication="always",
)
async def transfer_ownership(caller: Person, user_id: UUID, work: Work) -> TeamMemberView:
    """Transfer the ownership. The member becomes an owner, and you become an administrator."""
    return await members.transfer_ownership(work, caller, user_id)


@DASHBOARD_OPERATIONS.add("GET", "/invitations", guard=signed_in("read"))
async def list_invitations(caller: Person, db: Pool, now: datetime) -> InvitationList:
    """List invitations. Those that nobody has accepted yet, newest first."""
    return InvitationList(await store.list_invitations(db, caller.merchant_id, now))


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/invitations",
    guard=signed_in("team"),
    status=201,
    errors=(ValidationFailed, RoleForbidden, OwnersWait, AlreadyMember, TooManyInvitations, RateLimited),
    recent_authentication="always",
)
async def invite_member(request: Request, caller: Person, body: NewInvitation) -> InvitationView:
    """Invite somebody. The email has a link that works once, for seven days."""
    return await invitations.invite(request, caller, body)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/invitations/{invitation_id}/resend",
    guard=signed_in("team"),
    errors=(NotFound, RoleForbidden, RateLimited),
    recent_authentication="always",
)
async def resend_invitation(request: Request, caller: Person, invitation_id: UUID) -> InvitationView:
    """Send an invitation again. It is valid for another seven days, by the new link only."""
    return await invitations.send_again(request, caller, invitation_id)


@DASHBOARD_OPERATIONS.add(
    "DELETE", "/invitations/{invitation_id}", guard=signed_in_while_suspended("team"), errors=(NotFound, RoleForbidden)
)
async def cancel_invitation(caller: Person, invitation_id: UUID, work: Work) -> InvitationView:
    """Cancel an invitation. Its link does not work any more."""
    return await invitations.cancel(work, caller, invitation_id)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/invitations/accept",
    guard=anyone_with_cookie,
    status=204,
    errors=(
        ValidationFailed, InvitationOver, InvitationOfAnother, AlreadyMember, AccountSuspended, EmailTaken,
        InvalidCredentials, SecondFactorRequired, InvalidCode, SecondFactorChanged, RateLimited,
    ),
)  # fmt: skip
async def accept_invitation(request: Request, body: Acceptance) -> Response:
    """Accept an invitation. Opens a session for the merchant, or lets the one there is act for it."""
    secret = await invitations.accept(request, body.invitation, body.password, body.code)
    response = Response(status_code=204)
    return response if secret is None else sessions.set_cookie(request, response, secret)
