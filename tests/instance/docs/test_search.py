"""The search of the documentation: what it finds, and in which order."""

import re

import msgspec
import pytest

from tests.cast import Actor
from tollhouse.instance.api import reference as document
from tollhouse.instance.docs.book import chapters
from tollhouse.instance.docs.entries import entries
from tollhouse.instance.docs.error_pages import error_pages
from tollhouse.instance.docs.search import HITS_MAX, SearchIndex, places
from tollhouse.platform.settings import config

ENTRIES = entries(msgspec.json.decode(document.encoded(config.load({}))))
PLACES = tuple(places(chapters().values(), ENTRIES.values(), error_pages(ENTRIES).values()))
INDEX = SearchIndex(PLACES)
ADDRESS = re.compile(r'<li><a href="([^"]+)"')


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("idempotency", "/docs/idempotency"),
        ("  Idempotency ", "/docs/idempotency"),
        ("create a payment link", "/docs/api/open_link"),
        ("withdrawals", "/docs/withdrawals"),
        ("verify signature", "/docs/webhooks#verify-the-signature"),
        ("payment.succeeded", "/docs/api/payment.succeeded"),
        ("refund_not_allowed", "/docs/errors/refund_not_allowed"),
        ("open_link", "/docs/api/open_link"),
        ("test vector", "/docs/webhooks#verify-the-signature"),
    ],
)
def test_the_best_place_comes_first(query: str, first: str) -> None:
    assert INDEX.search(query)[0].path == first


@pytest.mark.parametrize("query", ["", "  ", "***", "payment zebra", "<zebra>"])
def test_nothing_is_found_without_all_words(query: str) -> None:
    assert INDEX.search(query) == []


def test_a_common_word_has_an_end() -> None:
    assert len(INDEX.search("the")) == HITS_MAX


@pytest.mark.long
async def test_the_page_lists_hits_that_lead_somewhere(alice: Actor) -> None:
    shown = (await alice.anonymously("GET", "/docs/search?q=chargeback")).ok().text
    assert 'value="chargeback"' in shown
    found = ADDRESS.findall(shown.partition('class="hits"')[2].partition("</main>")[0])
    assert "/docs/payments#chargebacks" in found
    for path in found:
        target, _, anchor = path.partition("#")
        page = (await alice.anonymously("GET", target)).ok().text
        assert not anchor or f'id="{anchor}"' in page
    assert "<mark>chargeback</mark>" in shown.replace("<mark>Chargeback</mark>", "<mark>chargeback</mark>")


async def test_what_was_asked_is_escaped(alice: Actor) -> None:
    shown = (await alice.anonymously("GET", '/docs/search?q="><script>zebra')).ok().text
    assert "<script>zebra" not in shown
    assert "No results" in shown
    (await alice.anonymously("GET", f"/docs/search?q={'x' * 4000}")).ok()
    assert "Enter words" in (await alice.anonymously("GET", "/docs/search")).ok().text
