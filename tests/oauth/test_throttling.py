"""Failed client authentication is slowed down, by application and address; whoever is right waits for nobody."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.cast import Actor, Answer, Application, application, post_form, sign_up
from tests.running import Service

TOKEN, REVOKE = "/api/v2/oauth/token", "/api/v2/oauth/revoke"
MOST = 5
AGED = "UPDATE failed_attempts SET failed_at = ARRAY(SELECT t - interval '1 minute' FROM unnest(failed_at) t)"


@pytest.fixture
def strict(make_service: Callable[..., Service]) -> Service:
    """A service that counts, with a small number."""
    return make_service(fresh=True, TOLLHOUSE_RATE_LIMITS="on", TOLLHOUSE_RATE_CLIENT_AUTH=str(MOST))


@pytest.fixture
async def owner(strict: Service) -> AsyncIterator[Actor]:
    """Who owns applications there."""
    async with sign_up(strict, "bob", "Bob's Books") as actor:
        yield actor


@pytest.fixture
async def app(owner: Actor) -> Application:
    """A confidential application of theirs."""
    return await application(owner)


async def call(app: Application, secret: str, path: str = TOKEN, address: str = "192.0.2.1") -> Answer:
    """A call from this address, with this secret."""
    fields = {"grant_type": "refresh_token", "refresh_token": "x", "token": "x"}
    credentials = {"client_id": app.client_id, "client_secret": secret}
    return await post_form(app.owner.service.url + path, fields | credentials, X_Forwarded_For=address)


def slowed(answer: Answer, within_s: int = 60) -> None:
    """429 in the protocol's words, for browsers of other sites too."""
    answer.refused("temporarily_unavailable", 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= within_s
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.covers("O-179", "O-211")
async def test_failures_are_slowed_by_application_and_address(app: Application, owner: Actor) -> None:
    other = await application(owner)
    for turn in range(MOST):
        (await call(app, "wrong", REVOKE if turn % 2 else TOKEN)).refused("invalid_client", 401)
    slowed(await call(app, "wrong"))
    slowed(await call(app, "wrong", REVOKE))
    (await call(app, "wrong", address="192.0.2.2")).refused("invalid_client", 401)
    (await call(other, "wrong")).refused("invalid_client", 401)


@pytest.mark.covers("O-211")
async def test_whoever_is_right_is_let_in_all_the_same(app: Application) -> None:
    responses = [await call(app, "wrong") for _ in range(MOST + 1)]
    slowed(responses[-1])
    for _ in range(3 * MOST):
        (await call(app, app.client_secret or "")).refused("invalid_grant", 400)
    slowed(await call(app, "wrong"))


@pytest.mark.covers("O-211")
async def test_an_unknown_application_is_slowed_like_a_known_one(app: Application) -> None:
    nobody = Application(app.owner, "thc_" + "x" * 22, "wrong")
    for _ in range(MOST):
        (await call(nobody, "wrong")).refused("invalid_client", 401)
    slowed(await call(nobody, "wrong"))
    (await call(app, "wrong")).refused("invalid_client", 401)


async def test_the_minute_passes(app: Application, owner: Actor) -> None:
    responses = [await call(app, "wrong") for _ in range(MOST + 1)]
    slowed(responses[-1])
    await owner.sql(AGED)
    (await call(app, "wrong")).refused("invalid_client", 401)


async def test_every_failure_leaves_when_it_is_a_minute_old(app: Application, owner: Actor) -> None:
    for _ in range(MOST):
        await call(app, "wrong")
    await owner.sql("UPDATE failed_attempts SET failed_at[1] = failed_at[1] - interval '55 seconds'")
    slowed(await call(app, "wrong"), within_s=5)
    await owner.sql("UPDATE failed_attempts SET failed_at[1] = failed_at[1] - interval '5 seconds'")
    (await call(app, "wrong")).refused("invalid_client", 401)
    slowed(await call(app, "wrong"))


async def test_of_many_at_once_only_so_many_are_answered(app: Application) -> None:
    responses = await asyncio.gather(*(call(app, "wrong") for _ in range(4 * MOST)))
    assert sorted(answer.status for answer in responses) == [401] * MOST + [429] * 3 * MOST


async def test_neighbours_in_one_ipv6_network_are_one(app: Application) -> None:
    for n in range(MOST):
        (await call(app, "wrong", address=f"2001:db8::{n}")).refused("invalid_client", 401)
    slowed(await call(app, "wrong", address="2001:db8::ffff:1"))
    (await call(app, "wrong", address="2001:db8:0:1::1")).refused("invalid_client", 401)
    (await call(app, "wrong", address="::ffff:192.0.2.9")).refused("invalid_client", 401)
    (await call(app, "wrong", address="::ffff:192.0.2.10")).refused("invalid_client", 401)


async def test_what_names_no_application_is_not_counted(strict: Service, owner: Actor) -> None:
    before = await owner.sql("SELECT count(*) AS n FROM failed_attempts")
    for _ in range(MOST + 1):
        (await post_form(strict.url + TOKEN, {"grant_type": "refresh_token"})).refused("invalid_client", 401)
    assert await owner.sql("SELECT count(*) AS n FROM failed_attempts") == before


async def test_the_table_names_nobody(app: Application, owner: Actor) -> None:
    await call(app, "wrong")
    kept = "".join(row["all"] for row in await owner.sql("SELECT f::text AS all FROM failed_attempts f"))
    assert kept
    assert app.client_id not in kept
    assert "192.0.2" not in kept


@pytest.mark.parametrize("setting", [{"TOLLHOUSE_RATE_LIMITS": "off"}, {"TOLLHOUSE_RATE_CLIENT_AUTH": "0"}])
async def test_it_can_be_switched_off(make_service: Callable[..., Service], setting: dict[str, str]) -> None:
    lax = make_service(**({"TOLLHOUSE_RATE_LIMITS": "on", "TOLLHOUSE_RATE_CLIENT_AUTH": "1"} | setting))
    async with sign_up(lax, "bob", "Bob's Books") as bob:
        app = await application(bob)
        for _ in range(3):
            (await call(app, "wrong")).refused("invalid_client", 401)
