"""Logos of applications: loaded by the server, shown as squares of this origin, to people who are signed in."""

from collections.abc import AsyncIterator
from io import BytesIO

import pytest
from aiohttp import web
from PIL import Image

from tests.accounts.settings.logo_files import raster, svg
from tests.cast import Actor, application, sign_up
from tests.forms import seen
from tests.oauth.test_client_documents import FORGET, Site, service, site, tls
from tests.running import Service

__all__ = ["service", "site", "tls"]
CONNECTED = "/settings/connected-apps"
DAMAGED = {"/vector.svg", "/page.png"}
"""What is loaded, and is no image to show."""
RAW = raster(size=(100, 40))
REFUSED = {
    "/vector.svg": web.Response(body=svg(), content_type="image/svg+xml"),
    "/page.png": web.Response(text="<script>alert(1)</script>", content_type="image/png"),
    "/huge.png": web.Response(body=RAW + bytes(70_000), content_type="image/png"),
    "/moved.png": web.Response(status=302, headers={"Location": "/logo.png"}),
}


@pytest.fixture
async def owner(service: Service, site: Site) -> AsyncIterator[Actor]:
    """Bob, who has a site with a logo."""
    await service.sql(FORGET)
    site.documents["/logo.png"] = web.Response(body=RAW, content_type="text/plain")
    async with sign_up(service, "bob", "Bob's Apps") as actor:
        yield actor


async def test_the_server_loads_a_logo_and_pages_show_its_own_copy(site: Site, owner: Actor) -> None:
    app = await application(owner, logo_uri=site.origin + "/logo.png")
    await app.connect(owner, "account:read")
    [grant] = (await owner.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    path = f"/application-logos/{app.client_id}"
    started = (await owner.send("GET", app.authorize_path("account:read"))).ok(303)
    for page in (started.location, f"{CONNECTED}/{grant['grant_id']}", CONNECTED, "/developers/apps"):
        text = await seen(owner, page)
        assert f'<img src="{path}" alt="" loading="lazy">' in text
        assert site.origin not in text
    assert site.server.received == []
    for shown in [(await owner.send("GET", path)).ok() for _ in range(2)]:
        assert shown.headers["Content-Type"] == "image/png"
        assert shown.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert shown.headers["X-Content-Type-Options"] == "nosniff"
        with Image.open(BytesIO(shown.raw)) as image:
            assert (image.format, image.mode, image.size) == ("PNG", "RGB", (112, 112))
        assert await owner.sql("SELECT FROM oauth_documents WHERE body = $1", shown.raw), "redrawn when it was loaded"
    assert len(site.server.received) == 1
    assert (await owner.anonymously("GET", path)).ok(303).location.startswith("/signin")


@pytest.mark.parametrize("path", [*REFUSED, "/missing.png"])
async def test_what_is_no_small_image_leaves_the_initials(site: Site, owner: Actor, path: str) -> None:
    site.documents.update(REFUSED)
    app = await application(owner, logo_uri=site.origin + path)
    for _ in range(2):
        shown = (await owner.send("GET", f"/application-logos/{app.client_id}")).ok()
        assert shown.text == '<svg xmlns="http://www.w3.org/2000/svg"/>'
    asked = 1 if path in DAMAGED else 2
    assert len(site.server.received) == asked, "what was loaded is looked at once"


async def test_an_image_and_a_document_at_one_url_are_kept_apart(site: Site, owner: Actor) -> None:
    uri = site.origin + "/logo.png"
    await owner.sql("INSERT INTO oauth_documents (url, body, fetched_at) VALUES ($1, 'a document', now())", uri)
    app = await application(owner, logo_uri=uri)
    shown = (await owner.send("GET", f"/application-logos/{app.client_id}")).ok()
    assert shown.headers["Content-Type"] == "image/png"
    [kept] = await owner.sql("SELECT body FROM oauth_documents WHERE url = $1", uri)
    assert kept["body"] == b"a document"


async def test_without_a_logo_there_is_no_image(owner: Actor) -> None:
    app = await application(owner)
    await app.connect(owner, "account:read")
    started = (await owner.send("GET", app.authorize_path("account:read"))).ok(303)
    for page in (started.location, CONNECTED, "/developers/apps"):
        main = (await seen(owner, page)).partition("<main")[2]
        assert "<img" not in main
        assert 'class="avatar ' in main
    (await owner.send("GET", "/application-logos/unknown")).ok()
