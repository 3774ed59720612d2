"""The pages of the team: its members and invitations, a member with role and removal, and the merchants of a person."""

from typing import Any
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person, RoleForbidden
from tollhouse.accounts.identity.stepup import run_recent
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.accounts.merchants import team as team_rules
from tollhouse.accounts.merchants.second_member import NotSecondMember, SecondMemberConfirmation
from tollhouse.accounts.team import invitations, members, store
from tollhouse.accounts.team.model import AlreadyMember, LastOwner, NewInvitation, OwnersWait, TooManyInvitations
from tollhouse.http.forms import NO_ERRORS, FormErrors, flash_message, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other, with_headers_of
from tollhouse.kernel.errors import ApiError, InvalidRequest, NotFound, ValidationFailed
from tollhouse.kernel.roles import MANAGED_BY, ROLES, Role
from tollhouse.pages.dashboard.layout import render

OPERATIONS = Operations(PAGES)
PATH = "/settings/members"
NOTICES = {
    "invited": "Invitation sent. Its link works once, for seven days.",
    "canceled": "Invitation canceled. Its link does not work any more.",
    "changed": "Role changed.",
    "transferred": "Ownership transferred. You are an administrator now.",
    "confirmed": "Change confirmed. It applies from now on.",
}
CONFIRMED = "It does not wait to be confirmed any more, or was changed since. Nothing was changed."
NO_ROLE = "Choose a role."


@OPERATIONS.add("GET", PATH, guard=signed_in_page("read"))
async def team(request: Request, caller: Person) -> Response:
    """The members and open invitations, and the form of a new one."""
    return await _team(request, caller)


@OPERATIONS.add("POST", PATH, guard=signed_in_page("team"), recent_authentication="always")
async def invite(request: Request, caller: Person) -> Response:
    """Send an invitation."""
    form = request.form()
    email, role = form.one("email") or "", _role_of(form.one("role"))
    if role is None:
        return await _team(request, caller, FormErrors(NO_ROLE, {"role": NO_ROLE}, 422), email=email)
    try:
        await invitations.invite(request, caller, NewInvitation(email, role))
    except (ValidationFailed, RoleForbidden, OwnersWait, AlreadyMember, TooManyInvitations, RateLimited) as error:
        shown = form_errors_of(error, ("email",))
        return with_headers_of(error, await _team(request, caller, shown, email=email, role=role))
    return see_other(f"{PATH}?done=invited")


@OPERATIONS.add(
    "POST", "/settings/invitations/{invitation_id}/resend", guard=signed_in_page("team"), recent_authentication="always"
)
async def resend(request: Request, caller: Person, invitation_id: UUID) -> Response:
    """Send an invitation again."""
    try:
        await invitations.send_again(request, caller, invitation_id)
    except (NotFound, RoleForbidden, RateLimited) as error:
        return with_headers_of(error, await _team(request, caller, FormErrors(error.message, status=error.status)))
    return see_other(f"{PATH}?done=invited")


@OPERATIONS.add("POST", "/settings/invitations/{invitation_id}/cancel", guard=signed_in_page_while_suspended("team"))
async def cancel(request: Request, caller: Person, invitation_id: UUID) -> Response:
    """Cancel an invitation."""
    try:
        await request.transact(lambda work: invitations.cancel(work, caller, invitation_id))
    except (NotFound, RoleForbidden) as error:
        return await _team(request, caller, FormErrors(error.message, status=error.status))
    return see_other(f"{PATH}?done=canceled")


@OPERATIONS.add("POST", f"{PATH}/confirm", guard=signed_in_page("money"), recent_authentication="always")
async def confirm(request: Request, caller: Person) -> Response:
    """Confirm a change of the amount above which a second member is needed."""
    form = request.form()
    shown = SecondMemberConfirmation(form.one("currency") or "", form.one("amount") or None)
    try:
        await request.transact(lambda work: team_rules.confirm(work, caller, shown))
    except (NotFound, NotSecondMember) as error:
        message = CONFIRMED if isinstance(error, NotFound) else error.message
        return await _team(request, caller, FormErrors(message, status=error.status))
    return see_other(f"{PATH}?done=confirmed")


@OPERATIONS.add("GET", f"{PATH}/{{user_id}}", guard=signed_in_page("read"))
async def one(request: Request, caller: Person, user_id: UUID) -> Response:
    """A member; of a former one, what that person made."""
    return await _one(request, caller, user_id)


@OPERATIONS.add("POST", f"{PATH}/{{user_id}}/role", guard=signed_in_page("team"), recent_authentication="always")
async def change_role(request: Request, caller: Person, user_id: UUID) -> Response:
    """Change the role."""
    role = _role_of(request.form().one("role"))
    if role is None:
        raise InvalidRequest(NO_ROLE)
    try:
        await request.transact(lambda work: members.change_role(work, caller, user_id, role))
    except (RoleForbidden, OwnersWait, LastOwner) as error:
        return await _one(request, caller, user_id, error)
    return see_other(f"{PATH}/{user_id}?done=changed")


@OPERATIONS.add("POST", f"{PATH}/{{user_id}}/transfer", guard=signed_in_page("team"), recent_authentication="always")
async def transfer(request: Request, caller: Person, user_id: UUID) -> Response:
    """Make the member the owner, in place of the person."""
    try:
        await request.transact(lambda work: members.transfer_ownership(work, caller, user_id))
    except (RoleForbidden, OwnersWait) as error:
        return await _one(request, caller, user_id, error)
    return see_other(f"{PATH}?done=transferred")


@OPERATIONS.add(
    "POST",
    f"{PATH}/{{user_id}}/remove",
    guard=signed_in_page_while_suspended("own"),
    recent_authentication="by_content",
)
async def remove(request: Request, caller: Person, user_id: UUID) -> Response:
    """Remove the member, or leave. A repeated request succeeds."""
    try:
        await run_recent(
            request, caller, lambda person: request.transact(lambda work: members.remove(work, person, user_id))
        )
    except (RoleForbidden, OwnersWait, LastOwner) as error:
        return await _one(request, caller, user_id, error)
    except NotFound:
        await members.find_former(request.services, caller.merchant_id, user_id)
    return see_other("/signin" if user_id == caller.user_id else f"{PATH}/{user_id}")


def _role_of(text: str | None) -> Role | None:
    return next((role for role in ROLES if role == text), None)


def _choices(person: Person) -> list[tuple[Role, Role]]:
    """The roles that the person may give, the least first."""
    return [(role, role) for role in reversed(ROLES) if role in MANAGED_BY[person.role]]


async def _team(
    request: Request,
    person: Person,
    form_errors: FormErrors = NO_ERRORS,
    *,
    email: str = "",
    role: Role = "read_only",
) -> Response:
    db, catalogue = request.services.db, request.services.catalogue
    return render(
        request,
        person,
        "team/members",
        here="members",
        form_errors=form_errors,
        members=await store.list_members(db, person.merchant_id),
        invitations=await store.list_invitations(db, person.merchant_id, request.now),
        rules=await team_rules.read(db, person, catalogue, request.now),
        manages=MANAGED_BY[person.role],
        choices=_choices(person),
        email=email,
        role=role,
        notice=NOTICES.get(flash_message(request.query), ""),
    )


async def _one(request: Request, person: Person, user_id: UUID, error: ApiError | None = None) -> Response:
    member = await store.get_member(request.services.db, person.merchant_id, user_id)
    values: dict[str, Any] = {
        "message": error.message if error else "",
        "notice": NOTICES.get(flash_message(request.query), ""),
    }
    status = error.status if error else 200
    if member is None:
        former = await members.find_former(request.services, person.merchant_id, user_id)
        return render(request, person, "team/former", status, here="members", former=former, **values)
    return render(
        request,
        person,
        "team/member",
        status,
        here="members",
        member=member,
        manages=member.role in MANAGED_BY[person.role],
        choices=_choices(person),
        **values,
    )
