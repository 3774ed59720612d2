"""Static files: addresses with hashes, caching, compression, and nothing but the files of the folder."""

import gzip
import posixpath
import re
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path, PurePosixPath

import aiohttp
import brotli
import pytest

from tests.cast import Actor, sign_up
from tests.running import Service, free_port
from tollhouse.http.compression import accepted_codings, compressed
from tollhouse.http.fonts import web_fonts
from tollhouse.http.static_files import MEDIA_TYPES, REFERENCE, StaticFiles, read_folder, static

FOLDER = Path(__file__).parents[2] / "src" / "tollhouse" / "http" / "static"
STYLES = b'.a { background: url("marks/b.svg") } .c { background: url("data:image/svg+xml,x") }' + b" " * 200
FILES = {
    "a.css": STYLES,
    "marks/b.svg": b"<svg>b</svg>",
    "c.js": b'import { d } from "./marks/d.js";\nimport "./e.js";\nimport { x } from "elsewhere";\n',
    "marks/d.js": b'import "../e.js";\nexport const d = 1;\n',
    "e.js": b"export const e = 2;\n",
}
DECODERS: dict[str | None, Callable[[bytes], bytes]] = {
    "br": lambda body: bytes(brotli.decompress(body)),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    "gzip": gzip.decompress,
    None: bytes,
}
PLAIN, HASHED = "/static/app.css", static("app.css")


def test_an_address_has_the_hash_of_the_content() -> None:
    first = StaticFiles(FILES)
    assert re.fullmatch(r"/static/a\.[0-9a-f]{12}\.css", first.address("a.css"))
    assert re.fullmatch(r"/static/marks/b\.[0-9a-f]{12}\.svg", first.address("marks/b.svg"))
    assert StaticFiles(FILES).address("a.css") == first.address("a.css")
    other = StaticFiles(FILES | {"marks/b.svg": b"<svg>B</svg>"})
    assert other.address("e.js") == first.address("e.js")
    assert other.address("marks/b.svg") != first.address("marks/b.svg")
    assert other.address("a.css") != first.address("a.css")  # it refers to the other
    with pytest.raises(KeyError):
        first.address("missing.css")


def test_files_refer_to_each_other_by_hash() -> None:
    files = StaticFiles(FILES)

    def text(name: str) -> str:
        found = files.response(name, None, None)
        assert found is not None
        return bytes(found.body).decode()

    mark, d, e = (files.address(name).removeprefix("/static/") for name in ("marks/b.svg", "marks/d.js", "e.js"))
    assert f'url("{mark}")' in text("a.css")
    assert 'url("data:image/svg+xml,x")' in text("a.css")
    assert f'from "./{d}"' in text("c.js")
    assert f'import "./{e}"' in text("c.js")
    assert 'from "elsewhere"' in text("c.js")
    assert f'import "../{e}"' in text("marks/d.js")


def test_a_circle_and_an_unknown_type_are_errors() -> None:
    with pytest.raises(ValueError, match=re.escape("a.js > b.js > a.js")):
        StaticFiles({"a.js": b'import "./b.js"', "b.js": b'import "./a.js"'})
    with pytest.raises(ValueError, match="no media type"):
        StaticFiles({"notes.docx": b""})


def test_every_reference_of_a_stylesheet_or_script_is_found() -> None:
    contents = read_folder(resources.files("tollhouse.http") / "static") | web_fonts()
    for name, body in contents.items():
        if name.endswith((".css", ".js")):
            text = body.decode()
            assert text.count("url(") == len(re.findall(r'url\("[^"]+"\)', text)), name
            beside = PurePosixPath(name).parent
            assert not [match for match in REFERENCE.findall(text) if posixpath.normpath(beside / match) not in contents], (
                name
            )


async def get(actor: Actor, path: str, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body as sent."""
    async with (
        aiohttp.ClientSession(auto_decompress=False) as http,
        http.get(actor.service.url + path, headers={"Accept-Encoding": "", **headers}) as answer,
    ):
        return answer.status, answer.headers, await answer.read()


async def test_an_address_with_a_hash_is_kept_for_a_year(alice: Actor) -> None:
    status, headers, body = await get(alice, HASHED)
    assert status == 200
    assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert headers["Content-Type"] == "text/css; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch(r'"[0-9a-f]{12}"', headers["ETag"])
    assert (await get(alice, PLAIN))[2] == body


@pytest.mark.parametrize("path", [PLAIN, "/static/app.000000000000.css"])
async def test_other_addresses_are_revalidated(alice: Actor, path: str) -> None:
    status, headers, body = await get(alice, path)
    assert (status, headers["Cache-Control"]) == (200, "no-cache")
    for known in (headers["ETag"], f'"other", W/{headers["ETag"]}', "*"):
        status, again, empty = await get(alice, path, **{"If-None-Match": known})
        assert (status, empty) == (304, b"")
        assert (again["ETag"], again["Cache-Control"], again["Vary"]) == (headers["ETag"], "no-cache", "Accept-Encoding")
    assert (await get(alice, path, **{"If-None-Match": '"other"'}))[2] == body


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("br;q=0.0, gzip; q=0", None),
        ("deflate, *", None),
        ("", None),
    ],
)
async def test_the_client_chooses_the_compression(alice: Actor, accepted: str, coding: str | None) -> None:
    _, plain, body = await get(alice, HASHED)
    status, headers, sent = await get(alice, HASHED, **{"Accept-Encoding": accepted})
    assert (status, headers.get("Content-Encoding"), headers["Vary"]) == (200, coding, "Accept-Encoding")
    assert headers["Content-Length"] == str(len(sent))
    assert (headers["ETag"] == plain["ETag"]) == (coding is None)
    assert DECODERS[coding](sent) == body
    assert coding is None or len(sent) < len(body) / 2


async def test_a_page_keeps_its_files_below_the_path(make_service: Callable[..., Service]) -> None:
    port = free_port()
    service = make_service(TOLLHOUSE_BASE_URL=f"http://127.0.0.1:{port}/shop")
    async with sign_up(service, "owner", "Owner's Oranges") as owner:
        page = (await owner.send("GET", "/signin")).ok().text
        addresses = re.findall(r'(?:href|src)="([^"]*/static/[^"]+)"', page)
        assert f"/shop{HASHED}" in addresses
        for address in addresses:
            assert address.startswith("/shop/static/")
            answer = (await owner.send("GET", f"http://127.0.0.1:{port}{address}")).ok()
            assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    "name",
    ["../static_files.py", "marks/../a.css", "/etc/passwd", "./a.css", "A.css", "a.css/", "a.css\0", "", "marks", "marks/",
     "a.00000000000.css", "a.0000000000000.css", "a.000000000000.000000000000.css", "a.00000000000G.css"],
)  # fmt: skip
def test_only_files_of_the_folder_are_sent(name: str) -> None:
    assert StaticFiles(FILES).response(name, None, None) is None


def test_a_file_that_does_not_become_smaller_is_not_compressed() -> None:
    assert compressed(b"<svg/>", MEDIA_TYPES[".svg"]) == {}
    assert compressed(b"a" * 1_000, MEDIA_TYPES[".woff2"]) == {}
    assert set(compressed(b"a" * 1_000, MEDIA_TYPES[".css"])) == {"br", "gzip"}
    assert accepted_codings(None) == {""}


def test_pages_name_static_files_by_their_hash() -> None:
    for page in (FOLDER.parents[1]).glob("**/templates/**/*.html"):
        assert "/static/" not in page.read_text(), page
