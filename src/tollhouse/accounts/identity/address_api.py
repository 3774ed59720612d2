"""The address by which a person signs in, as JSON: a change is requested here, and confirmed and undone by emailed links."""

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from tollhouse.accounts.identity import address_changes, address_changes_store
from tollhouse.accounts.identity.address_changes import AddressChangedRecently
from tollhouse.accounts.identity.guards import signed_in
from tollhouse.accounts.identity.model import AddressChange, Person
from tollhouse.accounts.identity.throttle import RateLimited
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(DASHBOARD)


class NewAddress(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request to change the address."""

    email: Annotated[str, example("anna@new.example")]
    """New address. A link to confirm the change is sent to it."""


class AddressView(Struct, frozen=True):
    """The address of a user, and the change that can be confirmed or undone."""

    email: str
    """Address by which the user signs in now."""
    verified: bool
    """Whether the user has opened a link that was sent to it."""
    new_email: Annotated[str | None, example("anna@new.example")]
    """Address that was requested and is not confirmed yet; null if there is none."""
    confirm_until: Timestamp | None
    """Until when the new address can be confirmed."""
    undo_until: Timestamp | None
    """Until when the last change can be undone at the address before; null if there is none."""


@OPERATIONS.add("GET", "/session/email", guard=signed_in("own"))
async def show_address(caller: Person, db: Pool, now: datetime) -> AddressView:
    """Retrieve the email address. With the change that waits to be confirmed, or can be undone."""
    return _view(caller, await address_changes_store.current(db, caller.user_id, now))


@OPERATIONS.add(
    "POST",
    "/session/email",
    guard=signed_in("own"),
    status=202,
    errors=(ValidationFailed, AddressChangedRecently, RateLimited),
    recent_authentication="always",
)
async def request_address(request: Request, caller: Person, body: NewAddress) -> AddressView:
    """Request a change of the email address. It is changed when it is confirmed at the new address within 24 hours.

    The address before can undo the change for 72 hours, and gets the password resets meanwhile.
    """
    return _view(caller, await address_changes.request_change(request, caller, body.email))


@OPERATIONS.add("DELETE", "/session/email", guard=signed_in("own"), status=204)
async def withdraw_address(caller: Person, work: Work) -> None:
    """Withdraw a change of address. Does nothing if none waits to be confirmed."""
    await address_changes.withdraw(work, caller)


def _view(person: Person, change: AddressChange | None) -> AddressView:
    requested = change if change is not None and change.confirmed_at is None else None
    return AddressView(
        person.email,
        person.verified,
        None if requested is None else requested.new_email,
        None if requested is None else stamp(requested.expires_at),
        None if change is None else stamp_or_none(change.undo_until),
    )
