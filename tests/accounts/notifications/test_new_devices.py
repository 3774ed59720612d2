"""A new device is in the inbox of its person alone, in both modes, and always mailed."""

from tests.accounts.merchants.authenticator import elsewhere
from tests.cast import PASSWORD, Actor, member

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


async def test_a_new_device_is_for_its_person_alone(alice: Actor) -> None:
    async with member(alice, "administrator") as person, elsewhere(person, FIREFOX) as other:
        sign_in = {"email": person.email, "password": PASSWORD}
        (await other.send("POST", "/api/v2/merchant/login", json=sign_in)).ok()
        for mode in ("live", "test"):
            path = f"/notifications?kind=new_device&mode={mode}"
            [device] = (await person.dashboard("GET", path)).ok().body["notifications"]
            assert "Firefox on Linux" in device["detail"]
            assert device["mode"] is None
            assert (await alice.dashboard("GET", path)).ok().body["notifications"] == []
        find = "SELECT FROM mails WHERE about = 'new_device' AND recipient = $1"
        assert len(await person.sql(find, person.email)) == 1
