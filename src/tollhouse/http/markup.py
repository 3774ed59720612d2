"""Markup that Python makes: icons, JSON with colours, QR codes, the list of a form's errors."""

import re
from functools import cache
from html import escape

import segno
from lucide.jinja import lucide
from markupsafe import Markup

TOKEN = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")|(?P<literal>-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b)'
)
CLASSES = {"name": "tok-n", "text": "tok-s", "literal": "tok-k"}
SCALE = 6
QUIET_ZONE = 4
PLACE = '<ul class="bullets"></ul>'
"""Where the macro `summary` wants the list."""
ERROR = re.compile(r'<p class="error" id="([^"]+)-wrong">(.*?)</p>', re.DOTALL)
LABEL = re.compile(r'<label (?:class="[^"]*" )?for="([^"]+)">(.*?)</label>', re.DOTALL)
OPTIONAL = re.compile(r'<span class="opt">.*?</span>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")


@cache
def icon(name: str, size_px: int) -> Markup:
    """The icon as an `<svg class="i">` that screen readers skip, in the colour of the text around it.

    Stylesheets set the width of its lines. Raises `lucide.IconDoesNotExist` for an unknown name.
    """
    svg = lucide(name, size=size_px, **{"class": "i"}, aria_hidden="true")
    return Markup(svg.replace("\n  ", "").replace("\n", ""))  # noqa: S704 - markup of the package alone


def json_code(text: str) -> Markup:
    """JSON as HTML with colours; other text, and markup, without them."""
    if isinstance(text, Markup):
        return text
    escaped = escape(text, quote=False)
    if text.startswith(("{", "[")):
        escaped = TOKEN.sub(_coloured, escaped)
    return Markup(escaped)  # noqa: S704 - escaped above


def _coloured(token: re.Match[str]) -> str:
    return f'<span class="{CLASSES[token.lastgroup or "text"]}">{token[0]}</span>'


def qr_image(text: str) -> str:
    """The QR code as an inline PNG, which phones can save among their pictures. Black on white in both themes."""
    return segno.make_qr(text, error="m").png_data_uri(scale=SCALE, border=QUIET_ZONE, dark="#000", light="#fff")


def error_summary(page: str) -> Markup:
    """The page with the list filled in, in the order of the fields; without the list if no field has an error."""
    text = str(page)  # `Markup` would escape what replaces the place
    if PLACE not in text:
        return Markup(text)  # noqa: S704 - markup of templates, in which all output is escaped
    labels = {name: _text(OPTIONAL.sub("", label)) for name, label in LABEL.findall(text)}
    rows = "".join(_row(text, name, labels.get(name, ""), _text(message)) for name, message in ERROR.findall(text))
    return Markup(text.replace(PLACE, PLACE.replace("></", f">{rows}</") if rows else ""))  # noqa: S704 - as above


def _row(page: str, name: str, label: str, message: str) -> str:
    target = name if f' id="{name}"' in page else f"{name}-wrong"
    return f'<li><a href="#{target}">{f"{label}: " if label else ""}{message}</a></li>'


def _text(markup: str) -> str:
    """The text between tags, still escaped."""
    return " ".join(TAG.sub("", markup).split())
