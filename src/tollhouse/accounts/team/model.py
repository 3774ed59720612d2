"""The members and invitations of a merchant as the API shows them, what requests send, and the errors."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.merchants.model import ApiKeyView
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.roles import Role

InvitationStatus = Literal["open", "expired"]
"""Whether an invitation can be accepted.

open: It can.
expired: It was sent more than seven days ago. Send it again.
"""


class TeamMemberView(Struct, frozen=True, kw_only=True):
    """A member of the team."""

    user_id: UUID
    """ID of the user."""
    email: Annotated[str, example("anna@example.com")]
    role: Role
    """What the member may do."""
    created_at: Timestamp
    """Since when the person is a member."""
    last_active_at: Timestamp | None
    """When the person last used the dashboard of this merchant, to within a minute; null if never."""
    second_factor: bool
    """Whether the person signs in with a second factor."""


class TeamMemberList(Struct, frozen=True):
    """The members of the team, those for longest first."""

    members: list[TeamMemberView]


class RoleChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What changes of a member."""

    role: Role
    """What the member may do from now on."""


class MadeApplicationView(Struct, frozen=True):
    """An application that a former member registered."""

    client_id: ClientId
    name: Annotated[str, example("Northwind Ledger")]
    """Name of the application."""


class FormerMemberView(Struct, frozen=True, kw_only=True):
    """A person who has left the team, and what that person made: replace these keys and secrets."""

    user_id: UUID
    """ID of the user."""
    email: Annotated[str, example("anna@example.com")]
    api_keys: list[ApiKeyView]
    """Active keys that the person created, and has seen. They stay the merchant's, and keep working."""
    applications: list[MadeApplicationView]
    """Applications that the person registered, and whose secret the person may know. They stay the merchant's."""


class NewInvitation(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of an invitation."""

    email: Annotated[str, example("anna@example.com")]
    """Address that the invitation is sent to. Only who signs in or signs up with this address can accept it."""
    role: Role
    """What the person may do after accepting it."""


class InvitationView(Struct, frozen=True, kw_only=True):
    """An invitation that nobody has accepted yet."""

    invitation_id: UUID
    """ID of the invitation."""
    email: Annotated[str, example("anna@example.com")]
    """Address that it was sent to."""
    role: Role
    """What the person may do after accepting it."""
    status: InvitationStatus
    """Whether it can be accepted."""
    invited_by: Annotated[str | None, example("dora@example.com")]
    """Address of the member who invited; null if there is no such person any more."""
    created_at: Timestamp
    expires_at: Timestamp


class InvitationList(Struct, frozen=True):
    """The invitations that nobody has accepted yet, newest first."""

    invitations: list[InvitationView]


class Acceptance(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of an acceptance. Who is signed in with the invited address needs no password."""

    invitation: Annotated[str, example("hbpZ…")]
    """Secret at the end of the link in the email."""
    password: Annotated[str | None, example("a long password")] = None
    """Password of the account with the invited address; the one that it gets if there is no account yet."""
    code: str | None = None
    """Code of the authenticator, or a backup code, if two-factor authentication is on."""


class OpenInvitation(Struct, frozen=True, kw_only=True):
    """An invitation that can be accepted, as its link shows it."""

    id: UUID
    mail_id: UUID
    merchant_id: MerchantId
    business_name: str
    email: str
    email_key: str
    role: Role
    invited_by: str | None
    has_account: bool
    """Whether an account with this address exists. Only who has received the email learns it."""


class LastOwner(ApiError):
    """409: the merchant would have no owner."""

    code, status = "last_owner", 409
    message = "This person is the only owner. A merchant account always has an owner."
    solution = "Make another member an owner first, or transfer the ownership."


class OwnersWait(ApiError):
    """409: who changes something about owners has changed the own address, or asked to, and that can still be undone."""

    code, status = "owners_wait", 409
    message = (
        "A change of your email address waits or can be undone. Until that is over, you cannot add, change or remove owners."
    )
    solution = "Wait until `details.until`, withdraw the request for another address, or ask another owner."

    def __init__(self, until: datetime) -> None:
        super().__init__(members={"details": {"until": stamp(until)}})


class AlreadyMember(ApiError):
    """409: the person belongs to the team."""

    code, status, message = "already_member", 409, "This person is a member already."
    solution = "Change the role of the member instead."


class TooManyInvitations(ApiError):
    """409: 50 invitations are open."""

    code, status, message = "too_many_invitations", 409, "50 invitations are open. Cancel one first."
    solution = "Cancel invitations that nobody will accept."


class InvitationOver(ApiError):
    """410: the invitation is unknown, accepted, canceled or expired, or was sent again."""

    code, status = "invitation_over", 410
    message = "This invitation is invalid, was already used or canceled, or has expired."
    solution = "Ask for a new invitation. If it was sent again, open the link of the newest email."


class InvitationOfAnother(ApiError):
    """403: the invitation is for another address than that of the session."""

    code, status = "invitation_of_another", 403
    message = "This invitation is for another email address than the one you are signed in with."
    solution = "Sign out, and open the link again."
