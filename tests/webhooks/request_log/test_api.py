"""The request log as the API shows it: to an application its own requests, to an API key those of all keys."""

from typing import Any
from uuid import uuid4

from tests.cast import Actor, application
from tests.webhooks.request_log.reading import all_written

LOG = "/request-log"


def seen(log: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Method, path and status of each request."""
    return [(entry["method"], entry["path"], entry["status"]) for entry in log["requests"]]


async def test_a_key_sees_the_requests_of_all_keys_without_bodies(alice: Actor, bob: Actor) -> None:
    other = (await alice.dashboard("POST", "/api-keys", {"name": "Till", "mode": "test"})).ok(201).body["api_key"]
    await alice.post("/payment-links", {"display_name": "Secret plans", "amount": "4.20", "currency": "EUR"}, key="k-1")
    await alice.anonymously("GET", "/api/v2/integration/balances", headers={"X-API-Key": other})
    await alice.get("/payment-links/nothing")
    await alice.get("/account", mode="live")
    app = await application(bob)
    tokens = await app.connect(alice, "account:read balances:read offline_access")
    await app.api(tokens["access_token"], "GET", "/balances")
    await app.api(tokens["access_token"], "GET", "/withdrawals")
    await all_written(alice, 6)
    answer = (await alice.get(LOG)).ok()
    assert seen(answer.body) == [
        ("GET", "/payment-links/nothing", 404), ("GET", "/balances", 200), ("POST", "/payment-links", 201),
    ]  # fmt: skip
    assert b"Secret plans" not in answer.raw
    assert [entry["error"] for entry in answer.body["requests"]] == ["not_found", None, None]
    own = (await app.api(tokens["access_token"], "GET", LOG)).ok().body
    assert seen(own) == [("GET", "/withdrawals", 403), ("GET", "/balances", 200)]
    assert own["requests"][0]["error"] == "missing_scope"
    assert seen((await alice.get(LOG, mode="live")).ok().body) == [("GET", "/account", 200)]


async def test_an_application_sees_nothing_of_others_or_of_other_merchants(alice: Actor, carol: Actor, bob: Actor) -> None:
    first, second = await application(bob), await application(bob, name="Second")
    scope = "account:read offline_access"
    tokens = [await first.connect(merchant, scope) for merchant in (alice, carol)]
    third = await second.connect(alice, scope)
    for token in tokens:
        await first.api(token["access_token"], "GET", "/account")
    await all_written(alice, 1)
    await all_written(carol, 1)
    for token in tokens:
        assert seen((await first.api(token["access_token"], "GET", LOG)).ok().body) == [("GET", "/account", 200)]
    assert seen((await second.api(third["access_token"], "GET", LOG)).ok().body) == []
    assert seen((await alice.get(LOG)).ok().body) == []


async def test_the_log_is_read_on_from_a_request(alice: Actor) -> None:
    for number in range(5):
        await alice.get(f"/payment-links/{number}")
    await all_written(alice, 5)
    first = (await alice.get(f"{LOG}?limit=2")).ok().body
    second = (await alice.get(f"{LOG}?limit=2&before={first['requests'][-1]['id']}")).ok().body
    last = (await alice.get(f"{LOG}?limit=2&before={second['requests'][-1]['id']}")).ok().body
    assert [first["has_more"], second["has_more"], last["has_more"]] == [True, True, False]
    found = [path for page in (first, second, last) for _, path, _ in seen(page)]
    assert sorted(found) == [f"/payment-links/{number}" for number in range(5)]
    for query in ("limit=0", "limit=101", "before=x", "page=1", "cursor=a"):
        (await alice.get(f"{LOG}?{query}")).refused("validation_failed", 422)
    assert (await alice.get(f"{LOG}?before={uuid4()}")).status == 200


async def test_it_needs_a_permission(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    tokens = await app.connect(alice, "payments:read offline_access")
    (await app.api(tokens["access_token"], "GET", LOG)).refused("missing_scope", 403)
    (await alice.anonymously("GET", f"/api/v2/integration{LOG}")).ok(401)
