"""Payment links: making, reading, listing and canceling them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.cast import Actor, application
from tests.kernel.test_money import NO_AMOUNTS
from tests.payments.shop import COFFEE, approve_project, events, let_expire, open_link, pay
from tests.running import Service

FIELDS = {
    "id", "object", "url", "status", "payable", "unpayable_reason",
    "display_name", "description", "amount", "amount_minor", "currency", "project_id",
    "webhook_url", "external_id", "metadata", "payment_method_ids", "success_url", "cancel_url", "customer_email",
    "max_payments", "payments_count", "amount_paid", "amount_paid_minor", "latest_transaction_id", "created_by", "mode",
    "livemode", "created_at", "updated_at", "expires_at", "completed_at", "canceled_at", "version", "tax_lines",
    "line_items", "quantity", "customer_amount",
}  # fmt: skip
EVERYTHING = {
    "webhook_url": "https://shop.example/hook",
    "description": "A large one",
    "external_id": "order-17",
    "metadata": {"table": "5"},
    "payment_method_ids": ["sandbox:EUR"],
    "success_url": "http://shop.example/thanks?link={PAYMENT_LINK_ID}",
    "cancel_url": "https://shop.example/basket",
    "max_payments": 3,
    "customer_email": "guest@example.com",
}


@pytest.mark.covers("P-12", "P-42", "P-53")
async def test_a_link_is_made_and_read(alice: Actor, service: Service) -> None:
    link = await open_link(alice)
    assert set(link) == FIELDS
    assert UUID(link["id"]).version == 7
    assert (link["object"], link["status"], link["amount"], link["amount_minor"]) == ("payment_link", "active", "4.20", 420)
    assert (link["mode"], link["livemode"], link["version"]) == ("test", False, 1)
    assert link["created_by"] == {"type": "api_key", "oauth_client_id": None}
    assert link["url"].startswith(f"{service.url}/pay/")
    assert link["id"] not in link["url"]
    assert len(link["url"].rpartition("/")[2]) == 26
    made, ends = (datetime.fromisoformat(link[name]) for name in ("created_at", "expires_at"))
    assert link["created_at"].endswith("Z")
    assert ends - made == timedelta(days=1)
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body == link


async def test_a_link_keeps_everything_it_was_made_with(alice: Actor) -> None:
    ends = datetime.now(UTC) + timedelta(hours=2)
    link = await open_link(alice, **EVERYTHING, expires_at=ends.isoformat())
    assert {name: link[name] for name in EVERYTHING} == EVERYTHING
    assert datetime.fromisoformat(link["expires_at"]) == ends.replace(microsecond=ends.microsecond // 1000 * 1000)


async def test_an_application_is_named_as_the_maker(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, "payments:write"))["access_token"]
    made = (await app.api(token, "POST", "/payment-links", COFFEE)).ok(201).body
    assert made["created_by"] == {"type": "oauth", "oauth_client_id": app.client_id}


@pytest.mark.covers("P-43")
@pytest.mark.parametrize("amount", [*NO_AMOUNTS, 10.0, 10, True, None, ["1"], {}])
async def test_an_amount_is_plain_digits(alice: Actor, amount: Any) -> None:
    refused = await alice.post("/payment-links", COFFEE | {"amount": amount})
    assert refused.field_errors() == {"amount": "invalid_amount"}


@pytest.mark.covers("P-43")
@pytest.mark.parametrize(("amount", "currency"), [("1500.5", "JPY"), ("1.000000001", "BTC"), ("1.0000001", "USDC")])
async def test_an_amount_has_the_digits_of_its_currency(alice: Actor, amount: str, currency: str) -> None:
    refused = await alice.post("/payment-links", COFFEE | {"amount": amount, "currency": currency})
    assert refused.field_errors() == {"amount": "invalid_amount"}
    assert ("without a point" in refused.body["errors"][0]["message"]) == (currency == "JPY")


@pytest.mark.parametrize(
    ("amount", "currency", "shown", "minor"),
    [("1500", "JPY", "1500", 1500), ("0.0015", "BTC", "0.00150000", 150_000), ("7", "USDC", "7.000000", 7_000_000)],
)
async def test_an_amount_is_shown_in_full(alice: Actor, amount: str, currency: str, shown: str, minor: int) -> None:
    link = await open_link(alice, amount=amount, currency=currency)
    assert (link["amount"], link["amount_minor"]) == (shown, minor)


@pytest.mark.covers("P-44")
async def test_a_currency_is_one_of_the_list(alice: Actor) -> None:
    assert (await alice.post("/payment-links", COFFEE | {"currency": "usd"})).field_errors() == {
        "currency": "invalid_currency"
    }
    refused = await alice.post("/payment-links", COFFEE | {"currency": "XXX"})
    assert refused.refused("currency_not_supported", 422).body["errors"][0]["field"] == "currency"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"colour": "red"}, "colour"),
    ({"display_name": " "}, "display_name"),
    ({"display_name": "x" * 121}, "display_name"),
    ({"display_name": "a\u0007b"}, "display_name"),
    ({"display_name": 5}, "display_name"),
    ({"description": "x" * 1_001}, "description"),
    ({"external_id": ""}, "external_id"),
    ({"external_id": "x" * 129}, "external_id"),
    ({"metadata": {"a b": "c"}}, "metadata"),
    ({"metadata": {"a": "x" * 501}}, "metadata.a"),
    ({"metadata": {str(n): "" for n in range(21)}}, "metadata"),
    ({"payment_method_ids": []}, "payment_method_ids"),
    ({"payment_method_ids": ["sandbox:EUR", "sandbox:EUR"]}, "payment_method_ids"),
    ({"payment_method_ids": ["sandbox:EUR", "sandbox:USD"]}, "payment_method_ids.1"),
    ({"payment_method_ids": ["cash"]}, "payment_method_ids.0"),
    ({"success_url": "shop.example"}, "success_url"),
    ({"success_url": "javascript:alert(1)"}, "success_url"),
    ({"cancel_url": "https://me:secret@shop.example/"}, "cancel_url"),
    ({"webhook_url": "https://me:secret@shop.example/"}, "webhook_url"),
    ({"webhook_url": "https://shop.example/#part"}, "webhook_url"),
    ({"webhook_url": "ftp://shop.example/"}, "webhook_url"),
    ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ({"expires_at": "2999-01-01T00:00:00Z"}, "expires_at"),
    ({"expires_at": "2030-01-01T00:00:00"}, "expires_at"),
    ({"expires_at": "tomorrow"}, "expires_at"),
    ({"max_payments": 0}, "max_payments"),
    ({"max_payments": 10_001}, "max_payments"),
    ({"max_payments": 1.5}, "max_payments"),
    ({"customer_email": "nobody"}, "customer_email"),
    ({"project_id": "mine"}, "project_id"),
]


@pytest.mark.covers("P-8", "P-47", "P-48")
async def test_a_refused_link_names_its_field(alice: Actor) -> None:
    for change, field in REFUSED:
        assert set((await alice.post("/payment-links", COFFEE | change)).field_errors()) == {field}, change


async def test_every_error_is_named_at_once(alice: Actor) -> None:
    body = {"display_name": "", "amount": "-1", "currency": "XXX", "webhook_url": "nowhere", "max_payments": 0}
    problems = (await alice.post("/payment-links", body)).field_errors()
    assert set(problems) == {"display_name", "amount", "webhook_url", "max_payments"}
    assert set((await alice.post("/payment-links", {})).field_errors()) == {"display_name", "amount", "currency"}


@pytest.mark.covers("P-45")
async def test_a_link_sells_for_a_project_of_its_own(alice: Actor, carol: Actor) -> None:
    [mine] = (await alice.get("/projects")).ok().body["projects"]
    [hers] = (await carol.get("/projects")).ok().body["projects"]
    assert (await open_link(alice))["project_id"] == mine["id"]
    assert (await open_link(alice, project_id=mine["id"]))["project_id"] == mine["id"]
    for project_id in (hers["id"], str(uuid4())):
        refused = await alice.post("/payment-links", COFFEE | {"project_id": project_id})
        assert refused.refused("invalid_project", 422).body["errors"][0]["field"] == "project_id"


async def test_two_projects_need_different_names(alice: Actor) -> None:
    await approve_project(alice, "test")
    (await alice.post("/payment-links", COFFEE)).refused("invalid_project", 422)


@pytest.mark.covers("P-46", "P-60")
async def test_live_addresses_are_https(alice: Actor) -> None:
    for field, url in [
        ("webhook_url", "http://shop.example/"),
        ("webhook_url", "https://10.0.0.1/"),
        ("webhook_url", "https://[::1]/"),
        ("success_url", "http://shop.example/"),
    ]:
        assert set((await alice.post("/payment-links", COFFEE | {field: url}, mode="live")).field_errors()) == {field}, url
    await open_link(alice, webhook_url="http://shop.example/", success_url="http://shop.example/")


async def test_live_needs_an_approved_project(alice: Actor) -> None:
    (await alice.post("/payment-links", COFFEE, mode="live")).refused("invalid_project", 422)
    await approve_project(alice, "live")
    link = (await alice.post("/payment-links", COFFEE, mode="live")).ok(201).body
    assert (link["mode"], link["livemode"]) == ("live", True)
    (await alice.get(f"/payment-links/{link['id']}", mode="test")).refused("not_found", 404)


@pytest.mark.covers("P-4", "P-5", "P-6")
@pytest.mark.parametrize("resource", ["payment-links", "transactions", "projects", "ledger"])
async def test_what_is_not_yours_is_not_there(alice: Actor, carol: Actor, resource: str) -> None:
    link = await open_link(alice)
    await pay(link)
    link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    [entry] = (await alice.get("/ledger")).ok().body["ledger"]
    found = {
        "payment-links": link["id"],
        "transactions": link["latest_transaction_id"],
        "projects": link["project_id"],
        "ledger": entry["id"],
    }[resource]
    (await alice.get(f"/{resource}/{found}")).ok()
    for answer in (
        await carol.get(f"/{resource}/{found}"),
        await alice.get(f"/{resource}/{found}", mode="live"),
        await alice.get(f"/{resource}/{uuid4()}"),
        await alice.get(f"/{resource}/not-a-uuid"),
    ):
        answer.refused("not_found", 404)


@pytest.mark.covers("P-9", "P-10", "P-11")
async def test_links_are_listed_newest_first_in_pages(alice: Actor, carol: Actor) -> None:
    made = [(await open_link(alice, display_name=f"Coffee {n}"))["id"] for n in range(5)]
    await open_link(carol)
    shown: list[str] = []
    for page, more in ((1, True), (2, True), (3, False)):
        answer = (await alice.get(f"/payment-links?limit=2&page={page}")).ok().body
        assert answer["has_more"] is more
        shown += [link["id"] for link in answer["payment_links"]]
    assert shown == made[::-1]
    assert (await alice.get("/payment-links?page=500")).ok().body == {
        "payment_links": [],
        "has_more": False,
        "next_cursor": None,
    }
    for wrong in ("limit=101", "limit=0", "limit=-1", "limit=abc", "page=0", "status=open", "creatd_from=x"):
        (await alice.get(f"/payment-links?{wrong}")).refused("validation_failed", 422)


@pytest.mark.covers("P-16")
async def test_links_are_filtered(alice: Actor) -> None:
    first = await open_link(alice, external_id="one")
    second = await open_link(alice, currency="USD")
    await pay(first)

    async def found(query: str) -> list[str]:
        return [link["id"] for link in (await alice.get(f"/payment-links?{query}")).ok().body["payment_links"]]

    assert await found("status=completed") == [first["id"]]
    assert await found("status=active") == [second["id"]]
    assert await found("external_id=one&currency=EUR") == [first["id"]]
    assert first["id"] in await found(f"created_from={first['created_at']}")
    assert first["id"] not in await found(f"created_to={first['created_at']}")
    same = f"created_from={first['created_at']}&created_to={first['created_at']}"
    (await alice.get(f"/payment-links?{same}")).refused("validation_failed", 422)


@pytest.mark.covers("P-50")
async def test_a_link_is_canceled_once(alice: Actor, carol: Actor) -> None:
    link = await open_link(alice)
    (await carol.post(f"/payment-links/{link['id']}/cancel")).refused("not_found", 404)
    canceled = (await alice.post(f"/payment-links/{link['id']}/cancel")).ok().body
    assert (canceled["status"], canceled["version"]) == ("canceled", 2)
    assert canceled["canceled_at"] == canceled["updated_at"]
    assert (await alice.post(f"/payment-links/{link['id']}/cancel")).ok().body == canceled
    assert await events(alice) == []


@pytest.mark.covers("P-50")
async def test_what_is_over_cannot_be_canceled(alice: Actor) -> None:
    paid, late = await open_link(alice), await open_link(alice)
    await pay(paid)
    await let_expire(alice, late)
    for link, status in ((paid, "completed"), (late, "expired")):
        refused = (await alice.post(f"/payment-links/{link['id']}/cancel")).refused("invalid_state", 409)
        assert refused.body["details"] == {"status": status}
    assert (await alice.get(f"/payment-links/{late['id']}")).ok().body["status"] == "expired"
    assert [link["id"] for link in (await alice.get("/payment-links?status=expired")).ok().body["payment_links"]] == [
        late["id"]
    ]


@pytest.mark.covers("P-1", "P-2", "P-49")
async def test_each_permission_opens_its_own_doors(alice: Actor) -> None:
    link = await open_link(alice)
    for scope, allowed in (
        ("payments:read", "/payment-links"),
        ("balances:read", "/balances"),
        ("projects:read", "/projects"),
    ):
        headers = {"X-API-Key": await alice.key(scopes=[scope])}
        for path, needed in (
            ("/payment-links", "payments:read"),
            (f"/payment-links/{link['id']}", "payments:read"),
            ("/transactions", "payments:read"),
            ("/balances", "balances:read"),
            ("/balances/EUR", "balances:read"),
            ("/ledger", "balances:read"),
            ("/projects", "projects:read"),
        ):
            answer = await alice.anonymously("GET", f"/api/v2/integration{path}", headers=headers)
            if needed == scope:
                answer.ok()
            else:
                assert answer.refused("missing_scope", 403).body["scope"] == needed, (scope, allowed)
        refused = await alice.anonymously("POST", "/api/v2/integration/payment-links", COFFEE, headers)
        assert refused.refused("missing_scope", 403).body["scope"] == "payments:write"
    refused = (await alice.anonymously("GET", "/api/v2/integration/balances")).refused("authentication_required", 401)
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")


async def test_an_id_is_used_once_over_all_merchants(alice: Actor, carol: Actor) -> None:
    """The key is `(id, merchant_id, mode)`. The digest of a row keeps the ID unique beside it."""
    link, other = await open_link(alice), await open_link(carol)
    copy = """
        INSERT INTO payment_links
        SELECT (jsonb_populate_record(l, jsonb_build_object('id', $1::uuid, 'token', reverse(l.token)))).*
        FROM payment_links l WHERE l.id = $2
    """
    for same, constraint in ((link, "row_digests_pkey"), (other, "payment_links_pkey")):
        with pytest.raises(asyncpg.UniqueViolationError) as refused:
            await alice.sql(copy, UUID(same["id"]), UUID(other["id"]))
        assert refused.value.constraint_name == constraint
