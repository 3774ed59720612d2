"""The list in the summary of a form's errors: each field by its label, as a link, with its message."""

import re

from markupsafe import Markup

PLACE = '<ul class="bullets"></ul>'
"""Where the macro `summary` wants the list."""
ERROR = re.compile(r'<p class="error" id="([^"]+)-wrong">(.*?)</p>', re.DOTALL)
LABEL = re.compile(r'<label (?:class="[^"]*" )?for="([^"]+)">(.*?)</label>', re.DOTALL)
OPTIONAL = re.compile(r'<span class="opt">.*?</span>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")


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
