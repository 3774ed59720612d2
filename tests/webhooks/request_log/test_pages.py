"""The request log as a merchant looks it up: who asked for what, of one environment, and nothing secret."""

import pytest

from tests.cast import INTEGRATION, Actor, application
from tests.forms import forms, seen, signed_out
from tests.webhooks.request_log.reading import all_written, listed, written
from tollhouse.kernel.ids import new_id_text
from tollhouse.platform.database.packed_json import unpack

COFFEE = {"display_name": "Coffee for Nina", "amount": "4.20", "currency": "EUR", "metadata": {"table": "by the window"}}
AT = "/test/developers/requests"


@pytest.mark.long
async def test_requests_are_listed_newest_first_and_filtered(alice: Actor) -> None:
    assert "No recent requests in the test environment." in await seen(alice, AT)
    asked = new_id_text()
    key = await alice.key()
    (await alice.get("/balances")).ok()
    (await alice.post("/payment-links", COFFEE, key="order-1")).ok(201)
    (await alice.post("/payment-links", {"amount": "x"}, key="order-2")).ok(422)
    headers = {"X-API-Key": key, "X-Request-Id": asked}
    (await alice.anonymously("GET", f"{INTEGRATION}/transactions?status=succeeded&nina=1", headers=headers)).ok(422)
    found = await written(alice, 4)
    assert [line for _, line in found] == [
        "GET /transactions",
        "POST /payment-links",
        "POST /payment-links",
        "GET /balances",
    ]
    ids = [one for one, _ in found]
    for query, places in {
        "?method=GET": [0, 3],
        "?status=4xx": [0, 1],
        "?status=2xx&method=POST": [2],
        "?status=5xx": [],
        "?path=payment": [1, 2],
        "?path=%25": [],
        "?key=order-1": [2],
        "?key=order": [],
        f"?request_id={asked.upper()}": [0],
        f"?credential={(await alice.dashboard('GET', '/api-keys')).ok().body['api_keys'][0]['api_key_id']}": [0, 1, 2, 3],
        "?credential=thc_nobody": [],
        f"?before={ids[1]}": [2, 3],
        f"?method=GET&before={ids[1]}": [3],
        f"?before={ids[3]}": [],
    }.items():
        assert [one for one, _ in await listed(alice, query)] == [ids[place] for place in places], query
    assert "No requests match these filters." in await seen(alice, f"{AT}?status=5xx")
    assert "No older requests." in await seen(alice, f"{AT}?before={ids[3]}")
    assert await listed(alice, mode="live") == []
    for query in ("?status=lost", "?method=PATCH", "?before=x", "?page=2"):
        await seen(alice, f"{AT}{query}", 422)


@pytest.mark.long
async def test_one_request_with_what_was_sent_and_answered(alice: Actor) -> None:
    (await alice.post("/payment-links", COFFEE | {"webhook_url": "https://shop.example/s3cr3t"}, key="order-1")).ok(201)
    [(made, _)] = await written(alice, 1)
    page = await seen(alice, f"{AT}/{made}")
    for words in ('"amount": "4.20"', '"currency": "EUR"', "https://shop.example/…", '"display_name": "[redacted]"', "201"):
        assert words in page
    for words in ("Nina", "s3cr3t", "by the window", "order-1", await alice.key()):
        assert words not in page
    assert "curl -g -X POST" in page
    assert forms(page) == ["/signout"]
    (await alice.post("/payment-links", COFFEE, key="order-1")).refused("idempotency_key_reused", 422)
    (await alice.post("/payment-links", COFFEE, key="order-3")).ok(201)
    again = COFFEE | {"webhook_url": "https://shop.example/s3cr3t"}
    (await alice.post("/payment-links", again, key="order-1")).ok(201)
    found = await written(alice, 4)
    page = await seen(alice, f"{AT}/{found[0][0]}")
    assert "sent; the response is a replay of the first request" in page
    assert "Requests with the same Idempotency-Key" in page
    assert f"{AT}/{made}" in page
    assert f"{AT}/{found[1][0]}" not in page
    assert "idempotency_key_reused" in await seen(alice, f"{AT}/{found[2][0]}")


async def test_bodies_that_earlier_versions_stored_are_shown(alice: Actor) -> None:
    (await alice.post("/payment-links", COFFEE)).ok(201)
    [(made, _)] = await written(alice, 1)
    await alice.sql(
        """UPDATE api_requests SET request_body = NULL, response_body = NULL,
                                   asked = '{"amount":"4.20"}', answered = 'no JSON'
           WHERE id = $1::uuid""",
        made,
    )
    page = await seen(alice, f"{AT}/{made}")
    assert '"amount": "4.20"' in page
    assert "no JSON" in page


async def test_what_an_application_requests_is_its_merchants(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, "account:read"))["access_token"]
    (await app.api(token, "GET", "/account")).ok()
    (await app.api(token, "GET", "/balances")).refused("missing_scope", 403)
    found = await written(alice, 2)
    assert [line for _, line in found] == ["GET /balances", "GET /account"]
    assert await listed(alice, f"?credential={app.client_id}") == found
    page = await seen(alice, f"{AT}/{found[0][0]}")
    for words in ("missing_scope", "Northwind Ledger", "/settings/connected-apps/"):
        assert words in page
    assert token not in page
    assert await listed(bob) == []
    grant = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]["grant_id"]
    assert "/test/developers/requests?credential=" in await seen(alice, f"/settings/connected-apps/{grant}")


async def test_nobody_elses(alice: Actor, mallory: Actor) -> None:
    (await alice.get("/balances")).ok()
    (await mallory.anonymously("GET", f"{INTEGRATION}/balances", headers={"X-API-Key": "th_test_x"})).ok(401)
    (await alice.get("/balances", mode="live")).ok()
    [(one, _)] = await written(alice, 1)
    [(live, _)] = await written(alice, 1, mode="live")
    assert one != live
    assert await listed(mallory) == []
    for path in (f"{AT}/{one}", f"/live/developers/requests/{live}"):
        await seen(mallory, path, 404)
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)
    await seen(alice, f"/live/developers/requests/{one}", 404)
    await seen(alice, f"{AT}/{live}", 404)
    await seen(alice, "/prod/developers/requests", 404)
    await seen(alice, f"{AT}/nonsense", 404)


async def test_pages_turn_at_the_last_one_seen(alice: Actor) -> None:
    for _ in range(22):
        (await alice.get("/currencies")).ok()
    await all_written(alice, 22)
    page = await seen(alice, f"{AT}?method=GET")
    older = page.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    assert older.startswith("?method=GET&before=")
    assert len(await written(alice, 2, older)) == 2
    assert 'href="?method=GET" rel="prev"' in await seen(alice, AT + older)


async def test_no_secret_reaches_the_log(alice: Actor) -> None:
    url = "https://shop.example/hook"
    (await alice.call("PUT", "/webhook", {"url": url, "event_types": ["payment.succeeded"]}))
    secret = (await alice.post("/webhook/rotate-secret")).ok().body["secret"]
    key = await alice.key()
    (await alice.anonymously("GET", f"{INTEGRATION}/balances?api_key={key}", headers={"X-API-Key": key}))
    (await alice.anonymously("GET", f"{INTEGRATION}/balances/{key}", headers={"X-API-Key": key}))
    await written(alice, 4)
    rows = await alice.sql(
        "SELECT r::text AS line, request_body, response_body FROM api_requests r WHERE merchant_id = $1::uuid",
        alice.merchant_id,
    )
    bodies = [unpack(body).decode() for row in rows for body in (row["request_body"], row["response_body"]) if body]
    kept = "\n".join([*(row["line"] for row in rows), *bodies])
    assert "/webhook/rotate-secret" in kept
    assert '"secret":"[redacted]"' in kept
    for hidden in (secret, key, secret[6:], key[8:]):
        assert hidden not in kept
