"""What a JSON body may be: the texts that are refused before anything is looked at, and what stands for nothing."""

from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor, Answer
from tests.payments.bank import sell
from tests.payments.shop import COFFEE, open_link

LINKS = "/api/v2/integration/payment-links"
RULE: dict[str, Any] = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_payment", "version": 1}
TEXTS = {
    "a member twice": b'{"display_name": "a", "display_name": "b", "amount": "1", "currency": "EUR"}',
    "a member twice, further in": b'{"display_name": "a", "metadata": {"a": "1", "a": "2"}}',
    "arrays without end": b"[" * 30_000 + b"]" * 30_000,
    "objects without end": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deeper than anything of ours": b'{"metadata":' + b"[" * 100 + b"]" * 100 + b"}",
}


async def written(actor: Actor, path: str, text: bytes, **headers: str) -> Answer:
    """Post this text as JSON."""
    sent = {"X-API-Key": await actor.key(), "Content-Type": "application/json", **headers}
    return await actor.send("POST", path, data=text, headers=sent)


@pytest.mark.covers("P-7")
@pytest.mark.parametrize("name", TEXTS)
async def test_what_two_readers_could_read_in_two_ways_is_malformed(alice: Actor, name: str) -> None:
    (await written(alice, LINKS, TEXTS[name])).refused("invalid_request", 400)


async def test_an_unknown_name_has_a_suggestion(alice: Actor) -> None:
    sent = {"display_nam": "Tea", "amount": "1.00", "curency": "EUR", "zzz": 1, "x" * 30_000: 1}
    errors = (await alice.post("/payment-links", sent)).refused("validation_failed", 422).body["errors"]
    unknown = {error["field"]: error for error in errors if error["code"] == "unknown_field"}
    assert unknown["display_nam"]["suggestion"] == "display_name"
    assert unknown["curency"]["message"] == "`curency` is not a known field. Did you mean `currency`?"
    assert "suggestion" not in unknown["zzz"]
    assert "suggestion" not in unknown["x" * 30_000]
    [listed] = (await alice.get("/payment-links?limt=2")).refused("validation_failed", 422).body["errors"]
    assert (listed["field"], listed["code"], listed["suggestion"]) == ("limt", "unknown_field", "limit")


async def test_names_that_are_there_already_are_no_suggestion_and_only_a_few_are_looked_for(alice: Actor) -> None:
    """To compare names takes time, and whoever sends thousands of them gets their codes alone."""
    sent = COFFEE | {"amounts": "1"} | {f"curenc{number}": 1 for number in range(500)}
    errors = (await alice.post("/payment-links", sent)).refused("validation_failed", 422).body["errors"]
    assert len(errors) == 501
    assert not [error for error in errors if error.get("suggestion") in COFFEE]


async def test_where_nothing_is_asked_for_nothing_may_be_sent(alice: Actor) -> None:
    path = f"{LINKS}/{(await open_link(alice))['id']}/cancel"
    (await written(alice, path, b"{")).refused("invalid_request", 400)
    assert (await written(alice, path, b'{"reason": "x"}')).field_errors() == {"reason": "unknown_field"}
    (await written(alice, path, b"x", **{"Content-Type": "text/plain"})).refused("unsupported_media_type", 415)
    (await written(alice, path, b"{}")).ok()
    (await alice.anonymously("POST", path, headers={"X-API-Key": await alice.key()})).ok()


async def test_a_body_in_which_all_is_optional_may_be_left_out(alice: Actor) -> None:
    paid, key = await sell(alice), str(uuid4())
    path = f"/transactions/{paid['id']}/refunds"
    (await alice.call("POST", path)).refused("idempotency_key_required", 400)
    bare = (await alice.call("POST", path, key=key)).ok(201)
    assert bare.body["amount"] == paid["amount"]
    again = (await alice.call("POST", path, {}, key=key)).ok(201)
    assert (again.raw, again.headers["Idempotency-Replayed"]) == (bare.raw, "true")
    (await alice.call("POST", "/payment-links")).refused("invalid_request", 400)


async def test_null_says_what_absence_says(alice: Actor) -> None:
    paid = await sell(alice)
    refunded = (await alice.post(f"/transactions/{paid['id']}/refunds", {"reason": None, "amount": None}, key="k")).ok(201)
    assert (refunded.body["reason"], refunded.body["amount"]) == ("customer_request", paid["amount"])
    assert (await alice.post("/payment-links", COFFEE | {"currency": None})).status == 422


@pytest.mark.parametrize(
    ("path", "body", "problems"),
    [
        ("/payment-links", COFFEE | {"metadata": {"a": 1}}, {"metadata.a": "invalid_type"}),
        ("/payment-links", COFFEE | {"payment_method_ids": [5]}, {"payment_method_ids.0": "invalid_type"}),
    ],
)
async def test_an_error_names_its_place(alice: Actor, path: str, body: dict[str, Any], problems: dict[str, str]) -> None:
    assert (await alice.post(path, body)).field_errors() == problems


async def test_an_error_within_an_object_names_the_member(alice: Actor) -> None:
    shown = (await alice.get("/settings")).ok().body
    settable = (
        "default_currency", "link_expiry_minutes", "underpayment_tolerance_bps", "overpayment", "late_payments",
        "late_monitoring_days", "confirmations", "version",
    )  # fmt: skip
    body = {name: shown[name] for name in settable} | {
        "branding": {"x": 1},
        "payment_methods": [{"method_id": "sandbox:EUR"}],
    }
    refused = await alice.call("PUT", "/settings", body)
    assert refused.field_errors() == {"branding.x": "unknown_field", "payment_methods.0.enabled": "missing"}


async def test_types_and_rules_are_reported_at_once(alice: Actor) -> None:
    sent = {
        "display_name": "", "amount": 5, "max_payments": "1", "expires_at": "tomorrow", "metadata": {"a": 1, "b": "x" * 501},
        "payment_method_ids": [7, "nope:EUR"], "success_url": "shop", "surprise": True,
    }  # fmt: skip
    refused = await alice.post("/payment-links", sent)
    assert refused.field_errors() == {
        "display_name": "invalid_value", "amount": "invalid_amount", "currency": "missing", "max_payments": "invalid_type",
        "expires_at": "invalid_value", "metadata.a": "invalid_type", "metadata.b": "too_long",
        "payment_method_ids.0": "invalid_type", "payment_method_ids.1": "method_unavailable", "success_url": "invalid_url",
        "surprise": "unknown_field",
    }  # fmt: skip
    messages = {problem["field"]: problem["message"] for problem in refused.body["errors"]}
    assert all(message.startswith(f"`{field}` ") and message.endswith(".") for field, message in messages.items())
    rule = "must be 1 to 120 characters long, without control or invisible characters."
    assert messages["display_name"] == f"`display_name` {rule}"
    assert messages["metadata.b"] == "`metadata.b` must be at most 500 characters long."


async def test_a_registration_tells_types_and_rules_at_once(alice: Actor) -> None:
    sent = {"name": 5, "client_type": "hidden", "redirect_uris": ["https://a.example/#", 7], "scopes": ["all"], "x": 1}
    problems = {
        "name": "invalid_type", "client_type": "invalid_value", "redirect_uris.0": "fragment_forbidden",
        "redirect_uris.1": "invalid_type", "scopes.0": "unknown_scope", "x": "unknown_field",
    }  # fmt: skip
    assert (await alice.dashboard("POST", "/oauth/clients", sent)).field_errors() == problems
    unknown = "/oauth/clients/thc_0000000000000000000000"
    assert (await alice.dashboard("PUT", unknown, sent)).field_errors() == problems | {"version": "missing"}
    flags = {"enabled": "missing", "version": "invalid_type"}
    assert (await alice.dashboard("POST", f"{unknown}/status", {"version": "1"})).field_errors() == flags


NOBODY = "0198b2f0-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("method", "path", "body", "problem"),
    [
        ("POST", f"/transactions/{NOBODY}/refunds", {"amount": "-1"}, "amount"),
        ("POST", f"/transactions/{NOBODY}/refunds", {"external_id": ""}, "external_id"),
        ("POST", f"/test/transactions/{NOBODY}/simulate", {"outcome": "succeed", "amount": "x"}, "amount"),
        ("POST", f"/test/refunds/{NOBODY}/simulate", {"outcome": "x"}, "outcome"),
        ("POST", f"/test/withdrawals/{NOBODY}/simulate", {"outcome": "x"}, "outcome"),
        ("PUT", f"/conversion-rules/{NOBODY}", RULE | {"percent": 0}, "percent"),
        ("PUT", f"/conversion-rules/{NOBODY}", RULE | {"from_currency": "XXX"}, "from_currency"),
    ],
)
async def test_a_body_is_judged_before_the_object_is_looked_up(
    alice: Actor, method: str, path: str, body: dict[str, Any], problem: str
) -> None:
    assert set((await alice.call(method, path, body, key="k")).field_errors()) == {problem}
