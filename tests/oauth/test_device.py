"""Device authorization (RFC 8628): the codes, the page, the polls, and what must not be possible."""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.cast import HIDDEN, Actor, Answer, Application, application, consent, every_scope, sign_up
from tests.running import Service, with_limits
from tollhouse.oauth import device
from tollhouse.oauth.model import DEVICE_CODE_GRANT

START, TOKEN = "/api/v2/oauth/device_authorization", "/api/v2/oauth/token"
GRANTS = ["authorization_code", "refresh_token", DEVICE_CODE_GRANT]
SCOPE = "account:read payments:read offline_access"
CLI = "tollhouse-cli"
INTERVAL = "SELECT poll_interval_s FROM oauth_requests WHERE client_id = $1 ORDER BY created_at DESC LIMIT 1"
SOME_TIME_AGO = """
    UPDATE sessions SET created_at = created_at - interval '15 minutes', proved_at = proved_at - interval '15 minutes'
    WHERE user_id IN (SELECT id FROM users WHERE merchant_id = $1::uuid)
"""
LATER = "UPDATE oauth_requests SET polled_at = polled_at - interval '1 minute' WHERE client_id = $1"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application, whose settings allow devices."""
    return await application(bob, grant_types=GRANTS)


async def start(app: Application, scope: str = SCOPE, mode: str = "test", **more: str) -> dict[str, Any]:
    """The codes of a device."""
    return (await app.protocol(START, {"scope": scope, "mode": mode, **more})).ok().body


async def poll(app: Application, codes: dict[str, Any], **more: str) -> Answer:
    """Ask for the tokens."""
    return await app.token(grant_type=DEVICE_CODE_GRANT, device_code=codes["device_code"], **more)


async def enter(merchant: Actor, code: str) -> Answer:
    """Enter a code on the page."""
    return await merchant.form("/device", {"user_code": code})


async def answer(merchant: Actor, codes: dict[str, Any], decision: str = "allow", granted: str = SCOPE) -> Answer:
    """Enter the code and answer the consent page."""
    page = (await enter(merchant, codes["user_code"])).ok(303).location
    return await consent(merchant, page, granted.split(), decision)


async def test_a_device_is_connected(app: Application, alice: Actor) -> None:
    codes = await start(app)
    assert re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", codes["user_code"])
    url = app.owner.service.url
    assert codes["verification_uri"] == f"{url}/device"
    assert codes["verification_uri_complete"] == f"{url}/device?user_code={codes['user_code']}"
    assert (codes["expires_in"], codes["interval"]) == (600, 5)
    (await poll(app, codes)).refused("authorization_pending", 400)
    done = (await answer(alice, codes, granted="account:read offline_access")).ok(303)
    assert done.location == "/device?decision=allowed"
    assert "Device connected" in (await alice.send("GET", done.location)).ok().text
    tokens = (await poll(app, codes)).ok().body
    assert tokens["scope"] == "account:read offline_access"
    account = (await app.api(tokens["access_token"], "GET", "/account")).ok().body
    assert (account["merchant_id"], account["mode"]) == (alice.merchant_id, "test")
    (await app.refresh(tokens["refresh_token"])).ok()
    (await poll(app, codes)).refused("invalid_grant", 400)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()


async def test_the_page_says_where_the_request_came_from(app: Application, alice: Actor) -> None:
    fields = {"scope": SCOPE, "mode": "test"}
    codes = (await app.protocol(START, fields, User_Agent="tool/1.2 <b>")).ok().body
    filled = (await alice.send("GET", f"/device?user_code={codes['user_code'].lower()}")).ok().text
    assert f'value="{codes["user_code"]}"' in filled
    page = (await enter(alice, codes["user_code"])).ok(303).location
    shown = (await alice.send("GET", page)).ok()
    for text in ("Continue only if you started this yourself.", codes["user_code"], "127.0.0.1", "tool", "Northwind Ledger"):
        assert text in shown.text
    assert "You will return to" not in shown.text
    assert "form-action 'self'" in shown.headers["Content-Security-Policy"]


async def test_filling_in_a_code_decides_nothing(app: Application, alice: Actor) -> None:
    codes = await start(app)
    await alice.send("GET", codes["verification_uri_complete"])
    await alice.send("GET", (await enter(alice, codes["user_code"])).ok(303).location)
    (await poll(app, codes)).refused("authorization_pending", 400)


@pytest.mark.parametrize("written", ["{}", "{:.4}{:.0}", " {} ", "\t{}"])
async def test_case_dashes_and_spaces_do_not_matter(app: Application, alice: Actor, written: str) -> None:
    codes = await start(app)
    code = codes["user_code"].lower()
    entered = code.replace("-", "") if "4" in written else " ".join(written.format(code).replace("-", " - "))
    (await enter(alice, entered)).ok(303)


async def test_denied_requests_say_so(app: Application, alice: Actor) -> None:
    codes = await start(app)
    done = (await answer(alice, codes, "deny")).ok(303)
    assert "Request denied" in (await alice.send("GET", done.location)).ok().text
    (await poll(app, codes)).refused("access_denied", 400)


async def test_polling_too_often_raises_the_interval(app: Application, alice: Actor) -> None:
    codes = await start(app)
    (await poll(app, codes)).refused("authorization_pending", 400)
    for interval in (10, 15):
        (await poll(app, codes)).refused("slow_down", 400)
        assert (await alice.sql(INTERVAL, app.client_id))[0]["poll_interval_s"] == interval
    await alice.sql(LATER, app.client_id)
    (await poll(app, codes)).refused("authorization_pending", 400)
    assert (await alice.sql(INTERVAL, app.client_id))[0]["poll_interval_s"] == 15


async def test_codes_expire(app: Application, alice: Actor) -> None:
    codes = await start(app)
    page = (await enter(alice, codes["user_code"])).ok(303).location
    await alice.sql("UPDATE oauth_requests SET expires_at = now() WHERE client_id = $1", app.client_id)
    (await poll(app, codes)).refused("expired_token", 400)
    assert "wrong or has expired" in (await enter(alice, codes["user_code"])).ok(422).text
    (await alice.send("GET", page)).ok(410)


async def test_an_approved_code_expires_with_its_five_minutes(app: Application, alice: Actor) -> None:
    codes = await start(app)
    (await answer(alice, codes)).ok(303)
    await alice.sql("UPDATE oauth_codes SET expires_at = now() WHERE client_id = $1", app.client_id)
    (await poll(app, codes)).refused("expired_token", 400)


async def test_other_applications_get_nothing(app: Application, bob: Actor, alice: Actor) -> None:
    other = await application(bob, grant_types=GRANTS)
    codes = await start(app)
    (await answer(alice, codes)).ok(303)
    (await poll(other, codes)).refused("invalid_grant", 400)
    (await poll(app, codes, client_secret="")).refused("invalid_client", 401)
    (await poll(app, codes)).ok()


async def test_without_the_grant_type_the_client_is_unauthorized(bob: Actor) -> None:
    app = await application(bob)
    (await app.protocol(START, {"scope": SCOPE, "mode": "test"})).refused("unauthorized_client", 400)
    codes = {"device_code": "thdc_" + "0" * 43 + "000000"}
    (await poll(app, codes)).refused("invalid_grant", 400)
    mine = await application(bob, grant_types=GRANTS)
    (await app.token(grant_type=DEVICE_CODE_GRANT, device_code=(await start(mine))["device_code"])).refused(
        "unauthorized_client", 400
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"scope": "offline_access"}, "invalid_scope"),
        ({"mode": "production"}, "invalid_request"),
        ({"mode": "live", "scope": "payments:write"}, "invalid_scope"),
        ({"client_secret": ""}, "invalid_client"),
    ],
)
async def test_malformed_requests_are_refused(app: Application, fields: dict[str, str], code: str) -> None:
    (await app.protocol(START, {"scope": SCOPE, "mode": "test", **fields})).refused(code)


async def test_saved_settings_end_requests_and_approved_codes(app: Application, alice: Actor) -> None:
    pending, approved = await start(app), await start(app)
    (await answer(alice, approved)).ok(303)
    saved = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes", "version")
    body = {name: saved[name] for name in names}
    kept = (await app.owner.dashboard("PUT", f"/oauth/clients/{app.client_id}", body)).ok().body
    assert kept["grant_types"] == GRANTS
    for codes in (pending, approved):
        (await poll(app, codes)).refused("expired_token", 400)
    body |= {"version": kept["version"], "grant_types": None}
    default = (await app.owner.dashboard("PUT", f"/oauth/clients/{app.client_id}", body)).ok().body
    assert default["grant_types"] == ["authorization_code", "refresh_token"]


async def test_grant_types_are_validated(bob: Actor) -> None:
    body = {"name": "N", "client_type": "public", "redirect_uris": ["https://a.example/"], "scopes": ["account:read"]}
    for grant_types, field in ((["password"], "grant_types.0"), (["refresh_token"], "grant_types"), ("x", "grant_types")):
        refused = await bob.dashboard("POST", "/oauth/clients", body | {"grant_types": grant_types})
        assert list(refused.field_errors()) == [field]
    offline = body | {"grant_types": ["authorization_code"], "scopes": ["account:read", "offline_access"]}
    assert (await bob.dashboard("POST", "/oauth/clients", offline)).field_errors() == {
        "grant_types": "refresh_token_required"
    }
    made = (await bob.dashboard("POST", "/oauth/clients", body | {"grant_types": list(reversed(GRANTS))})).ok(201).body
    assert made["grant_types"] == GRANTS


async def test_approvals_and_denials_at_once_have_one_winner(app: Application, alice: Actor) -> None:
    for _ in range(5):
        codes = await start(app)
        page = (await enter(alice, codes["user_code"])).ok(303).location
        hidden = [(n, html.unescape(v)) for n, v in HIDDEN.findall((await alice.send("GET", page)).ok().text)]
        allow = [*hidden, *(("scope", scope) for scope in SCOPE.split()), ("decision", "allow")]
        deny = [*hidden, ("decision", "deny")]
        answers = await asyncio.gather(*(alice.form(page, fields) for fields in (allow, deny) * 5))
        [won] = [each for each in answers if each.status == 303]
        polled = await poll(app, codes)
        if won.location.endswith("allowed"):
            polled.ok()
        else:
            polled.refused("access_denied", 400)


async def test_polls_at_once_get_tokens_once(app: Application, alice: Actor) -> None:
    for _ in range(5):
        codes = await start(app)
        (await answer(alice, codes)).ok(303)
        answers = await asyncio.gather(*(poll(app, codes) for _ in range(10)))
        [won] = [each for each in answers if each.status == 200]
        for each in answers:
            if each is not won:
                each.refused("invalid_grant", 400)
        (await app.api(won.body["access_token"], "GET", "/account")).ok()


async def test_polls_and_the_approval_at_once_lose_nothing(app: Application, alice: Actor) -> None:
    for _ in range(5):
        codes = await start(app)
        calls = [poll(app, codes) for _ in range(5)]
        approved, *answers = await asyncio.gather(answer(alice, codes), *calls)
        approved.ok(303)
        tokens = [each for each in answers if each.status == 200]
        for each in answers:
            assert each.status == 200 or each.body["error"] in {"authorization_pending", "slow_down", "invalid_grant"}
        assert tokens or (await poll(app, codes)).ok()


async def test_a_code_belongs_to_the_first_merchant_that_enters_it(app: Application, alice: Actor, carol: Actor) -> None:
    codes = await start(app)
    page = (await enter(alice, codes["user_code"])).ok(303).location
    (await alice.send("GET", page)).ok()
    (await carol.send("GET", (await enter(carol, codes["user_code"])).ok(303).location)).ok(404)


async def test_the_page_needs_a_session_and_its_own_forms(app: Application, alice: Actor) -> None:
    codes = await start(app)
    anonymous = await alice.anonymously("GET", f"/device?user_code={codes['user_code']}")
    assert anonymous.ok(303).location.startswith("/signin?to=%2Fdevice%3Fuser_code")
    crossing = await alice.send(
        "POST", "/device", data={"user_code": codes["user_code"]}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert crossing.status == 403


@pytest.fixture
async def limited(make_service: Callable[..., Service]) -> AsyncIterator[Actor]:
    """Dora, at a service that limits attempts."""
    service = await with_limits(make_service, TOLLHOUSE_RATE_SIGNIN_ACCOUNT="3", TOLLHOUSE_RATE_AUTHORIZE_ADDRESS="3")
    async with sign_up(service, "dora", "Dora's Deli") as actor:
        yield actor


async def test_entry_is_throttled_and_so_are_new_codes(limited: Actor) -> None:
    app = await application(limited, grant_types=GRANTS)
    codes = [await start(app) for _ in range(3)]
    many = await app.protocol(START, {"scope": SCOPE, "mode": "test"})
    many.refused("temporarily_unavailable", 429)
    assert many.headers["Retry-After"]
    for wrong in ("BCDF-GHJK", "x", ""):
        (await enter(limited, wrong)).ok(422)
    assert (await enter(limited, "BCDF-GHJK")).status == 429
    assert (await enter(limited, codes[0]["user_code"])).status == 429


async def test_every_instance_has_the_command_line_without_an_owner(alice: Actor) -> None:
    cli = Application(alice, CLI, None)
    codes = await start(cli)
    text = (await alice.send("GET", (await enter(alice, codes["user_code"])).ok(303).location)).ok().text
    assert "Tollhouse CLI" in text
    assert "not verified" not in text
    (await answer(alice, codes)).ok(303)
    tokens = (await poll(cli, codes)).ok().body
    (await cli.api(tokens["access_token"], "GET", "/account")).ok()
    fresh = (await cli.refresh(tokens["refresh_token"])).ok().body
    (await cli.api(fresh["access_token"], "GET", "/payment-links")).ok()
    grants = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert [(grant["client_id"], grant["application"]["name"]) for grant in grants] == [(CLI, "Tollhouse CLI")]
    (await alice.send("GET", f"/settings/connected-apps/{grants[0]['grant_id']}")).ok()
    assert (await alice.dashboard("GET", f"/oauth/clients/{CLI}")).refused("not_found", 404)
    assert (await alice.dashboard("GET", "/oauth/clients")).ok().body["clients"] == []
    (await cli.protocol(START, {"scope": "balance-payments:write", "mode": "test"})).refused("invalid_scope", 400)
    (await cli.protocol(START, {"scope": "payments:write", "mode": "live"})).refused("invalid_scope", 400)
    for path in (f"/api/v2/oauth/authorize?client_id={CLI}&redirect_uri=https%3A%2F%2Fa.example",):
        (await alice.send("GET", path)).refused("invalid_request", 400)
    (await cli.revoke(fresh["access_token"])).ok()


async def test_live_reads_need_no_operator(app: Application, alice: Actor) -> None:
    codes = await start(app, "account:read payments:read", "live")
    (await answer(alice, codes, granted="account:read")).ok(303)
    tokens = (await poll(app, codes)).ok().body
    assert (await app.api(tokens["access_token"], "GET", "/account")).ok().body["mode"] == "live"


async def test_live_writes_need_an_operator_and_recent_authentication(app: Application, alice: Actor) -> None:
    await alice.sql("UPDATE oauth_clients SET device_writes_allowed_at = now() WHERE id = $1", app.client_id)
    scope = "payments:write"
    codes = await start(app, scope, "live")
    page = (await enter(alice, codes["user_code"])).ok(303).location
    await alice.sql(SOME_TIME_AGO, alice.merchant_id)
    asked = await consent(alice, page, [scope])
    assert asked.status != 303 or "decision=allowed" not in asked.location
    (await poll(app, codes)).refused("authorization_pending", 400)


async def test_the_metadata_has_the_endpoint(alice: Actor) -> None:
    found = (await alice.anonymously("GET", "/.well-known/oauth-authorization-server")).ok().body
    assert found["device_authorization_endpoint"] == f"{alice.service.url}{START}"
    assert DEVICE_CODE_GRANT in found["grant_types_supported"]


async def test_the_database_has_only_digests_of_device_codes(app: Application, alice: Actor) -> None:
    codes = await start(app)
    (await answer(alice, codes)).ok(303)
    for table in ("oauth_requests", "oauth_codes"):
        rows = await alice.sql(f"SELECT * FROM {table} WHERE client_id = $1", app.client_id)  # noqa: S608
        assert codes["device_code"] not in str([tuple(row) for row in rows])


def test_a_request_id_fits_the_address_of_a_consent_page() -> None:
    found = {device.request_id_of("BCDFGHJK", bytes([n]) * 32) for n in range(50)}
    assert len(found) == 50
    assert all(re.fullmatch("[0-9A-Za-z]{43}", request_id) for request_id in found)


async def test_no_other_scope_is_registered_for_the_command_line(alice: Actor) -> None:
    [row] = await alice.sql("SELECT scope_mask FROM oauth_clients WHERE id = $1", CLI)
    assert row["scope_mask"] == 2**19 - 1 - 2**5 - 2**6
    assert len(await every_scope(alice)) >= 19
