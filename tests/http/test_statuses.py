"""Every status has words in every language, a tone and an icon; tables have their roles written out."""

import importlib
import pkgutil
from typing import Literal, get_args, get_origin

import pytest

import tollhouse
from tests.sources import OF_THE_SOURCE
from tests.texts import texts
from tollhouse.http.languages import LANGUAGES
from tollhouse.http.markup import icon
from tollhouse.http.statuses import MARKS, words_of
from tollhouse.http.templates import initials, table_roles
from tollhouse.http.texts import Texts

MODELS = [module.name for module in pkgutil.walk_packages(tollhouse.__path__, "tollhouse.") if module.name.endswith("model")]
STATUSES = sorted(
    {
        status
        for model in MODELS
        for name, kind in vars(importlib.import_module(model)).items()
        if name.endswith("Status") and get_origin(kind) is Literal
        for status in get_args(kind)
    }
)


@OF_THE_SOURCE
def test_a_status_has_words_a_tone_and_an_icon() -> None:
    for status in STATUSES:
        assert status in MARKS
        assert words_of(status) in texts()
        assert "<svg" in icon(MARKS[status].icon, 13)


def test_statuses_are_found() -> None:
    assert {"succeeded", "refund_required", "pending_review", "given_up", "held"} <= set(STATUSES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_label_begins_with_a_capital(language: str) -> None:
    shown = Texts(language).label("refund_required")
    assert shown == {"en": "Needs a decision", "de": "Entscheidung nötig"}[language]


def test_roles_of_a_table_are_written_out() -> None:
    head, cells = (
        '<thead><tr><th scope="col">Day</th></tr></thead>',
        '<th scope="row">1</th><td class="b r1">&lt;td&gt;</td>',
    )
    rows = f'{head}<tbody><tr class="x">{cells}</tr></tbody>'
    assert table_roles(rows) == (
        '<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Day</th></tr></thead>'
        '<tbody role="rowgroup"><tr role="row" class="x"><th role="rowheader" scope="row">1</th>'
        '<td role="cell" class="b r1">&lt;td&gt;</td></tr></tbody>'
    )


def test_a_table_has_no_indentation_and_its_texts_stay() -> None:
    blanks = "\n" * 200_000  # read once: if it were read from each of its lines, this would take minutes
    assert table_roles(f"\n  <tr>\n\n    <td>{blanks}x\n y</td>\n") == (
        f'\n<tr role="row">\n<td role="cell">{blanks}x\n y</td>\n'
    )


@pytest.mark.parametrize(("name", "letters"), [("Harbour Games", "HG"), ("anna", "A"), ("", ""), ("Ö Ä Ü", "ÖÄ")])
def test_initials_of_a_name(name: str, letters: str) -> None:
    assert initials(name) == letters
