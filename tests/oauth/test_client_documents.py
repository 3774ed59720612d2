"""Applications that are known by the URL of a document (client ID metadata documents)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import web

from tests.cast import Actor, Answer, Application, consent, sign_up
from tests.certificates import self_signed
from tests.oauth.signatures import Signer
from tests.oauth.test_dpop import exchange as exchange_bound
from tests.oauth.test_dpop import proof
from tests.receiver import Receiver
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.oauth import client_documents, redirect_uris
from tollhouse.oauth import slice as jobs
from tollhouse.oauth.model import stored_id

AUTHORIZE, PAR, DEVICE = "/api/v2/oauth/authorize", "/api/v2/oauth/par", "/api/v2/oauth/device_authorization"
SCOPE = "account:read payments:write offline_access"
LOOPBACK = "http://127.0.0.1/callback"
DOCUMENT = {"client_name": "Northwind Agent", "redirect_uris": [LOOPBACK, "http://[::1]/cb", "agent://callback"]}
FORGET = "DELETE FROM oauth_documents"
HOST = "127.0.0.1"


class Site:
    """A web server with documents, by path. What is no document is the answer itself."""

    def __init__(self, server: Receiver) -> None:
        self.server = server
        self.origin = server.url.removesuffix("/hook").rstrip("/")
        self.documents: dict[str, Any] = {}
        server.answer = self._answer

    async def _answer(self, request: web.Request) -> web.Response:
        found = self.documents.get(request.path_qs)
        if isinstance(found, web.Response):
            return web.Response(body=found.body, status=found.status, headers=found.headers)  # each is sent once
        return web.json_response(found, status=404 if found is None else 200)

    def put(self, path: str = "/agent.json", **changes: Any) -> str:
        """Publish a document, with some changes; `...` leaves a member out. Its URL."""
        url = self.origin + path
        members = {"client_id": url, **DOCUMENT, **changes}
        self.documents[path] = {name: value for name, value in members.items() if value is not ...}
        return url


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """What the site speaks TLS with, and the file of its authority."""
    return self_signed(tmp_path_factory.mktemp("site"), HOST)


@pytest.fixture(scope="module")
def service(make_service: Any, tls: tuple[Any, Path]) -> Service:
    """A service that trusts the site, and is closed to documents in live mode."""
    return make_service(TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]))


@pytest.fixture
async def site(tls: tuple[Any, Path]) -> AsyncIterator[Site]:
    """The site."""
    async with Receiver(tls=tls[0]) as server:
        yield Site(server)


@pytest.fixture
async def alice(service: Service) -> AsyncIterator[Actor]:
    """Alice, who connects agents."""
    await service.sql(FORGET)
    async with sign_up(service, "alice", "Alice's Coffee") as actor:
        yield actor


def agent(alice: Actor, url: str, redirect_uri: str = "http://127.0.0.1:53211/callback") -> Application:
    """An agent that is known by a URL."""
    return Application(alice, url, None, redirect_uri)


async def begin(app: Application, alice: Actor, scope: str = SCOPE, **changes: str) -> Answer:
    """Come to the authorization endpoint."""
    return await alice.send("GET", app.authorize_path(scope, **changes))


async def test_an_agent_that_only_knows_its_url_connects(site: Site, alice: Actor) -> None:
    app = agent(alice, site.put())
    tokens = await app.connect(alice, SCOPE, "account:read offline_access")
    assert tokens["scope"] == "account:read offline_access"
    account = (await app.api(tokens["access_token"], "GET", "/account")).ok().body
    assert account["oauth_client_id"] == app.client_id
    refreshed = (await app.refresh(tokens["refresh_token"])).ok().body
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert grant["client_id"] == app.client_id
    assert grant["application"]["name"] == f"{HOST} (Northwind Agent)"
    listed = (await alice.send("GET", "/settings/connected-apps", headers={"Accept": "text/html"})).ok().text
    page = f"/settings/connected-apps/{grant['grant_id']}"
    shown = (await alice.send("GET", page, headers={"Accept": "text/html"})).ok().text
    for text in (listed, shown):
        assert f"{HOST} (Northwind Agent)" in text
    assert app.client_id in shown
    assert "(not verified)" not in shown
    for link in (f"requests?credential={stored_id(app.client_id)}", f"reported-apps/{stored_id(app.client_id)}"):
        assert link in shown
    assert stored_id(app.client_id) in listed
    (await alice.send("GET", f"/settings/reported-apps/{stored_id(app.client_id)}", headers={"Accept": "text/html"})).ok()
    (await app.revoke(refreshed["access_token"])).ok()
    (await app.api(refreshed["access_token"], "GET", "/account")).refused("invalid_token", 401)
    assert len(site.server.received) == 1


async def test_the_consent_page_shows_the_host_first_and_warns(site: Site, alice: Actor) -> None:
    url = site.put(client_name="Tollhouse CLI <b>", client_uri="https://evil.example/")
    page = (await begin(agent(alice, url), alice)).ok(303).location
    text = (await alice.send("GET", page)).ok().text
    assert text.index(HOST) < text.index("Tollhouse CLI &lt;b&gt;")
    for words in (f'<h1 class="anywhere"><bdi>{HOST} (Tollhouse CLI', "not registered here", "program on this computer"):
        assert words in text
    assert "evil.example" not in text


@pytest.mark.long
async def test_documents_that_are_refused(site: Site, alice: Actor) -> None:
    wrong: dict[str, Any] = {
        "another ID": {"client_id": "https://elsewhere.example/agent.json"},
        "no ID": {"client_id": ...},
        "a secret": {"client_secret": "x"},
        "signatures": {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": []}},
        "secrets": {"token_endpoint_auth_method": "client_secret_post"},
        "no redirect": {"redirect_uris": ...},
        "redirect elsewhere": {"redirect_uris": ["https://elsewhere.example/cb"]},
        "redirect by http": {"redirect_uris": [f"http://{site.origin.removeprefix('https://')}.example/cb"]},
        "redirects that are no list": {"redirect_uris": LOOPBACK},
        "no grant type": {"grant_types": ["client_credentials"]},
        "a name with controls": {"client_name": "A\u202eB"},
        "a name that is no text": {"client_name": 1},
        "a long name": {"client_name": "x" * 101},
        "too large": {"x": "y" * 65_536},
    }
    for number, (name, changes) in enumerate(wrong.items()):
        app = agent(alice, site.put(f"/{number}.json", **changes))
        refused = (await begin(app, alice)).refused("invalid_client", 401)
        assert "WWW-Authenticate" not in refused.headers, name
        assert refused.headers["Content-Type"] == "application/json"
    for number, answer in enumerate(
        (
            web.Response(status=302, headers={"Location": site.put()}),
            web.Response(text="[]"),
            web.Response(text="not JSON"),
            web.Response(text='{"client_id": "a", "client_id": "b"}'),
            web.Response(status=500, text=json.dumps(DOCUMENT)),
        )
    ):
        site.documents[f"/answer/{number}"] = answer
        (await begin(agent(alice, f"{site.origin}/answer/{number}"), alice)).refused("invalid_client", 401)
        await alice.sql("DELETE FROM failed_attempts")
    assert await alice.sql("SELECT id FROM oauth_clients WHERE name LIKE '%\u202e%'") == []


async def test_urls_that_are_no_documents_are_not_fetched(site: Site, alice: Actor) -> None:
    site.put()
    host = site.origin.removeprefix("https://")
    for url in (
        f"http://{host}/agent.json",
        f"https://user@{host}/agent.json",
        f"{site.origin}/agent.json#x",
        f"{site.origin}/a/../agent.json",
        f"{site.origin}/a/%2E./agent.json",
        site.origin,
        f"{site.origin}/",
        f"HTTPS://{host}/agent.json",
        f"{site.origin}/agent json",
        stored_id(f"{site.origin}/agent.json"),
    ):
        (await begin(agent(alice, url), alice)).refused("invalid_client", 401)
    (await alice.send("GET", f"{AUTHORIZE}?client_id={site.origin}/agent.json%00")).refused("invalid_request", 400)
    assert site.server.received == []


async def test_the_stored_id_is_no_client_id(site: Site, alice: Actor) -> None:
    app = agent(alice, site.put())
    code = await app.code(alice, SCOPE)
    other = Application(alice, stored_id(app.client_id), None, app.redirect_uri, app.verifier)
    (await begin(other, alice)).refused("invalid_client", 401)
    (await other.exchange(code)).refused("invalid_client", 401)
    (await agent(alice, app.client_id + "?x").exchange(code)).refused("invalid_client", 401)
    (await app.exchange(code)).ok()


async def test_private_addresses_are_not_fetched(make_service: Any, tls: tuple[Any, Path], site: Site) -> None:
    closed = make_service(TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]), TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS="")
    async with sign_up(closed, "alice", "Alice's Coffee") as alice:
        (await begin(agent(alice, site.put()), alice)).refused("invalid_client", 401)
    assert site.server.received == []


async def test_redirects_are_of_the_document(site: Site, alice: Actor) -> None:
    url = site.put(redirect_uris=[LOOPBACK, "http://[::1]/cb", "https://elsewhere.example/cb"])
    for redirect_uri in (LOOPBACK, "http://127.0.0.1:1/callback", "http://[::1]:53211/cb"):
        (await begin(agent(alice, url, redirect_uri), alice)).ok(303)
    for redirect_uri in (
        "http://localhost:53211/callback",
        "http://127.0.0.2/callback",
        "http://127.0.0.1:53211/other",
        "http://127.0.0.1:53211/callback?x",
        "http://127.0.0.1:99999/callback",
        "http://127.0.0.1@evil.example/callback",
        "https://127.0.0.1:53211/callback",
        "https://elsewhere.example/cb",
    ):
        (await begin(agent(alice, url, redirect_uri), alice)).refused("invalid_request", 400)


def test_redirects_are_on_the_host_of_the_document() -> None:
    parts = client_documents.parse_url("https://agent.example/client.json")
    assert parts is not None
    sent = ["https://agent.example/cb", "https://agent.example:8443/cb", "http://localhost/cb", "https://localhost:1/cb"]
    others = ["https://sub.agent.example/cb", "https://agent.example.evil/cb", "http://agent.example/cb", "agent:/cb"]
    said = {"client_id": parts.url, "redirect_uris": [*others, *sent, sent[0]], "client_uri": "https://agent.example/about"}
    found = client_documents.read(parts, json.dumps(said).encode())
    assert (found.redirect_uris, found.name, found.website_url) == (sent, "agent.example", "https://agent.example/about")
    assert [redirect_uris.is_loopback(uri) for uri in sent] == [False, False, True, True]
    assert redirect_uris.is_one_of("https://agent.example:1/cb", sent, any_port=True) is False
    assert redirect_uris.is_one_of("http://localhost:9/cb", sent, any_port=False) is False


async def test_there_is_no_owner_to_pay(site: Site, alice: Actor) -> None:
    app = agent(alice, site.put())
    asked = "account:read balance-payments:read balance-payments:write"
    page = (await begin(app, alice, asked)).ok(303).location
    assert "balance-payments" not in (await alice.send("GET", page)).ok().text
    done = await consent(alice, page, [*asked.split()])
    assert (await app.exchange(done.query["code"])).ok().body["scope"] == "account:read"
    refused = (await begin(app, alice, "balance-payments:write")).ok(303)
    assert refused.query["error"] == "invalid_scope"
    stays = agent(alice, site.put("/short.json", grant_types=["authorization_code"]))
    assert "refresh_token" not in await stays.connect(alice, SCOPE)


async def test_live_mode_is_closed_until_an_operator_opens_it(
    make_service: Any, tls: tuple[Any, Path], site: Site, alice: Actor
) -> None:
    app = agent(alice, site.put())
    (await begin(app, alice, mode="live")).refused("invalid_client", 401)
    (await begin(app, alice, mode="")).refused("invalid_client", 401)
    (await app.protocol(PAR, app.authorize_query(SCOPE, mode="live"))).refused("invalid_client", 401)
    (await app.protocol(DEVICE, {"scope": SCOPE, "mode": "live"})).refused("invalid_client", 401)
    assert site.server.received == []
    opened = make_service(TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]), TOLLHOUSE_CLIENT_DOCUMENT_HOSTS=f"x.example, {HOST}")
    async with sign_up(opened, "carol", "Carol's Cakes") as carol:
        app = agent(carol, app.client_id)
        assert (await begin(app, carol, "account:read", mode="live")).ok(303).location.startswith("/oauth/consent/")


async def test_a_pushed_request_and_a_bound_token(site: Site, alice: Actor) -> None:
    url = site.put(dpop_bound_access_tokens=True, require_pushed_authorization_requests=True)
    app, signer = agent(alice, url), Signer()
    assert (await begin(app, alice)).ok(303).query["error"] == "invalid_request"
    pushed = (await app.protocol(PAR, app.authorize_query(SCOPE), DPoP=proof(app, signer, PAR))).ok(201).body
    sent = urlencode({"client_id": url, "request_uri": pushed["request_uri"]})
    page = (await alice.send("GET", f"{AUTHORIZE}?{sent}")).ok(303).location
    code = (await consent(alice, page, [*SCOPE.split()])).ok(303).query["code"]
    (await exchange_bound(app, None, code)).refused("invalid_dpop_proof")
    (await exchange_bound(app, signer, code)).ok()


async def test_a_device_that_only_knows_its_url(site: Site, alice: Actor) -> None:
    device_code = "urn:ietf:params:oauth:grant-type:device_code"
    app = agent(alice, site.put(redirect_uris=..., grant_types=[device_code, "refresh_token"]))
    codes = (await app.protocol(DEVICE, {"scope": SCOPE, "mode": "test"})).ok().body
    page = (await alice.form("/device", {"user_code": codes["user_code"]})).ok(303).location
    (await consent(alice, page, [*SCOPE.split()])).ok(303)
    (await app.token(grant_type=device_code, device_code=codes["device_code"])).ok()
    browser = agent(alice, site.put("/browser.json"))
    (await browser.protocol(DEVICE, {"scope": SCOPE, "mode": "test"})).refused("unauthorized_client", 400)


async def test_a_document_is_kept_and_a_change_ends_what_is_pending(site: Site, alice: Actor) -> None:
    app = agent(alice, site.put())
    page = (await begin(app, alice)).ok(303).location
    tokens = await app.connect(alice, SCOPE)
    site.put(redirect_uris=["http://127.0.0.1/elsewhere"], client_name="Another")
    (await begin(app, alice)).ok(303)
    assert len(site.server.received) == 1
    await alice.sql("UPDATE oauth_documents SET fetched_at = fetched_at - interval '61 minutes'")
    (await begin(app, alice)).refused("invalid_request", 400)
    assert (await alice.send("GET", page)).status == 409
    (await app.refresh(tokens["refresh_token"])).ok()
    [row] = await alice.sql("SELECT name, version FROM oauth_clients WHERE document_url = $1", app.client_id)
    assert tuple(row) == (f"{HOST} (Another)", 2)


async def test_a_corrected_document_is_read_soon(site: Site, alice: Actor) -> None:
    app = agent(alice, site.put(client_id="x"))
    (await begin(app, alice)).refused("invalid_client", 401)
    site.put()
    (await begin(app, alice)).refused("invalid_client", 401)
    await alice.sql("UPDATE oauth_documents SET fetched_at = fetched_at - interval '31 s'")
    (await begin(app, alice)).ok(303)


@pytest.mark.long
async def test_fetching_is_throttled(make_service: Any, tls: tuple[Any, Path], site: Site) -> None:
    limited = make_service(TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]), TOLLHOUSE_RATE_LIMITS="on")
    async with sign_up(limited, "alice", "Alice's Coffee") as alice:
        await limited.sql(FORGET)
        for number in range(client_documents.FETCHES_PER_ADDRESS):
            (await begin(agent(alice, site.put(f"/{number}")), alice)).ok(303)
        (await begin(agent(alice, site.put("/more")), alice)).refused("invalid_client", 401)
        (await begin(agent(alice, site.put("/0")), alice)).ok(303)
        assert len(site.server.received) == client_documents.FETCHES_PER_ADDRESS


async def test_what_was_only_tried_is_forgotten(site: Site, alice: Actor, services: Services) -> None:
    tried, used = agent(alice, site.put("/tried")), agent(alice, site.put("/used"))
    (await begin(tried, alice)).ok(303)
    await used.connect(alice, SCOPE)
    await alice.sql("UPDATE oauth_clients SET updated_at = updated_at - interval '25 h' WHERE document_url IS NOT NULL")
    reported = agent(alice, site.put("/reported"))
    (await begin(reported, alice)).ok(303)
    await alice.form(f"/settings/reported-apps/{stored_id(reported.client_id)}", {"reason": "It phishes."})
    await alice.sql("DELETE FROM oauth_requests WHERE client_id = $1", stored_id(reported.client_id))
    await alice.sql("UPDATE oauth_clients SET updated_at = updated_at - interval '25 h' WHERE document_url IS NOT NULL")
    kept = "SELECT document_url FROM oauth_clients WHERE document_url = ANY ($1) ORDER BY 1"
    await jobs.delete_document_clients(services)
    assert len(await alice.sql(kept, [tried.client_id, used.client_id])) == 2
    await alice.sql("DELETE FROM oauth_requests WHERE client_id = $1", stored_id(tried.client_id))
    await jobs.delete_document_clients(services)
    left = await alice.sql(kept, [tried.client_id, used.client_id, reported.client_id])
    assert [row[0] for row in left] == [reported.client_id, used.client_id]
    (await begin(tried, alice)).ok(303)
