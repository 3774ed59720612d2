"""The preview beside the form of a payment link: the merchant's look and what has been entered, drawn by the server."""

import re
from urllib.parse import urlencode

from tests.accounts.settings.logo_files import unique
from tests.accounts.settings.test_logo_pages import uploaded
from tests.accounts.settings.test_payment_pages import form, send
from tests.cast import Actor
from tests.forms import read, seen

EMPTY = "EUR \N{EN DASH}"
NEW = "/test/payment-links/new"
PART = re.compile(r'<div class="preview" data-part="preview".*?</aside>', re.DOTALL)


async def preview(actor: Actor, **entered: str) -> str:
    [part] = PART.findall(await seen(actor, f"{NEW}?{urlencode(entered)}" if entered else NEW))
    return part


async def test_it_shows_what_is_known_without_entries(alice: Actor) -> None:
    shown = await preview(alice)
    for words in (
        '<span class="avatar merchant">AC</span><b>Alice\'s Coffee</b>',
        "Product name",
        EMPTY,
        "Choose how to pay",
    ):
        assert words in shown


async def test_it_follows_the_entries_and_writes_them_into_no_field(alice: Actor) -> None:
    page = await seen(alice, f"{NEW}?{urlencode({'display_name': 'Gift <b>', 'amount': '1.234,50', 'currency': 'USD'})}")
    [shown] = PART.findall(page)
    assert "$1,234.50" in shown
    assert "Gift <b>" in shown  # `seen` has read the escapes
    assert re.search(r'id="display_name"[^>]* value=""', page)
    assert re.search(r'id="amount"[^>]* value=""', page)
    raw = (await alice.send("GET", f"{NEW}?{urlencode({'display_name': '<script>alert(1)</script>'})}")).ok().text
    assert "<script>alert" not in raw
    assert EMPTY in await preview(alice, amount="ten")
    assert EMPTY not in await preview(alice, currency="XXX", amount="9" * 5000)


async def test_it_has_the_look_of_the_checkout(alice: Actor) -> None:
    look = {"branding.display_name": "Harbour", "branding.accent_color": "#1A6B4F"}
    await send(alice, await form(alice) | look)
    path = await uploaded(alice, unique())
    page = await seen(alice, NEW)
    assert '<link rel="stylesheet" href="/pay/brand/1a6b4f.css">' in page
    assert f'<img class="logo" src="{path}" alt=""><b>Harbour</b>' in page
    sheet = (await alice.anonymously("GET", "/pay/brand/1a6b4f.css")).ok().text
    assert sheet.startswith(".pay, .preview {")


async def test_a_refused_form_keeps_its_preview(alice: Actor) -> None:
    answer = await alice.form(NEW, {"display_name": "Tea", "amount": "0", "currency": "EUR", "key": "0" * 8})
    [shown] = PART.findall(read(answer.text))
    assert "Tea" in shown
