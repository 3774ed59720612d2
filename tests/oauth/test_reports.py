"""Merchants report applications to the operators, once a day each; pages without JavaScript."""

import asyncio

import pytest

from tests.accounts.audit_log.reading import changed, newest
from tests.cast import Actor, Application, application, suspend
from tests.forms import post, seen, wrong
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service

MAILS = "SELECT recipient, facts->>'path' AS path FROM mails WHERE about = 'application_reported' AND facts->>'path' = $1"
REPORTS = "SELECT merchant_id::text AS merchant_id, reason FROM application_reports WHERE client_id = $1 ORDER BY id"
WHY = "It moved money\nthat I had not approved."


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


def page_of(app: Application) -> str:
    """Where it is reported."""
    return f"/settings/reported-apps/{app.client_id}"


async def test_one_report_of_a_merchant_a_day(app: Application, alice: Actor, carol: Actor) -> None:
    answers = await asyncio.gather(*(post(alice, page_of(app), reason=f" {WHY}\r\n") for _ in range(3)))
    assert sorted(answer.location.partition("=")[2] for answer in answers) == ["again", "again", "reported"]
    assert "was not sent" in await seen(alice, f"{page_of(app)}?done=again")
    await post(carol, page_of(app), reason="A false name")
    rows = [(row["merchant_id"], row["reason"]) for row in await alice.sql(REPORTS, app.client_id)]
    assert rows == [(alice.merchant_id, WHY), (carol.merchant_id, "A false name")]
    await alice.sql("UPDATE application_reports SET day = day - 1 WHERE client_id = $1", app.client_id)
    assert (await post(alice, page_of(app), reason="Again")).location.endswith("done=reported")
    assert changed(await newest(alice, "application.reported")) == {"reason": (None, "Again")}


async def test_operators_get_one_email_a_day(app: Application, alice: Actor, carol: Actor, service: Service) -> None:
    async with signed_in_operator(service) as olga:
        await asyncio.gather(*(post(actor, page_of(app), reason=WHY) for actor in (alice, carol)))
        path = f"/operator/applications/{app.client_id}"
        mailed = [row["recipient"] for row in await alice.sql(MAILS, path)]
        assert mailed.count(olga.email) == 1
        page = await seen(olga, path)
        assert page.count("that I had not approved.") == 2
        assert "Alice" in page
        assert "2 reports" in await seen(olga, f"/operator/applications?only=reported&search={app.client_id}")


async def test_what_is_no_report(app: Application, alice: Actor) -> None:
    for reason in ("", " \r\n ", "x" * 1_001, "a\u202eb"):
        assert wrong(await post(alice, page_of(app), 422, reason=reason)).keys() == {"reason"}
    for client_id in ("thc_0000000000000000000000", "x"):
        await seen(alice, f"/settings/reported-apps/{client_id}", 404)
        await post(alice, f"/settings/reported-apps/{client_id}", 404, reason=WHY)
    (await alice.anonymously("POST", page_of(app))).ok(303)
    assert await alice.sql(REPORTS, app.client_id) == []


async def test_a_suspended_merchant_can_report(app: Application, alice: Actor) -> None:
    await app.connect(alice, "account:read")
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    await suspend(alice)
    assert f'href="{page_of(app)}"' in await seen(alice, f"/settings/connected-apps/{grant['grant_id']}")
    await post(alice, page_of(app), reason=WHY)


async def test_the_consent_page_leads_there(app: Application, alice: Actor) -> None:
    started = (await alice.send("GET", app.authorize_path("account:read"))).ok(303)
    assert f'href="{page_of(app)}"' in await seen(alice, started.location)
