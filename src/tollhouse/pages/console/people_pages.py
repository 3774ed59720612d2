"""The operators' page about the people of a merchant: where they are signed in, and changes of their address.

An operator ends sessions and never opens one.
"""

from datetime import datetime
from functools import partial
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.approvals.record import record_action
from tollhouse.accounts.identity import address_changes_store, members_store, sessions_store
from tollhouse.accounts.identity.browsers import browser_of, system_of
from tollhouse.accounts.identity.model import MemberView, Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.kernel.text import Text
from tollhouse.pages.console import store
from tollhouse.pages.console.layout import NEW, FormState, chosen, decide, read_choice, render
from tollhouse.platform.database.pool import Pool

OPERATIONS = Operations(PAGES)
PATH = "/operator/merchants/{merchant_id}/people"
SESSIONS_SHOWN, CHANGES_SHOWN = 20, 5


class SessionRow(Struct, frozen=True):
    """A session: its browser, system and address, and when it was last used."""

    browser: str
    system: str
    address: str
    last_seen_at: Timestamp


class ChangeRow(Struct, frozen=True):
    """A change of an address, and when it was confirmed and undone."""

    old_email: str
    new_email: str
    requested_at: Timestamp
    confirmed_at: Timestamp | None
    undone_at: Timestamp | None


class PersonRow(Struct, frozen=True):
    """A member with sessions and changes of the address, newest first."""

    member: MemberView
    sessions: list[SessionRow]
    changes: list[ChangeRow]


@OPERATIONS.add("GET", PATH, guard=operator_page)
async def people(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """The members of a merchant, and the form that ends the sessions of one."""
    return await _page(request, caller, merchant_id, NEW)


@OPERATIONS.add("POST", PATH, guard=operator_page)
async def end_sessions(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """End all sessions of a member."""
    user_id, wrong = read_choice(request, "user_id")

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        return await end_sessions_of(work, MerchantId(merchant_id), UserId(chosen(user_id)), context)

    entered = {"user_id": str(user_id or "")}
    show = partial(_page, request, caller, merchant_id)
    return await decide(request, caller, show, action, f"/operator/merchants/{merchant_id}", entered=entered, wrong=wrong)


async def end_sessions_of(work: Work, merchant_id: MerchantId, user_id: UserId, context: OperatorContext) -> OperatorAction:
    """End all sessions of a member of the merchant, whichever merchant they act for."""
    members = await members_store.list_of_merchant(work.tx, merchant_id)
    if user_id not in {member.user_id for member in members}:
        raise OperatorRefusedError(Text("Merchant %(id)s has no such user.", id=merchant_id))
    await sessions_store.revoke_all(work.tx, user_id, context.at)
    return await record_action(work, context, "sessions_ended", merchant_id, subject_id=user_id)


async def _page(request: Request, caller: Operator, merchant_id: UUID, state: FormState) -> Response:
    db = request.services.db
    merchant = await store.merchant(db, merchant_id)
    if merchant is None:
        raise NotFound
    members = await members_store.list_of_merchant(db, MerchantId(merchant_id))
    return await render(
        request,
        caller,
        "people",
        state,
        here="merchants",
        merchant=merchant,
        people=[await _row(db, member, request.now) for member in members],
        choices=[(str(member.user_id), member.email) for member in members],
        user_id="",
    )


async def _row(db: Pool, member: MemberView, now: datetime) -> PersonRow:
    active = await sessions_store.list_active(db, UserId(member.user_id), now, SESSIONS_SHOWN)
    changes = await address_changes_store.list_of_user(db, member.user_id, CHANGES_SHOWN)
    return PersonRow(
        member,
        [
            SessionRow(
                browser_of(one.user_agent or ""), system_of(one.user_agent or ""), one.address or "", stamp(one.last_seen_at)
            )
            for one in active
        ],
        [
            ChangeRow(
                one.old_email,
                one.new_email,
                stamp(one.requested_at),
                stamp_or_none(one.confirmed_at),
                stamp_or_none(one.undone_at),
            )
            for one in changes
        ],
    )
