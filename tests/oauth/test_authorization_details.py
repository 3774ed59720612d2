"""Limits by `authorization_details` (RFC 9396): asked for, decided by the merchant, granted."""

import html
import json
from typing import Any

import pytest

from tests.accounts.audit_log.reading import changed, newest
from tests.cast import HIDDEN, Actor, Answer, Application, application
from tests.forms import wrong
from tests.oauth.test_changing_limits import saved
from tests.transfers.gate.test_limits import beyond
from tests.transfers.withdrawals.steps import TO_NINA, fund

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "account:read withdrawals:write offline_access"
ASKED = {"kind": "withdrawals", "currency": "EUR", "per_transaction": "15.00", "per_day": "20.00"}


def details(*limits: dict[str, Any]) -> str:
    """The parameter."""
    return json.dumps([{"type": "tollhouse_limits", "limits": list(limits)}])


async def answer(app: Application, merchant: Actor, typed: dict[str, str], **changes: str) -> Answer:
    """Allow everything, with these limits instead of those on the page."""
    started = (await merchant.send("GET", app.authorize_path(SCOPE, **changes))).ok(303)
    shown = (await merchant.send("GET", started.location)).ok()
    hidden = [(name, html.unescape(value)) for name, value in HIDDEN.findall(shown.text)]
    scopes = [("scope", scope) for scope in SCOPE.split()]
    return await merchant.form(started.location, [*hidden, *scopes, *typed.items(), ("decision", "allow")])


@pytest.mark.parametrize(
    "sent",
    [
        "x",
        "{}",
        "[]",
        json.dumps([{"type": "payment_initiation", "limits": []}]),
        json.dumps([{"type": "tollhouse_limits", "limits": []}] * 2),
        json.dumps([{"type": "tollhouse_limits", "limits": [], "actions": ["read"]}]),
        details({"kind": "tips", "currency": "EUR"}),
        details({"kind": "refunds", "currency": "XXX"}),
        details(ASKED | {"per_day": "-1.00"}),
        details(ASKED, ASKED),
        "[" * 5_000,
    ],
)
async def test_what_is_no_limit_is_refused(alice: Actor, bob: Actor, sent: str) -> None:
    app = await application(bob)
    back = (await alice.send("GET", app.authorize_path(SCOPE, authorization_details=sent))).ok(303)
    assert back.query["error"] == "invalid_authorization_details"
    fields = {"scope": "account:read", "mode": "test", "authorization_details": sent}
    device = await application(bob, grant_types=["authorization_code", "refresh_token", DEVICE])
    (await device.protocol("/api/v2/oauth/device_authorization", fields)).refused("invalid_authorization_details", 400)


async def test_the_merchant_decides_what_is_granted(alice: Actor, bob: Actor) -> None:
    await fund(alice)
    app = await application(bob)
    started = (await alice.send("GET", app.authorize_path(SCOPE, authorization_details=details(ASKED)))).ok(303)
    shown = (await alice.send("GET", started.location)).ok().text
    assert "asks for these limits" in shown
    assert 'name="limits.0.per_day" type="text" value="20.00"' in shown
    typed = {"limits.0.currency": "EUR", "limits.0.per_transaction": "", "limits.0.per_day": "12.00"}
    back = (await answer(app, alice, typed, authorization_details=details(ASKED))).ok(303)
    issued = (await app.exchange(back.query["code"])).ok().body
    [granted] = issued["authorization_details"]
    assert granted["type"] == "tollhouse_limits"
    [limit] = granted["limits"]
    assert (limit["per_transaction"], limit["per_day"], limit["per_day_minor"]) == (None, "12.00", 1_200)
    refreshed = (await app.refresh(issued["refresh_token"])).ok().body
    assert refreshed["authorization_details"] == issued["authorization_details"]
    assert (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]["limits"] == [limit]
    (await app.api(refreshed["access_token"], "POST", "/withdrawals", TO_NINA, "1")).ok(201)
    refused = beyond(await app.api(refreshed["access_token"], "POST", "/withdrawals", TO_NINA, "2"))
    assert refused["remaining_minor"] == 200


async def test_a_merchant_removes_limits_or_adds_some(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    back = await answer(app, alice, {"limits.0.currency": ""}, authorization_details=details(ASKED))
    assert "authorization_details" not in (await app.exchange(back.ok(303).query["code"])).ok().body
    back = await answer(app, alice, {"limits.0.currency": "USD"})
    [granted] = (await app.exchange(back.ok(303).query["code"])).ok().body["authorization_details"]
    assert (granted["limits"][0]["currency"], granted["limits"][0]["per_day"]) == ("USD", None)


async def test_recipients_the_end_and_proposals_are_chosen_and_filled_in_at_the_renewal(alice: Actor, bob: Actor) -> None:
    app, nina = await application(bob), await saved(alice)
    typed = {"recipients": "selected", "recipient": nina, "expires_on": "2999-01-01", "proposals_only": "on"}
    again = (await answer(app, alice, typed | {"recipients": "any"})).ok(422)
    assert set(wrong(again)) == {"recipients"}
    back = (await answer(app, alice, typed)).ok(303)
    token = (await app.exchange(back.query["code"])).ok().body["access_token"]
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert (grant["recipients"], grant["limits_expire_at"], grant["proposals_only"]) == (
        [nina], "2999-01-01T00:00:00.000Z", True,
    )  # fmt: skip
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "1")).refused("proposal_required", 403)
    given = changed(await newest(alice, "grant.given"))
    assert (given["recipients"], given["proposals_only"]) == ((None, [nina]), (None, True))
    for details_sent in ({}, {"authorization_details": details(ASKED)}):
        started = (await alice.send("GET", app.authorize_path(SCOPE, **details_sent))).ok(303)
        shown = (await alice.send("GET", started.location)).ok().text
        assert f'value="{nina}" checked' in shown
        assert 'type="date" value="2999-01-01"' in shown
        assert 'id="proposals_only" value="on" checked' in shown


async def test_a_wrong_limit_shows_the_page_again(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    typed = {"limits.0.currency": "EUR", "limits.0.per_day": "1.005"}
    again = (await answer(app, alice, typed)).ok(422)
    assert "Check the limits and try again." in again.text
    assert 'value="1.005"' in again.text
    assert again.text.count('aria-invalid="true"') == 1
