"""Paths and queries that no browser sends: every operation refuses them in the usual way, and none is a fault of ours."""

import re

import pytest

from tests.cast import Actor, of_the_file
from tests.running import Service
from tests.wire import Wire
from tollhouse.http.operations import Operation
from tollhouse.instance.api import OPERATIONS

alice = of_the_file("alice", "Alice's Coffee")
NAMED = re.compile(r"\{[a-z_]+\}")
MODE = "{mode}"
IN_PATHS = ("%00", "a%00b", "%ff%fe", "%ed%a0%80", "%2e%2e%2f", "%E2%80%AE", "'%22;--", "9" * 400)
IN_QUERIES = ("page=%00", "%00=1", "cursor=%ff", "status=%ed%a0%80", "created_from=%00", "q=%C3%28", "page=1%", "mode=a%00b")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def headers_of(actor: Actor, operation: Operation) -> dict[str, str]:
    """What opens the door: an API key, or the session of the browser."""
    if operation.surface.name == "integration":
        return {"X-API-Key": await actor.key(), "Idempotency-Key": "k", "Content-Type": "application/json"}
    cookies = {cookie.key: cookie.value for cookie in actor.http.cookie_jar}
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()), "Accept": "text/html", **FORM}


@pytest.mark.long
async def test_no_path_causes_a_500(alice: Actor, service: Service) -> None:
    """Every operation, with hostile text in all places of its path that take any: a NUL, and one other in turn."""
    wire = Wire(service.url)
    for number, operation in enumerate(OPERATIONS):
        path = operation.full_path.replace(MODE, "test")
        if "{" not in path:
            continue
        headers = await headers_of(alice, operation)
        for hostile in ("%00", IN_PATHS[number % len(IN_PATHS)]):
            body = None if operation.method == "GET" else b""
            answered = wire.request(operation.method, NAMED.sub(hostile, path), body, headers)
            assert answered.status < 500, (operation.method, path, hostile, answered.raw)
            if "%00" in hostile:
                assert answered.status == 404, (operation.method, path, hostile)
        if MODE in operation.full_path:
            assert wire.request(operation.method, operation.full_path.replace(MODE, "%00"), None, headers).status == 404
    wire.close()


@pytest.mark.long
async def test_no_query_causes_a_500(alice: Actor, service: Service) -> None:
    wire = Wire(service.url)
    for number, operation in enumerate(OPERATIONS):
        if operation.method != "GET":
            continue
        path = NAMED.sub("018f0000-0000-7000-8000-000000000000", operation.full_path.replace(MODE, "test"))
        headers = await headers_of(alice, operation)
        query = IN_QUERIES[number % len(IN_QUERIES)]
        answered = wire.request("GET", f"{path}?{query}", None, headers)
        assert answered.status < 500, (path, query, answered.raw)
    wire.close()


@pytest.mark.parametrize("path", ["/pay/%00", "/pay/%00/status", "/pay/a%00/method", "/nothing/%00", "/test/payments/%00"])
async def test_a_path_with_a_nul_is_not_found(alice: Actor, path: str) -> None:
    (await alice.anonymously("GET", path)).refused("not_found", 404)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/static/", 404),
        ("GET", "/static/nothing.css", 404),
        ("GET", "/static/%00", 404),
        ("GET", "/static/app.css%00", 404),
        ("GET", "/static/%ff", 404),
        ("GET", "/static/..%2f..%2fmain.py", 404),
        ("GET", "/static/" + "a" * 3_000, 404),
        ("HEAD", "/static/nothing.css", 404),
        ("POST", "/static/app.css", 405),
        ("DELETE", "/static/nothing.css", 405),
        ("OPTIONS", "/static/app.css", 405),
        ("PROPFIND", "/static/app.css", 405),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
async def test_what_is_not_among_our_files_is_refused_as_everywhere(
    alice: Actor, method: str, path: str, status: int, accept: str
) -> None:
    answer = await alice.anonymously(method, path, headers={"Accept": accept})
    assert answer.status == status
    assert answer.headers["Content-Type"].partition(";")[0] == accept
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers.get("Allow") == ("GET, HEAD" if status == 405 else None)
    if method != "HEAD":
        assert answer.headers["X-Request-Id"] in answer.text
    if method != "HEAD" and accept == "application/json":
        assert answer.body["error"] == {404: "not_found", 405: "method_not_allowed"}[status]


async def test_a_file_is_sent_as_ever(alice: Actor) -> None:
    file = (await alice.anonymously("GET", "/static/app.css")).ok()
    assert file.headers["Cache-Control"] == "no-cache"
    assert (await alice.anonymously("HEAD", "/static/app.css")).ok().headers["Content-Length"] == file.headers[
        "Content-Length"
    ]
    (await alice.anonymously("GET", "/static/app.css", headers={"If-None-Match": file.headers["ETag"]})).ok(304)


@pytest.mark.parametrize(
    ("time", "status"),
    [
        ("0001-01-01T00:00:00%2B14:00", 422),
        ("9999-12-31T23:59:59-14:00", 422),
        ("0001-01-01T00:00:00Z", 200),
        ("9999-12-31T23:59:59Z", 200),
        ("0000-01-01T00:00:00Z", 422),
        ("2026-02-30T00:00:00Z", 422),
        ("2026-11-21T24:00:00Z", 422),
        ("2026-11-21T00:00:00%2B99:00", 422),
        ("%00", 400),
    ],
)
@pytest.mark.parametrize("name", ["created_from", "created_to"])
@pytest.mark.parametrize("path", ["/payment-links", "/transactions", "/balance-payments"])
async def test_a_time_that_utc_does_not_hold_is_refused(alice: Actor, path: str, name: str, time: str, status: int) -> None:
    answer = await alice.get(f"{path}?{name}={time}")
    assert answer.status == status, answer.text
    if status == 422:
        assert set(answer.field_errors()) == {name}
