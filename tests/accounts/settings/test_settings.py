"""The settings: complete bodies, versions, environments, and what they change."""

import asyncio
from typing import Any

import asyncpg
import pytest

from tests.cast import Actor, application

READ_ONLY = ("object", "updated_at", "supported_payment_methods", "webhook_signing_secret_configured", "mode", "livemode")
FIELDS = {
    "object", "default_currency", "payment_methods", "link_expiry_minutes", "underpayment_tolerance_bps", "overpayment",
    "late_payments", "late_monitoring_days", "success_url", "cancel_url", "branding", "confirmations", "version",
    "additional_currencies", "settlement",
    "updated_at", "supported_payment_methods", "webhook_signing_secret_configured", "mode", "livemode",
}  # fmt: skip


async def settings(actor: Actor, mode: str = "test") -> dict[str, Any]:
    return (await actor.get("/settings", mode=mode)).ok().body


async def body(actor: Actor, mode: str = "test", **changes: Any) -> dict[str, Any]:
    """What a client sends back after reading, changed so."""
    return {name: value for name, value in (await settings(actor, mode)).items() if name not in READ_ONLY} | changes


async def test_before_anything_is_set_there_are_defaults(alice: Actor) -> None:
    found = await settings(alice)
    assert set(found) == FIELDS
    assert (found["version"], found["updated_at"], found["mode"], found["livemode"]) == (1, None, "test", False)
    assert (found["default_currency"], found["link_expiry_minutes"], found["underpayment_tolerance_bps"]) == (
        "EUR",
        1440,
        50,
    )
    assert (found["overpayment"], found["late_payments"], found["late_monitoring_days"]) == ("credit", "refund_required", 14)
    assert {"method_id": "sandbox:EUR", "enabled": True} in found["payment_methods"]
    assert "sandbox:EUR" in found["supported_payment_methods"]
    assert "sepa:EUR" in (await settings(alice, "live"))["supported_payment_methods"]
    assert found["webhook_signing_secret_configured"] is False


@pytest.mark.covers("P-150")
async def test_saving_needs_the_version_that_was_read(alice: Actor) -> None:
    sent = await body(alice, link_expiry_minutes=60, success_url="http://shop.example/thanks")
    saved = (await alice.call("PUT", "/settings", sent)).ok().body
    assert (saved["version"], saved["link_expiry_minutes"], saved["success_url"]) == (2, 60, sent["success_url"])
    assert saved["updated_at"].endswith("Z")
    assert await settings(alice) == saved
    stale = (await alice.call("PUT", "/settings", sent)).refused("settings_changed", 409)
    assert stale.body["details"] == {"version": 2}
    assert (await alice.call("PUT", "/settings", sent | {"version": 2})).ok().body["version"] == 3
    (await alice.call("PUT", "/settings", sent | {"version": 99})).refused("settings_changed", 409)


async def test_a_version_that_never_was_changes_nothing(alice: Actor) -> None:
    for version in (7, 0, -1):
        (await alice.call("PUT", "/settings", await body(alice, version=version))).refused("settings_changed", 409)
    assert (await settings(alice))["version"] == 1


async def test_of_many_who_read_the_same_version_one_saves(alice: Actor) -> None:
    for version in (1, 2):
        sent = await body(alice, version=version)
        responses = await asyncio.gather(*(alice.call("PUT", "/settings", sent) for _ in range(12)))
        assert sorted(answer.status for answer in responses) == [200] + [409] * 11
    assert (await settings(alice))["version"] == 3


@pytest.mark.covers("P-151")
async def test_the_environments_are_set_apart(alice: Actor, carol: Actor) -> None:
    (await alice.call("PUT", "/settings", await body(alice, default_currency="JPY"))).ok()
    assert ((await settings(alice))["default_currency"], (await settings(alice, "live"))["default_currency"]) == (
        "JPY",
        "EUR",
    )
    assert (await settings(carol))["version"] == 1


@pytest.mark.covers("P-152")
async def test_reading_and_writing_are_two_permissions(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    reads = (await app.connect(alice, "settings:read"))["access_token"]
    writes = (await app.connect(alice, "settings:write"))["access_token"]
    (await app.api(reads, "GET", "/settings")).ok()
    refused = (await app.api(reads, "PUT", "/settings", await body(alice))).refused("missing_scope", 403)
    assert refused.body["scope"] == "settings:write"
    (await app.api(writes, "PUT", "/settings", await body(alice))).ok()
    (await app.api(writes, "GET", "/settings")).refused("missing_scope", 403)


async def test_every_refused_field_is_named(alice: Actor) -> None:
    changes: dict[str, Any] = {
        "default_currency": "XXX",
        "payment_methods": [
            {"method_id": "sandbox:EUR", "enabled": True},
            {"method_id": "sandbox:EUR", "enabled": False},
            {"method_id": "shells:EUR", "enabled": True},
        ],
        "link_expiry_minutes": 4,
        "underpayment_tolerance_bps": 501,
        "late_monitoring_days": 0,
        "success_url": "ftp://shop.example",
        "cancel_url": "https://me@shop.example",
        "branding": {"display_name": " ", "logo_url": "http://a.example", "accent_color": "red", "support_email": "nobody"},
        "confirmations": {"bitcoin": 0, "nowhere": 1},
    }
    assert (await alice.call("PUT", "/settings", await body(alice, **changes))).field_errors() == {
        "default_currency": "invalid_currency",
        "payment_methods.1.method_id": "duplicate",
        "payment_methods.2.method_id": "unknown_method",
        "link_expiry_minutes": "out_of_range",
        "underpayment_tolerance_bps": "out_of_range",
        "late_monitoring_days": "out_of_range",
        "success_url": "invalid_url",
        "cancel_url": "invalid_url",
        "branding.display_name": "invalid_value",
        "branding.logo_url": "invalid_url",
        "branding.accent_color": "invalid_value",
        "branding.support_email": "invalid_email",
        "confirmations.bitcoin": "out_of_range",
        "confirmations.nowhere": "unknown_network",
    }
    assert (await settings(alice))["version"] == 1


async def test_the_body_is_complete_and_nothing_else(alice: Actor) -> None:
    assert (await alice.call("PUT", "/settings", {"surprise": 1, "overpayment": "keep"})).field_errors() == {
        "surprise": "unknown_field",
        "overpayment": "invalid_value",
        "default_currency": "missing",
        "payment_methods": "missing",
        "link_expiry_minutes": "missing",
        "underpayment_tolerance_bps": "missing",
        "late_payments": "missing",
        "late_monitoring_days": "missing",
        "branding": "missing",
        "confirmations": "missing",
        "version": "missing",
    }
    for version in ("1", 1.5, True, None, 2**31):
        assert set((await alice.call("PUT", "/settings", await body(alice, version=version))).field_errors()) == {"version"}


async def test_addresses_are_https_in_live(alice: Actor) -> None:
    sent = await body(alice, "live", success_url="http://shop.example/thanks")
    assert (await alice.call("PUT", "/settings", sent, mode="live")).field_errors() == {"success_url": "invalid_url"}
    (await alice.call("PUT", "/settings", sent | {"success_url": "https://shop.example/thanks"}, mode="live")).ok()


async def test_everything_that_can_be_set_is_kept(alice: Actor) -> None:
    changes: dict[str, Any] = {
        "default_currency": "USDC",
        "link_expiry_minutes": 525_600,
        "underpayment_tolerance_bps": 0,
        "overpayment": "refund_required",
        "late_payments": "accept",
        "late_monitoring_days": 365,
        "success_url": "https://shop.example/?t={TRANSACTION_ID}",
        "cancel_url": "https://shop.example/basket",
        "branding": {
            "display_name": "Alice & Söhne",
            "logo_url": "https://shop.example/logo.png",
            "accent_color": "#1a6b4f",
            "support_email": "help@shop.example",
            "support_phone": "+49 30 901820",
            "support_url": "https://shop.example/help",
        },
        "confirmations": {"bitcoin": 3, "ethereum": "finalized"},
    }
    (await alice.call("PUT", "/settings", await body(alice, **changes))).ok()
    found = await settings(alice)
    assert {name: found[name] for name in changes} == changes


async def test_a_method_that_is_not_named_is_offered(alice: Actor) -> None:
    chosen = [{"method_id": "sandbox:USD", "enabled": False}]
    saved = (await alice.call("PUT", "/settings", await body(alice, payment_methods=chosen))).ok().body
    enabled = {payment_method["method_id"]: payment_method["enabled"] for payment_method in saved["payment_methods"]}
    assert enabled["sandbox:USD"] is False
    assert enabled["sandbox:EUR"] is True
    assert list(enabled) == saved["supported_payment_methods"]


async def test_a_signing_secret_shows(alice: Actor) -> None:
    (await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    assert (await settings(alice))["webhook_signing_secret_configured"] is False
    (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    assert (await settings(alice))["webhook_signing_secret_configured"] is True
    assert (await settings(alice, "live"))["webhook_signing_secret_configured"] is False


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("link_expiry_minutes", "4"),
        ("underpayment_tolerance_bps", "501"),
        ("late_monitoring_days", "0"),
        ("overpayment", "'keep'"),
        ("late_payments", "'keep'"),
        ("mode", "'other'"),
        ("version", "0"),
        ("default_currency", "'eur'"),
        ("payment_methods", "'{}'"),
    ],
)
async def test_the_database_refuses_what_cannot_be(alice: Actor, column: str, value: str) -> None:
    (await alice.call("PUT", "/settings", await body(alice))).ok()
    with pytest.raises(asyncpg.CheckViolationError):
        await alice.sql(
            f"UPDATE merchant_settings SET {column} = {value} WHERE merchant_id = $1::uuid",  # noqa: S608
            alice.merchant_id,
        )


@pytest.mark.covers("P-40")
async def test_a_method_that_is_switched_off_stays_listed(alice: Actor) -> None:
    chosen = [{"method_id": "sandbox:EUR", "enabled": False}]
    (await alice.call("PUT", "/settings", await body(alice, payment_methods=chosen))).ok()
    listed = {
        payment_method["method_id"]: payment_method
        for payment_method in (await alice.get("/payment-methods")).ok().body["payment_methods"]
    }
    off, on = listed["sandbox:EUR"], listed["sandbox:USD"]
    assert (off["available"], off["unavailable_reason"]) == (False, "disabled_by_merchant")
    assert (on["available"], on["unavailable_reason"]) == (True, None)
    [project] = (await alice.get("/projects")).ok().body["projects"]
    assert "sandbox:EUR" not in project["payment_method_ids"]
    (await alice.call("PUT", "/settings", await body(alice, payment_methods=[]))).ok()
    listed = {
        payment_method["method_id"]: payment_method
        for payment_method in (await alice.get("/payment-methods")).ok().body["payment_methods"]
    }
    assert listed["sandbox:EUR"]["available"] is True


async def test_the_reference_shows_the_bounds_that_hold(alice: Actor) -> None:
    schemas = (await alice.anonymously("GET", "/openapi.json")).ok().body["components"]["schemas"]
    numbers = ("link_expiry_minutes", "underpayment_tolerance_bps", "late_monitoring_days")
    for name in numbers:
        shown = schemas["NewSettings"]["properties"][name]
        for number in (shown["minimum"], shown["maximum"]):
            (await alice.call("PUT", "/settings", await body(alice, **{name: number}))).ok()
        for number in (shown["minimum"] - 1, shown["maximum"] + 1):
            refused = await alice.call("PUT", "/settings", await body(alice, **{name: number}))
            assert refused.field_errors() == {name: "out_of_range"}
    assert schemas["Branding"]["properties"]["accent_color"]["anyOf"][0]["pattern"] == "^#[0-9A-Fa-f]{6}$"
    link = schemas["LinkRequest"]["properties"]
    assert (link["display_name"]["maxLength"], link["max_payments"]["anyOf"][0]["maximum"]) == (120, 10_000)
    price = {"amount": "1.00", "currency": "EUR"}
    (await alice.post("/payment-links", price | {"display_name": "x" * 120, "max_payments": 10_000})).ok(201)
    refused = await alice.post("/payment-links", price | {"display_name": "x" * 121, "max_payments": 10_001})
    assert refused.field_errors() == {"display_name": "invalid_value", "max_payments": "out_of_range"}
