"""Limits of a connection that the merchant changes: what needs recent authentication, and what is spent at the same time."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.accounts.audit_log.reading import changed, newest
from tests.accounts.merchants.authenticator import grow_old
from tests.cast import PASSWORD, Actor, Answer, Application, application
from tests.forms import post, seen
from tests.forms import wrong as forms_wrong
from tests.oauth.test_narrowing import change, grant_of
from tests.transfers.balance_payments.till import SCOPES
from tests.transfers.gate.test_limits import beyond
from tests.transfers.withdrawals.steps import TO_NINA, fund

SCOPE = f"{SCOPES} withdrawals:write account:read"
DAY = {"kind": "withdrawals", "currency": "EUR", "per_day": "20.00"}
LOW = DAY | {"per_day": "10.00"}
END = "2999-01-01T00:00:00.000Z"
ROUNDS = 20


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def test_limits_hold_at_once_and_are_recorded(app: Application, alice: Actor) -> None:
    await fund(alice)
    token = (await app.connect(alice, SCOPE))["access_token"]
    before = await grant_of(alice)
    grant_id = before["grant_id"]
    assert (before["limits"], before["recipients"], before["limits_expire_at"], before["proposals_only"]) == (
        [], None, None, False,
    )  # fmt: skip
    limited = (await change(alice, grant_id, limits=[LOW], recipients=[], limits_expire_at=END)).ok().body
    assert limited == await grant_of(alice)
    assert (limited["limits"][0]["per_day_minor"], limited["recipients"], limited["limits_expire_at"]) == (1_000, [], END)
    assert beyond(await app.api(token, "POST", "/withdrawals", TO_NINA, "1"))["reason"] == "recipient"
    kept = changed(await newest(alice, "grant.limits_changed"))
    assert kept["limits"] == ([], ["withdrawals EUR per_day 10.00"])
    assert kept["recipients"] == (None, [])
    (await change(alice, grant_id, recipients=None)).ok()
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "2")).ok(201)
    assert beyond(await app.api(token, "POST", "/withdrawals", TO_NINA, "3"))["remaining_minor"] == 0
    opened = (await change(alice, grant_id, limits=[], limits_expire_at=None)).ok().body
    assert opened == before | {"last_used_at": opened["last_used_at"]}
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "4")).ok(201)


async def test_only_proposing(app: Application, alice: Actor) -> None:
    await fund(alice)
    token = (await app.connect(alice, SCOPE))["access_token"]
    grant_id = (await grant_of(alice))["grant_id"]
    assert (await change(alice, grant_id, proposals_only=True)).ok().body["proposals_only"] is True
    assert changed(await newest(alice, "grant.changed")) == {"proposals_only": (False, True)}
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "1")).refused("proposal_required", 403)
    assert (await change(alice, grant_id, limits=[LOW])).ok().body["proposals_only"] is True
    (await change(alice, grant_id, proposals_only=False)).ok()
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "2")).ok(201)


@pytest.mark.parametrize(
    ("members", "field", "code"),
    [
        ({"limits": [DAY | {"per_day": "0.00"}]}, "limits.0.per_day", "invalid_amount"),
        ({"limits": [DAY, LOW]}, "limits.1.currency", "duplicate"),
        ({"recipients": [str(uuid4())]}, "recipients", "invalid_value"),
        ({"limits_expire_at": "tomorrow"}, "limits_expire_at", "invalid_value"),
        ({"proposals_only": 1}, "proposals_only", "invalid_type"),
        ({"expires_at": END}, "expires_at", "unknown_field"),
    ],
)
async def test_refused_limits(app: Application, alice: Actor, members: dict[str, Any], field: str, code: str) -> None:
    await app.connect(alice, SCOPE)
    before = await grant_of(alice)
    body = {"scopes": ["account:read"], **members}
    assert (await change(alice, before["grant_id"], **body)).field_errors() == {field: code}
    assert await grant_of(alice) == before


async def test_more_in_live_mode_needs_recent_authentication(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE, mode="live")
    grant_id = (await grant_of(alice))["grant_id"]
    await grow_old(alice)
    lowered = {"limits": [LOW], "recipients": [], "limits_expire_at": END, "proposals_only": True}
    (await change(alice, grant_id, **lowered)).ok()
    before = await grant_of(alice)
    raised: list[dict[str, Any]] = [
        {"limits": [DAY]},
        {"limits": []},
        {"limits": [LOW, LOW | {"currency": "USD"}]},
        {"recipients": None},
        {"limits_expire_at": None},
        {"proposals_only": False},
        {"scopes": ["account:read"], "proposals_only": False},
    ]
    for more in raised:
        (await change(alice, grant_id, **more)).refused("recent_authentication_required", 403)
        assert await grant_of(alice) == before
    (await change(alice, grant_id, **lowered)).ok()
    (await change(alice, grant_id, limits=[LOW | {"per_day": "5.00"}], scopes=["account:read", *SCOPES.split()])).ok()


async def test_limits_on_the_page(app: Application, alice: Actor) -> None:
    await fund(alice)
    token = (await app.connect(alice, SCOPE))["access_token"]
    page = f"/settings/connected-apps/{(await grant_of(alice))['grant_id']}"
    row = {"limits.0.kind": "withdrawals", "limits.0.currency": "EUR", "limits.0.per_day": "25.00"}
    wrong = await post(alice, f"{page}/limits", 422, **row | {"limits.0.per_day": "x"}, proposals_only="on")
    assert set(forms_wrong(wrong)) == {"limits.0.per_day"}
    assert 'id="proposals_only" value="on" checked' in wrong.text
    assert (await grant_of(alice))["limits"] == []
    saved = await post(alice, f"{page}/limits", **row)
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "1")).ok(201)
    text = await seen(alice, saved.location)
    assert "Limits saved." in text
    assert "Withdrawals: €15.00 of €25.00 left in 24 hours" in text
    await post(alice, f"{page}/limits", proposals_only="on")
    grant = await grant_of(alice)
    assert (grant["limits"], grant["proposals_only"]) == ([], True)


async def test_recipients_and_the_end_on_the_page(app: Application, alice: Actor, carol: Actor) -> None:
    await fund(alice)
    token = (await app.connect(alice, SCOPE))["access_token"]
    grant_id = (await grant_of(alice))["grant_id"]
    page = f"/settings/connected-apps/{grant_id}"

    async def save(status: int, **fields: str) -> Answer:
        return await post(alice, f"{page}/limits", status, **{"limits.0.kind": "withdrawals"}, **fields)

    nina, her_own = await saved(alice), await saved(carol)
    assert 'value="any" selected' in await seen(alice, page)
    both = await save(422, recipients="any", recipient=nina)
    assert set(forms_wrong(both)) == {"recipients"}
    wrong = await save(422, recipients="selected", recipient=her_own, expires_on="31.12.2999")
    assert set(forms_wrong(wrong)) == {"expires_on"}
    foreign = await save(422, recipients="selected", recipient=her_own)
    assert set(forms_wrong(foreign)) == {"recipients"}
    await save(400, recipients="selected", recipient="x")
    assert (await grant_of(alice))["recipients"] is None
    await save(303, recipients="selected", expires_on="2999-01-01")
    grant = await grant_of(alice)
    assert (grant["recipients"], grant["limits_expire_at"]) == ([], END)
    assert beyond(await app.api(token, "POST", "/withdrawals", TO_NINA, "1"))["reason"] == "recipient"
    await save(303, recipients="selected", recipient=nina)
    shown = await seen(alice, page)
    assert f'value="{nina}" checked' in shown
    grant = await grant_of(alice)
    assert (grant["recipients"], grant["limits_expire_at"]) == ([nina], None)
    (await app.api(token, "POST", "/withdrawals", TO_NINA, "2")).ok(201)


async def test_the_page_keeps_the_time_of_an_end(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    grant_id, noon = (await grant_of(alice))["grant_id"], "2999-01-01T12:30:00.000Z"
    (await change(alice, grant_id, limits_expire_at=noon)).ok()
    await post(alice, f"/settings/connected-apps/{grant_id}/limits", expires_on="2999-01-01")
    assert (await grant_of(alice))["limits_expire_at"] == noon


async def saved(actor: Actor) -> str:
    """A saved recipient."""
    body = {"name": "Nina", "method_id": TO_NINA["method_id"], "receiver": TO_NINA["receiver"]}
    return (await actor.post("/withdrawal-recipients", body, key="nina")).ok(201).body["id"]


async def test_raising_on_the_page_needs_recent_authentication(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE, mode="live")
    page = f"/settings/connected-apps/{(await grant_of(alice))['grant_id']}"
    await grow_old(alice)
    await post(alice, f"{page}/limits", proposals_only="on")
    row = {"limits.0.kind": "withdrawals", "limits.0.currency": "EUR", "limits.0.per_day": "25.00"}
    await post(alice, f"{page}/limits", 403, **row)
    assert (await grant_of(alice))["proposals_only"] is True
    await post(alice, f"{page}/limits", **row, stepup_password=PASSWORD)
    assert (await grant_of(alice))["proposals_only"] is False


@pytest.mark.long
async def test_limits_against_spending(app: Application, alice: Actor) -> None:
    await fund(alice, "1000.00")
    token = (await app.connect(alice, SCOPE))["access_token"]
    grant_id = (await grant_of(alice))["grant_id"]
    for at in range(ROUNDS):
        members = {"limits": [LOW]} if at % 2 else {"proposals_only": True}
        spent, done, again = await asyncio.gather(
            app.api(token, "POST", "/withdrawals", TO_NINA, f"a{at}"),
            change(alice, grant_id, **members),
            app.api(token, "POST", "/withdrawals", TO_NINA, f"b{at}"),
        )
        done.ok()
        # One that was let in without limits and is not counted under them is refused whole, and can be repeated.
        assert {spent.status, again.status} <= {201, 403, 503}
        later = await app.api(token, "POST", "/withdrawals", TO_NINA, f"c{at}")
        if at % 2 == 0:
            later.refused("proposal_required", 403)
        else:
            assert later.status == 201 or beyond(later)  # the others may both have passed before there were limits
            beyond(await app.api(token, "POST", "/withdrawals", TO_NINA, f"d{at}"))
        (await change(alice, grant_id, limits=[], proposals_only=False)).ok()


@pytest.mark.long
async def test_lowering_twice_leaves_the_lower_of_live_limits(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE, mode="live")
    grant_id = (await grant_of(alice))["grant_id"]
    for _ in range(ROUNDS):
        await alice.sql("UPDATE oauth_grants SET limits = NULL WHERE id = $1::uuid", grant_id)
        await grow_old(alice)
        high, low = await asyncio.gather(change(alice, grant_id, limits=[DAY]), change(alice, grant_id, limits=[LOW]))
        low.ok()
        if high.status != 200:
            high.refused("recent_authentication_required", 403)
        assert (await grant_of(alice))["limits"][0]["per_day"] == "10.00"
