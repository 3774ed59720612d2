"""Step-up: before money or secrets the password is asked for again, and nothing that was filled in is lost."""

import html
import re
from collections.abc import Callable
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest

from tests.accounts.merchants.authenticator import enrol, grow_old, set_up
from tests.accounts.team.invited import RECENT
from tests.cast import CALLBACK, HIDDEN, MERCHANT, PASSWORD, Actor, Answer, application, consent, sign_up
from tests.forms import hidden, post, seen
from tests.running import Service, with_limits
from tollhouse.accounts.identity.guards import SessionGuard, visitor
from tollhouse.instance.api import OPERATIONS

BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
KEYS, CLIENTS = "/live/developers/keys", "/oauth/clients"
FORM, CONFIRM = "/settings/security/setup", "/session/confirm"
SECRET = re.compile(r"th_live_[0-9A-Za-z]{49}")
DECLARED = {
    "POST /api/v2/merchant/oauth/clients/{client_id}/balance-payments/{payment_id}/capture": "by_content",
    "POST /api/v2/merchant/oauth/clients/{client_id}/balance-payments/{payment_id}/refund": "by_content",
    "POST /api/v2/merchant/oauth/clients/{client_id}/balance-payments/{payment_id}/release": "by_content",
    "POST /api/v2/merchant/projects": "live",
    "POST /api/v2/merchant/proposals/{proposal_id}/approve": "by_content",
    "POST /api/v2/merchant/proposals/{proposal_id}/reject": "by_content",
    "POST /{mode}/proposals/{proposal_id}/approve": "live",
    "POST /{mode}/proposals/{proposal_id}/reject": "live",
    "POST /{mode}/balance-payments/received/{client_id}/{payment_id}/capture": "live",
    "POST /{mode}/balance-payments/received/{client_id}/{payment_id}/refund": "live",
    "POST /{mode}/balance-payments/received/{client_id}/{payment_id}/release": "live",
    "POST /{mode}/conversions/new": "live",
    "POST /{mode}/conversions/new/confirm": "live",
    "POST /{mode}/conversions/rules": "live",
    "POST /{mode}/conversions/rules/{rule_id}/resume": "live",
    "POST /{mode}/payments/{transaction_id}/accept": "live",
    "POST /{mode}/projects/new": "live",
    "POST /{mode}/projects/{project_id}": "live",
    "POST /{mode}/settings/payments": "live",
    "POST /{mode}/withdrawals/recipients/{recipient_id}/delete": "live",
    "PUT /api/v2/merchant/projects/{project_id}": "by_content",
    **RECENT,
    "GET /settings/security/off": "always",
    "GET /settings/security/setup": "always",
    "GET /{mode}/fulfillments/new/{product_id}": "live",
    "GET /{mode}/payments/{transaction_id}/refund": "live",
    "GET /{mode}/withdrawals/batches/new": "live",
    "GET /{mode}/withdrawals/new/{method_id}": "live",
    "GET /{mode}/withdrawals/recipients/new/{method_id}": "live",
    "POST /api/v2/merchant/api-keys": "live",
    "POST /api/v2/merchant/oauth/clients": "always",
    "POST /api/v2/merchant/oauth/clients/{client_id}/rotate-secret": "always",
    "POST /api/v2/merchant/oauth/clients/{client_id}/rotate-webhook-secret": "always",
    "PATCH /api/v2/merchant/oauth/grants/{grant_id}": "by_content",
    "POST /settings/connected-apps/{grant_id}/limits": "by_content",
    "POST /api/v2/merchant/webhook-secret/activate": "live",
    "POST /api/v2/merchant/webhook-secret/generate": "live",
    "POST /developers/apps": "always",
    "POST /developers/apps/{client_id}/events": "by_content",
    "POST /developers/apps/{client_id}/events/secret": "always",
    "POST /developers/apps/{client_id}/revoke": "always",
    "POST /developers/apps/{client_id}/secret": "always",
    "POST /developers/apps/{client_id}/settings": "by_content",
    "POST /oauth/consent/{request_id}": "by_content",
    "POST /api/v2/merchant/session/email": "always",
    "POST /settings/security/address/change": "always",
    "DELETE /api/v2/merchant/passkeys/{passkey_id}": "by_content",
    "POST /api/v2/merchant/passkeys": "always",
    "POST /api/v2/merchant/passkeys/options": "always",
    "POST /settings/security/backup-codes": "always",
    "POST /settings/security/confirm": "always",
    "POST /settings/security/off": "always",
    "GET /settings/security/passkeys/new": "always",
    "POST /settings/security/passkeys": "always",
    "POST /settings/security/passkeys/{passkey_id}/remove": "always",
    "POST /settings/security/setup": "always",
    "GET /{mode}/disputes/{dispute_id}/accept": "live",
    "GET /{mode}/disputes/{dispute_id}/submit": "live",
    "POST /{mode}/developers/keys": "live",
    "POST /{mode}/developers/keys/{api_key_id}/revoke": "live",
    "POST /{mode}/developers/webhooks/secret": "live",
    "POST /{mode}/developers/webhooks/secret/activate": "live",
    "POST /{mode}/disputes/{dispute_id}/accept": "live",
    "POST /{mode}/disputes/{dispute_id}/submit": "live",
    "POST /{mode}/fulfillments/new/{product_id}": "live",
    "POST /{mode}/fulfillments/new/{product_id}/confirm": "live",
    "POST /{mode}/payments/{transaction_id}/refund": "live",
    "POST /{mode}/payments/{transaction_id}/refund/confirm": "live",
    "POST /{mode}/withdrawals/batches/new": "live",
    "POST /{mode}/withdrawals/batches/new/confirm": "live",
    "POST /{mode}/withdrawals/new/{method_id}": "live",
    "POST /{mode}/withdrawals/new/{method_id}/confirm": "live",
    "POST /{mode}/withdrawals/recipients/new/{method_id}": "live",
    "POST /{mode}/withdrawals/recipients/only-saved": "live",
    "POST /{mode}/withdrawals/schedules": "live",
    "POST /{mode}/withdrawals/schedules/{schedule_id}/resume": "live",
    "PUT /api/v2/merchant/oauth/clients/{client_id}": "by_content",
}
"""Every operation of a merchant's person that wants recent authentication, JSON and pages alike; a new one, too."""
ENFORCED = sorted(name for name, when in DECLARED.items() if when != "by_content")
CANCEL = re.compile(r'<a href="([^"]*)">Cancel</a>')
NAMES = re.compile(r"\{\w+\}")


def test_what_needs_recent_authentication_is_declared() -> None:
    found = {
        f"{operation.method} {operation.full_path}": operation.recent_authentication
        for operation in OPERATIONS
        if isinstance(operation.guard, SessionGuard) or operation.guard is visitor
    }
    assert {name: when for name, when in found.items() if when != "no"} == DECLARED


async def request(actor: Actor, operation: str, mode: str) -> Answer:
    """Ask for it as a browser would, with names of nothing in its path."""
    method, path = operation.replace("{mode}", mode).split(" ")
    path = NAMES.sub(str(uuid4()), path)
    if path.startswith("/api"):
        return await actor.send(method, path, json={"mode": mode})
    fields = {"data": {"name": "x"}} if method == "POST" else {}
    return await actor.send(method, path, headers={"Sec-Fetch-Site": "same-origin"}, **fields)


@pytest.mark.parametrize("operation", ENFORCED)
async def test_each_of_them_requires_it(alice: Actor, operation: str) -> None:
    code = "recent_authentication_required"
    answer = await request(alice, operation, "live")
    assert answer.status != 303 or not answer.location.startswith("/stepup")
    assert code not in answer.text
    await grow_old(alice)
    answer = await request(alice, operation, "live")
    if operation.startswith("GET"):
        assert answer.ok(303).location.startswith("/stepup?to=")
    else:
        answer.refused(code, 403)
    if DECLARED[operation] == "live":
        answer = await request(alice, operation, "test")
        assert code not in answer.text
        assert answer.status != 303 or not answer.location.startswith("/stepup")


async def test_json_confirms_and_gets_another_session_id(alice: Actor) -> None:
    key = {"name": "k", "mode": "live"}
    (await alice.dashboard("POST", "/api-keys", key)).ok(201)
    await grow_old(alice)
    (await alice.dashboard("POST", "/api-keys", key)).refused("recent_authentication_required", 403)
    (await alice.dashboard("POST", "/api-keys", key | {"mode": "test"})).ok(201)
    before = session_id(alice)
    (await alice.dashboard("POST", CONFIRM, {"password": "a wrong password"})).refused("invalid_credentials", 401)
    (await alice.dashboard("POST", "/api-keys", key)).refused("recent_authentication_required", 403)
    who = (await alice.dashboard("GET", "/session")).ok().body
    assert (await alice.dashboard("POST", CONFIRM, {"password": PASSWORD})).ok().body == who
    assert session_id(alice) != before
    (await alice.dashboard("POST", "/api-keys", key)).ok(201)
    old = {"Cookie": f"tollhouse_session={before}"}
    (await alice.anonymously("GET", MERCHANT + "/session", headers=old)).refused("authentication_required", 401)
    await grow_old(alice)
    (await alice.dashboard("POST", "/api-keys", key)).refused("recent_authentication_required", 403)


async def test_the_confirmation_wants_the_second_factor_too(alice: Actor) -> None:
    authenticator = await enrol(alice)
    await grow_old(alice)
    (await alice.dashboard("POST", CONFIRM, {"password": PASSWORD})).refused("second_factor_required", 401)
    (await alice.dashboard("POST", CONFIRM, {"password": PASSWORD, "code": "000000"})).refused("invalid_code", 401)
    (await alice.dashboard("POST", CLIENTS, {})).refused("recent_authentication_required", 403)
    (await alice.dashboard("POST", CONFIRM, {"password": PASSWORD, "code": authenticator.code()})).ok()
    (await alice.dashboard("POST", CLIENTS, {})).refused("validation_failed", 422)


async def test_the_confirmation_is_of_the_session_and_from_our_own_pages(alice: Actor) -> None:
    body = {"password": PASSWORD}
    (await alice.anonymously("POST", MERCHANT + CONFIRM, body)).refused("authentication_required", 401)
    foreign = {"Sec-Fetch-Site": "cross-site"}
    (await alice.send("POST", MERCHANT + CONFIRM, json=body, headers=foreign)).refused("cross_origin_forbidden", 403)
    (await alice.dashboard("POST", CONFIRM, {})).refused("validation_failed", 422)


async def test_guesses_at_the_confirmation_are_counted(make_service: Callable[..., Service]) -> None:
    limited = await with_limits(make_service, TOLLHOUSE_RATE_SIGNIN_ACCOUNT="3")
    async with sign_up(limited, "ann", "Ann's Apples") as ann:
        for _ in range(3):
            (await ann.dashboard("POST", CONFIRM, {"password": "a wrong password"})).refused("invalid_credentials", 401)
        (await ann.dashboard("POST", CONFIRM, {"password": PASSWORD})).refused("rate_limited", 429)


async def test_other_callbacks_of_an_application_need_it(alice: Actor) -> None:
    app = await application(alice)
    path = f"{CLIENTS}/{app.client_id}"
    shown = (await alice.dashboard("GET", path)).ok().body["client"]
    names = ("name", "client_type", "redirect_uris", "scopes", "description", "website_url", "version")
    body = {name: shown[name] for name in names}
    await grow_old(alice)
    saved = (await alice.dashboard("PUT", path, body | {"name": "Another"})).ok().body
    other = body | {"redirect_uris": ["https://evil.example/"], "version": saved["version"]}
    (await alice.dashboard("PUT", path, other)).refused("recent_authentication_required", 403)
    (await alice.dashboard("POST", f"{path}/rotate-secret", {})).refused("recent_authentication_required", 403)
    (await alice.dashboard("POST", CONFIRM, {"password": PASSWORD})).ok()
    (await alice.dashboard("PUT", path, other)).ok()


async def test_other_callbacks_at_the_page_need_it_and_lose_nothing(alice: Actor) -> None:
    app = await application(alice)
    path = f"/developers/apps/{app.client_id}/settings"
    fields = {"name": "Another", "client_type": "confidential", "website_url": "", "description": "", "version": "1"}
    sent = [*fields.items(), ("redirect_uris", CALLBACK), ("scope", "payments:read"), ("scope", "payments:write")]
    await grow_old(alice)
    (await alice.form(path, sent)).ok(303)
    changed = [(name, {"redirect_uris": "https://b.example/", "version": "2"}.get(name, value)) for name, value in sent]
    asked = (await alice.send("POST", path, data=changed, headers=BROWSER)).ok(403)
    kept = [(name, html.unescape(value)) for name, value in HIDDEN.findall(asked.text.partition("<footer")[0])]
    assert kept == changed
    (await alice.form(path, [*kept, ("stepup_password", PASSWORD)])).ok(303)
    saved = (await alice.dashboard("GET", f"{CLIENTS}/{app.client_id}")).ok().body["client"]
    assert (saved["redirect_uris"], saved["scopes"]) == (["https://b.example/"], ["payments:read", "payments:write"])


@pytest.mark.parametrize(
    ("mode", "granted", "requests"),
    [
        ("live", "payments:read", False),
        ("live", "payments:read payments:write", True),
        ("live", "payments:read offline_access", True),
        ("test", "payments:read payments:write offline_access", False),
    ],
)
async def test_live_consent_to_what_writes_needs_it(
    alice: Actor, bob: Actor, mode: str, granted: str, *, requests: bool
) -> None:
    app = await application(bob)
    wanted = "payments:read payments:write offline_access"
    started = (await alice.send("GET", app.authorize_path(wanted, mode=mode))).ok(303).location
    await grow_old(alice)
    shown = (await alice.send("GET", started)).ok()
    sent = [*hidden(shown).items(), *(("scope", part) for part in granted.split()), ("decision", "allow")]
    answer = await alice.send("POST", started, data=sent, headers=BROWSER)
    if requests:
        assert "form-action" not in answer.ok(403).headers["Content-Security-Policy"]  # it ends at the application
        kept = [(name, html.unescape(value)) for name, value in HIDDEN.findall(answer.text.partition("<footer")[0])]
        (await alice.form(started, [*kept, ("stepup_password", "wrong")])).ok(403)
        answer = await alice.form(started, [*kept, ("stepup_password", PASSWORD)])
    assert "code" in answer.ok(303).query
    scope = (await app.exchange(answer.query["code"])).ok().body["scope"]
    assert set(scope.split()) == set(granted.split())


async def test_consent_is_denied_without_it(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    started = (await alice.send("GET", app.authorize_path("payments:write", mode="live"))).ok(303).location
    await grow_old(alice)
    assert (await consent(alice, started, [], "deny")).ok(303).query["error"] == "access_denied"


def session_id(actor: Actor) -> str:
    """The secret in the browser's cookie."""
    [cookie] = [cookie for cookie in actor.http.cookie_jar if cookie.key == "tollhouse_session"]
    return cookie.value


async def test_who_proved_it_lately_is_not_asked(alice: Actor) -> None:
    await set_up(alice)
    await seen(alice, FORM)
    assert SECRET.search((await post(alice, KEYS, 200, name="shop")).text)
    assert (await alice.send("GET", f"/stepup?to={KEYS}")).ok(303).location == KEYS


async def test_a_form_is_shown_after_the_proof(alice: Actor) -> None:
    await set_up(alice)
    await grow_old(alice)
    await seen(alice, "/settings/security")
    asked = (await alice.send("GET", FORM)).ok(303).location
    assert asked == "/stepup?to=%2Fsettings%2Fsecurity%2Fsetup&cancel=%2Fsettings%2Fsecurity"
    page = await alice.send("GET", asked)
    assert hidden(page.ok()) == {"to": FORM, "cancel": "/settings/security"}
    wrong = await post(alice, "/stepup", 401, to=FORM, stepup_password="a wrong password")  # noqa: S106
    assert "Incorrect password" in wrong.text
    assert hidden(wrong) == {"to": FORM}
    (await alice.send("GET", FORM)).ok(303)
    assert (await post(alice, "/stepup", to=FORM, stepup_password=PASSWORD)).location == FORM
    await seen(alice, FORM)
    await grow_old(alice)
    (await alice.send("GET", FORM)).ok(303)


async def test_a_form_that_is_sent_too_late_is_kept_and_done_with_the_proof(alice: Actor) -> None:
    await grow_old(alice)
    fields = {"name": 'shop "A" & <b>'}
    asked = (await alice.send("POST", KEYS, data=fields, headers=BROWSER)).ok(403)
    assert asked.headers["Content-Type"].startswith("text/html")
    assert hidden(asked) == fields
    assert f'action="{KEYS}"' in asked.text
    assert PASSWORD not in asked.text
    again = (await alice.send("POST", KEYS, data=hidden(asked) | {"stepup_password": "wrong"}, headers=BROWSER)).ok(403)
    assert "Incorrect password" in again.text
    assert hidden(again) == fields
    assert (await alice.dashboard("GET", "/api-keys")).ok().body == {"api_keys": []}
    done = (await alice.send("POST", KEYS, data=hidden(again) | {"stepup_password": PASSWORD}, headers=BROWSER)).ok()
    assert SECRET.search(done.text)
    [key] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert key["name"] == fields["name"]
    (await post(alice, f"{KEYS}/{key['api_key_id']}/revoke")).ok(303)


async def test_every_value_of_a_repeated_field_is_kept(alice: Actor) -> None:
    await grow_old(alice)
    sent = [("name", "a"), ("scope", "one"), ("scope", "two"), ("empty", "")]
    asked = (await alice.send("POST", KEYS, data=sent, headers=BROWSER)).ok(403)
    assert [(name, html.unescape(value)) for name, value in HIDDEN.findall(asked.text)] == sent


async def test_with_a_second_factor_the_code_is_asked_for_too(alice: Actor) -> None:
    authenticator = await enrol(alice)
    await grow_old(alice)
    assert 'name="stepup_code"' in await seen(alice, f"/stepup?to={KEYS}")
    fields = {"to": KEYS, "stepup_password": PASSWORD}
    assert "This code is incorrect" in (await alice.form("/stepup", fields)).ok(401).text
    (await alice.form("/stepup", fields | {"stepup_code": "000000"})).ok(401)
    (await post(alice, KEYS, 403, name="shop", stepup_password=PASSWORD)).refused("recent_authentication_required")
    code = authenticator.code()
    assert (await alice.form("/stepup", fields | {"stepup_code": code})).ok(303).location == KEYS
    await grow_old(alice)
    (await alice.form("/stepup", fields | {"stepup_code": code})).ok(401)
    await post(alice, KEYS, 200, name="shop", stepup_password=PASSWORD, stepup_code=authenticator.backup_codes[0])


async def test_a_double_click_is_one_proof(alice: Actor) -> None:
    authenticator = await enrol(alice)
    await grow_old(alice)
    fields = {"to": KEYS, "stepup_password": PASSWORD, "stepup_code": authenticator.code()}
    (await alice.form("/stepup", fields)).ok(303)
    (await alice.form("/stepup", fields)).ok(303)
    await grow_old(alice)
    (await alice.form("/stepup", fields)).ok(401)


@pytest.mark.parametrize(
    ("to", "goes"),
    [
        ("/test/developers/keys?done=saved", "/test/developers/keys?done=saved"),
        ("/settings/security/setup", "/settings/security/setup"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/test//evil.example", "/"),
        ("/test/\r\nSet-Cookie: a=b", "/"),
        ("/signout", "/"),
        ("", "/"),
    ],
)
async def test_one_goes_on_to_a_page_of_ours(alice: Actor, to: str, goes: str) -> None:
    assert (await post(alice, "/stepup", to=to, stepup_password=PASSWORD)).location == goes


@pytest.mark.parametrize(
    ("method", "path", "back"),
    [
        ("GET", "/live/withdrawals/new/sepa:EUR", "/live/withdrawals/new"),
        ("POST", "/live/withdrawals/new/sepa:EUR", "/live/withdrawals/new"),
        ("POST", "/live/withdrawals/new/sepa:EUR/confirm", "/live/withdrawals/new"),
        ("GET", f"/live/payments/{UUID(int=1)}/refund?a=b", f"/live/payments/{UUID(int=1)}"),
        ("GET", "/settings/security/off", "/settings/security"),
        ("GET", "/live/settings/security/setup", "/live/settings/security"),
        ("POST", "/settings/security/setup", "/settings/security"),
        ("POST", f"{KEYS}/{UUID(int=1)}/revoke", KEYS),
        ("POST", "/developers/apps/thcl_1/revoke", "/developers/apps/thcl_1"),
        ("POST", "/developers/apps/thcl_1/secret", "/developers/apps/thcl_1/secret"),
        ("POST", "/developers/apps/thcl_1/events/secret", "/developers/apps/thcl_1/events"),
    ],
)
async def test_who_cancels_returns_to_the_page_before(alice: Actor, method: str, path: str, back: str) -> None:
    await grow_old(alice)
    answer = await alice.send(method, path, headers=BROWSER, **({"data": {"a": "b"}} if method == "POST" else {}))
    page = answer if method == "POST" else await alice.send("GET", answer.ok(303).location)
    assert CANCEL.findall(page.text) == [back]
    if method == "GET":
        wrong = await post(alice, "/stepup", 401, **hidden(page), stepup_password="a wrong password")  # noqa: S106
        assert CANCEL.findall(wrong.text) == [back]


@pytest.mark.parametrize(
    "cancel", ["https://evil.example", "//evil.example", "/\\evil.example", "/operator", "/signout", ""]
)
async def test_who_cancels_never_goes_to_another_site(alice: Actor, cancel: str) -> None:
    await grow_old(alice)
    page = await alice.send("GET", f"/stepup?{urlencode({'to': KEYS, 'cancel': cancel})}")
    assert CANCEL.findall(page.ok().text) == [KEYS]


async def test_it_is_required_of_people_at_pages_only(alice: Actor) -> None:
    await grow_old(alice)
    for path in ("/stepup", KEYS):
        assert (await alice.anonymously("POST", path)).ok(303).location.partition("?")[0] == "/signin"
        foreign = {"Sec-Fetch-Site": "cross-site"}
        (await alice.send("POST", path, data={"name": "x"}, headers=foreign)).refused("cross_origin_forbidden", 403)
    (await alice.dashboard("POST", "/api-keys", {"name": "k", "mode": "test"})).ok(201)
    (await alice.form(KEYS, {"name": "x"})).refused("recent_authentication_required", 403)
