"""A base URL may have a path: everything lies below it, whether the proxy in front takes it away or leaves it there."""

import html
import re
from collections.abc import AsyncIterator, Callable

import pytest

from tests.cast import PASSWORD, Actor, application, consent, sign_up
from tests.running import Service, free_port
from tollhouse.http.base_path import path_of
from tollhouse.http.cookies import cookie_name
from tollhouse.platform.settings import config

COFFEE = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
PATH = "/pay"  # the name of one of our own pages too, so that a path can be read in two ways
LINK = re.compile(r'\s(?:href|src|action|formaction|data-poll)="([^"]*)"')
PAGES_MAX = 150


@pytest.fixture
def shop(make_service: Callable[..., Service]) -> Service:
    """A service whose base URL has a path."""
    return make_service(TOLLHOUSE_BASE_URL=f"http://127.0.0.1:{PORT}{PATH}")


@pytest.fixture
async def owner(shop: Service) -> AsyncIterator[Actor]:
    """Somebody who sells there."""
    async with sign_up(shop, "owner", "Owner's Oranges") as actor:
        yield actor


PORT = free_port()
ORIGIN = f"http://127.0.0.1:{PORT}"


def below(location: str) -> str:
    """The path as the service knows it."""
    location = location.removeprefix(ORIGIN)
    assert location.startswith((PATH + "/", PATH + "?")) or location == PATH, location
    return location.removeprefix(PATH) or "/"


async def test_a_link_is_paid_below_the_path(owner: Actor) -> None:
    link = (await owner.post("/payment-links", COFFEE)).ok(201).body
    assert link["url"].startswith(f"{ORIGIN}/pay/pay/")
    path = below(link["url"])
    (await owner.send("GET", path)).ok()
    chosen = (await owner.form(f"{path}/method", {"method_id": "sandbox:EUR"})).ok(303)
    shown = (await owner.send("GET", below(chosen.location))).ok()
    assert f'data-poll="{PATH}{path}/status' in shown.text
    paid = (await owner.form(f"{path}/simulate", {"outcome": "succeed"})).ok(303)
    (await owner.send("GET", below(paid.location))).ok()
    assert (await owner.get(f"/payment-links/{link['id']}")).ok().body["status"] == "completed"


async def test_an_application_is_connected_below_the_path(shop: Service, owner: Actor) -> None:
    app = await application(owner)
    owner.http.cookie_jar.clear()
    started = (await owner.send("GET", app.authorize_path("account:read payments:read"))).ok(303)
    to_sign_in = (await owner.send("GET", below(started.location))).ok(303)
    assert below(to_sign_in.location).startswith("/signin?request=")
    fields = {"email": owner.email, "password": PASSWORD, "request": to_sign_in.query["request"]}
    signed_in = (await owner.form("/signin", fields)).ok(303)
    assert signed_in.location == started.location
    answered = (await consent(owner, below(started.location), ["account:read"])).ok(303)
    assert answered.query["iss"] == shop.url == ORIGIN + PATH
    tokens = (await app.exchange(answered.query["code"])).ok().body
    (await app.api(tokens["access_token"], "GET", "/account")).ok()


async def test_the_metadata_is_where_rfc_8414_puts_it(owner: Actor) -> None:
    usual = (await owner.anonymously("GET", "/.well-known/oauth-authorization-server")).ok().body
    between = (await owner.send("GET", f"{ORIGIN}/.well-known/oauth-authorization-server{PATH}")).ok().body
    assert usual == between
    assert usual["issuer"] == ORIGIN + PATH
    assert all(value.startswith(f"{ORIGIN}{PATH}/") for name, value in usual.items() if name.endswith("_endpoint"))
    assert (await owner.anonymously("GET", "/openapi.json")).ok().body["servers"] == [{"url": ORIGIN + PATH}]


async def test_the_metadata_of_resources_is_where_rfc_9728_puts_it(owner: Actor) -> None:
    for resource in ("", "/api/v2/integration", "/mcp"):
        usual = (await owner.anonymously("GET", f"/.well-known/oauth-protected-resource{resource}")).ok().body
        between = (await owner.send("GET", f"{ORIGIN}/.well-known/oauth-protected-resource{PATH}{resource}")).ok().body
        assert usual == between
        assert usual["resource"] == ORIGIN + PATH + (resource or "/api/v2/integration")
        assert usual["authorization_servers"] == [ORIGIN + PATH]
    refused = (await owner.anonymously("GET", "/api/v2/integration/account")).refused("authentication_required", 401)
    named = f"{ORIGIN}/.well-known/oauth-protected-resource{PATH}/api/v2/integration"
    assert f'resource_metadata="{named}"' in refused.headers["WWW-Authenticate"]
    for beside in (f"{PATH}x/mcp", f"{PATH}/mcp/x", f"/x{PATH}/mcp"):
        (await owner.send("GET", f"{ORIGIN}/.well-known/oauth-protected-resource{beside}")).ok(404)


async def test_a_proxy_may_take_the_path_away(owner: Actor) -> None:
    # The browser sends its cookies to the path that it sees; the proxy passes them on.
    cookies = {"Cookie": "; ".join(f"{cookie.key}={cookie.value}" for cookie in owner.http.cookie_jar)}
    page = (await owner.send("GET", f"{ORIGIN}/test/payments", headers=cookies)).ok()
    assert page.text.count(f'href="{PATH}/') > 10
    assert below((await owner.send("GET", f"{ORIGIN}/")).ok(303).location)
    link = (await owner.post("/payment-links", COFFEE)).ok(201).body
    (await owner.send("GET", ORIGIN + below(link["url"]))).ok()
    (await owner.anonymously("GET", "/static/app.css")).ok()
    (await owner.send("GET", f"{ORIGIN}/static/app.css")).ok()
    for stranger in ("/payroll", "/pay", "/pay/pay/pay/x"):
        assert (await owner.send("GET", f"{ORIGIN}{stranger}")).status in {303, 404}


async def test_cookies_stay_below_the_path(owner: Actor) -> None:
    signed_in = await owner.form("/signin", {"email": owner.email, "password": PASSWORD})
    cookies = signed_in.ok(303).headers.getall("Set-Cookie")
    assert cookies
    assert all(f"Path={PATH};" in cookie + ";" for cookie in cookies)
    settings = config.load({"TOLLHOUSE_BASE_URL": "https://shops.example/pay"})
    assert (path_of(settings), settings.origin) == ("/pay", "https://shops.example")
    assert cookie_name(settings) == "__Secure-tollhouse_session"
    assert cookie_name(config.load({"TOLLHOUSE_BASE_URL": "https://shops.example"})) == "__Host-tollhouse_session"


@pytest.mark.long
async def test_no_page_links_outside_of_the_path(owner: Actor) -> None:
    await application(owner)
    (await owner.post("/payment-links", COFFEE | {"description": 'href="/elsewhere" src="/x"'})).ok(201)
    seen, waiting = set[str](), ["/", "/signin", "/test", "/docs", "/test/payments"]
    while waiting and len(seen) < PAGES_MAX:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = await owner.send("GET", path)
        assert answer.status in {200, 303, 405}, (path, answer.status)
        if answer.status == 303:
            waiting.append(below(answer.location))
            continue
        if not answer.headers.get("Content-Type", "").startswith("text/html"):
            continue
        for link in LINK.findall(answer.text):
            address = html.unescape(link)
            if address.startswith("/"):
                assert address.startswith(PATH + "/"), (path, address)
                waiting.append(below(address).partition("#")[0])
    assert len(seen) > 60


@pytest.mark.parametrize(
    "url",
    ["https://a.example/", "https://a.example/pay/", "https://a.example//pay", "https://a.example/../x", "https://a.example/a%20b",
     "https://a.example/pay?x", "https://a.example/pay#x", "https://a.example/a b", "https://a.example/./x"],
)  # fmt: skip
def test_a_path_is_plain(url: str) -> None:
    with pytest.raises(config.InvalidSettingsError, match="TOLLHOUSE_BASE_URL"):
        config.load({"TOLLHOUSE_BASE_URL": url})
