"""HTML from Jinja templates, by language and time zone. Templates are in `<package>/templates`; all output is escaped."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from tollhouse.http.compiled_templates import CompiledTemplates
from tollhouse.http.languages import ENGLISH, LANGUAGES
from tollhouse.http.lists import filters_of, with_filter, without_filters
from tollhouse.http.local_formats import Formats
from tollhouse.http.markup import error_summary, icon, json_code
from tollhouse.http.static_files import preloads, static
from tollhouse.http.statuses import mark_of
from tollhouse.http.texts import Texts
from tollhouse.kernel import clock, limits
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import new_id_text
from tollhouse.kernel.names import escape_unreadable

FOLDERS = {folder.parent.name: folder for folder in sorted(Path(__file__).parents[1].glob("**/templates"))}
"""The folders of templates, by the name of their package."""
ROLES = {"thead": "rowgroup", "tbody": "rowgroup", "tfoot": "rowgroup", "tr": "row", "th": "columnheader", "td": "cell"}
INDENTATION = re.compile(r"\n\s++(<?)")
"""Reads each run of blanks once, however long: texts of strangers can have many."""
ROLE = re.compile(r"<(thead|tbody|tfoot|tr|th|td)\b([^>]*)>")
SHARED: dict[str, Any] = {
    "icon": icon,
    "static": static,
    "preloads": preloads,
    "mark_of": mark_of,
    "limits": limits,
    "languages": LANGUAGES,
    "new_key": new_id_text,
}
"""What every template can use."""
CACHED_READERS_MAX = 64
"""The number of cached pairs of language and time zone. Others are loaded again from compiled code."""


class Templates:
    """All templates. Each is compiled once for each language: by the installation, otherwise on first use."""

    def __init__(self, now: Callable[[], datetime] = clock.now) -> None:
        self._now = now
        self._loader = PrefixLoader({part: FileSystemLoader(folder) for part, folder in FOLDERS.items()})
        self._texts = cache(Texts)
        self._code = {language: CompiledTemplates(language) for language in LANGUAGES}
        self._pages = lru_cache(CACHED_READERS_MAX)(self._of)

    def render(self, page: str, language: str = ENGLISH, zone: tzinfo = UTC, /, **context: Any) -> str:
        """The HTML of `page` with this context, in the time zone `zone`. A missing variable is an error.

        What nobody would see in texts of others is escaped.
        """
        return escape_unreadable(self._pages(language, zone).get_template(page).render(**context))

    def compile_all(self) -> None:
        """Compile all templates in all languages, and store them."""
        for language in LANGUAGES:
            pages = self._pages(language, UTC)
            for name in pages.list_templates():
                pages.get_template(name)

    def _of(self, language: str, zone: tzinfo) -> Environment:
        texts = self._texts(language)
        pages = Environment(
            loader=self._loader,
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.i18n"],
            bytecode_cache=self._code[language],
        )
        pages.policies["ext.i18n.trimmed"] = True
        pages.install_gettext_translations(texts.translations, newstyle=True)  # type: ignore[attr-defined]  # the extension's
        formats = Formats(language, zone, self._now)
        pages.filters.update(
            translate=texts.translate,
            label=texts.label,
            initials=initials,
            table_roles=table_roles,
            error_summary=error_summary,
            filter_value=lambda query, name: filters_of(query).get(name, ""),  # pyright: ignore[reportArgumentType]
            with_filter=with_filter,  # pyright: ignore[reportArgumentType]
            without_filters=without_filters,  # pyright: ignore[reportArgumentType]
            json_code=json_code,
            short_id=short_id,
            amount=formats.amount,
            money=formats.money_data,  # pyright: ignore[reportArgumentType]
            plain_amount=formats.plain_amount,
            money_text=formats.money,  # pyright: ignore[reportArgumentType]
            currency_name=formats.currency_name,  # pyright: ignore[reportArgumentType]
            number=formats.number,
            percent=formats.percent,
            percentage=formats.percentage,
            day=formats.day,
            long_day=formats.long_day,
            short_day=formats.short_day,
            month=formats.month,
            moment=formats.moment,
            short_moment=formats.short_moment,
            long_moment=formats.long_moment,
            when=formats.moment_data,
            ago=formats.ago,
            iso=iso,
            hour=formats.hour,
            second=formats.second,
            o_clock=formats.o_clock,
        )
        of_language: dict[str, Any] = {"language": language}
        pages.globals.update(SHARED | of_language)
        return pages


def initials(name: str) -> str:
    """The first letters of the first two words of a name, as in an avatar."""
    return "".join(word[0] for word in name.split()[:2]).upper()


def short_id(whole: object) -> str:
    """The first eight and the last four characters of an id, for breadcrumbs."""
    text = str(whole)
    return f"{text[:8]}…{text[-4:]}"


def table_roles(rows: str) -> Markup:
    """The inside of a table with its roles written out, without the indentation of the templates.

    A narrow list shows rows as cards, and a changed `display` removes the roles in some browsers.
    """
    dense = INDENTATION.sub(_without_indentation, rows)
    return Markup(ROLE.sub(_with_role, dense))  # noqa: S704 - markup of templates, in which all output is escaped


def _without_indentation(blanks: re.Match[str]) -> str:
    return "\n<" if blanks[1] else blanks[0]


def _with_role(tag: re.Match[str]) -> str:
    role = "rowheader" if tag[1] == "th" and 'scope="row"' in tag[2] else ROLES[tag[1]]
    return f'<{tag[1]} role="{role}"{tag[2]}>'


def iso(when: str | datetime) -> str:
    """A time in UTC for programs."""
    return when if isinstance(when, str) else stamp(when)
