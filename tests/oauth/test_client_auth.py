"""Client authentication at the token and revoke endpoints: one method, the right one, and nothing else."""

import base64
import re
from urllib.parse import quote

import pytest

from tests.cast import Actor, Answer, Application, application, post_form

WRONG = "wrong"
TOKEN, REVOKE = "/api/v2/oauth/token", "/api/v2/oauth/revoke"


@pytest.fixture(params=[TOKEN, REVOKE])
def path(request: pytest.FixtureRequest) -> str:
    """Both endpoints that authenticate applications."""
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
    """A Basic header of these very texts."""
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


async def send(app: Application, path: str, header: str | None = None, **fields: str) -> Answer:
    """A call that is right but for its authentication."""
    sent = {"grant_type": "refresh_token", "refresh_token": "x"} if path.startswith(TOKEN) else {"token": "x"}
    return await post_form(app.owner.service.url + path, sent | fields, **({"Authorization": header} if header else {}))


def let_in(answer: Answer) -> None:
    """Authentication passed: what follows is about the token."""
    if answer.status != 200:
        answer.refused("invalid_grant", 400)


def turned_away(answer: Answer) -> None:
    """401, with the challenge that libraries look for."""
    answer.refused("invalid_client", 401)
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="tollhouse", error="invalid_client"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.covers("O-85", "O-86", "O-87", "O-89", "O-94")
async def test_a_confidential_application_by_one_method(app: Application, path: str) -> None:
    secret = app.client_secret or ""
    let_in(await send(app, path, basic(app.client_id, secret)))
    encoded = re.sub("_", "%5F", quote(app.client_id)), re.sub("_", "%5F", quote(secret))
    let_in(await send(app, path, basic(*encoded)))
    let_in(await send(app, path, basic(app.client_id, secret).replace("Basic", "bAsIc")))
    let_in(await send(app, path, basic(app.client_id, secret), client_id=app.client_id))
    let_in(await send(app, path, basic(app.client_id, secret), client_secret=""))
    let_in(await send(app, path, client_id=app.client_id, client_secret=secret))


@pytest.mark.covers("O-79", "O-95", "O-96")
async def test_a_public_application_by_its_name_alone(spa: Application, path: str) -> None:
    let_in(await send(spa, path, client_id=spa.client_id))
    let_in(await send(spa, path, client_id=spa.client_id, client_secret=""))
    turned_away(await send(spa, path, client_id=spa.client_id, client_secret=WRONG))
    turned_away(await send(spa, path, basic(spa.client_id, "")))
    turned_away(await send(spa, path, basic(spa.client_id, ""), client_id=spa.client_id))


@pytest.mark.covers("O-88", "O-90", "O-94", "O-97")
async def test_two_methods_are_one_too_many(app: Application, bob: Actor, path: str) -> None:
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
async def test_everybody_else_is_turned_away(app: Application, path: str) -> None:
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
        turned_away(await send(app, path, header))
    turned_away(await send(app, path))
    turned_away(await send(app, path, client_id=app.client_id))
    turned_away(await send(app, path, client_id=app.client_id, client_secret=WRONG))
    turned_away(await send(app, path, client_secret=secret))
    turned_away(await send(app, path, client_id=app.client_id, client_assertion="x", client_assertion_type="jwt"))
    wrong = await send(app, path, client_id=app.client_id, client_secret=WRONG)
    unknown = await send(app, path, client_id="thc_unknown", client_secret=WRONG)
    assert wrong.body["error_description"] == unknown.body["error_description"]


@pytest.mark.covers("O-78")
async def test_nothing_is_read_from_the_query(app: Application, path: str) -> None:
    query = f"?client_id={app.client_id}&client_secret={app.client_secret}&grant_type=refresh_token&token=x"
    turned_away(await send(app, path + query))


@pytest.mark.covers("O-99")
async def test_a_revoked_application_is_nobody_and_a_paused_one_has_dead_tokens(
    app: Application, alice: Actor, path: str
) -> None:
    tokens = await app.connect(alice, "account:read offline_access")
    await alice.sql("UPDATE oauth_clients SET status = 'paused' WHERE id = $1", app.client_id)
    let_in(await app.protocol(path, {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "token": "x"}))
    await alice.sql("UPDATE oauth_clients SET status = 'revoked', revoked_at = now() WHERE id = $1", app.client_id)
    turned_away(await send(app, path, client_id=app.client_id, client_secret=app.client_secret or ""))


@pytest.mark.covers("O-72", "O-154")
async def test_only_post(app: Application, path: str) -> None:
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        answer = await app.owner.anonymously(method, path)
        assert answer.status == 405
        assert answer.headers["Allow"] == "OPTIONS, POST"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.covers("O-178")
async def test_the_preflight_names_the_headers(app: Application, path: str) -> None:
    preflight = await app.owner.anonymously("OPTIONS", path, headers={"Origin": "https://spa.example"})
    allowed = preflight.ok(204).headers["Access-Control-Allow-Headers"]
    assert {"Authorization", "Content-Type"} <= set(allowed.split(", "))
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]


@pytest.mark.covers("O-73", "O-74", "O-81", "O-83", "O-154", "O-179")
async def test_the_body_is_a_form(app: Application, path: str) -> None:
    url = app.owner.service.url + path
    body = f"grant_type=refresh_token&refresh_token=x&token=x&client_id={app.client_id}&client_secret={app.client_secret}"
    let_in(await post_form(url, body.encode(), Content_Type="application/x-www-form-urlencoded; charset=UTF-8"))
    for kind in ("application/json", "multipart/form-data", "text/plain", ""):
        (await post_form(url, body.encode(), Content_Type=kind)).refused("invalid_request", 400)
    for bad in (b"&state=%FF", b"&x=%00", b"&x=%zz", b"&x=\xff"):
        (await post_form(url, body.encode() + bad)).refused("invalid_request", 400)
    (await post_form(url, b"a" * 70_000)).refused("payload_too_large", 413)
