"""HTML from Jinja templates. Each slice keeps its own, named `slice/page.html`; everything is escaped."""

import hashlib
from importlib import resources
from typing import Any

from jinja2 import Environment, FileSystemLoader, PrefixLoader, StrictUndefined

PARTS = (
    "web",
    "callers",
    "home",
    "books",
    "settings",
    "merchants",
    "oauth",
    "payments",
    "balance_payments",
    "withdrawals",
    "conversions",
    "fulfillments",
    "webhooks",
    "request_log",
    "operator",
    "guide",
    "demo",
)


class Templates:
    """All templates of the house, compiled once."""

    def __init__(self) -> None:
        loaders = {part: FileSystemLoader(str(resources.files(f"tollhouse.{part}") / "templates")) for part in PARTS}
        self._pages = Environment(
            loader=PrefixLoader(loaders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
        )
        self._pages.policies["ext.i18n.trimmed"] = True
        self._pages.install_null_translations(newstyle=True)  # type: ignore[attr-defined]  # the extension's
        static = resources.files("tollhouse.web") / "static"
        css = (static / "app.css").read_bytes() + (static / "overview.css").read_bytes()
        self._pages.globals["css_version"] = hashlib.sha256(css).hexdigest()[:12]  # pyright: ignore[reportArgumentType]

    def render(self, page: str, **facts: Any) -> str:
        """The HTML of `page` with these facts. A fact that the template needs and is not given is an error."""
        return self._pages.get_template(page).render(**facts)
