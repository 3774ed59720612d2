"""Undoing a change of the address ends what its invitations gave, also of those whom an invited person invited."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.accounts.mail.address_steps import change, fresh
from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.merchants.authenticator import elsewhere
from tests.accounts.team.invited import accept, id_of, invite, secret_of, team_of
from tests.cast import PASSWORD, Actor, application, member, sign_up

AUDITED = """
    SELECT name, changed::jsonb AS changed FROM audit_lines
    WHERE merchant_id = $1::uuid AND deed = $2 ORDER BY created_at, id
"""
MAILS = "SELECT facts::jsonb FROM mails WHERE recipient = $1 AND about = ANY ($2::text[])"
OPEN = "SELECT email FROM invitations WHERE ended_at IS NULL AND merchant_id = $1::uuid"


class Team:
    """A team whose owner Olga stays honest, while the address of the owner Dora is changed; and how somebody joins it."""

    def __init__(self, mail_worker: MailWorker, dora: Actor, olga: Actor, stack: AsyncExitStack) -> None:
        self.sql, self.services = mail_worker.sql, mail_worker.services
        self.dora, self.olga, self._stack = dora, olga, stack

    async def invited(self, by: Actor, role: str) -> tuple[Actor, str]:
        """Somebody without an account, and the secret of an invitation."""
        actor = await self._stack.enter_async_context(elsewhere(self.dora))
        actor.email = fresh()
        (await invite(by, actor.email, role)).ok(201)
        return actor, await secret_of(self.services, actor.email)

    async def joined(self, by: Actor, role: str) -> Actor:
        """Somebody who has accepted an invitation."""
        actor, secret = await self.invited(by, role)
        (await accept(actor, secret, password=PASSWORD)).ok(204)
        return actor


@pytest.fixture
async def team(mail_worker: MailWorker) -> AsyncIterator[Team]:
    """Dora and Olga."""
    async with (
        sign_up(mail_worker.service, "dora", "Dora's Deli") as dora,
        member(dora, "owner", "olga") as olga,
        AsyncExitStack() as stack,
    ):
        yield Team(mail_worker, dora, olga, stack)


@pytest.mark.long
async def test_who_joined_by_an_invitation_of_the_thief_is_removed(mail_worker: MailWorker, team: Team) -> None:
    """With what they made, and whom they invited. Who joined before stays, and so does who was made an owner since."""
    dora, olga = team.dora, team.olga
    before = await team.joined(dora, "developer")
    undo = await change(mail_worker, dora, fresh())
    adam, owner, kept = [
        await team.joined(by, role) for by, role in ((dora, "administrator"), (dora, "developer"), (olga, "support"))
    ]
    again = await team.joined(adam, "developer")
    (await olga.dashboard("PATCH", f"/members/{await id_of(olga, owner.email)}", {"role": "owner"})).ok()
    (await dora.dashboard("PATCH", f"/members/{await id_of(dora, before.email)}", {"role": "finance"})).ok()
    of_owner = await team.joined(owner, "support")
    (await invite(adam, fresh())).ok(201)
    keys = {maker.email: await maker.key() for maker in (adam, again, owner)}
    tokens = await (app := await application(olga)).connect(adam, "account:read offline_access")
    (await dora.form(undo, {})).ok()
    everybody = {olga.email: "owner", owner.email: "owner", dora.email: "owner", before.email: "finance"}
    assert await team_of(olga) == everybody | {kept.email: "support", of_owner.email: "support"}
    for removed in (adam, again):
        (await removed.dashboard("GET", "/session")).refused("authentication_required", 401)
        [row] = await team.sql(MAILS, removed.email, ["team_left", "member_removed"])
        assert "dora" in row["facts"]
    for email, key in keys.items():
        answer = await dora.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": key})
        assert answer.status == (200 if email == owner.email else 401)
    (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)
    assert await team.sql(OPEN, dora.merchant_id) == []
    assert len(await team.sql(MAILS, olga.email, ["member_removed"])) == 2
    rows = await team.sql(AUDITED, dora.merchant_id, "member.removed")
    assert [row["name"] for row in rows] == [adam.email, again.email]
    assert all('"email address change undone"' in row["changed"] for row in rows)
    row = (await team.sql(AUDITED, dora.merchant_id, "member.role_changed"))[-1]
    assert (row["name"], row["changed"]) == (before.email, '{"role": ["developer", "finance"]}')


async def test_who_was_invited_again_by_another_owner_stays(mail_worker: MailWorker, team: Team) -> None:
    undo = await change(mail_worker, team.dora, fresh())
    adam = await team.joined(team.dora, "support")
    (await team.olga.dashboard("DELETE", f"/members/{await id_of(team.olga, adam.email)}")).ok()
    (await invite(team.olga, adam.email, "support")).ok(201)
    secret = await secret_of(team.services, adam.email)
    (await accept(adam, secret, password=PASSWORD)).ok(204)
    (await team.dora.form(undo, {})).ok()
    assert adam.email in await team_of(team.olga)


@pytest.mark.long
async def test_what_is_accepted_and_sent_while_it_is_undone(mail_worker: MailWorker, team: Team) -> None:
    """Whichever is first: nobody is a member by an invitation of the thief, and none can be accepted."""
    undo = await change(mail_worker, team.dora, fresh())
    adam = await team.joined(team.dora, "administrator")
    waiting = [await team.invited(by, "support") for by in (team.dora, adam)]
    await asyncio.gather(
        team.dora.form(undo, {}),
        *(accept(actor, secret, password=PASSWORD) for actor, secret in waiting),
        *(invite(by, fresh(), "support") for by in (team.dora, adam) for _ in range(2)),
    )
    assert (await team_of(team.olga)).keys() == {team.dora.email, team.olga.email}
    assert await team.sql(OPEN, team.dora.merchant_id) == []


async def test_of_another_account_nothing_is_revoked(mail_worker: MailWorker, team: Team) -> None:
    """Who accepted an invitation keeps the own merchant account, with what was made for it."""
    async with sign_up(mail_worker.service, "carl", "Carl's Cars") as carl:
        undo = await change(mail_worker, team.dora, fresh())
        own = await carl.key()
        (await invite(team.dora, carl.email, "developer")).ok(201)
        (await accept(carl, await secret_of(team.services, carl.email))).ok(204)
        (await team.dora.form(undo, {})).ok()
        assert carl.email not in await team_of(team.olga)
        (await carl.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": own})).ok()
