"""Authorization requests that nobody answers are bounded, for each application, user and address."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.cast import Actor, Application, application, consent, sign_up
from tests.oauth.test_device import DEVICE_CODE_GRANT, START
from tests.running import Service

OPEN, MINE = 4, 6
EXPIRE = "UPDATE oauth_requests SET expires_at = now() WHERE client_id = $1"
FORGET = "DELETE FROM failed_attempts"
COUNT = "SELECT count(*) AS rows FROM oauth_requests WHERE client_id = $1"


@pytest.fixture(scope="module")
def limited(make_service: Callable[..., Service]) -> Service:
    """A service with low limits."""
    limits = {"TOLLHOUSE_RATE_AUTHORIZE_APPLICATION": str(OPEN), "TOLLHOUSE_RATE_AUTHORIZE_PERSON": str(MINE)}
    return make_service(fresh=True, TOLLHOUSE_RATE_LIMITS="on", **limits)


@pytest.fixture
async def owner(limited: Service) -> AsyncIterator[Actor]:
    """An owner of applications."""
    async with sign_up(limited, "bob", "Bob's Books") as actor:
        yield actor


@pytest.fixture
async def app(owner: Actor) -> Application:
    """An application of the owner."""
    return await application(owner, grant_types=["authorization_code", "refresh_token", DEVICE_CODE_GRANT])


async def test_an_application_has_a_bounded_number_of_open_requests(app: Application, owner: Actor) -> None:
    path = app.authorize_path("account:read")
    for _ in range(OPEN):
        assert "/oauth/consent/" in (await owner.anonymously("GET", path)).ok(303).location
    refused = (await owner.anonymously("GET", path)).ok(303)
    assert refused.location.startswith("https://app.example/callback")
    assert refused.query["error"] == "temporarily_unavailable"
    device = (await app.protocol(START, {"scope": "account:read", "mode": "test"})).refused("temporarily_unavailable", 429)
    assert int(device.headers["Retry-After"]) >= 1
    assert (await owner.sql(COUNT, app.client_id))[0]["rows"] == OPEN
    # Whoever is signed in still connects, and another application has a number of its own.
    answered = await consent(owner, (await owner.send("GET", path)).ok(303).location, ["account:read"])
    assert "code" in answered.ok(303).query
    other = await application(owner)
    assert "/oauth/consent/" in (await owner.anonymously("GET", other.authorize_path("account:read"))).ok(303).location
    await owner.sql(EXPIRE, app.client_id)
    assert "/oauth/consent/" in (await owner.anonymously("GET", path)).ok(303).location


async def test_devices_fill_the_same_number(app: Application, owner: Actor) -> None:
    body = {"scope": "account:read", "mode": "test"}
    answers = await asyncio.gather(*(app.protocol(START, body) for _ in range(4 * OPEN)))
    given = [answer for answer in answers if answer.status == 200]
    assert len(given) >= OPEN
    assert (await app.protocol(START, body)).status == 429
    refused = (await owner.anonymously("GET", app.authorize_path("account:read"))).ok(303)
    assert refused.query["error"] == "temporarily_unavailable"


async def test_a_user_starts_a_bounded_number(app: Application, owner: Actor) -> None:
    await owner.sql(FORGET)
    paths = [app.authorize_path("account:read") for _ in range(2 * MINE)]
    answers = await asyncio.gather(*(owner.send("GET", path) for path in paths))
    assert sorted(answer.status for answer in answers) == [303] * MINE + [429] * MINE
