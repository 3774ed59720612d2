"""What every answer has in common: ids, dialects, methods, sizes, CORS."""

from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from tests.cast import Actor
from tests.running import Service

LINKS = "/api/v2/integration/payment-links"


async def test_every_answer_has_an_id_and_a_client_may_choose_it(alice: Actor) -> None:
    chosen = str(uuid4())
    assert (await alice.anonymously("GET", "/healthz", headers={"X-Request-Id": chosen})).headers["X-Request-Id"] == chosen
    other = await alice.anonymously("GET", "/healthz", headers={"X-Request-Id": "chosen\tbadly"})
    assert len(other.headers["X-Request-Id"]) == 36


async def test_a_browser_gets_a_page_and_a_program_gets_json(alice: Actor) -> None:
    page = await alice.anonymously("GET", "/nothing", headers={"Accept": "text/html,*/*"})
    assert page.status == 404
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["X-Request-Id"] in page.text
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    (await alice.anonymously("GET", "/nothing")).refused("not_found", 404)
    api = await alice.anonymously("GET", LINKS, headers={"Accept": "text/html"})
    api.refused("authentication_required", 401)


@pytest.mark.parametrize("path", [LINKS, "/api/v2/oauth/token", "/.well-known/oauth-authorization-server"])
async def test_other_sites_may_call_without_cookies(service: Service, path: str) -> None:
    async with aiohttp.ClientSession() as http:
        asked = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        async with http.options(service.url + path, headers=asked) as answer:
            assert answer.status == 204
            assert answer.headers["Access-Control-Allow-Origin"] == "*"
            assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
            assert "X-API-Key" in answer.headers["Access-Control-Allow-Headers"]
            assert "Access-Control-Allow-Credentials" not in answer.headers
        async with http.delete(service.url + path, headers={"Origin": "https://app.example"}) as answer:
            assert answer.status == 405
            assert "OPTIONS" in answer.headers["Allow"]
            assert answer.headers["Access-Control-Allow-Origin"] == "*"
            assert "X-Request-Id" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("path", ["/signin", "/api/v2/merchant/session", "/api/v2/oauth/authorize"])
async def test_the_dashboard_has_no_cors(service: Service, path: str) -> None:
    async with aiohttp.ClientSession() as http:
        for method in ("GET", "OPTIONS"):
            async with http.request(method, service.url + path, headers={"Origin": "https://app.example"}) as answer:
                assert "Access-Control-Allow-Origin" not in answer.headers


BAD_BODIES: list[tuple[bytes, str, str, int]] = [
    (b"{", "application/json", "invalid_request", 400),
    (b"", "application/json", "invalid_request", 400),
    (b'{"display_name": "\\ud800"}', "application/json", "invalid_request", 400),
    (b'{"display_name": "\\u0000"}', "application/json", "invalid_request", 400),
    (b'{"display_name": NaN}', "application/json", "invalid_request", 400),
    (b"\xff\xfe", "application/json", "invalid_request", 400),
    (b"[" * 20_000, "application/json", "invalid_request", 400),
    (b"{}", "text/plain", "unsupported_media_type", 415),
    (b"[]", "application/json", "validation_failed", 422),
    (b"{" + b" " * 70_000 + b"}", "application/json", "payload_too_large", 413),
]


async def test_a_bad_body_is_refused(alice: Actor) -> None:
    for body, content_type, code, status in BAD_BODIES:
        headers = {"X-API-Key": await alice.key(), "Content-Type": content_type}
        async with (
            aiohttp.ClientSession() as http,
            http.post(alice.service.url + LINKS, data=body, headers=headers) as answer,
        ):
            assert (answer.status, (await answer.json())["error"]) == (status, code), body[:40]


async def test_a_body_without_a_length_is_capped_too(alice: Actor) -> None:
    async def endless() -> Any:
        for _ in range(200):
            yield b" " * 1024

    headers = {"X-API-Key": await alice.key(), "Content-Type": "application/json"}
    async with aiohttp.ClientSession() as http:
        try:
            async with http.post(alice.service.url + LINKS, data=endless(), headers=headers) as answer:
                assert answer.status == 413
        except aiohttp.ClientConnectionError:
            pass  # it may hang up before everything is sent


async def test_head_is_get_without_a_body(alice: Actor) -> None:
    head = await alice.anonymously("HEAD", "/signin")
    assert (head.status, head.raw) == (200, b"")
    (await alice.anonymously("HEAD", "/api/v2/oauth/authorize")).ok(405)


async def test_paths_are_exact(alice: Actor) -> None:
    for path in ("/healthz/", "//healthz", "/api/v2/integration//account", "/api/v2/integration/account/"):
        (await alice.anonymously("GET", path)).refused("not_found", 404)


async def test_health(alice: Actor) -> None:
    assert (await alice.anonymously("GET", "/healthz")).ok().body == {"status": "ok"}
    ready = (await alice.anonymously("GET", "/readyz")).ok().body
    parts = ready.pop("parts")
    assert ready == {"status": "ok", "log_lines_lost": 0}
    assert (parts["database"], parts["schema"], parts["partitions"]) == ("ok", "ok", "ok")
    assert set(parts) == {"database", "disk", "schema", "keys", "partitions", "worker"}


async def test_static_files(alice: Actor) -> None:
    assert (await alice.anonymously("GET", "/static/app.css")).ok().headers["Content-Type"].startswith("text/css")
    assert (await alice.anonymously("GET", "/static/../ask.py")).status == 404


@pytest.mark.parametrize("query", ["status=null", "page=null", "limit=x", "page=0", "limit=101", "page=1&page=2", "foo=1"])
async def test_a_malformed_query_names_its_parameter(alice: Actor, query: str) -> None:
    assert set((await alice.get(f"/payment-links?{query}")).field_errors()) == {query.partition("=")[0]}
