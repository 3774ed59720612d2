"""Uploaded images: what is kept of them draws and does nothing else, however they were made."""

import re
import struct
import time
import zlib
from contextlib import suppress
from io import BytesIO
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from PIL import Image

from tests.accounts.settings.logo_files import RECT, animated, png_claiming, raster, svg
from tollhouse.accounts.environments.logos_model import Logo, digest_of, image_origin, shown_source, shown_url, stored_url
from tollhouse.accounts.settings import svg_images
from tollhouse.accounts.settings.logo_images import read_logo
from tollhouse.kernel.errors import ValidationFailed

ENTITY = '<!DOCTYPE svg [<!ENTITY a "b">]>'
LAUGHS = "<!DOCTYPE svg [" + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9)) + "]>"
DOCTYPE = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">'


async def refused(raw: bytes) -> str:
    """The code of the error."""
    with pytest.raises(ValidationFailed) as caught:
        await read_logo(raw)
    [error] = caught.value.field_errors
    assert error.field == "logo"
    return error.code


async def kept(content: str) -> str:
    """What is left of an SVG image with this content."""
    return (await read_logo(svg(content))).content.decode()


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (raster(), (64, 32)),
        (raster("WEBP"), (64, 32)),
        (raster("WEBP", lossless=True), (64, 32)),
        (raster(mode="RGB"), (64, 32)),
        (raster(mode="L"), (64, 32)),
        (raster(mode="1"), (64, 32)),
        (raster(mode="P"), (64, 32)),
        (raster(size=(2000, 2000)), (120, 120)),
        (raster(size=(2000, 32)), (480, 8)),
        (raster(size=(32, 2000)), (2, 120)),
        (raster("WEBP", size=(960, 120)), (480, 60)),
    ],
    ids=count(),
)
async def test_rasters_are_drawn_anew_as_png(raw: bytes, size: tuple[int, int]) -> None:
    logo = await read_logo(raw)
    assert (logo.media_type, logo.width, logo.height) == ("image/png", *size)
    with Image.open(BytesIO(logo.content), formats=("PNG",)) as image:
        assert (image.size, image.mode) == (size, "RGBA")


async def test_metadata_and_what_follows_the_image_are_gone() -> None:
    secret = b"<script>alert(1)</script>"
    exif = Image.Exif()
    exif[0x010E] = secret.decode()
    for raw in (
        raster(exif=exif.tobytes(), icc_profile=secret),
        raster("WEBP", exif=exif.tobytes(), xmp=secret),
        raster() + secret,
        raster() + b"PK\x03\x04" + secret,
        raster("WEBP") + secret,
    ):
        assert secret in raw
        assert secret not in (await read_logo(raw)).content


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "missing"),
        (b"GIF89a" + b"\0" * 100, "invalid_image"),
        (raster("GIF"), "invalid_image"),
        (raster("JPEG", mode="RGB"), "invalid_image"),
        (raster("BMP", mode="RGB"), "invalid_image"),
        (raster("TIFF"), "invalid_image"),
        (raster("ICO"), "invalid_image"),
        (b"%PDF-1.7", "invalid_image"),
        (b"<html><body>hello</body></html>", "invalid_image"),
        (b"\x89PNG\r\n\x1a\n", "invalid_image"),
        (b"RIFF\0\0\0\0WEBP", "invalid_image"),
        (b"RIFF\0\0\0\0WEBPVP8L", "invalid_image"),
        (raster()[:60], "invalid_image"),
        (raster(size=(640, 320))[:-40], "invalid_image"),
        (raster("WEBP")[:-20], "invalid_image"),
        (animated("PNG"), "invalid_image"),
        (animated("WEBP"), "invalid_image"),
        (raster(size=(31, 64)), "invalid_size"),
        (raster(size=(64, 2001)), "invalid_size"),
        (raster("WEBP", size=(2001, 64)), "invalid_size"),
        (raster("WEBP", size=(31, 31), lossless=True), "invalid_size"),
        (png_claiming((30_000, 30_000)), "invalid_size"),
        (png_claiming((2**31 - 1, 2**31 - 1)), "invalid_size"),
        (png_claiming((64, 32), (2_100, 2_100)), "invalid_image"),
        (raster() + b"\0" * 256 * 1024, "too_large"),
    ],
    ids=count(),
)
async def test_what_is_no_small_still_image_is_refused(raw: bytes, code: str) -> None:
    assert await refused(raw) == code


async def test_a_bomb_within_the_bounds_is_an_image_of_a_few_bytes() -> None:
    logo = await read_logo(png_claiming((2000, 2000)))
    assert len(logo.content) < 1000


@pytest.mark.long
async def test_compressed_metadata_is_no_bomb() -> None:
    bomb = b"Comment\0\0" + zlib.compress(b"a" * 150_000_000, 9)
    chunk = struct.pack(">I", len(bomb)) + b"zTXt" + bomb + struct.pack(">I", zlib.crc32(b"zTXt" + bomb))
    small = raster()
    assert await refused(small[:33] + chunk + small[33:]) == "invalid_image"


@settings(deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", raster()[:40], raster("WEBP")[:40], b"<svg"]))
async def test_no_bytes_do_anything_else(raw: bytes, start: bytes) -> None:
    try:
        logo = await read_logo(start + raw)
    except ValidationFailed:
        return
    assert logo.media_type in {"image/png", "image/svg+xml"}


async def test_a_plain_svg_stays_as_it_is() -> None:
    content = (
        '<defs><linearGradient id="a"><stop offset="0" stop-color="#fff"/></linearGradient>'
        '<clipPath id="c"><path d="M0 0h9v9z"/></clipPath></defs><g transform="translate(1 2)" clip-path="url(#c)">'
        '<path fill="url(#a)" fill-rule="evenodd" d="M1.5-2 3,4a1 1 0 01-1 1z"/><circle cx="1" cy="2" r="3"/></g>'
        '<use href="#c" x="1"/><text font-family="Inter, sans-serif" x="2">A &amp; <tspan dy="1">B</tspan> c</text>'
    )
    made = etree.fromstring((await kept(content)).encode())
    expected = etree.fromstring(svg(content))
    expected.attrib.update({"width": "240", "height": "120"})
    assert etree.tostring(made, method="c14n2", exclusive=True) == _canonical(expected)


def _canonical(root: "etree._Element") -> bytes:  # pyright: ignore[reportPrivateUsage]
    etree.cleanup_namespaces(root)
    return etree.tostring(root, method="c14n2", exclusive=True)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '<script href="https://evil.example/a.js"/>',
        '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></body></foreignObject>',
        '<a href="javascript:alert(1)"><circle r="1"/></a>',
        '<image href="https://evil.example/a.png"/>',
        '<image xlink:href="data:image/svg+xml;base64,PHN2Zz4="/>',
        '<use href="https://evil.example/a.svg#b"/>',
        '<use xlink:href="data:image/svg+xml,evil#b"/>',
        '<use href="other.svg#evil"/>',
        '<style>@import url("https://evil.example/a.css");</style>',
        "<style>rect { fill: url(https://evil.example/#a); background: url(evil) }</style>",
        "<style>@font-face { font-family: evil; src: url(evil) } @media print { rect { fill: evil } }</style>",
        "<style>rect { fill: u\\72l(evil) } *{mask:evil} a b{fill:evil}</style>",
        '<g style="fill:url(//evil.example/a);behavior:url(evil)"/>',
        "<g style=\"mask:image-set('evil.png' 1x)\"/>",
        '<g onclick="evil()" onload="evil()"/>',
        '<g fill="url(evil.svg#a)" filter="url(#evil)"/>',
        '<animate attributeName="href" values="javascript:evil()"/>',
        '<set attributeName="onclick" to="evil()"/>',
        '<g xmlns:evil="http://evil.example"><evil:a/><evil:rect onclick="evil"/></g>',
        '<h:script xmlns:h="http://www.w3.org/1999/xhtml">evil()</h:script>',
        '<iframe xmlns="http://www.w3.org/1999/xhtml" src="https://evil.example"/>',
        "<filter><feImage href='https://evil.example/a'/></filter>",
        "<pattern><image href='evil'/></pattern>",
        "<title>evil</title><desc>evil</desc><metadata>evil</metadata>",
        "<?evil a?><!-- evil -->",
        "<![CDATA[<script>evil()</script>]]>",
        '<g id="&quot;evil&quot;" class="evil" data-evil="1" aria-label="evil"/>',
        '<linearGradient href="evil.svg#a"/>',
        '<rect width="20" height="url(evil)" xml:base="https://evil.example/"/>',
    ],
    ids=count(),
)
async def test_what_does_more_than_draw_is_left_out(hostile: str) -> None:
    text = await kept(hostile + RECT)
    assert "#1a6b4f" in text
    for word in ("evil", "alert", "script", "data:", "<a", "<image", "foreignObject", "<style", " on", "javascript", "base"):
        assert word not in text, text
    assert set(re.findall(r'xmlns(?::\w+)?="([^"]*)"', text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    "raw",
    [
        ENTITY.encode() + svg(),
        LAUGHS.encode() + svg("<text>&a8;</text>"),
        b'<!DOCTYPE svg [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]>' + svg(),
        b'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + svg("<text>&a;</text>"),
        ENTITY.encode("utf-16") + svg().decode().encode("utf-16-le"),
        svg().decode().encode("utf-16"),
        b"\xff" + svg(),
        svg("<text>&unknown;</text>"),
        svg("<rect>"),
        svg() + b"<script/>",
        svg(""),
        svg("<g/>"),
        svg("<image href='a.png'/>"),
        b"<svg>" + RECT.encode() + b"</svg>",
        b'<html xmlns="http://www.w3.org/1999/xhtml">' + svg() + b"</html>",
        svg().replace(b' viewBox="0 0 20 10"', b""),
        svg().replace(b"0 0 20 10", b"0 0 0 10"),
        svg().replace(b"0 0 20 10", b"0 0 1e9 nan"),
        svg().replace(b"0 0 20 10", "0 0 \u0662\u0660 \u0661\u0660".encode()),
        zlib.compress(svg()),
        svg("<g>" * 100 + RECT + "</g>" * 100),
        svg("<g>" * 300 + RECT + "</g>" * 300),
        svg('<g id="a"><use href="#a"/>' + RECT + "</g>"),
        svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>' + RECT),
        svg(f'<mask id="a"><g mask="url(#a)">{RECT}</g></mask>'),
        svg(RECT * 2000 + '<g id="a">' + "<g/>" * 20_000 + "</g>"),
        svg("<style>g{font-family:" + "a" * 100_000 + "}</style>" + "<g/>" * 1000 + RECT),
        svg("<style>g{font-family:" + "漢" * 400 + "}</style>" + "<g/>" * 1200 + RECT),
        svg("<style>g{font-family:" + "'" * 200 + '"' * 200 + "}</style>" + "<g/>" * 1000 + RECT),
    ],
    ids=count(),
)
async def test_documents_that_are_no_plain_image_are_refused(raw: bytes) -> None:
    assert await refused(raw) == "invalid_image"


@pytest.mark.parametrize(
    "reference",
    ['<use href="#{}"/>', '<use xlink:href="#{}"/>', '<g mask="url(#{})"/>', '<g style="clip-path:url(#{})"/>'],
    ids=count(),
)
async def test_what_draws_itself_many_times_by_reference_is_refused(reference: str) -> None:
    levels = "".join(f'<mask id="a{n}">{reference.format(f"a{n - 1}") * 10}{RECT}</mask>' for n in range(1, 12))
    assert await refused(svg(f'<mask id="a0">{RECT}</mask>{levels}<use href="#a11"/>')) == "invalid_image"
    assert "<mask" in await kept(f'<mask id="a0">{RECT}</mask>{reference.format("a0") * 3}{RECT}')


async def test_a_plain_document_type_and_an_encoding_are_allowed() -> None:
    for start in (DOCTYPE, '<?xml version="1.0" encoding="UTF-8"?>' + DOCTYPE, "\ufeff", '<?xml version="1.0"?>\n'):
        logo = await read_logo(start.encode() + svg())
        assert (logo.media_type, logo.width, logo.height) == ("image/svg+xml", 240, 120)
        assert logo.content == (await read_logo(svg())).content


async def test_styles_become_attributes() -> None:
    text = await kept(
        "<style>/* of the tool */ .a, .b { fill : #123456 !important; stroke:none } #c{fill:red} rect{opacity:.5;fill:blue}"
        " @media print { .a { fill: black } } .b{stroke-width:2px}</style>"
        '<rect class="b a"/><rect id="c" class="a"/><rect style="fill:rgb(1, 2, 3)" class="a" fill="green"/>'
    )
    rects = [dict(one.attrib) for one in etree.fromstring(text.encode())]
    assert rects == [
        {"opacity": ".5", "fill": "#123456", "stroke": "none", "stroke-width": "2px"},
        {"opacity": ".5", "fill": "red", "stroke": "none", "id": "c"},
        {"opacity": ".5", "fill": "rgb(1, 2, 3)", "stroke": "none"},
    ]


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('viewBox="0 0 20 10"', (240, 120)),
        ('viewBox="0,0,100,10"', (480, 48)),
        ('viewBox="-5 -5 10 10" width="100%" height="3mm"', (120, 120)),
        ('width="16" height="16px"', (120, 120)),
        ('width="8000" height="1000"', (480, 60)),
        ('viewBox="0 0 .5 .5"', (120, 120)),
        ('viewBox="0 0 100000 1"', (480, 1)),
    ],
)
async def test_svg_images_have_a_size(attributes: str, size: tuple[int, int]) -> None:
    logo = await read_logo(svg().replace(b'viewBox="0 0 20 10"', attributes.encode()))
    root = etree.fromstring(logo.content)
    assert (logo.width, logo.height) == (int(root.get("width", "")), int(root.get("height", ""))) == size
    assert len(root.get("viewBox", "").replace(",", " ").split()) == 4


@pytest.mark.long
@pytest.mark.parametrize(
    "content",
    [
        '<path d="' + "a" * 250_000 + '"/>',
        '<path d="' + "a " * 125_000 + '("/>',
        '<path fill="' + "url(" * 60_000 + '"/>',
        '<path fill="url(' + " " * 250_000 + '"/>',
        "<style>" + "a{" * 120_000 + "</style>",
        "<style>" + "/*" * 120_000 + "</style>",
        "<style>" + "a," * 120_000 + "{fill:red}</style>",
        "<style>" + "".join(f".a{n}{{}}" for n in range(25_000)) + "</style>",
        "<style>" + "".join(f".a{n}{{fill:red}}" for n in range(5_000)) + "</style>" + '<g class="a1 a2 a9"/>' * 6_000,
        "<style>" + "".join(f".a{n:x}{{}}" for n in range(18_000)) + "</style>" + "<g/>" * 30_000,
        '<g style="' + "fill:red;" * 25_000 + '"/>',
        '<g class="' + "a " * 120_000 + '"/>',
        "<g/>" * 60_000,
    ],
    ids=count(),
)
async def test_time_is_in_proportion_to_the_file(content: str) -> None:
    began = time.process_time()
    with suppress(ValidationFailed):
        await read_logo(svg(content + RECT))
    assert time.process_time() - began < 5


def test_lists_contain_nothing_that_does_more_than_draw() -> None:
    names = svg_images.ELEMENTS | svg_images.ATTRIBUTES | svg_images.PROPERTIES
    forbidden = re.compile(
        r"on.*|style|href|src|script|foreignObject|image|animate.*|set|filter|fe.*|pattern|a|cursor|behavior"
    )
    assert not [name for name in names if forbidden.fullmatch(name)]


def test_addresses_of_uploaded_logos_are_stored_as_paths() -> None:
    logo = Logo("image/png", b"a", 1, 1)
    for base in ("https://pay.example", "http://127.0.0.1:8000/base"):
        shown = shown_url(logo.path, base)
        assert shown == base + logo.path
        assert stored_url(shown, base) == logo.path
    assert digest_of(logo.path) == logo.digest
    assert (shown_source(logo.path), image_origin(logo.path)) == (logo.path, None)
    for other in (
        None,
        "https://a.example/logo.png",
        f"https://evil.example{logo.path}",
        logo.path,
        "https://pay.example/logos/a.png",
    ):
        assert stored_url(other, "https://pay.example") == other
    assert shown_url("https://a.example/logo.png", "https://pay.example") == "https://a.example/logo.png"
    assert image_origin("https://a.example:8443/l.png") == "https://a.example:8443"
    assert shown_source("https://a_b.example/l.png") is None
