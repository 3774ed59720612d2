"""Every text is in the catalogue and translated; every value it holds is too; and no template says anything past it."""

import re
from pathlib import Path
from typing import get_args

import pytest
from jinja2 import Environment
from markupsafe import Markup

from tests import texts
from tests.bare_texts import bare_texts
from tollhouse.http.texts import Texts
from tollhouse.ledger.model import MERCHANT_CODES, EntryType
from tollhouse.ledger_pages.pages import SOURCES
from tollhouse.payment_links.model import LinkStatus
from tollhouse.transactions.model import REFUND_FAILURES, REFUND_REASONS, TransactionStatus

VALUE = re.compile(r"%\(\w+\)s|%%|</?\w+")
GERMAN = Texts("de")


@pytest.mark.parametrize("language", texts.TRANSLATED)
def test_nothing_is_left_to_translate(language: str) -> None:
    assert texts.missing(language) == [], "run `just texts` and fill in what it lists"


@pytest.mark.parametrize("language", texts.TRANSLATED)
def test_no_translation_outlives_its_text(language: str) -> None:
    known = {message.id if isinstance(message.id, str) else tuple(message.id) for message in texts.catalogue(language)}
    assert known - {""} == texts.texts().keys(), "run `just texts`"


@pytest.mark.parametrize("language", texts.TRANSLATED)
def test_translations_hold_the_same_values_and_tags(language: str) -> None:
    for message in texts.catalogue(language):
        keys = (message.id,) if isinstance(message.id, str) else tuple(message.id)
        said = (message.string,) if isinstance(message.string, str) else tuple(message.string or ())
        for place, one in enumerate(said) if keys != ("",) else ():
            assert sorted(VALUE.findall(one)) == sorted(VALUE.findall(keys[min(place, len(keys) - 1)])), keys


@pytest.mark.parametrize("template", texts.TEMPLATES, ids=lambda path: f"{path.parent.parent.name}/{path.name}")
def test_a_template_says_nothing_past_the_catalogue(template: Path) -> None:
    assert bare_texts(template) == []


def test_what_is_bare_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<p title="Bare title">{{ _("Said") }} Bare words <code>code</code></p>{{ field("x", "Bare label") }}'
        "{% trans %}Said, too{% endtrans %}<b{% if x %} hidden{% endif %}>{{ y }} %</b>"
    )
    assert bare_texts(page) == ["title=Bare title", "Bare words", '"Bare label"']


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Only available in live mode.", "Nur im Live-Modus verfügbar."),
        ("This must be a whole number from 1 to 10,000.", "Diese Angabe muss eine ganze Zahl von 1 bis 10.000 sein."),
        ("Line 2: This must be a string.", "Zeile 2: Diese Angabe muss ein Text sein."),
        ("3 minutes", "3 Minuten"),
        ("1234.50 received", "1.234,50 eingegangen"),
        ("Last heartbeat 3 minutes ago.", "Letztes Lebenszeichen vor 3 Minuten."),
        ("The payment failed. You were not charged. Try again.",
         "Die Zahlung ist fehlgeschlagen. Ihnen wurde nichts berechnet. Versuchen Sie es erneut."),
        ("more than 1,000 active connections", "mehr als 1.000 aktive Verbindungen"),
        ("Words of somebody else. And more.", "Words of somebody else. And more."),
        ("100% of it", "100% of it"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_python_says_is_known_by_its_words(english: str, german: str) -> None:
    assert GERMAN.translate(english) == german
    assert Texts("en").translate(english) == english


@pytest.mark.parametrize(
    "word",
    [
        *get_args(EntryType),
        *MERCHANT_CODES,
        *SOURCES,
        *get_args(TransactionStatus),
        *get_args(LinkStatus),
        *REFUND_REASONS.values(),
        *REFUND_FAILURES.values(),
    ],
)
def test_what_is_stored_has_a_word(word: str) -> None:
    assert GERMAN.translate(word.replace("_", " ")) != word.replace("_", " ")


def test_what_was_said_already_is_not_said_twice() -> None:
    assert GERMAN.translate(Markup("Status")) == Markup("Status")
    assert GERMAN.translate(Markup("Home")) == Markup("Home")


def test_a_value_in_a_text_is_escaped() -> None:
    pages = Environment(autoescape=True, extensions=["jinja2.ext.i18n"])
    pages.install_gettext_translations(GERMAN.translations, newstyle=True)  # type: ignore[attr-defined]  # the extension's
    shown = pages.from_string('{{ _("Back to %(shop)s", shop=shop) }}').render(shop="<b>A & B</b>")
    assert shown == "Zurück zu &lt;b&gt;A &amp; B&lt;/b&gt;"
