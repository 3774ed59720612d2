"""HTML from Jinja templates, in each language. Each slice keeps its own, named `slice/page.html`; everything is escaped."""

import hashlib
from importlib import resources
from typing import Any

from jinja2 import Environment, FileSystemLoader, PrefixLoader, StrictUndefined

from tollhouse.web.languages import ENGLISH, LANGUAGES
from tollhouse.web.texts import Texts

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
    """All templates of the house. They are compiled for each language, once, when it is first asked for."""

    def __init__(self) -> None:
        self._loader = PrefixLoader(
            {part: FileSystemLoader(str(resources.files(f"tollhouse.{part}") / "templates")) for part in PARTS}
        )
        static = resources.files("tollhouse.web") / "static"
        css = sorted((one.name, one.read_bytes()) for one in static.iterdir() if one.name.endswith(".css"))
        self._css_version = hashlib.sha256(b"".join(rules for _, rules in css)).hexdigest()[:12]
        self._pages = {ENGLISH: self._of(ENGLISH)}

    def render(self, page: str, language: str = ENGLISH, /, **facts: Any) -> str:
        """The HTML of `page` with these facts. A fact that the template needs and is not given is an error."""
        if language not in self._pages:
            self._pages[language] = self._of(language)
        return self._pages[language].get_template(page).render(**facts)

    def _of(self, language: str) -> Environment:
        texts = Texts(language)
        pages = Environment(
            loader=self._loader,
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
        )
        pages.policies["ext.i18n.trimmed"] = True
        pages.install_gettext_translations(texts.translations, newstyle=True)  # type: ignore[attr-defined]  # the extension's
        own = texts.formats
        pages.filters.update(
            told=texts.told,
            amount=own.amount,
            number=own.number,
            percent=own.percent,
            day=own.day,
            long_day=own.long_day,
            moment=own.moment,
            hour=own.hour,
            second=own.second,
        )
        pages.globals.update(css_version=self._css_version, language=language, languages=LANGUAGES)  # pyright: ignore[reportArgumentType]
        return pages
