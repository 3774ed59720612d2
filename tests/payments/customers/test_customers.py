"""Customers in the dashboard API: who they are, what belongs to them, and the notes about them."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.cast import Actor
from tests.instance.personal_data.test_erasure import erased
from tests.instance.personal_data.test_export import exported, someone
from tests.payments.bank import attempt, bank_says, refund, sell
from tests.payments.shop import COFFEE, approve_project, open_link
from tollhouse.http.services import Services
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.customers import store
from tollhouse.payments.customers.model import LINKS_COUNTED_MAX, NOTES_MAX, PAYMENTS_READ_MAX

PATH = "/customers"


async def customers(actor: Actor, query: str = "") -> list[dict[str, Any]]:
    """The customers of test mode."""
    return (await actor.dashboard("GET", f"{PATH}?mode=test{query}")).ok().body["customers"]


async def names(actor: Actor, query: str = "") -> list[str]:
    """What they are known by."""
    return [one["email"] or one["external_id"] for one in await customers(actor, query)]


async def details(actor: Actor, customer_id: str) -> dict[str, Any]:
    """One customer."""
    return (await actor.dashboard("GET", f"{PATH}/{customer_id}")).ok().body


async def add_note(actor: Actor, customer_id: str, note: str = "Called.") -> dict[str, Any]:
    """A note that was added."""
    return (await actor.dashboard("POST", f"{PATH}/{customer_id}/notes", {"note": note})).ok(201).body


async def copy_links(actor: Actor, link: dict[str, Any], number: int, email: str) -> None:
    """As many more payment links like this one, each for the next of these addresses."""
    columns: list[str] = [row["column_name"] for row in await actor.sql(COLUMNS)]
    changed = {
        "id": "uuidv7()",
        "token": "substr(translate(lower(encode(sha256(uuid_send(uuidv7())), 'base64')), '+/=0189', 'abcdefg'), 1, 26)",
        "customer_email": "format($2, n)",
    }
    values = ", ".join(changed.get(name, name) for name in columns)
    await actor.sql(
        f"INSERT INTO payment_links ({', '.join(columns)}) SELECT {values}"  # noqa: S608 - columns of the schema
        " FROM payment_links, generate_series(1, $3::int) AS n WHERE id = $1::uuid",
        link["id"],
        email,
        number,
    )


COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = 'payment_links' ORDER BY ordinal_position"


async def test_links_of_an_address_are_one_customer(alice: Actor, carol: Actor) -> None:
    anna = someone("anna")
    first = await sell(alice, amount="10.00", customer_email=anna.capitalize(), external_id="order-1")
    second = await sell(alice, amount="5.00", customer_email=anna, external_id="order-2")
    await sell(alice, amount="7.00", customer_email=f"x{anna}")
    await sell(alice, "fail", "3.00", customer_email=anna)
    (await refund(alice, first, "4.00")).ok(201)
    disputed = await sell(alice, "chargeback", "2.00", customer_email=anna)
    usd = await sell(alice, amount="8.00", currency="USD", customer_email=anna)
    assert f"x{anna}" in await names(alice)
    [one] = await customers(alice, f"&search={anna}")
    assert one["id"] == first["payment_link_id"]
    assert (one["links"], one["payments"], one["mode"], one["livemode"]) == (5, 4, "test", False)
    found = await details(alice, one["id"])
    assert found["customer"] == one
    assert (await details(alice, second["payment_link_id"]))["customer"] == one
    totals = {total["currency"]: total for total in found["totals"]}
    assert {name: totals["EUR"][name] for name in ("payments", "paid", "charged_back")} == {
        "payments": 3,
        "paid": "17.00",
        "charged_back": "2.00",
    }
    assert (totals["USD"]["paid"], totals["USD"]["payments"]) == ("8.00", 1)
    assert not found["totals_are_partial"]
    assert [payment["amount"] for payment in found["payments"]] == ["8.00", "2.00", "3.00", "5.00", "10.00"]
    assert found["payments"][0]["id"] == usd["id"]
    assert [(one["transaction_id"], one["amount"]) for one in found["refunds"]] == [(first["id"], "4.00")]
    (await bank_says(alice, found["refunds"][0], "succeed")).ok()
    (await alice.send("GET", f"/test/payments/{usd['id']}/receipt.pdf")).ok()
    later = await details(alice, one["id"])
    assert later["totals"][0]["refunded"] == "4.00"
    assert later["payments"][0]["receipt_number"]
    assert [(one["id"], one["status"]) for one in found["disputes"]] == [(disputed["chargeback"]["id"], "needs_response")]
    assert await names(carol, f"&search={anna}") == []
    (await carol.dashboard("GET", f"{PATH}/{one['id']}")).refused("not_found", 404)
    (await alice.anonymously("GET", f"/api/v2/merchant{PATH}/{one['id']}")).refused("authentication_required", 401)


async def test_a_link_without_an_address_is_of_its_external_id(alice: Actor) -> None:
    link = await open_link(alice, external_id="seat-1", max_payments=None)
    for _ in range(2):
        await attempt(alice, link)
    await open_link(alice, external_id="seat-1", customer_email=someone("berta"))
    nobody = await open_link(alice)
    [one] = await customers(alice, "&kind=external_id&search=seat-")
    assert (one["id"], one["email"], one["external_id"], one["links"], one["payments"]) == (link["id"], None, "seat-1", 1, 2)
    assert (await details(alice, one["id"]))["totals"][0]["payments"] == 2
    (await alice.dashboard("GET", f"{PATH}/{nobody['id']}")).refused("not_found", 404)
    (await alice.dashboard("GET", f"{PATH}/{uuid4()}")).refused("not_found", 404)


async def test_the_list_is_searched_and_paged(alice: Actor) -> None:
    mark = uuid4().hex[:8]
    for place in (3, 1, 2, 4):
        await open_link(alice, customer_email=f"{mark}-{place}@customers.example")
        await open_link(alice, customer_email=f"{mark.upper()}-{place}@customers.example")
    await open_link(alice, customer_email=f"z{mark}@customers.example")
    found = await names(alice, f"&search={mark.upper()}")
    assert [name.lower() for name in found] == [f"{mark}-{place}@customers.example" for place in (1, 2, 3, 4)]
    for query in ("&search=%25", "&search=_", "&search=nobody@", "&kind=external_id&search=nothing"):
        assert await names(alice, query) == []
    search, read = f"&search={mark}", list[str]()
    page = (await alice.dashboard("GET", f"{PATH}?mode=test&limit=3{search}")).ok().body
    read += [one["email"] for one in page["customers"]]
    assert page["has_more"]
    page = (await alice.dashboard("GET", f"{PATH}?mode=test&limit=3{search}&cursor={page['next_cursor']}")).ok().body
    read += [one["email"] for one in page["customers"]]
    assert (read, page["has_more"], page["next_cursor"]) == (found, False, None)
    assert await names(alice, f"&limit=3&page=2{search}") == found[3:]
    for query in ("mode=prod", "mode=test&kind=name", "mode=test&cursor=x", "", "mode=test&limit=0"):
        (await alice.dashboard("GET", f"{PATH}?{query}")).refused("validation_failed", 422)


async def test_modes_are_apart(alice: Actor) -> None:
    anna = someone("anna")
    link = await open_link(alice, customer_email=anna)
    await add_note(alice, link["id"], "Of test mode.")
    await approve_project(alice, "live")
    live = (await alice.post("/payment-links", COFFEE | {"customer_email": anna}, mode="live")).ok(201).body
    [one] = (await alice.dashboard("GET", f"{PATH}?mode=live&search={anna}")).ok().body["customers"]
    assert (one["id"], one["mode"], one["livemode"]) == (live["id"], "live", True)
    assert [customer["id"] for customer in await customers(alice, f"&search={anna}")] == [link["id"]]
    assert (await details(alice, live["id"]))["notes"] == []
    note = await add_note(alice, live["id"])
    (await alice.dashboard("DELETE", f"{PATH}/{link['id']}/notes/{note['id']}")).refused("not_found", 404)


async def test_notes_are_added_read_and_deleted(alice: Actor, carol: Actor) -> None:
    link = await open_link(alice, customer_email=someone("anna"))
    other = await open_link(alice, customer_email=someone("berta"))
    customer_id = link["id"]
    note = await add_note(alice, customer_id, "  Called.\nWants an invoice.  ")
    assert (note["object"], note["note"], note["author"]) == ("customer_note", "Called.\nWants an invoice.", alice.email)
    later = await add_note(alice, customer_id, "Paid.")
    assert (await details(alice, customer_id))["notes"] == [later, note]
    assert (await details(alice, other["id"]))["notes"] == []
    path = f"{PATH}/{customer_id}/notes"
    for wrong in ("", " ", "x" * 2_001, "a\u202eb", 7):
        (await alice.dashboard("POST", path, {"note": wrong})).refused("validation_failed", 422)
    (await alice.dashboard("POST", f"{PATH}/{uuid4()}/notes", {"note": "Hi"})).refused("not_found", 404)
    (await carol.dashboard("POST", path, {"note": "Mine"})).refused("not_found", 404)
    (await carol.dashboard("DELETE", f"{path}/{note['id']}")).refused("not_found", 404)
    (await alice.dashboard("DELETE", f"{PATH}/{other['id']}/notes/{note['id']}")).refused("not_found", 404)
    assert (await alice.dashboard("DELETE", f"{path}/{note['id']}")).ok().body == {"id": note["id"], "deleted": True}
    (await alice.dashboard("DELETE", f"{path}/{note['id']}")).refused("not_found", 404)
    assert (await details(alice, customer_id))["notes"] == [later]
    audit = await alice.sql(
        "SELECT deed, subject, name, changed::text AS changed FROM audit_lines WHERE merchant_id = $1::uuid"
        " AND deed LIKE 'customer.%' AND subject = $2 ORDER BY created_at, id",
        alice.merchant_id,
        customer_id,
    )
    assert [row["deed"] for row in audit] == ["customer.note_added"] * 2 + ["customer.note_deleted"]
    assert not [row for row in audit if row["name"] or "Called" in (row["changed"] or "")]


async def test_notes_are_a_hundred_at_most(alice: Actor) -> None:
    link = await open_link(alice, customer_email=someone("anna"))
    await add_note(alice, link["id"])
    await alice.sql(
        "INSERT INTO customer_notes (id, merchant_id, mode, customer_key, author_id, note, created_at)"
        " SELECT uuidv7(), merchant_id, mode, customer_key, author_id, note, created_at"
        " FROM customer_notes, generate_series(2, $2::int) WHERE merchant_id = $1::uuid AND customer_key = 'email:' || $3",
        alice.merchant_id,
        NOTES_MAX,
        link["customer_email"],
    )
    path = f"{PATH}/{link['id']}/notes"
    (await alice.dashboard("POST", path, {"note": "One more."})).refused("too_many_notes", 409)
    assert len((await details(alice, link["id"]))["notes"]) == NOTES_MAX


async def test_an_erasure_removes_customer_and_notes_and_nobody_else(alice: Actor, carol: Actor, services: Services) -> None:
    anna = someone("anna")
    links = [await open_link(actor, customer_email=email) for actor, email in ((alice, anna), (carol, anna.upper()))]
    kept = await open_link(alice, customer_email=f"x{anna}")
    await add_note(alice, links[0]["id"], "Allergic to nuts.")
    await add_note(carol, links[1]["id"], "Pays late.")
    note = await add_note(alice, kept["id"])
    data = (await exported(services, anna)).data
    assert {row["note"] for row in data["customer_notes"]} == {"Allergic to nuts.", "Pays late."}
    assert {row["id"] for row in data["payment_links"]} == {link["id"] for link in links}
    _, erasure = await erased(services, anna)
    assert (erasure.deleted, erasure.cleared) == ({"customer_notes": 2}, {"payment_links.customer_email": 2})
    for actor, link in zip((alice, carol), links, strict=True):
        (await actor.dashboard("GET", f"{PATH}/{link['id']}")).refused("not_found", 404)
        (await actor.dashboard("POST", f"{PATH}/{link['id']}/notes", {"note": "Hi"})).refused("not_found", 404)
    assert (await details(alice, kept["id"]))["notes"] == [note]
    assert (await exported(services, anna)).data == {}


@pytest.mark.parametrize("round_", range(5))
async def test_of_a_note_and_an_erasure_at_once_none_leaves_the_address(
    alice: Actor, services: Services, round_: int
) -> None:
    anna = someone(f"anna{round_}")
    link = await open_link(alice, customer_email=anna)
    adding = [alice.dashboard("POST", f"{PATH}/{link['id']}/notes", {"note": "Called."}) for _ in range(4)]
    answers = await asyncio.gather(*adding[:2], erased(services, anna), *adding[2:])
    assert {answer.status for answer in answers if not isinstance(answer, tuple)} <= {201, 404}
    assert (await exported(services, anna)).data == {}


async def test_reading_a_customer_is_bounded(alice: Actor, services: Services) -> None:
    link = await open_link(alice, customer_email=someone("many"), max_payments=None)
    await copy_links(alice, link, LINKS_COUNTED_MAX, link["customer_email"])
    paid = await attempt(alice, link)
    [one] = await customers(alice, f"&search={link['customer_email']}")
    assert (one["id"], one["links"]) == (link["id"], LINKS_COUNTED_MAX)
    assert [payment["id"] for payment in (await details(alice, one["id"]))["payments"]] == [paid["id"]]
    customer = await store.find(services.db, MerchantId(UUID(alice.merchant_id)), ["test"], UUID(link["id"]))
    assert customer is not None
    assert sum(total.attempts for total in await store.list_totals(services.db, customer)) <= PAYMENTS_READ_MAX
