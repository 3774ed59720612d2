"""Each event of the team: one email to the person concerned, one to everybody else who manages members."""

from tests.accounts.team.invited import accept, id_of, invite, secret_of
from tests.cast import Actor, member
from tests.forms import seen
from tollhouse.http.services import Services

MAILS = """
    SELECT about FROM mails WHERE recipient = $1
        AND (about LIKE 'member%' OR about LIKE 'team%' OR about = 'invitation') ORDER BY created_at, id
"""


async def mails_of(actor: Actor) -> list[str]:
    """The emails about the team to this person, oldest first."""
    return [row["about"] for row in await actor.sql(MAILS, actor.email)]


async def test_everybody_gets_one_email_of_each_event(alice: Actor, bob: Actor, services: Services) -> None:
    async with member(alice, "administrator", "ada") as ada, member(alice, "finance", "fred") as fred:
        (await invite(alice, bob.email, "support")).ok(201)
        (await accept(bob, await secret_of(services, bob.email))).ok(204)
        path = f"/members/{await id_of(alice, bob.email)}"
        (await alice.dashboard("PATCH", path, {"role": "owner"})).ok()
        (await alice.dashboard("DELETE", path)).ok()
        expected = ["member_joined", "member_role_changed", "member_removed"]
        assert await mails_of(alice) == expected
        assert await mails_of(ada) == expected
        assert await mails_of(fred) == []
        assert (await mails_of(bob))[:1] == ["invitation"]
        assert sorted(await mails_of(bob))[1:] == ["team_left", "team_role_changed"]
        inbox = await seen(ada, "/test/notifications")
        assert "A member joined" in inbox
        assert "No longer a member" in inbox
        (await ada.dashboard("DELETE", f"/members/{await id_of(ada, ada.email)}")).ok()
        assert await mails_of(ada) == expected
        assert await mails_of(alice) == [*expected, "member_removed"]
