"""Pages are compressed where anyone can load them, and never where a length could tell what a session sees."""

from collections.abc import Mapping

import aiohttp
import brotli
import pytest

from tests.cast import Actor
from tests.payments.shop import open_link

BR = {"Accept-Encoding": "gzip, br", "Accept": "text/html"}


async def get(url: str, headers: Mapping[str, str], method: str = "GET") -> tuple[Mapping[str, str], bytes]:
    """Headers and body as sent."""
    async with (
        aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.request(method, url, headers=headers) as answer,
    ):
        return answer.headers, await answer.read()


def cookies(actor: Actor) -> str:
    """The cookies of a session."""
    return "; ".join(f"{cookie.key}={cookie.value}" for cookie in actor.http.cookie_jar)


@pytest.mark.parametrize(
    "cookie", [{}, {"Cookie": "tollhouse_theme=dark; tollhouse_language=en"}], ids=["none", "preferences"]
)
async def test_a_page_that_anyone_can_load_is_compressed(alice: Actor, cookie: dict[str, str]) -> None:
    link = (await open_link(alice))["url"]
    for url in (f"{alice.service.url}/signin", f"{alice.service.url}/docs", link, f"{alice.service.url}/nothing"):
        headers, body = await get(url, BR | cookie)
        assert headers["Content-Encoding"] == "br", url
        assert headers["Content-Length"] == str(len(body))
        assert headers["Vary"] == "Accept-Encoding, Accept-Language, Cookie"
        page = bytes(brotli.decompress(body))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        assert page.startswith(b"<!doctype html>")
        assert len(body) < len(page) * 2 / 3
        assert (await get(url, BR | cookie | {"Accept-Encoding": "gzip"}))[0]["Content-Encoding"] == "gzip"
        assert "Content-Encoding" not in (await get(url, BR | cookie | {"Accept-Encoding": ""}))[0]


async def test_what_a_session_sees_is_not_compressed(alice: Actor) -> None:
    link = (await open_link(alice))["url"]
    session = {"Cookie": cookies(alice)}
    for url in (f"{alice.service.url}/test/payments?q=guess", link, f"{alice.service.url}/docs"):
        headers, body = await get(url, BR | session)
        assert "Content-Encoding" not in headers, url
        assert body.startswith(b"<!doctype html>")
    for other in ("tollhouse_signin=x", "tollhouse_theme=dark; other=1", "nonsense"):
        assert "Content-Encoding" not in (await get(f"{alice.service.url}/signin", BR | {"Cookie": other}))[0], other
    bearer = {"Authorization": "Bearer x"}
    assert "Content-Encoding" not in (await get(f"{alice.service.url}/signin", BR | bearer))[0]
    assert "Content-Encoding" not in (await get(f"{alice.service.url}/signin", BR, "POST"))[0]


async def test_only_pages_are_compressed(alice: Actor) -> None:
    for path in ("/openapi.json", "/healthz", "/docs/payments.md"):
        assert "Content-Encoding" not in (await get(alice.service.url + path, BR))[0], path
