"""A new device is in the inbox of its person alone, in both modes, and always mailed."""

from tests.cast import PASSWORD, Actor, member


async def test_a_new_device_is_told_to_its_person_alone(alice: Actor) -> None:
    async with member(alice, "administrator") as person:
        sign_in = {"email": person.email, "password": PASSWORD}
        headers = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
        (await person.send("POST", "/api/v2/merchant/signin", json=sign_in, headers=headers)).ok()
        for mode in ("live", "test"):
            body = (await person.dashboard("GET", f"/notifications?kind=new_device&mode={mode}")).ok().body
            assert "Firefox on Linux" in body["notifications"][0]["detail"]
            assert body["notifications"][0]["mode"] is None
            assert (await alice.dashboard("GET", f"/notifications?kind=new_device&mode={mode}")).ok().body[
                "notifications"
            ] == []
        [row] = await person.sql(
            "SELECT count(*) AS number FROM mails WHERE about = 'new_device' AND recipient = $1", person.email
        )
        assert row["number"] == 1
