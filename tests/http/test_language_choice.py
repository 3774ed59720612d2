"""Pages in the language of who asks, and the choice of one. What programs are told stays English."""

import pytest

from tests.cast import PASSWORD, Actor, Answer, application
from tests.forms import FOREIGN, read
from tests.payments.shop import choose, open_link
from tests.running import Service

GERMAN = {"Accept": "text/html", "Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


async def german(actor: Actor, path: str) -> Answer:
    """A page, as a German browser gets it."""
    return await actor.send("GET", path, headers=GERMAN)


async def pick(actor: Actor, **fields: str) -> Answer:
    """Choose a language in the foot of a page."""
    return (await actor.form("/language", fields)).ok(303)


async def test_a_german_browser_gets_german_pages(alice: Actor) -> None:
    page = (await german(alice, "/test/withdrawals")).ok()
    assert '<html lang="de">' in page.text
    assert "Noch keine Auszahlungen im Modus Test" in page.text
    assert page.headers["Content-Language"] == "de"
    assert page.headers["Vary"] == "Accept-Encoding, Accept-Language, Cookie"
    lost = (await german(alice, "/test/nowhere")).ok(404)
    assert "Diese Seite oder dieses Objekt existiert nicht." in lost.text


async def test_what_was_chosen_counts_more_than_the_browser(alice: Actor) -> None:
    asked = await alice.send("GET", "/test/withdrawals?status=failed&page=1")
    assert 'name="back" value="/test/withdrawals?status=failed&amp;page=1"' in asked.text
    answer = await pick(alice, language="de", back="/test/withdrawals?status=failed&page=1")
    assert answer.location == "/test/withdrawals?status=failed&page=1"
    assert "Auszahlungen" in (await alice.send("GET", "/test/withdrawals")).text
    await pick(alice, language="en", back="/test/withdrawals")
    assert '<html lang="en">' in (await german(alice, "/test/withdrawals")).text


@pytest.mark.parametrize("back", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a b"])
async def test_the_choice_leads_to_no_other_site(alice: Actor, back: str) -> None:
    answer = await pick(alice, language="xx", back=back)
    assert answer.location == "/"
    assert "Set-Cookie" not in answer.headers


async def test_another_site_chooses_nothing(alice: Actor) -> None:
    (await alice.send("POST", "/language", data={"language": "de"}, headers=FOREIGN)).refused("cross_origin_forbidden", 403)


async def test_a_refused_form_says_why_in_german_and_leads_nowhere_else(alice: Actor) -> None:
    await pick(alice, language="de", back="/")
    page = (await alice.form("/signin", {"email": alice.email, "password": PASSWORD + "x"})).ok(401)
    assert "E-Mail oder Passwort ist falsch." in page.text
    assert 'action="/language"' not in page.text
    page = (await alice.form("/test/withdrawals/new/sandbox:EUR", {"amount": "1,0,0"})).ok(422)
    assert "Geben Sie einen Betrag über null mit höchstens 2 Nachkommastellen ein, zum Beispiel 10,50." in page.text
    assert "Prüfen Sie die markierten Felder und versuchen Sie es noch einmal." in page.text


async def test_programs_get_english(alice: Actor) -> None:
    answer = await alice.send("GET", "/api/v2/merchant/api-keys/x", headers={"Accept-Language": "de"})
    assert (
        answer.refused("method_not_allowed", 405).body["error_description"] == "This method is not allowed for this address."
    )
    assert "Content-Language" not in answer.headers


async def test_consent_and_checkout_in_german(service: Service, alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    at = (await alice.send("GET", app.authorize_path("account:read payments:write offline_access"))).ok(303).location
    text = (await german(alice, at)).ok().text
    assert "möchte sich mit <bdi>Alice&#39;s Coffee</bdi> verbinden" in text
    assert "Die Anwendung kann Zahlungen aus Ihrem Guthaben erstatten." in text
    assert "Verbunden bleiben, auch wenn Sie nicht angemeldet sind" in text
    link = await open_link(alice, amount="1234.50")
    address = service.url + (await choose(link)).ok(303).location
    text = read((await german(alice, address)).ok().text)
    assert "<h1>1.234,50 € bezahlen</h1>" in text
    assert 'value="1234.50"' in text
    assert "Warten auf die Zahlung" in text
