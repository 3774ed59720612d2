"""Client authentication at the token and revocation endpoints."""

import base64
import re
from urllib.parse import quote

import pytest

from tests.cast import Actor, Answer, Application, application, post_form

WRONG = "wrong"
TOKEN, REVOKE = "/api/v2/oauth/token", "/api/v2/oauth/revoke"


@pytest.fixture(params=[TOKEN, REVOKE])
def path(request: pytest.FixtureRequest) -> str:
    """Both endpoints that authenticate clients."""
    return request.param


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's confidential application."""
    return await application(bob)


@pytest.fixture
async def spa(bob: Actor) -> Application:
    """Bob's public application."""
    return await application(bob, "public")


def basic(client_id: str, secret: str) -> str:
    """A Basic header without any encoding of its parts."""
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


async def send(app: Application, path: str, header: str | None = None, **fields: str) -> Answer:
    """A valid request with these credentials."""
    sent = {"grant_type": "refresh_token", "refresh_token": "x"} if path.startswith(TOKEN) else {"token": "x"}
    return await post_form(app.owner.service.url + path, sent | fields, **({"Authorization": header} if header else {}))


def assert_authenticated(answer: Answer) -> None:
    """Client authentication succeeded; the error is about the token."""
    if answer.status != 200:
        answer.refused("invalid_grant", 400)


def assert_invalid_client(answer: Answer) -> None:
    """401 with a Basic challenge."""
    answer.refused("invalid_client", 401)
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="tollhouse", error="invalid_client"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.covers("O-85", "O-86", "O-87", "O-89", "O-94")
async def test_confidential_client_uses_basic_or_body(app: Application, path: str) -> None:
    secret = app.client_secret or ""
    assert_authenticated(await send(app, path, basic(app.client_id, secret)))
    encoded = re.sub("_", "%5F", quote(app.client_id)), re.sub("_", "%5F", quote(secret))
    assert_authenticated(await send(app, path, basic(*encoded)))
    assert_authenticated(await send(app, path, basic(app.client_id, secret).replace("Basic", "bAsIc")))
    assert_authenticated(await send(app, path, basic(app.client_id, secret), client_id=app.client_id))
    assert_authenticated(await send(app, path, basic(app.client_id, secret), client_secret=""))
    assert_authenticated(await send(app, path, client_id=app.client_id, client_secret=secret))


@pytest.mark.covers("O-79", "O-95", "O-96")
async def test_public_client_sends_only_its_id(spa: Application, path: str) -> None:
    assert_authenticated(await send(spa, path, client_id=spa.client_id))
    assert_authenticated(await send(spa, path, client_id=spa.client_id, client_secret=""))
    assert_invalid_client(await send(spa, path, client_id=spa.client_id, client_secret=WRONG))
    assert_invalid_client(await send(spa, path, basic(spa.client_id, "")))
    assert_invalid_client(await send(spa, path, basic(spa.client_id, ""), client_id=spa.client_id))


@pytest.mark.covers("O-88", "O-90", "O-94", "O-97")
async def test_two_methods_are_rejected(app: Application, bob: Actor, path: str) -> None:
    secret = app.client_secret or ""
    other = await application(bob)
    header = basic(app.client_id, secret)
    for fields in (
        {"client_id": app.client_id, "client_secret": secret},
        {"client_secret": WRONG},
        {"client_id": other.client_id},
        {"client_assertion": "x"},
    ):
        (await send(app, path, header, **fields)).refused("invalid_request", 400)
    (await send(app, path, "Bearer x", client_id=app.client_id, client_secret=secret)).refused("invalid_request", 400)
    fields = [("token", "x"), ("grant_type", "refresh_token"), ("client_id", app.client_id), ("client_id", app.client_id)]
    (await post_form(bob.service.url + path, fields)).refused("invalid_request", 400)


@pytest.mark.covers("O-91", "O-92", "O-93", "O-97", "O-153")
async def test_wrong_credentials_are_rejected(app: Application, path: str) -> None:
    secret = app.client_secret or ""
    id_only = base64.b64encode(app.client_id.encode()).decode()
    for header in (
        basic(app.client_id, "wrong"),
        basic(app.client_id, ""),
        basic(app.client_id, secret + "x"),
        basic("thc_unknown", secret),
        basic("", ""),
        basic(app.client_id, "%"),
        basic(app.client_id, "%00"),
        "Basic",
        "Basic !!!",
        f"Basic {id_only}",
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        "Bearer x",
        "Digest x",
    ):
        assert_invalid_client(await send(app, path, header))
    assert_invalid_client(await send(app, path))
    assert_invalid_client(await send(app, path, client_id=app.client_id))
    assert_invalid_client(await send(app, path, client_id=app.client_id, client_secret=WRONG))
    assert_invalid_client(await send(app, path, client_secret=secret))
    assert_invalid_client(await send(app, path, client_id=app.client_id, client_assertion="x", client_assertion_type="jwt"))
    wrong = await send(app, path, client_id=app.client_id, client_secret=WRONG)
    unknown = await send(app, path, client_id="thc_unknown", client_secret=WRONG)
    assert wrong.body["error_description"] == unknown.body["error_description"]


@pytest.mark.covers("O-78")
async def test_credentials_in_the_query_are_ignored(app: Application, path: str) -> None:
    query = f"?client_id={app.client_id}&client_secret={app.client_secret}&grant_type=refresh_token&token=x"
    assert_invalid_client(await send(app, path + query))


@pytest.mark.covers("O-99")
async def test_revoked_client_is_unknown_and_paused_client_has_no_valid_tokens(
    app: Application, alice: Actor, path: str
) -> None:
    tokens = await app.connect(alice, "account:read offline_access")
    await alice.sql("UPDATE oauth_clients SET status = 'paused' WHERE id = $1", app.client_id)
    assert_authenticated(
        await app.protocol(path, {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "token": "x"})
    )
    await alice.sql("UPDATE oauth_clients SET status = 'revoked', revoked_at = now() WHERE id = $1", app.client_id)
    assert_invalid_client(await send(app, path, client_id=app.client_id, client_secret=app.client_secret or ""))


@pytest.mark.covers("O-72", "O-154")
async def test_only_post_is_allowed(app: Application, path: str) -> None:
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        answer = await app.owner.anonymously(method, path)
        assert answer.status == 405
        assert answer.headers["Allow"] == "OPTIONS, POST"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.covers("O-178")
async def test_preflight_lists_the_headers(app: Application, path: str) -> None:
    preflight = await app.owner.anonymously("OPTIONS", path, headers={"Origin": "https://spa.example"})
    allowed = preflight.ok(204).headers["Access-Control-Allow-Headers"]
    assert {"Authorization", "Content-Type"} <= set(allowed.split(", "))
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]


@pytest.mark.covers("O-73", "O-74", "O-81", "O-83", "O-154", "O-179")
async def test_body_must_be_a_form(app: Application, path: str) -> None:
    url = app.owner.service.url + path
    body = f"grant_type=refresh_token&refresh_token=x&token=x&client_id={app.client_id}&client_secret={app.client_secret}"
    assert_authenticated(
        await post_form(url, body.encode(), Content_Type="application/x-www-form-urlencoded; charset=UTF-8")
    )
    for kind in ("application/json", "multipart/form-data", "text/plain", ""):
        (await post_form(url, body.encode(), Content_Type=kind)).refused("invalid_request", 400)
    for bad in (b"&state=%FF", b"&x=%00", b"&x=%zz", b"&x=\xff"):
        (await post_form(url, body.encode() + bad)).refused("invalid_request", 400)
    (await post_form(url, b"a" * 70_000)).refused("payload_too_large", 413)
