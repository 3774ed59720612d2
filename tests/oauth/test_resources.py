"""What a connection is for (RFC 8707): the Integration API or /mcp, and nothing in between."""

from typing import Any

import pytest

from tests.cast import Actor, Answer, Application, application, consent
from tollhouse.accounts.identity.guards import CredentialGuard
from tollhouse.accounts.identity.model import InvalidToken
from tollhouse.http.request import Headers, Request
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth.model import DEVICE_CODE_GRANT

SCOPES = ["account:read", "payments:read", "offline_access"]
SCOPE = " ".join(SCOPES)
DEVICE = "/api/v2/oauth/device_authorization"
KEY = "a-key-of-a-refresh-0001"
GRANTS = ["authorization_code", "refresh_token", DEVICE_CODE_GRANT]
OF_THE_GRANTS = "SELECT resource FROM oauth_grants WHERE client_id = $1 ORDER BY created_at"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob, grant_types=GRANTS)


def api(app: Application) -> str:
    """The name of the Integration API."""
    return f"{app.owner.service.url}/api/v2/integration"


def mcp(app: Application) -> str:
    """The name of /mcp."""
    return f"{app.owner.service.url}/mcp"


def malformed(app: Application) -> list[str]:
    """What names nothing here."""
    base = app.owner.service.url
    named = ["/", "/api/v2", "/api/v2/integration/", "/api/v2/integration?a=b", "/mcp/", "/mcp#top", "/MCP"]
    return [base, *(base + path for path in named), "mcp", "api", "https://evil.example/mcp", "urn:x", "é", " "]


async def opens(services: Services, token: str, resource: Any) -> bool:
    """Whether the guard of a resource admits the token."""
    headers = Headers([(b"authorization", f"Bearer {token}".encode())])
    request = Request(
        services, "GET", "/", headers=headers, query=b"", raw=b"", address="127.0.0.1", request_id=None, now=clock.now()
    )
    try:
        caller = await CredentialGuard(resource=resource).admit(request)
    except InvalidToken:
        return False
    assert caller.resource == resource
    return True


async def test_a_token_opens_the_resource_of_its_grant_alone(app: Application, alice: Actor, services: Services) -> None:
    of_api = [await app.connect(alice, SCOPE), await app.connect(alice, SCOPE, resource=api(app))]
    of_mcp = await app.connect(alice, SCOPE, resource=mcp(app))
    refreshed = (await app.refresh(of_mcp["refresh_token"])).ok().body
    for tokens in of_api:
        (await app.api(tokens["access_token"], "GET", "/account")).ok()
        assert not await opens(services, tokens["access_token"], "mcp")
    for tokens in (of_mcp, refreshed):
        refused = (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)
        assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]
        assert await opens(services, tokens["access_token"], "mcp")
        assert not await opens(services, tokens["access_token"], "api")
    assert [row["resource"] for row in await alice.sql(OF_THE_GRANTS, app.client_id)] == ["api", "api", "mcp"]


async def test_the_metadata_of_the_resources(mallory: Actor) -> None:
    base = mallory.service.url
    known = "/.well-known/oauth-protected-resource"
    for path, resource in (("", "/api/v2/integration"), ("/api/v2/integration",) * 2, ("/mcp", "/mcp")):
        answer = (await mallory.anonymously("GET", known + path, headers={"Origin": "https://spa.example"})).ok()
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Cache-Control"] == "public, max-age=3600"
        assert answer.body["resource_name"]
        scopes = [permission.scope for permission in PERMISSIONS if permission.scope != "offline_access"]
        described = {name: value for name, value in answer.body.items() if name != "resource_name"}
        assert described == {
            "resource": base + resource,
            "authorization_servers": [base],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "dpop_signing_alg_values_supported": ["ES256", "PS256", "Ed25519", "EdDSA"],
            "resource_documentation": f"{base}/docs",
        }
    (await mallory.anonymously("GET", f"{known}/api/v2/oauth")).refused("not_found", 404)


async def test_every_401_says_where_the_metadata_is(app: Application, alice: Actor) -> None:
    named = f'resource_metadata="{alice.service.url}/.well-known/oauth-protected-resource/api/v2/integration"'
    of_mcp = (await app.connect(alice, "account:read", resource=mcp(app)))["access_token"]
    for code, headers in {
        "authentication_required": {},
        "invalid_token": {"Authorization": f"Bearer {of_mcp}"},
        "invalid_api_key": {"X-API-Key": "th_test_x"},
    }.items():
        refused = await alice.anonymously("GET", "/api/v2/integration/account", headers=headers)
        challenge = refused.refused(code, 401).headers["WWW-Authenticate"]
        error = ', error="invalid_token"' if code == "invalid_token" else ""
        assert challenge == f'Bearer realm="tollhouse"{error}, {named}'


async def test_a_403_names_every_scope_that_is_needed(app: Application, alice: Actor) -> None:
    token = (await app.connect(alice, "account:read"))["access_token"]
    for path, needed in {"/payment-methods": "projects:read settings:read", "/balances": "balances:read"}.items():
        refused = (await app.api(token, "GET", path)).refused("missing_scope", 403)
        assert refused.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope", scope="{needed}"'
        assert refused.body["scope"] == needed.split()[0]


async def test_authorize_takes_one_resource(app: Application, alice: Actor) -> None:
    path = app.authorize_path("account:read")
    (await alice.send("GET", f"{path}&resource=")).ok(303).location.startswith("/oauth/consent/")
    for sent in malformed(app):
        answer = (await alice.send("GET", app.authorize_path("account:read", resource=sent))).ok(303)
        assert answer.query["error"] == "invalid_target", sent
        assert answer.query["iss"] == alice.service.url
    for twice in ((api(app), mcp(app)), (api(app), api(app)), (api(app), "")):
        sent = "&".join(f"resource={one}" for one in twice)
        assert (await alice.send("GET", f"{path}&{sent}")).ok(303).query["error"] == "invalid_target"


async def test_other_errors_of_authorize_come_first(app: Application, alice: Actor) -> None:
    query = {"resource": "x", "mode": "x", "code_challenge": "x"}
    for error, right in (("challenge", "code_challenge"), ("mode", "mode")):
        answer = (await alice.send("GET", app.authorize_path("account:read", **query))).ok(303)
        assert (answer.query["error"], error in answer.query["error_description"]) == ("invalid_request", True)
        del query[right]
    answer = (await alice.send("GET", app.authorize_path("account:read", **query))).ok(303)
    assert answer.query["error"] == "invalid_target"


async def test_an_exchange_names_the_granted_resource_or_none(app: Application, alice: Actor, services: Services) -> None:
    for granted, other in ((api(app), mcp(app)), (mcp(app), api(app))):
        code = await app.code(alice, SCOPE, resource=granted)
        (await app.exchange(code, resource=other)).refused("invalid_target", 400)
        for sent in malformed(app):
            (await app.exchange(code, resource=sent)).refused("invalid_target", 400)
        (await app.exchange(code, resource=other, code_verifier="w" * 43)).refused("invalid_grant", 400)
        tokens = (await app.exchange(code, resource=granted)).ok().body
        assert await opens(services, tokens["access_token"], "mcp" if granted == mcp(app) else "api")
        # A replay ends the grant, whatever it names.
        (await app.exchange(code, resource=other)).refused("invalid_grant", 400)
        (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)


@pytest.mark.parametrize("key", [None, KEY])
async def test_a_refresh_keeps_the_resource(app: Application, alice: Actor, services: Services, key: str | None) -> None:
    first = await app.connect(alice, SCOPE, resource=mcp(app))
    for sent in (api(app), *malformed(app)):
        (await app.refresh(first["refresh_token"], key=key, resource=sent)).refused("invalid_target", 400)
    (await app.refresh(first["refresh_token"], key=key, resource=api(app), scope="settings:write")).refused("invalid_target")
    second = (await app.refresh(first["refresh_token"], key=key, resource=mcp(app))).ok().body
    if key is not None:
        (await app.refresh(first["refresh_token"], key=key, resource=api(app))).refused("invalid_target", 400)
        assert (await app.refresh(first["refresh_token"], key=key)).ok().body["access_token"] == second["access_token"]
    third = (await app.refresh(second["refresh_token"], key=key, scope="account:read offline_access")).ok().body
    for tokens in (second, third):
        assert await opens(services, tokens["access_token"], "mcp")
    (await app.refresh(second["refresh_token"], key=key and f"{key}x", resource=api(app))).refused("invalid_grant", 400)
    (await app.refresh(third["refresh_token"])).refused("invalid_grant", 400)


async def test_a_token_at_the_other_resource_is_no_use(app: Application, alice: Actor, services: Services) -> None:
    first = await app.connect(alice, SCOPE, resource=mcp(app))
    second = (await app.refresh(first["refresh_token"], key=KEY)).ok().body
    (await app.api(second["access_token"], "GET", "/account")).refused("invalid_token", 401)
    (await app.refresh(first["refresh_token"], key=KEY)).ok()
    assert await opens(services, second["access_token"], "mcp")
    (await app.refresh(first["refresh_token"], key=KEY)).refused("invalid_grant", 400)


async def test_a_device_requests_one_resource(app: Application, alice: Actor, services: Services) -> None:
    asked = {"scope": SCOPE, "mode": "test"}
    for sent in malformed(app):
        (await app.protocol(DEVICE, {**asked, "resource": sent})).refused("invalid_target", 400)
    codes = (await app.protocol(DEVICE, {**asked, "resource": mcp(app)})).ok().body

    async def poll(**more: str) -> Answer:
        return await app.token(grant_type=DEVICE_CODE_GRANT, device_code=codes["device_code"], **more)

    (await poll(resource=api(app))).refused("invalid_target", 400)
    page = (await alice.form("/device", {"user_code": codes["user_code"]})).ok(303).location
    (await consent(alice, page, SCOPES)).ok(303)
    (await poll(resource=api(app))).refused("invalid_target", 400)
    tokens = (await poll(resource=mcp(app))).ok().body
    assert await opens(services, tokens["access_token"], "mcp")
    assert not await opens(services, tokens["access_token"], "api")
    (await poll(resource=api(app))).refused("invalid_grant", 400)
