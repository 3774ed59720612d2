"""The search of the dashboard: by ID it leads to the object, by text to a page of results; never to another merchant's."""

import re
from urllib.parse import quote
from uuid import uuid4

import asyncpg

from tests.cast import Actor, Answer
from tests.payments.bank import attempt, refund, sell
from tests.payments.shop import open_link

SECTIONS = re.compile(r'<h2 id="found-[a-z]+">([^<]+)</h2>')
NOTHING = "Nothing found"


async def search(actor: Actor, text: str, mode: str = "test") -> Answer:
    """The response to a search, as the browser's form sends it."""
    return await actor.send("GET", f"/{mode}/search?q={quote(text, safe='')}", headers={"Accept": "text/html"})


async def sections(actor: Actor, text: str, mode: str = "test") -> list[str]:
    """The headings of what was found."""
    return SECTIONS.findall((await search(actor, text, mode)).ok().text)


async def test_an_id_leads_to_its_object(alice: Actor) -> None:
    paid = await sell(alice)
    link_id = paid["payment_link_id"]
    link = (await alice.get(f"/payment-links/{link_id}")).ok().body
    token = link["url"].rpartition("/")[2]
    returned = (await refund(alice, paid, "1.00")).ok(201).body
    event = (await alice.sql("SELECT id::text FROM webhook_events WHERE merchant_id = $1::uuid LIMIT 1", alice.merchant_id))[
        0
    ]
    payment, of_link = f"/test/payments/{paid['id']}", f"/test/payment-links/{link_id}"
    for text, path in (
        (paid["id"], payment),
        (f"  {paid['id'].upper()} ", payment),
        (f"https://pay.example/live/payments/{paid['id']}/refund?x=1", payment),
        (f"/test/payments/{paid['id']}", payment),
        (returned["id"], payment),
        (link_id, of_link),
        (token, of_link),
        (link["url"], of_link),
        (f"{link['url']}?payment={paid['id']}", of_link),
        (event["id"], f"/test/developers/events/{event['id']}"),
        (link["project_id"], f"/test/projects/{link['project_id']}"),
    ):
        for mode in ("test", "live"):
            answer = (await search(alice, text, mode)).ok(303)
            assert answer.location == path, text


async def test_nothing_is_revealed_about_objects_of_others(alice: Actor, mallory: Actor) -> None:
    link = await open_link(alice, external_id="secret-7", customer_email="nina@example.com", display_name="Zebra tour")
    paid = await attempt(alice, link, "succeed")
    unknown = (await search(mallory, str(uuid4()))).ok()
    assert NOTHING in unknown.text
    for text in (
        paid["id"],
        link["id"],
        link["url"],
        link["url"].rpartition("/")[2],
        "secret-7",
        "nina@example.com",
        "Zebra",
    ):
        for mode in ("test", "live"):
            answer = (await search(mallory, text, mode)).ok()
            assert NOTHING in answer.text
            assert SECTIONS.findall(answer.text) == []
            assert "Also found" not in answer.text
    assert "secret-7" not in (await alice.anonymously("GET", "/test/search?q=secret-7")).ok(303).text


async def test_text_finds_payments_links_and_customers(alice: Actor) -> None:
    known = {"external_id": "order-1001", "customer_email": "Nina@Example.com"}
    link = await open_link(alice, amount="24.90", display_name="Guided Tour", **known)
    paid = await attempt(alice, link, "succeed")
    everything = ["Payments", "Payment links", "Customers"]
    for text, found in (
        ("order-1001", everything[:2]),
        ("order-10", everything[:2]),
        ("rder-1001", []),
        ("nina@example.com", everything),
        ("NINA@", everything),
        ("guided", everything[:2]),
        ("tour", everything[:2]),
        ("our", []),
        ("24,90", everything[:2]),
        ("24.90 EUR", everything[:2]),
        ("\u20ac24.90", everything[:2]),
        ("24.90 USD", []),
        ("order%", []),
        ("order_1001", []),
        ("%", []),
        ("\\", []),
    ):
        assert await sections(alice, text) == found, text
    shown = (await search(alice, "nina@")).ok().text
    assert f'href="/test/payments/{paid["id"]}"' in shown
    assert f'href="/test/payment-links/{link["id"]}"' in shown
    payments = '<td role="cell" class="amount e r1">1</td>'
    assert f'href="/test/customers/{link["id"]}">Nina@Example.com</a></td>{payments}' in shown
    assert "<title>TEST · Search · Tollhouse</title>" in shown


async def test_each_group_shows_five_and_leads_to_the_list(alice: Actor) -> None:
    for _ in range(6):
        await open_link(alice, external_id="many")
    shown = (await search(alice, "many")).ok().text
    assert len(re.findall(r'class="hit" href="/test/payment-links/', shown)) == 5
    assert 'href="/test/payment-links?reference=many">View all</a>' in shown


async def test_orders_are_found_by_external_id(alice: Actor) -> None:
    paid = await sell(alice)
    (await refund(alice, paid, "1.00", external_id="back-1")).ok(201)
    shown = (await search(alice, "back-1")).ok().text
    assert SECTIONS.findall(shown) == ["Withdrawals, refunds and orders"]
    assert f'href="/test/payments/{paid["id"]}">Refund</a>' in shown


async def test_orders_are_found_by_the_beginning_of_their_external_id(alice: Actor) -> None:
    paid = await sell(alice)
    for number in range(12):
        (await refund(alice, paid, "0.10", external_id=f"back-{number}")).ok(201)
    shown = (await search(alice, "back-1")).ok().text
    assert re.findall(r'mono">(back-\d+)<', shown) == ["back-1", "back-11", "back-10"]
    assert SECTIONS.findall((await search(alice, "ack-1")).ok().text) == []
    assert SECTIONS.findall((await search(alice, "back_1")).ok().text) == []


async def test_modes_are_apart(alice: Actor) -> None:
    await open_link(alice, external_id="mine-1")
    shown = (await search(alice, "mine-1", "live")).ok().text
    assert SECTIONS.findall(shown) == []
    assert "Also found in test mode." in shown
    assert 'href="/test/search?q=mine-1"' in shown
    assert "Also found" not in (await search(alice, "mine-1")).ok().text


async def test_what_cannot_be_searched_is_refused(alice: Actor) -> None:
    assert "Search this environment" in (await search(alice, "")).ok().text
    assert "Search this environment" in (await search(alice, " \t\n ")).ok().text
    assert "Enter at most 200 characters." in (await search(alice, "x" * 201)).ok(422).text
    for hostile in ("a\x07b", "a\x1bb", "a\u202eb"):
        assert "Enter text without control characters." in (await search(alice, hostile)).ok(422).text
    assert (await search(alice, "a\0b")).status == 400
    for text in (
        "' OR 1=1 --",
        "<script>alert(1)</script>",
        "😀",
        "x" * 200,
        "http://[::1",
        "9" * 200,
        "-1",
        "1,234",
        "/pay/",
    ):
        answer = (await search(alice, text)).ok()
        assert NOTHING in answer.text
        assert "<script>alert" not in answer.text
    assert (await alice.send("GET", "/else/search?q=1")).status == 404
    assert (await alice.send("GET", "/test/search?text=1")).status == 422


async def test_requests_are_found_by_their_id(alice: Actor) -> None:
    answer = (await alice.get("/payment-links")).ok()
    request_id = answer.headers["X-Request-Id"]
    found: list[dict[str, str]] = []
    while not found:
        found = await alice.sql("SELECT id::text FROM api_requests WHERE request_id = $1::uuid", request_id)
    assert (await search(alice, request_id)).ok(303).location == f"/test/developers/requests/{found[0]['id']}"


async def test_a_slow_search_ends(alice: Actor) -> None:
    """A lock makes the statement wait longer than its limit."""
    connection = await asyncpg.connect(alice.service.dsn)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE payment_links IN ACCESS EXCLUSIVE MODE")
            answer = (await search(alice, "coffee")).ok(503)
    finally:
        await connection.close()
    assert "The search took too long." in answer.text
    assert NOTHING not in answer.text


async def test_the_search_in_german(alice: Actor) -> None:
    await open_link(alice, external_id="bestellung-1")
    headers = {"Accept": "text/html", "Accept-Language": "de"}
    shown = (await alice.send("GET", "/test/search?q=bestellung", headers=headers)).ok().text
    assert "Ergebnisse für „bestellung“" in shown
    assert 'placeholder="Zahlungen, Links, Kunden suchen"' in shown
