"""Operators find, suspend and reactivate a single application, at their pages and at the command line; all of it is kept."""

import asyncio
from typing import get_args

import asyncpg
import pytest

from tests.cast import Actor, application
from tests.pages.console.commands import operator
from tests.running import Service
from tollhouse.accounts.approvals.model import Action
from tollhouse.oauth.model import DEVICE_CODE_GRANT

INSERT_ACTION = (
    "INSERT INTO operator_actions (id, operator, action, merchant_id, subject_id, reason, at)"
    " VALUES (gen_random_uuid(), 'x', $1, $2::uuid, $3::uuid, $4, now())"
)
KEPT = "SELECT action, operator, reason, merchant_id::text FROM operator_actions WHERE client_id = $1 ORDER BY at, id"
SCOPE = "account:read offline_access"
NOBODYS = "thc_0000000000000000000000"


async def test_an_application_is_suspended_with_a_reason_and_goes_on(olga: Actor, bob: Actor, alice: Actor) -> None:
    app = await application(bob, name="Night <Ledger>")
    tokens = await app.connect(alice, SCOPE)
    waiting = await app.code(alice, SCOPE)
    page = f"/operator/applications/{app.client_id}"
    shown = (await olga.send("GET", page)).ok().text
    assert "Night &lt;Ledger&gt;" in shown
    assert "Bob&#39;s Books" in shown
    assert "Suspend application Night &lt;Ledger&gt;?" in (await olga.send("GET", f"{page}/suspend")).ok().text
    (await olga.form(f"{page}/suspend", {"reason": " "})).ok(422)
    done = (await olga.form(f"{page}/suspend", {"reason": "Phishing"})).ok(303).location
    assert done.startswith(f"{page}?action=")
    assert "Done: application suspended" in (await olga.send("GET", done)).ok().text
    (await app.api(tokens["access_token"], "GET", "/account")).refused("application_suspended", 403)
    (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(303)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    (await app.exchange(waiting)).refused("invalid_grant", 400)
    rows = await bob.sql(KEPT, app.client_id)
    assert [tuple(row) for row in rows] == [
        ("application_suspended", olga.email, "Phishing", bob.merchant_id),
        ("application_reactivated", olga.email, "Settled", bob.merchant_id),
    ]
    history = (await olga.send("GET", "/operator/history")).ok().text
    assert f'href="{page}">Night &lt;Ledger&gt;</a>' in history
    log = (await bob.send("GET", "/settings/audit")).ok().text
    assert "Application suspended" in log
    assert "Phishing" not in log


async def test_the_second_of_two_gets_an_error(olga: Actor, bob: Actor) -> None:
    app = await application(bob)
    page = f"/operator/applications/{app.client_id}"
    ended = await asyncio.gather(*(olga.form(f"{page}/suspend", {"reason": f"Reason {n}"}) for n in range(4)))
    assert sorted(answer.status for answer in ended) == [303, 409, 409, 409]
    assert len(await bob.sql(KEPT, app.client_id)) == 1
    (await olga.send("GET", f"{page}/suspend")).ok(409)
    (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(303)
    (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(409)
    (await bob.dashboard("DELETE", f"/oauth/clients/{app.client_id}")).ok()
    (await olga.form(f"{page}/suspend", {"reason": "Too late"})).ok(409)
    assert (await olga.send("GET", f"/operator/applications/{NOBODYS}")).status == 404
    assert (await olga.send("GET", "/operator/applications/%00")).status == 404


async def test_live_writes_by_device_are_allowed_and_withdrawn(olga: Actor, bob: Actor, alice: Actor) -> None:
    app = await application(bob, grant_types=["authorization_code", "refresh_token", DEVICE_CODE_GRANT])
    page, start = f"/operator/applications/{app.client_id}", "/api/v2/oauth/device_authorization"
    asked = {"scope": "payments:write", "mode": "live"}
    (await app.protocol(start, asked)).refused("invalid_scope", 400)
    assert f'href="{page}/withdraw-device-writes"' not in (await olga.send("GET", page)).ok().text
    (await olga.form(f"{page}/withdraw-device-writes", {"reason": "Nothing to end"})).ok(409)
    (await olga.form(f"{page}/allow-device-writes", {"reason": " "})).ok(422)
    ended = await asyncio.gather(*(olga.form(f"{page}/allow-device-writes", {"reason": f"No {n}"}) for n in range(3)))
    assert sorted(answer.status for answer in ended) == [303, 409, 409]
    codes = (await app.protocol(start, asked)).ok().body
    shown = (await olga.send("GET", page)).ok().text
    assert "Live writes by device allowed" in shown
    assert f'href="{page}/withdraw-device-writes"' in shown
    (await olga.form(f"{page}/withdraw-device-writes", {"reason": "Unused"})).ok(303)
    (await app.protocol(start, asked)).refused("invalid_scope", 400)
    consent_page = (await alice.form("/device", {"user_code": codes["user_code"]})).ok(303).location
    assert (await alice.send("GET", consent_page)).status == 409
    assert [row["action"] for row in await bob.sql(KEPT, app.client_id)] == [
        "application_device_writes_allowed", "application_device_writes_withdrawn",
    ]  # fmt: skip
    plain = await application(bob)
    assert "device-writes" not in (await olga.send("GET", f"/operator/applications/{plain.client_id}")).ok().text


async def test_applications_are_found_by_name_owner_id_and_status(olga: Actor, bob: Actor) -> None:
    one = await application(bob, name="Findable Ledger")
    other = await application(bob, name="Another")
    await bob.sql("UPDATE oauth_clients SET suspended_at = now() WHERE id = $1", other.client_id)

    async def found(**query: str) -> set[str]:
        shown = (await olga.send("GET", "/operator/applications", params=query)).ok().text
        return {client_id for client_id in (one.client_id, other.client_id) if client_id in shown}

    both = {one.client_id, other.client_id}
    assert await found(search="findable ledger") == {one.client_id}
    assert await found(search=other.client_id) == {other.client_id}
    assert await found(search=bob.merchant_id) == both
    assert await found(search=bob.merchant_id, status="suspended") == {other.client_id}
    assert await found(search=bob.merchant_id, status="enabled") == {one.client_id}
    assert await found(search=bob.merchant_id, status="revoked") == set()


async def test_the_command_line_does_the_same(service: Service, bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, SCOPE))["access_token"]
    assert (await operator(service, "applications", "suspend", app.client_id)).status == 2  # without a reason
    done = await operator(service, "applications", "suspend", app.client_id, "--reason", "Phishing", "--json")
    assert (done.status, done.json["action"], done.json["client_id"]) == (0, "application_suspended", app.client_id)
    (await app.api(token, "GET", "/account")).refused("application_suspended", 403)
    listing = ("applications", "list", "--status", "suspended", "--search", app.client_id, "--json")
    [listed] = (await operator(service, *listing)).json["applications"]
    assert (listed["status"], listed["merchant_id"]) == ("suspended", bob.merchant_id)
    again = await operator(service, "applications", "suspend", app.client_id, "--reason", "Phishing")
    assert (again.status, again.talk) == (1, f"Application {app.client_id} is already suspended.")
    assert (await operator(service, "applications", "reactivate", app.client_id)).status == 0
    (await app.api(token, "GET", "/account")).ok()
    nobodys = await operator(service, "applications", "reactivate", NOBODYS)
    assert (nobodys.status, nobodys.talk) == (1, f"There is no application {NOBODYS}.")


async def test_suspending_an_owner_ends_what_waits_for_consent(olga: Actor, bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    tokens = await app.connect(alice, SCOPE)
    code = await app.code(alice, SCOPE)
    page = f"/operator/merchants/{bob.merchant_id}"
    (await olga.form(f"{page}/suspend", {"reason": "Chargebacks"})).ok(303)
    (await app.exchange(code)).refused("invalid_client", 401)
    (await olga.form(f"{page}/reactivate", {"reason": "Settled"})).ok(303)
    (await app.exchange(code)).refused("invalid_grant", 400)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()


async def test_the_database_takes_every_action_and_refuses_half_an_action(bob: Actor) -> None:
    kinds = {row["action"]: row for row in await bob.sql("SELECT * FROM operator_action_kinds")}
    assert set(get_args(Action)) <= set(kinds)
    for kind in (*kinds.values(), {"action": "anything", "of_merchant": True, "needs_reason": False}):
        is_known = kind["action"] in kinds
        other = None if kind["of_merchant"] else bob.merchant_id  # a merchant where none belongs, or none where one does
        wrong = () if kind["of_merchant"] is None else ((other, "Reason"),)  # an application may have an owner, or none
        for merchant_id, reason in (*wrong, *([(bob.merchant_id, "Reason")] if not is_known else ())):
            with pytest.raises(asyncpg.CheckViolationError) as refused:
                await bob.sql(INSERT_ACTION, kind["action"], merchant_id, bob.merchant_id, reason)
            assert refused.value.constraint_name == "operator_actions_allowed", kind["action"]
        if kind["needs_reason"]:
            merchant_id = bob.merchant_id if kind["of_merchant"] else None
            with pytest.raises(asyncpg.CheckViolationError) as refused:
                await bob.sql(INSERT_ACTION, kind["action"], merchant_id, bob.merchant_id, None)
            assert refused.value.constraint_name == "operator_actions_allowed", kind["action"]
    app = await application(bob)
    for action, client_id, reason in (
        ("application_suspended", app.client_id, None),
        ("application_suspended", None, "Phishing"),
        ("merchant_suspended", app.client_id, "Phishing"),
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            await bob.sql(
                "INSERT INTO operator_actions (id, operator, action, merchant_id, subject_id, reason, client_id, at)"
                " VALUES (gen_random_uuid(), 'x', $1, $2::uuid, $2::uuid, $3, $4, now())",
                action,
                bob.merchant_id,
                reason,
                client_id,
            )
