"""Failed client authentication is limited by client and address; successes are not."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.cast import Actor, Answer, Application, application, post_form, sign_up
from tests.running import Service, with_limits

TOKEN, REVOKE = "/api/v2/oauth/token", "/api/v2/oauth/revoke"
LIMIT = 5
AGE_FAILURES = "UPDATE failed_attempts SET failed_at = ARRAY(SELECT t - interval '1 minute' FROM unnest(failed_at) t)"


@pytest.fixture
def limited(make_service: Callable[..., Service]) -> Service:
    """A service with a low limit."""
    return make_service(fresh=True, TOLLHOUSE_RATE_LIMITS="on", TOLLHOUSE_RATE_CLIENT_AUTH=str(LIMIT))


@pytest.fixture
async def owner(limited: Service) -> AsyncIterator[Actor]:
    """An owner of applications."""
    async with sign_up(limited, "bob", "Bob's Books") as actor:
        yield actor


@pytest.fixture
async def app(owner: Actor) -> Application:
    """A confidential application of the owner."""
    return await application(owner)


async def call(app: Application, secret: str, path: str = TOKEN, address: str = "192.0.2.1") -> Answer:
    """A request from this address with this secret."""
    fields = {"grant_type": "refresh_token", "refresh_token": "x", "token": "x"}
    credentials = {"client_id": app.client_id, "client_secret": secret}
    return await post_form(app.owner.service.url + path, fields | credentials, X_Forwarded_For=address)


def assert_throttled(answer: Answer, within_s: int = 60) -> None:
    """429 with an OAuth error and CORS headers."""
    answer.refused("temporarily_unavailable", 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= within_s
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.covers("O-179", "O-211")
async def test_failures_are_limited_by_client_and_address(app: Application, owner: Actor) -> None:
    other = await application(owner)
    for turn in range(LIMIT):
        (await call(app, "wrong", REVOKE if turn % 2 else TOKEN)).refused("invalid_client", 401)
    assert_throttled(await call(app, "wrong"))
    assert_throttled(await call(app, "wrong", REVOKE))
    (await call(app, "wrong", address="192.0.2.2")).refused("invalid_client", 401)
    (await call(other, "wrong")).refused("invalid_client", 401)


@pytest.mark.covers("O-211")
async def test_right_secret_is_never_limited(app: Application) -> None:
    responses = [await call(app, "wrong") for _ in range(LIMIT + 1)]
    assert_throttled(responses[-1])
    for _ in range(3 * LIMIT):
        (await call(app, app.client_secret or "")).refused("invalid_grant", 400)
    assert_throttled(await call(app, "wrong"))


@pytest.mark.covers("O-211")
async def test_unknown_client_is_limited_like_a_known_one(app: Application) -> None:
    unknown = Application(app.owner, "thc_" + "x" * 22, "wrong")
    for _ in range(LIMIT):
        (await call(unknown, "wrong")).refused("invalid_client", 401)
    assert_throttled(await call(unknown, "wrong"))
    (await call(app, "wrong")).refused("invalid_client", 401)


async def test_limit_ends_after_a_minute(app: Application, owner: Actor) -> None:
    responses = [await call(app, "wrong") for _ in range(LIMIT + 1)]
    assert_throttled(responses[-1])
    await owner.sql(AGE_FAILURES)
    (await call(app, "wrong")).refused("invalid_client", 401)


async def test_each_failure_expires_after_a_minute(app: Application, owner: Actor) -> None:
    for _ in range(LIMIT):
        await call(app, "wrong")
    await owner.sql("UPDATE failed_attempts SET failed_at[1] = failed_at[1] - interval '55 seconds'")
    assert_throttled(await call(app, "wrong"), within_s=5)
    await owner.sql("UPDATE failed_attempts SET failed_at[1] = failed_at[1] - interval '5 seconds'")
    (await call(app, "wrong")).refused("invalid_client", 401)
    assert_throttled(await call(app, "wrong"))


async def test_concurrent_failures_are_counted(app: Application) -> None:
    responses = await asyncio.gather(*(call(app, "wrong") for _ in range(4 * LIMIT)))
    assert sorted(answer.status for answer in responses) == [401] * LIMIT + [429] * 3 * LIMIT


async def test_ipv6_network_counts_as_one_address(app: Application) -> None:
    for n in range(LIMIT):
        (await call(app, "wrong", address=f"2001:db8::{n}")).refused("invalid_client", 401)
    assert_throttled(await call(app, "wrong", address="2001:db8::ffff:1"))
    (await call(app, "wrong", address="2001:db8:0:1::1")).refused("invalid_client", 401)
    (await call(app, "wrong", address="::ffff:192.0.2.9")).refused("invalid_client", 401)
    (await call(app, "wrong", address="::ffff:192.0.2.10")).refused("invalid_client", 401)


async def test_requests_without_client_id_are_not_counted(limited: Service, owner: Actor) -> None:
    before = await owner.sql("SELECT count(*) AS n FROM failed_attempts")
    for _ in range(LIMIT + 1):
        (await post_form(limited.url + TOKEN, {"grant_type": "refresh_token"})).refused("invalid_client", 401)
    assert await owner.sql("SELECT count(*) AS n FROM failed_attempts") == before


async def test_table_stores_no_names(app: Application, owner: Actor) -> None:
    await call(app, "wrong")
    stored = "".join(row["all"] for row in await owner.sql("SELECT f::text AS all FROM failed_attempts f"))
    assert stored
    assert app.client_id not in stored
    assert "192.0.2" not in stored


@pytest.mark.parametrize("setting", [{"TOLLHOUSE_RATE_LIMITS": "off"}, {"TOLLHOUSE_RATE_CLIENT_AUTH": "0"}])
async def test_limit_can_be_disabled(make_service: Callable[..., Service], setting: dict[str, str]) -> None:
    lax = await with_limits(make_service, **({"TOLLHOUSE_RATE_CLIENT_AUTH": "1"} | setting))
    async with sign_up(lax, "bob", "Bob's Books") as bob:
        app = await application(bob)
        for _ in range(3):
            (await call(app, "wrong")).refused("invalid_client", 401)
