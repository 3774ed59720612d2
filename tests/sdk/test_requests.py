"""Requests through the SDK: what is repeated and how, what is not, errors, pages, and what a killed process had begun."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor
from tests.running import free_port
from tests.sdk.driven import driven, everything
from tests.sdk.proxy import LOSE, Proxy, error_response
from tollhouse_sdk import (
    ApiError,
    AsyncTollhouse,
    ConnectionFailed,
    Database,
    FileIntents,
    IntentStore,
    Retries,
    SqlIntents,
    Tollhouse,
    error_types,
)
from tollhouse_sdk.errors import retry_after_s
from tollhouse_sdk.paths import segment
from tollhouse_sdk.retries import Retries as Pauses
from tollhouse_sdk.steps import Answer, Flow, Run
from tollhouse_sdk.transports import Transport

BOTH = pytest.mark.parametrize("kind", [Tollhouse, AsyncTollhouse])
COFFEE = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}


@BOTH
async def test_a_lost_response_is_asked_for_again_with_the_same_key(kind: Any, alice: Actor, proxy: Proxy) -> None:
    shop = driven(kind, proxy.url, await alice.key())
    proxy.plan.extend([LOSE, LOSE])
    link = await shop.call("open_link", **COFFEE)
    sent = proxy.passed
    assert [request.status for request in sent] == [201, 201, 201]
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 1
    assert (await alice.get("/payment-links")).body["payment_links"] == [link]


@BOTH
async def test_only_what_is_safe_is_repeated(kind: Any, alice: Actor, proxy: Proxy) -> None:
    shop = driven(kind, proxy.url, await alice.key())
    proxy.plan.append(LOSE)
    with pytest.raises(ConnectionFailed) as lost:
        await shop.call("rotate_secret")
    assert lost.value.was_sent
    proxy.plan.append(error_response(503, "temporarily_unavailable"))
    with pytest.raises(error_types.TemporarilyUnavailable):
        await shop.call("request", "POST", "/payment-links", body=COFFEE)
    assert len(proxy.passed) == 2
    proxy.plan.append(LOSE)
    assert (await shop.call("account"))["mode"] == "test"
    assert len(proxy.passed) == 4


@BOTH
@pytest.mark.parametrize(
    ("status", "code"), [(429, "rate_limited"), (503, "temporarily_unavailable"), (409, "idempotency_in_progress")]
)
async def test_a_busy_service_is_asked_again_when_it_says(
    kind: Any, status: int, code: str, alice: Actor, proxy: Proxy
) -> None:
    shop = driven(kind, proxy.url, await alice.key())
    proxy.plan.append(error_response(status, code, Retry_After="0"))
    assert (await shop.call("open_link", **COFFEE))["amount_minor"] == 420
    assert [request.status for request in proxy.passed] == [status, 201]


@BOTH
async def test_who_should_wait_for_too_long_learns_so_at_once(kind: Any, alice: Actor, proxy: Proxy) -> None:
    shop = driven(kind, proxy.url, await alice.key())
    proxy.plan.append(error_response(429, "rate_limited", Retry_After="3600"))
    with pytest.raises(error_types.RateLimited) as busy:
        await shop.call("account")
    assert busy.value.retry_after_s == 3600
    assert busy.value.doc_url == "https://docs.example/rate_limited"
    assert "https://docs.example/rate_limited" in str(busy.value)
    assert len(proxy.passed) == 1


@BOTH
async def test_where_nobody_listens_it_gives_up(kind: Any) -> None:
    shop = driven(kind, f"http://127.0.0.1:{free_port()}", "th_test_none", retries=Retries(2, 0.01))
    with pytest.raises(ConnectionFailed) as failed:
        await shop.call("rotate_secret")
    assert not failed.value.was_sent


@BOTH
async def test_errors_are_classes_with_what_the_service_said(kind: Any, alice: Actor, proxy: Proxy) -> None:
    shop = driven(kind, alice.service.url, await alice.key())
    with pytest.raises(error_types.ValidationFailed) as invalid:
        await shop.call("open_link", **(COFFEE | {"amount": "-1"}))
    assert [error["field"] for error in invalid.value.errors] == ["amount"]
    assert "amount" in str(invalid.value)
    with pytest.raises(error_types.NotFound) as missing:
        await shop.call("read_link", "none")
    assert missing.value.status == 404
    assert missing.value.request_id
    with pytest.raises(error_types.InvalidApiKey):
        await driven(kind, alice.service.url, "th_test_none").call("account")
    with pytest.raises(error_types.InsufficientFunds):
        await shop.call("request_withdrawal", method_id="sandbox:EUR", amount="1.00", receiver="Nina")
    strange = driven(kind, proxy.url, await alice.key())
    proxy.plan.extend([error_response(418, "new_code"), error_response(400, "")])
    with pytest.raises(ApiError, match="new_code") as unknown:
        await strange.call("account")
    assert (unknown.value.code, type(unknown.value)) == ("new_code", ApiError)
    with pytest.raises(ApiError, match="http_400"):
        await strange.call("account")


@BOTH
async def test_every_page_is_read(kind: Any, alice: Actor) -> None:
    shop = driven(kind, alice.service.url, await alice.key())
    made = [(await shop.call("open_link", **COFFEE))["id"] for _ in range(5)]
    found = await shop.iterate("iterate_links", limit=2, status=["active", "expired"])
    assert [link["id"] for link in found] == made[::-1]
    assert await shop.iterate("iterate_links", external_id="none") == []


@BOTH
async def test_other_formats_and_addresses(kind: Any, alice: Actor) -> None:
    shop = driven(kind, alice.service.url + "/", await alice.key())
    report = await shop.call("request", "GET", "/reports/financial-summary", query={"format": "csv"})
    assert report.startswith("from,to,currency")
    with pytest.raises(ValueError, match="https"):
        kind("http://pay.example", "th_test_none")
    with pytest.raises(ValueError, match="https"):
        kind("ftp://pay.example", "th_test_none")
    assert kind("http://pay.example", "th_test_none", allow_http=True).requests.base_url == "http://pay.example"


def intents(tmp_path: Path, where: str) -> IntentStore:
    """A store of what was begun."""
    if where == "file":
        return FileIntents(tmp_path / "intents")
    database = Database.sqlite(tmp_path / "shop.db")
    database.create_tables()
    return SqlIntents(database)


@BOTH
@pytest.mark.parametrize("where", ["file", "sql"])
async def test_what_was_begun_is_finished_by_the_next_process(
    kind: Any, where: str, alice: Actor, proxy: Proxy, tmp_path: Path
) -> None:
    store = intents(tmp_path, where)
    shop = driven(kind, proxy.url, await alice.key(), intents=store, retries=Retries(1))
    await shop.call("fund", currency="EUR", amount="10.00")
    assert store.waiting() == []
    proxy.plan.append(LOSE)
    with pytest.raises(ConnectionFailed):
        await shop.call("request_withdrawal", method_id="sandbox:EUR", amount="1.00", receiver="Nina")
    [begun] = store.waiting()
    assert (begun.path, begun.method) == ("/withdrawals", "POST")
    next_process = driven(kind, alice.service.url, await alice.key(), intents=store)
    [(intent, result)] = await everything(next_process.client.resume())
    assert intent == begun
    assert (await alice.get("/withdrawals")).body["withdrawals"][0]["id"] == result["id"]
    assert len((await alice.get("/withdrawals")).body["withdrawals"]) == 1
    assert store.waiting() == []


@BOTH
async def test_a_refused_request_is_not_begun_again(kind: Any, alice: Actor, proxy: Proxy, tmp_path: Path) -> None:
    store = intents(tmp_path, "file")
    shop = driven(kind, proxy.url, await alice.key(), intents=store, retries=Retries(1))
    with pytest.raises(error_types.InsufficientFunds):
        await shop.call("request_withdrawal", method_id="sandbox:EUR", amount="1.00", receiver="Nina")
    assert store.waiting() == []
    proxy.plan.append(error_response(503, "temporarily_unavailable"))
    with pytest.raises(error_types.TemporarilyUnavailable):
        await shop.call("request_withdrawal", method_id="sandbox:EUR", amount="1.00", receiver="Nina")
    [(_, error)] = await everything(shop.client.resume())
    assert isinstance(error, error_types.InsufficientFunds)
    assert store.waiting() == []
    without = driven(kind, alice.service.url, await alice.key())
    assert await everything(without.client.resume()) == []


def test_pauses_grow_and_honour_the_service() -> None:
    pauses = Pauses(attempts=4, first_pause_s=1, pause_max_s=10)
    grown = [pauses.pause_s(attempt, None) for attempt in (1, 2, 3)]
    assert all(low <= (one or 0) <= high for one, low, high in zip(grown, (0.5, 1, 2), (1, 2, 4), strict=True))
    assert pauses.pause_s(4, None) is None
    assert pauses.pause_s(1, Answer(429, {"retry-after": "7"})) == 7
    assert pauses.pause_s(1, Answer(429, {"retry-after": "11"})) is None
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    date = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=9), usegmt=True),
    }
    assert retry_after_s(Answer(503, date)) == 9
    assert retry_after_s(Answer(503, {"retry-after": "soon", "date": date["date"]})) is None
    assert retry_after_s(Answer(503, {"retry-after": date["date"]})) is None
    assert retry_after_s(Answer(503)) is None


def test_an_id_stays_in_its_place() -> None:
    assert segment("a/../b?c#d") == "a%2F..%2Fb%3Fc%23d"
    for value in ("", ".", ".."):
        with pytest.raises(ValueError, match="cannot be"):
            segment(value)


async def test_nothing_secret_is_in_an_intent(alice: Actor, tmp_path: Path, proxy: Proxy) -> None:
    key = await alice.key()
    shop = driven(Tollhouse, proxy.url, key, intents=intents(tmp_path, "file"), retries=Retries(1))
    proxy.plan.append(LOSE)
    with pytest.raises(ConnectionFailed):
        await shop.call("open_link", **COFFEE)
    [file] = (tmp_path / "intents").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert key not in file.read_text()
    assert json.loads(file.read_text())["body"] == COFFEE


def test_an_interrupted_flow_is_closed_at_once() -> None:
    closed: list[bool] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    def steps() -> Flow[None]:
        try:
            yield Run(interrupt)
        finally:
            closed.append(True)

    flow = steps()
    transport = Transport()
    with pytest.raises(KeyboardInterrupt):
        transport.complete(flow)
    assert closed == [True]
    transport.close()
