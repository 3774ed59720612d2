"""Every text is in the catalogue and translated; every value it holds is too; and no template says anything past it."""

import re
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest
from jinja2 import Environment
from markupsafe import Markup

from tests import texts
from tests.bare_texts import bare_texts
from tests.sources import OF_THE_SOURCE
from tollhouse.accounts.approvals.model import LOCAL_ADMINISTRATOR, Action
from tollhouse.http.labels import span
from tollhouse.http.texts import Texts
from tollhouse.kernel import messages
from tollhouse.kernel.text import Text, Translatable, as_text, joined
from tollhouse.ledger.books.model import MERCHANT_CODES, EntryType
from tollhouse.pages.dashboard.balances.ledger import SOURCES
from tollhouse.payments.links.model import LinkStatus
from tollhouse.payments.transactions.model import (
    REFUND_FAILURES,
    REFUND_REASONS,
    ChargebackStatus,
    RefundRequiredReason,
    TransactionStatus,
    describe_detail,
)
from tollhouse.rails.bank.model import read_reason

pytestmark = OF_THE_SOURCE
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


def test_no_sentence_with_values_is_finished_before_it_is_shown() -> None:
    found = {path.name: finished for path in texts.MODULES if (finished := texts.finished_sentences(path))}
    assert found == {}, "write it as a `Text`"


def test_every_text_has_the_values_of_its_places() -> None:
    for path in texts.MODULES:
        for template, names in texts.text_calls(path):
            assert set(texts.PLACE.findall(template)) == names, template


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
    ("text", "english", "german"),
    [
        ("Only available in live mode.", "Only available in live mode.", "Nur im Live-Modus verfügbar."),
        (messages.whole_number(1, 10_000), "This must be a whole number from 1 to 10,000.",
         "Diese Angabe muss eine ganze Zahl von 1 bis 10.000 sein."),
        (Text("Line %(line)s: %(message)s", line=2, message=as_text(messages.A_STRING)),
         "Line 2: This must be a string.", "Zeile 2: Diese Angabe muss ein Text sein."),
        (span(timedelta(minutes=3)), "3 minutes", "3 Minuten"),
        (describe_detail("1234.50 received"), "1234.50 received", "1.234,50 eingegangen"),
        (describe_detail("refund failed: returned_by_bank"), "refund failed: returned by bank",
         "Rückerstattung fehlgeschlagen: von der Bank zurückgegeben"),
        (Text("Last heartbeat %(ago)s ago.", ago=span(timedelta(minutes=3))),
         "Last heartbeat 3 minutes ago.", "Zeit seit dem letzten Lebenszeichen: 3 Minuten."),
        (joined("The payment failed.", "You were not charged. Try again."),
         "The payment failed. You were not charged. Try again.",
         "Die Zahlung ist fehlgeschlagen. Ihnen wurde nichts berechnet. Versuchen Sie es erneut."),
        (Text("more than %(count)s active connections", count=1_000),
         "more than 1,000 active connections", "mehr als 1.000 aktive Verbindungen"),
        (Text("The parameter %(name)s must not be repeated.", name="Payments"),
         "The parameter Payments must not be repeated.", "Der Parameter Payments darf nicht wiederholt werden."),
        (read_reason("The withdrawal or refund of this payout has already ended: invalid_state."),
         "The withdrawal or refund of this payout has already ended: invalid_state.",
         "Die Auszahlung oder Rückerstattung zu diesem Zahlungsauftrag ist bereits beendet: invalid_state."),
        ("Words of somebody else. And more.", "Words of somebody else. And more.", "Words of somebody else. And more."),
        ("100% of it", "100% of it", "100% of it"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_a_text_is_answered_in_english_and_shown_in_the_readers_language(
    text: Translatable, english: str, german: str
) -> None:
    assert str(text) == english
    assert GERMAN.translate(text) == german


@pytest.mark.parametrize(
    "word",
    [
        *get_args(EntryType),
        *MERCHANT_CODES,
        *SOURCES,
        *get_args(TransactionStatus),
        *get_args(LinkStatus),
        *get_args(Action),
        *get_args(ChargebackStatus),
        *get_args(RefundRequiredReason),
        LOCAL_ADMINISTRATOR,
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


def test_sentences_have_a_space_between_them() -> None:
    """Jinja drops the line break after a tag: a text and the condition of the next sentence stand on one line."""
    sentence_then_condition = re.compile(r"\.\{% endtrans %\}\n\s*\{% (?:if|trans)\b")
    assert [path.name for path in texts.TEMPLATES if sentence_then_condition.search(path.read_text())] == []
