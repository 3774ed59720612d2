"""The headers against other sites that every answer carries, whoever gives it."""

import aiohttp
import pytest
from playwright.async_api import Browser

from tests.browser import in_a_browser
from tests.cast import Actor
from tests.running import Service, settings_for
from tollhouse.platform.server.security_headers import security_headers

LINKS = "/api/v2/integration/payment-links"
SAME, CROSS = "same-origin", "cross-origin"


@pytest.mark.parametrize(
    ("method", "path", "status", "read_by"),
    [
        ("GET", "/signin", 200, SAME),
        ("GET", "/nothing", 404, SAME),
        ("GET", "/healthz", 200, SAME),
        ("GET", "/static/app.css", 200, SAME),
        ("GET", "/api/v2/merchant/session", 401, SAME),
        ("PATCH", LINKS, 405, CROSS),
        ("GET", LINKS, 401, CROSS),
        ("OPTIONS", LINKS, 204, CROSS),
        ("GET", "/api/v2/integration/nothing", 404, CROSS),
        ("GET", "/.well-known/oauth-authorization-server", 200, CROSS),
    ],
)
async def test_every_answer_has_them_once(service: Service, method: str, path: str, status: int, read_by: str) -> None:
    async with aiohttp.ClientSession() as http, http.request(method, service.url + path) as answer:
        assert answer.status == status
        for name, value in (
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", read_by),
        ):
            assert answer.headers.getall(name) == [value], name
        [permissions] = answer.headers.getall("Permissions-Policy")
        assert "camera=()" in permissions
        assert "publickey-credentials" not in permissions
        assert len(answer.headers.getall("X-Request-Id")) == 1
        assert "Strict-Transport-Security" not in answer.headers


@pytest.mark.parametrize(("setting", "value"), [("off", "max-age=31536000"), ("on", "max-age=31536000; includeSubDomains")])
def test_https_is_demanded_of_subdomains_where_that_is_set(setting: str, value: str) -> None:
    settings = settings_for(
        "postgresql://nowhere", TOLLHOUSE_BASE_URL="https://pay.example", TOLLHOUSE_HSTS_SUBDOMAINS=setting
    )
    assert dict(security_headers(settings))[b"strict-transport-security"] == value.encode()


async def test_an_answer_to_a_page_has_them_too(alice: Actor) -> None:
    page = (await alice.send("GET", "/test/home", headers={"Accept": "text/html"})).ok()
    assert page.headers["Cross-Origin-Resource-Policy"] == SAME


@pytest.mark.long
@in_a_browser
async def test_a_browser_knows_every_feature(service: Service, browser: Browser) -> None:
    page, said = await browser.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    await page.goto(f"{service.url}/signin")
    await page.wait_for_load_state("networkidle")
    await page.close()
    assert said == []
