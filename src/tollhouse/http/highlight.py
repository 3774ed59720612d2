"""JSON with colours, by the `tok-` classes of the stylesheet."""

import re
from html import escape

from markupsafe import Markup

TOKEN = re.compile(
    r'(?P<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*")|(?P<literal>-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b)'
)
CLASSES = {"name": "tok-n", "text": "tok-s", "literal": "tok-k"}


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
