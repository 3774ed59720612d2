"""Currencies, payment methods and projects."""

from typing import Any

import pytest

from tests.cast import Actor, application
from tests.running import CATALOGUE


async def methods(actor: Actor, query: str = "", mode: str = "test") -> dict[str, Any]:
    listed = (await actor.get(f"/payment-methods?{query}", mode=mode)).ok().body
    return {payment_method["method_id"]: payment_method for payment_method in listed["payment_methods"]}


@pytest.mark.covers("P-37", "P-38")
async def test_currencies_say_what_they_can(alice: Actor) -> None:
    listed = (await alice.get("/currencies")).ok().body
    found = {currency["code"]: currency for currency in listed["currencies"]}
    assert {code: one["decimals"] for code, one in found.items()} == {
        "EUR": 2, "USD": 2, "GBP": 2, "JPY": 0, "BTC": 8, "ETH": 8, "USDC": 6, "USDT": 6,
    }  # fmt: skip
    for entry in found.values():
        assert set(entry["operations"]) == {"balances", "payments", "withdrawals", "conversions"}
        assert entry["balance_payment_supported"] is True
    assert found["EUR"]["chains"] == []
    [chain] = found["USDT"]["chains"]
    assert (chain["network"], chain["deposit"], chain["withdrawal"]) == ("ethereum", True, False)


async def test_currencies_need_a_credential_and_no_scope(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, "reports:read"))["access_token"]
    (await app.api(token, "GET", "/currencies")).ok()
    (await alice.anonymously("GET", "/api/v2/integration/currencies")).refused("authentication_required", 401)


@pytest.mark.covers("P-39")
async def test_every_method_is_listed_with_why_it_cannot_be_used(alice: Actor) -> None:
    test, live = await methods(alice), await methods(alice, mode="live")
    assert {name for name, one in test.items() if one["available"]} == {f"sandbox:{code}" for code in CATALOGUE.currencies}
    assert {transaction["unavailable_reason"] for transaction in test.values()} == {None, "not_in_environment"}
    assert not any(name.startswith("sandbox:") for name in live)
    assert {(transaction["available"], transaction["unavailable_reason"]) for transaction in live.values()} == {
        (False, "provider_not_configured")
    }
    assert {"sepa:EUR", "bitcoin:BTC"} <= set(live)
    for transaction in (*test.values(), *live.values()):
        assert transaction["available"] is (transaction["unavailable_reason"] is None)


async def test_methods_are_judged_for_what_is_asked(alice: Actor) -> None:
    found = await methods(alice, "currency=EUR&amount=1.00")
    assert [name for name, one in found.items() if one["available"]] == ["sandbox:EUR"]
    assert found["sandbox:USD"]["unavailable_reason"] == "currency_not_supported"
    [project] = (await alice.get("/projects")).ok().body["projects"]
    assert (await methods(alice, f"project_id={project['id']}"))["sandbox:EUR"]["available"]
    assert (await alice.get("/payment-methods?currency=EUR&amount=-1")).field_errors() == {"amount": "invalid_amount"}
    assert (await alice.get("/payment-methods?amount=1")).field_errors() == {"currency": "invalid_currency"}
    other = "018f0000-0000-7000-8000-000000000000"
    (await alice.get(f"/payment-methods?project_id={other}")).refused("invalid_project", 422)


@pytest.mark.parametrize(("scope", "status"), [("projects:read", 200), ("settings:read", 200), ("payments:read", 403)])
async def test_methods_open_to_either_of_two_permissions(alice: Actor, scope: str, status: int) -> None:
    headers = {"X-API-Key": await alice.key(scopes=[scope])}
    assert (await alice.anonymously("GET", "/api/v2/integration/payment-methods", headers=headers)).status == status


@pytest.mark.covers("P-41")
async def test_only_approved_projects_are_seen(alice: Actor) -> None:
    [project] = (await alice.get("/projects")).ok().body["projects"]
    assert (project["name"], project["status"], project["mode"]) == ("Default", "approved", "test")
    assert "sandbox:EUR" in project["payment_method_ids"]
    assert (await alice.get(f"/projects/{project['id']}")).ok().body == project
    assert (await alice.get("/projects", mode="live")).ok().body == {"projects": [], "has_more": False, "next_cursor": None}
    await alice.sql("UPDATE projects SET status = 'rejected' WHERE id = $1::uuid", project["id"])
    assert (await alice.get("/projects")).ok().body["projects"] == []
    (await alice.get(f"/projects/{project['id']}")).refused("not_found", 404)


def test_the_catalogue_fits_the_ledger() -> None:
    for code, currency in CATALOGUE.currencies.items():
        assert code == currency.code
        assert currency.decimals <= 8
    for method_id, method in CATALOGUE.methods.items():
        assert method_id == f"{method.network}:{method.asset}"
        assert method.asset in CATALOGUE.currencies
        assert method.minimum_minor >= 1
