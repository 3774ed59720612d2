"""An operator sees where the people of a merchant are signed in, and ends their sessions for a reason."""

from uuid import uuid4

from tests.accounts.merchants.authenticator import elsewhere
from tests.cast import PASSWORD, Actor
from tests.forms import seen, wrong

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0"
USER = "SELECT id FROM users WHERE email = $1"


async def test_sessions_are_ended_for_a_reason_and_the_person_sees_it(olga: Actor, alice: Actor, mallory: Actor) -> None:
    path = f"/operator/merchants/{alice.merchant_id}/people"
    [user] = await alice.sql(USER, alice.email)
    async with elsewhere(alice, FIREFOX) as other:
        (await other.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
        shown = await seen(olga, path)
        assert "Firefox on Linux" in shown
        assert alice.email in shown
        fields = {"user_id": str(user["id"]), "reason": ""}
        assert "reason" in wrong((await olga.form(path, fields)).ok(422))
        for stranger in (str(uuid4()), str((await mallory.sql(USER, mallory.email))[0]["id"])):
            assert (
                "has no such user"
                in (await olga.form(path, fields | {"user_id": stranger, "reason": "Ticket 7"})).ok(409).text
            )
        (await other.dashboard("GET", "/session")).ok()
        done = (await olga.form(path, fields | {"reason": "Ticket 7: a stolen laptop"})).ok(303).location
        assert "Ticket 7: a stolen laptop" in await seen(olga, done)
        for browser in (alice, other):
            (await browser.dashboard("GET", "/session")).refused("authentication_required", 401)
        (await other.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
        events = (await other.dashboard("GET", "/session/security-events")).ok().body["security_events"]
        assert [(one["type"], one["by"]) for one in events[:2]] == [
            ("session.begun", "person"),
            ("session.ended_by_operator", "operator"),
        ]
        assert "Signed out by an operator" in await seen(other, "/settings/security/log")
    (await mallory.dashboard("GET", "/session")).ok()
