"""The summary of a form's errors names each field and leads to it."""

import html
import re

from tests.cast import Actor
from tests.forms import post
from tollhouse.http.markup import PLACE, error_summary

ENTRY = re.compile(r'<li><a href="#([^"]+)">([^<]*)</a></li>')


def test_it_lists_fields_in_their_order_with_label_and_message() -> None:
    page = error_summary(
        f'<div>Check.{PLACE}</div><label for="b">Web &amp; shop <span class="opt">(optional)</span></label><input id="b">'
        '<p class="error" id="b-wrong"><svg></svg>Too long.</p><fieldset>'
        '<p class="error" id="a-wrong">Choose one.</p></fieldset>'
    )
    assert ENTRY.findall(page) == [("b", "Web &amp; shop: Too long."), ("a-wrong", "Choose one.")]


def test_it_has_no_list_without_errors_at_fields() -> None:
    assert error_summary(f"<div>Failed.{PLACE}</div>") == "<div>Failed.</div>"


async def test_it_takes_the_focus_and_the_input_stays(alice: Actor) -> None:
    for path, status, fields, expected in (
        ("/test/withdrawals/new/sandbox:EUR", 422, {"amount": "1,0,0", "receiver": "Nina"}, {"amount": "Amount"}),
        (
            "/test/projects/new",
            422,
            {"name": "", "website_url": "shop", "key": "1"},
            {"name": "Name", "website_url": "Website"},
        ),
        ("/settings/business", 422, {"business_name": " ", "time_zone": "Mars/Base"}, {"business_name": "Business name"}),
        ("/test/conversions/new", 422, {"from_currency": "EUR", "to_currency": "EUR"}, {"amount": "Amount to convert"}),
    ):
        page = (await post(alice, path, status, **fields)).text
        [summary] = re.findall(r'<div class="banner bad" role="alert" tabindex="-1" autofocus>.*?</ul>', page, re.DOTALL)
        entries = {name: html.unescape(text) for name, text in ENTRY.findall(summary)}
        assert entries.keys() >= expected.keys(), path
        assert all(entries[name].startswith(label) for name, label in expected.items()), entries
        assert all(f' id="{name}"' in page for name in entries)
        for value in fields.values():
            assert not value.strip() or f'"{value}"' in page, (path, value)
