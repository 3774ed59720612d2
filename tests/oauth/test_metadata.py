"""Authorization server metadata and the list of permissions."""

import pytest

from tests.cast import Actor
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.platform.settings import config

METADATA = "/.well-known/oauth-authorization-server"
PERMISSION_LIST = "/api/v2/oauth/permissions"


@pytest.mark.covers("O-1", "O-2", "O-3", "O-4", "O-5", "O-6", "O-7", "O-8")
async def test_metadata(mallory: Actor) -> None:
    base = mallory.service.url
    answer = (await mallory.anonymously("GET", METADATA)).ok()
    methods = ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"]
    algorithms = ["ES256", "PS256", "Ed25519", "EdDSA"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "public, max-age=3600"
    assert answer.body == {
        "issuer": base,
        "authorization_endpoint": f"{base}/api/v2/oauth/authorize",
        "token_endpoint": f"{base}/api/v2/oauth/token",
        "revocation_endpoint": f"{base}/api/v2/oauth/revoke",
        "scopes_supported": [permission.scope for permission in PERMISSIONS],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "device_authorization_endpoint": f"{base}/api/v2/oauth/device_authorization",
        "grant_types_supported": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        "token_endpoint_auth_methods_supported": methods,
        "token_endpoint_auth_signing_alg_values_supported": algorithms,
        "revocation_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
        "pushed_authorization_request_endpoint": f"{base}/api/v2/oauth/par",
        "require_pushed_authorization_requests": False,
        "introspection_endpoint": f"{base}/api/v2/oauth/introspect",
        "introspection_endpoint_auth_methods_supported": methods[:3],
        "introspection_endpoint_auth_signing_alg_values_supported": algorithms,
        "code_challenge_methods_supported": ["S256"],
        "dpop_signing_alg_values_supported": algorithms,
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
        "authorization_details_types_supported": ["tollhouse_limits"],
        "service_documentation": f"{base}/docs",
    }
    assert len(answer.body["scopes_supported"]) == 19


@pytest.mark.covers("O-11")
async def test_permissions_are_listed_in_order(mallory: Actor) -> None:
    listed = (await mallory.anonymously("GET", PERMISSION_LIST)).ok().body["permissions"]
    assert [permission["scope"] for permission in listed] == [permission.scope for permission in PERMISSIONS]
    assert listed[0] == {
        "scope": "account:read",
        "description": "Read the authorized merchant account.",
        "access": "read",
        "default_selected": True,
    }
    for permission in listed:
        offline, write = permission["scope"] == "offline_access", permission["scope"].endswith(":write")
        assert permission["access"] == ("offline" if offline else "write" if write else "read")
        assert permission["default_selected"] is not (offline or write)


@pytest.mark.covers("O-10", "O-84", "O-178", "O-180")
@pytest.mark.parametrize("path", [METADATA, PERMISSION_LIST])
async def test_cors_allows_every_origin(mallory: Actor, path: str) -> None:
    answer = (await mallory.anonymously("GET", path, headers={"Origin": "https://spa.example"})).ok()
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "Set-Cookie" not in answer.headers
    preflight = await mallory.anonymously("OPTIONS", path, headers={"Origin": "https://spa.example"})
    assert preflight.ok(204).headers["Access-Control-Allow-Origin"] == "*"
    refused = (await mallory.anonymously("POST", path)).refused("method_not_allowed", 405)
    assert "GET" in refused.headers["Allow"]


@pytest.mark.covers("O-12")
async def test_openid_configuration_is_not_found(mallory: Actor) -> None:
    (await mallory.anonymously("GET", "/.well-known/openid-configuration")).refused("not_found", 404)


@pytest.mark.covers("O-9")
@pytest.mark.parametrize("tail", ["/", "/pay/", "?a=b", "?", "#", "#top"])
def test_issuer_has_no_trailing_slash(tail: str) -> None:
    """Clients compare issuers character by character."""
    with pytest.raises(config.InvalidSettingsError, match="TOLLHOUSE_BASE_URL"):
        config.load({"TOLLHOUSE_BASE_URL": f"https://pay.example{tail}"})


@pytest.mark.covers("O-181")
@pytest.mark.parametrize("origin", ["null", "https://spa.example"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v2/oauth/authorize"),
        ("GET", "/oauth/consent/x"),
        ("POST", "/oauth/consent/x"),
        ("GET", "/signin"),
        ("GET", "/api/v2/merchant/session"),
        ("GET", "/api/v2/merchant/oauth/clients"),
        ("POST", "/api/v2/merchant/login"),
    ],
)
async def test_cookie_endpoints_have_no_cors(mallory: Actor, method: str, path: str, origin: str) -> None:
    for sent in (method, "OPTIONS"):
        headers = {"Origin": origin, "Access-Control-Request-Method": method}
        answer = await mallory.send(sent, path, headers=headers)
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        assert sent != "OPTIONS" or answer.status == 405
