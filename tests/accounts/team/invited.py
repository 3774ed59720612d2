"""Invitations in tests: how one is made, and the secret of its link."""

import asyncio
from collections.abc import Awaitable, Iterable
from uuid import uuid4

from tests.cast import Actor, Answer
from tollhouse.accounts.mail import links
from tollhouse.http.services import Services

MAIL = "SELECT mail_id FROM invitations WHERE email = $1 ORDER BY created_at DESC LIMIT 1"
RECENT = {
    "PUT /api/v2/merchant/team": "always",
    "POST /api/v2/merchant/refunds/{refund_id}/approve": "always",
    "POST /api/v2/merchant/team/confirm": "always",
    "POST /api/v2/merchant/withdrawals/{withdrawal_id}/approve": "always",
    "POST /settings/members/confirm": "always",
    "POST /{mode}/refunds/{refund_id}/approve": "live",
    "POST /{mode}/withdrawals/{withdrawal_id}/approve": "live",
    "DELETE /api/v2/merchant/members/{user_id}": "by_content",
    "PATCH /api/v2/merchant/members/{user_id}": "always",
    "POST /api/v2/merchant/invitations": "always",
    "POST /api/v2/merchant/invitations/{invitation_id}/resend": "always",
    "POST /api/v2/merchant/members/{user_id}/transfer-ownership": "always",
    "POST /settings/invitations/{invitation_id}/resend": "always",
    "POST /settings/members": "always",
    "POST /settings/members/{user_id}/remove": "by_content",
    "POST /settings/members/{user_id}/role": "always",
    "POST /settings/members/{user_id}/transfer": "always",
    "POST /settings/team": "always",
}
"""What of the team needs recent authentication."""


def somebody() -> str:
    """An address without an account."""
    return f"nina-{uuid4().hex[:12]}@example.com"


async def invite(actor: Actor, email: str, role: str = "support") -> Answer:
    """Invite somebody."""
    return await actor.dashboard("POST", "/invitations", {"email": email, "role": role})


async def secret_of(services: Services, email: str) -> str:
    """The secret of the newest link to this address."""
    row = await services.db.fetchrow(MAIL, email)
    assert row is not None
    return links.link_secret(services.keys, "invitation", row["mail_id"])


async def accept(actor: Actor, secret: str, **body: str) -> Answer:
    """Accept by JSON, with the browser of this person."""
    return await actor.dashboard("POST", "/invitations/accept", {"invitation": secret} | body)


async def team_of(actor: Actor) -> dict[str, str]:
    """The roles of the members by their addresses."""
    listed = (await actor.dashboard("GET", "/members")).ok().body["members"]
    return {member["email"]: member["role"] for member in listed}


async def id_of(actor: Actor, email: str) -> str:
    """The ID of the member with this address."""
    listed = (await actor.dashboard("GET", "/members")).ok().body["members"]
    [user_id] = [member["user_id"] for member in listed if member["email"] == email]
    return str(user_id)


async def at_once(calls: Iterable[Awaitable[Answer]]) -> list[Answer]:
    """Send all at once; none fails."""
    answers = await asyncio.gather(*calls)
    assert max(answer.status for answer in answers) < 500, [answer.raw for answer in answers]
    return answers
