"""Who paid and by which transaction: on the page of the payment, in the search, and as a link to an explorer."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.payments.bank import attempt, sell
from tests.payments.receipts.paying import paid, payment_id, read
from tests.payments.shop import open_link
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.payments.transactions import transfers_store
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.settings import BitcoinSettings

HASH = "ab" * 32
NINA, IBAN = "Nina Nowak-Özdemir", "DE89370400440532013000"
PAID_BY = "UPDATE rail_observations SET payer_name = $2, payer_account = $3 WHERE transaction_id = $1::uuid"
SEEN_IN = """
    INSERT INTO rail_observations (rail, mode, external_ref, outcome, merchant_id, transaction_id, currency, amount_minor,
                                   confirmations, at)
    SELECT rail, mode, $2, $3, merchant_id, id, currency, amount_minor, 0, now() + $4::int * interval '1 s'
    FROM transactions WHERE id = $1::uuid
"""


async def found(actor: Actor, text: str, mode: str = "test") -> str:
    """Where a search leads, or the page of its results."""
    answer = await actor.send("GET", f"/{mode}/search?q={quote(text, safe='')}", headers={"Accept": "text/html"})
    return answer.location if answer.status == 303 else answer.ok().text


@pytest.fixture
async def payment(alice: Actor) -> dict[str, Any]:
    """A payment whose payer the rail has reported."""
    sold = await sell(alice)
    await alice.sql(PAID_BY, sold["id"], NINA, IBAN)
    return sold


async def test_the_page_names_the_payer(alice: Actor, payment: dict[str, Any]) -> None:
    page = await seen(alice, f"/test/payments/{payment['id']}")
    assert NINA in page
    assert f"<code data-copy>{IBAN}</code>" in page


async def test_a_payer_is_found(alice: Actor, mallory: Actor, payment: dict[str, Any]) -> None:
    path = f"/test/payments/{payment['id']}"
    await sell(alice)
    for text in ("Nina Nowak", "nina nowak-özdemir", "nowak", IBAN, "DE89 3704 0044 0532 0130 00", "de89370400"):
        shown = await found(alice, text)
        assert path in shown, text
        assert shown.count('class="hit" href="/test/payments/') == 1, text
        assert payment["id"] not in await found(mallory, text), text
    assert path not in await found(alice, "Nin%")


async def test_a_receipt_is_found_by_its_number(alice: Actor, carol: Actor) -> None:
    page = await paid(alice)
    await read(alice, page)
    [row] = await alice.sql("SELECT year, number FROM receipts WHERE merchant_id = $1::uuid", alice.merchant_id)
    number = f"{row['year']}-{row['number']:06d}"
    for text in (number, f"No. {number}", f" {number} "):
        assert await found(alice, text) == f"/test/payments/{payment_id(page)}"
    assert await found(alice, number, "live") == f"/test/payments/{payment_id(page)}", "as an ID leads to its own mode"
    assert "/payments/" not in (await found(carol, number)).partition("<main")[2].partition("</main")[0]


async def test_ids_are_found_as_pages_show_them(alice: Actor, mallory: Actor) -> None:
    link = await open_link(alice)
    payment = await attempt(alice, link)
    for object_id, path in ((link["id"], "payment-links"), (payment["id"], "payments")):
        short = f"{object_id[:8]}…{object_id[-4:]}"
        for text in (short, short.upper(), short.replace("…", "...")):
            assert await found(alice, text) == f"/test/{path}/{object_id}", text
        assert object_id not in await found(mallory, short)


async def test_transfers_are_named_by_their_transaction(
    alice: Actor, service: Service, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    sold = await sell(alice)
    other = HASH.replace("a", "c")
    for reference, outcome, order in (
        (f"{HASH}:0", "seen", 2), (f"{other}:1", "seen", 3), (f"{other}:1", "vanished", 4),
    ):  # fmt: skip
        await alice.sql(SEEN_IN, sold["id"], reference, outcome, order)
    listed = await transfers_store.list_transfers(services.db, UUID(sold["id"]))
    assert [transfer.tx_hash for transfer in listed] == [HASH, None]
    network = BitcoinNetwork("sandbox", BitcoinSettings(network="main", explorer_url="https://explorer.example/tx/{tx}"))
    monkeypatch.setitem(service.rails.providers, ("sandbox", "test"), network)
    page = await seen(alice, f"/test/payments/{sold['id']}")
    assert f'href="https://explorer.example/tx/{HASH}"' in page
    assert f"<code data-copy>{HASH}</code>" in page
    assert other not in page


async def test_confirmations_are_shown_while_they_are_awaited(alice: Actor) -> None:
    link = await open_link(alice, amount="10.00")
    sold = await attempt(alice, link, "processing")
    assert "Confirmations" in await seen(alice, f"/test/payments/{sold['id']}")
    done = await sell(alice)
    await alice.sql("UPDATE transactions SET confirmations = 3, required_confirmations = 3 WHERE id = $1::uuid", done["id"])
    assert "Confirmations" not in await seen(alice, f"/test/payments/{done['id']}")


async def test_a_page_that_waits_looks_by_itself(alice: Actor) -> None:
    link = await open_link(alice, amount="10.00")
    waiting, done = await attempt(alice, link, "processing"), await sell(alice)
    page = await seen(alice, f"/test/payments/{waiting['id']}")
    assert "/watch" in page
    assert "data-watch=" in page
    page = await seen(alice, f"/test/payments/{done['id']}")
    assert "/watch" not in page
    assert "data-watch=" not in page
