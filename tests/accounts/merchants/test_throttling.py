"""Guessing passwords is slowed down by account and by address; requests of one credential by the minute."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from tests.accounts.merchants.authenticator import enrol, grow_old, log_in
from tests.cast import INTEGRATION, PASSWORD, Actor, Answer, application, post_form, sign_up
from tests.payments.shop import COFFEE, choose
from tests.running import Service, with_limits
from tollhouse.accounts.identity.throttle import ErrorDelay, RateLimited, RequestMeter
from tollhouse.kernel import limits
from tollhouse.pages.checkout import pages, receipt_pages

LOGIN = "/api/v2/merchant/login"
SIGNUP = "/api/v2/merchant/signup"
OF_ACCOUNT, FROM_ADDRESS, REQUESTS = 4, 6, 8
AGED = "UPDATE failed_attempts SET failed_at = ARRAY(SELECT t - interval '15 minutes' FROM unnest(failed_at) t)"
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def strict(make_service: Callable[..., Service]) -> Service:
    """A service that counts, with small numbers."""
    return make_service(
        fresh=True,
        TOLLHOUSE_RATE_LIMITS="on",
        TOLLHOUSE_RATE_SIGNIN_ACCOUNT=str(OF_ACCOUNT),
        TOLLHOUSE_RATE_SIGNIN_ADDRESS=str(FROM_ADDRESS),
        TOLLHOUSE_RATE_API=str(REQUESTS),
    )


@pytest.fixture
async def dora(strict: Service) -> AsyncIterator[Actor]:
    """Somebody with an account there."""
    async with sign_up(strict, "dora", "Dora's Deli") as actor:
        await actor.sql("DELETE FROM failed_attempts")
        yield actor


async def sign_in(actor: Actor, password: str, address: str = "192.0.2.1", email: str = "") -> Answer:
    """Sign in from this address."""
    body = {"email": email or actor.email, "password": password}
    return await actor.anonymously("POST", LOGIN, body, {"X-Forwarded-For": address})


def slowed(answer: Answer) -> None:
    """429, and when to come again."""
    answer.refused("rate_limited", 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 15 * 60


async def test_after_too_many_failures_of_an_account_even_the_right_password_waits(dora: Actor) -> None:
    for n in range(OF_ACCOUNT):
        (await sign_in(dora, "a wrong password", f"192.0.2.{n}")).refused("invalid_credentials", 401)
    slowed(await sign_in(dora, "a wrong password", "192.0.2.99"))
    slowed(await sign_in(dora, PASSWORD, "192.0.2.99"))
    slowed(await sign_in(dora, PASSWORD, "192.0.2.99", email=dora.email.upper()))
    (await dora.dashboard("GET", "/session")).ok()
    await dora.sql(AGED)
    (await sign_in(dora, PASSWORD)).ok()


@pytest.mark.long
async def test_an_address_that_tries_many_accounts_waits_too(dora: Actor) -> None:
    for n in range(FROM_ADDRESS):
        (await sign_in(dora, PASSWORD, email=f"nobody-{n}@example.com")).refused("invalid_credentials", 401)
    slowed(await sign_in(dora, PASSWORD))
    (await sign_in(dora, PASSWORD, "192.0.2.2")).ok()


async def test_an_account_that_is_not_there_answers_the_same(dora: Actor) -> None:
    for _ in range(OF_ACCOUNT):
        (await sign_in(dora, PASSWORD, email="nobody@example.com")).refused("invalid_credentials", 401)
    slowed(await sign_in(dora, PASSWORD, email="nobody@example.com"))


async def test_signing_in_rightly_counts_for_nothing(dora: Actor) -> None:
    for _ in range(OF_ACCOUNT - 1):
        await sign_in(dora, "a wrong password")
    responses = await asyncio.gather(*(sign_in(dora, PASSWORD) for _ in range(FROM_ADDRESS + 2)))
    assert {answer.status for answer in responses} == {200}
    (await sign_in(dora, "a wrong password")).refused("invalid_credentials", 401)
    slowed(await sign_in(dora, "a wrong password"))


async def test_guesses_sent_all_at_once_are_counted_all_the_same(dora: Actor) -> None:
    responses = await asyncio.gather(*(sign_in(dora, f"a wrong password {n}") for n in range(5 * OF_ACCOUNT)))
    assert sorted(answer.status for answer in responses) == [401] * OF_ACCOUNT + [429] * 4 * OF_ACCOUNT


async def test_a_right_guess_among_them_is_not_let_in(dora: Actor) -> None:
    """It is looked up once more behind the password: here the failures arrive while the account is being read."""
    for _ in range(OF_ACCOUNT):
        await sign_in(dora, "a wrong password")
    await dora.sql(AGED)
    holder = await asyncpg.connect(dora.service.dsn)
    try:
        async with holder.transaction():
            await holder.execute("LOCK TABLE users")
            guess = asyncio.create_task(sign_in(dora, PASSWORD))
            while not await holder.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                await asyncio.sleep(0.01)
            await dora.sql(AGED.replace("- interval", "+ interval"))
        slowed(await guess)
    finally:
        await holder.close()


async def test_a_known_device_is_not_locked_out_by_strangers(dora: Actor) -> None:
    """It failed before: whoever knows an email address could keep its owner out."""
    for n in range(2 * OF_ACCOUNT):
        await sign_in(dora, "a wrong password", f"192.0.2.{n}")
    slowed(await sign_in(dora, PASSWORD, "192.0.2.99"))
    body = {"email": dora.email, "password": PASSWORD}
    (await dora.dashboard("POST", "/login", body)).ok()  # the browser that signed up
    for _ in range(OF_ACCOUNT):
        (await dora.dashboard("POST", "/login", body | {"password": "a wrong password"})).refused("invalid_credentials", 401)
    slowed(await dora.dashboard("POST", "/login", body))
    await dora.sql(AGED)
    (await dora.dashboard("POST", "/login", body)).ok()


async def test_a_device_is_known_at_its_own_account_alone(dora: Actor, strict: Service) -> None:
    async with sign_up(strict, "erin", "Erin's Eggs") as erin:
        await dora.sql("DELETE FROM failed_attempts")
        for n in range(OF_ACCOUNT):
            await sign_in(dora, "a wrong password", f"192.0.2.{n}")
        slowed(await erin.dashboard("POST", "/login", {"email": dora.email, "password": PASSWORD}))
        named = [cookie.key for cookie in dora.http.cookie_jar if cookie.key.startswith("tollhouse_device_")]
        forged = {"Cookie": f"{named[0]}={'0' * 32}.{'0' * 64}"}
        body = {"email": dora.email, "password": PASSWORD}
        slowed(await dora.anonymously("POST", LOGIN, body, forged))


@pytest.mark.long
async def test_sign_ups_of_an_address_are_limited_before_they_cost_anything(make_service: Callable[..., Service]) -> None:
    limited = await with_limits(make_service, TOLLHOUSE_RATE_SIGNUP_ADDRESS="2")
    async with sign_up(limited, "dora", "Dora's Deli") as dora:
        await dora.sql("DELETE FROM failed_attempts")

        async def again(address: str, **changes: str) -> Answer:
            body = {"email": f"{uuid4()}@example.com", "password": PASSWORD, "business_name": "Flood"} | changes
            return await dora.anonymously("POST", SIGNUP, body, {"X-Forwarded-For": address})

        (await again("192.0.2.1", email="nothing")).refused("validation_failed", 422)
        for _ in range(2):
            (await again("192.0.2.1")).ok(201)
        slowed(await again("192.0.2.1"))
        (await again("192.0.2.2")).ok(201)
        fields = {"email": "a@example.com", "password": PASSWORD, "business_name": "Flood"}
        shown = await post_form(f"{limited.url}/signup", fields, X_Forwarded_For="192.0.2.1")
        assert int(shown.ok(429).headers["Retry-After"]) >= 1
        await dora.sql(AGED)
        (await again("192.0.2.1")).ok(201)


async def test_errors_are_held_back_but_no_more_than_so_many_at_once() -> None:
    delay = ErrorDelay(timedelta(hours=1), 2)
    held = [asyncio.create_task(delay.wait()) for _ in range(2)]
    await asyncio.sleep(0)
    await delay.wait()  # a third one is not held
    assert not any(response.done() for response in held)
    held[0].cancel()
    await asyncio.gather(held[0], return_exceptions=True)
    held[0] = asyncio.create_task(delay.wait())
    await asyncio.sleep(0)
    assert not any(response.done() for response in held)
    for response in held:
        response.cancel()
    await asyncio.gather(*held, return_exceptions=True)


@pytest.mark.long
async def test_authorization_requests_without_a_session_are_limited(make_service: Callable[..., Service]) -> None:
    limited = await with_limits(make_service, TOLLHOUSE_RATE_AUTHORIZE_ADDRESS="2")
    async with sign_up(limited, "dora", "Dora's Deli") as dora:
        app = await application(dora)
        path = app.authorize_path("payments:read")
        for _ in range(2):
            (await dora.anonymously("GET", path)).ok(303)
        answer = (await dora.anonymously("GET", path)).refused("rate_limited", 429)
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        [row] = await dora.sql("SELECT count(*) FROM oauth_requests WHERE client_id = $1", app.client_id)
        assert row["count"] == 2
        (await dora.anonymously("GET", path, headers={"X-Forwarded-For": "192.0.2.2"})).ok(303)
        (await dora.send("GET", path)).ok(303)  # who is signed in is known


@pytest.mark.parametrize("setting", ["SIGNUP_ADDRESS", "AUTHORIZE_ADDRESS"])
async def test_a_limit_of_0_is_none(make_service: Callable[..., Service], setting: str) -> None:
    free = await with_limits(make_service, **{f"TOLLHOUSE_RATE_{setting}": "0"})
    async with sign_up(free, "dora", "Dora's Deli") as dora:
        app = await application(dora)
        for _ in range(3):
            (await dora.anonymously("GET", app.authorize_path("payments:read"))).ok(303)


async def test_the_sign_in_page_says_so(dora: Actor, strict: Service) -> None:
    fields = {"email": dora.email, "password": "a wrong password"}
    for _ in range(OF_ACCOUNT):
        (await dora.form("/signin", fields)).ok(401)
    answer = (await dora.form("/signin", fields)).ok(429)
    assert answer.headers["Content-Type"].startswith("text/html")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "Too many requests" in answer.text
    assert f'value="{dora.email}"' in answer.text
    assert strict.settings.rate_limits


async def test_a_network_begins_so_many_payments_a_minute(dora: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STARTS", RequestMeter(16))
    monkeypatch.setattr(pages, "STARTS_PER_MIN", 2)
    link = (await dora.post("/payment-links", COFFEE | {"max_payments": None})).ok(201).body
    for _ in range(2):
        (await choose(link, "sandbox:EUR")).ok(303)
    assert int((await choose(link, "sandbox:EUR")).ok(429).headers["Retry-After"]) >= 1


@pytest.mark.long
async def test_pages_of_the_documentation_that_cost_time_are_limited_by_network(dora: Actor) -> None:
    for number in range(limits.DOCS_SEARCHES_PER_MIN):
        (await dora.anonymously("GET", f"/docs/search?q=payment+{number}")).ok()
    slowed(await dora.anonymously("GET", "/docs/search?q=refund"))
    (await dora.anonymously("GET", "/docs/search?q=refund", headers={"X-Forwarded-For": "192.0.2.9"})).ok()
    (await dora.anonymously("GET", "/docs/payments")).ok()


async def test_a_network_gets_so_many_receipts_as_files_a_minute(dora: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipt_pages, "PRINTS", RequestMeter(16))
    monkeypatch.setattr(receipt_pages, "PRINTS_PER_MIN", 2)
    for _ in range(2):
        (await dora.anonymously("GET", "/pay/unknown/receipt.pdf")).refused("not_found", 404)
    slowed(await dora.anonymously("GET", "/pay/unknown/receipt.pdf"))


async def test_guessing_codes_is_slowed_down_even_all_at_once(dora: Actor) -> None:
    authenticator = await enrol(dora)
    (await log_in(dora, authenticator.code())).ok()
    responses = await asyncio.gather(*(log_in(dora, f"{n:06}") for n in range(FROM_ADDRESS)))
    assert sorted(answer.status for answer in responses) == [401] * OF_ACCOUNT + [429] * (FROM_ADDRESS - OF_ACCOUNT)
    slowed(await log_in(dora, await authenticator.next_code(dora)))
    slowed(await log_in(dora, authenticator.backup_codes[0]))
    await grow_old(dora)
    fields = {"stepup_password": PASSWORD, "stepup_code": authenticator.code()}
    assert int((await dora.form("/stepup", fields)).ok(429).headers["Retry-After"]) >= 1
    assert int((await dora.form("/live/developers/keys", fields)).ok(403).headers["Retry-After"]) >= 1
    await dora.sql(AGED)
    (await dora.form("/stepup", fields)).ok(303)


@pytest.mark.parametrize("kind", ["key", "token"])
async def test_a_credential_has_so_many_requests_a_minute(dora: Actor, kind: str) -> None:
    if kind == "key":
        headers, others = {"X-API-Key": await dora.key()}, {"X-API-Key": await dora.key("live")}
    else:
        app = await application(dora)
        token, other = [(await app.connect(dora, "account:read"))["access_token"] for _ in range(2)]
        headers, others = {"Authorization": f"Bearer {token}"}, {"Authorization": f"Bearer {other}"}
    path = f"{INTEGRATION}/account"
    for number in range(REQUESTS):
        sent = (await dora.anonymously("GET", path, headers=headers)).ok()
        assert sent.headers["RateLimit-Policy"] == f'"api";q={REQUESTS};w=60'
        assert re.fullmatch(rf'"api";r={REQUESTS - number - 1};t=([1-9]|[1-5]\d|60)', sent.headers["RateLimit"])
    answer = (await dora.anonymously("GET", path, headers=headers)).refused("rate_limited", 429)
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["RateLimit"] == f'"api";r=0;t={answer.headers["Retry-After"]}'
    assert {"RateLimit", "RateLimit-Policy"} <= set(answer.headers["Access-Control-Expose-Headers"].split(", "))
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    (await dora.anonymously("GET", path, headers=others)).ok()


async def test_refreshing_gives_no_second_helping(dora: Actor) -> None:
    app = await application(dora)
    tokens = await app.connect(dora, "account:read offline_access")
    for _ in range(REQUESTS):
        (await app.api(tokens["access_token"], "GET", "/account")).ok()
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    (await app.api(fresh["access_token"], "GET", "/account")).refused("rate_limited", 429)


@pytest.mark.parametrize("setting", [{"TOLLHOUSE_RATE_LIMITS": "off"}, {"TOLLHOUSE_RATE_API": "0"}])
async def test_the_minute_can_be_without_limit(make_service: Callable[..., Service], setting: dict[str, str]) -> None:
    lax = await with_limits(make_service, **({"TOLLHOUSE_RATE_API": "1"} | setting))
    async with sign_up(lax, "alice", "Alice's Coffee") as alice:
        for _ in range(3):
            assert "RateLimit" not in (await alice.get("/account")).ok().headers


async def test_refused_requests_are_counted_and_say_what_is_left(dora: Actor) -> None:
    key = {"X-API-Key": await dora.key(scopes=["account:read"])}
    lacking = (await dora.anonymously("GET", f"{INTEGRATION}/balances", headers=key)).refused("missing_scope", 403)
    assert lacking.headers["RateLimit"].startswith(f'"api";r={REQUESTS - 1};t=')
    unknown = await dora.anonymously("GET", f"{INTEGRATION}/account", headers={"X-API-Key": "th_test_x"})
    assert "RateLimit" not in unknown.refused("invalid_api_key", 401).headers


def test_a_minute_begins_with_the_first_request_and_ends() -> None:
    meter, one, other = RequestMeter(), uuid4(), uuid4()
    for second in (0, 30):
        meter.count(one, 2, NOW + timedelta(seconds=second))
    with pytest.raises(RateLimited) as refused:
        meter.count(one, 2, NOW + timedelta(seconds=59.5))
    assert refused.value.headers["Retry-After"] == "1"
    meter.count(other, 2, NOW + timedelta(seconds=59.5))
    meter.count(one, 2, NOW + timedelta(seconds=60))


def test_a_meter_forgets_whose_minute_is_over() -> None:
    meter, kept = RequestMeter(8), uuid4()
    for n in range(100):
        meter.count(uuid4(), 1, NOW + timedelta(seconds=n * 10))
    now = NOW + timedelta(minutes=60)
    meter.count(kept, 1, now)
    for _ in range(7):
        meter.count(uuid4(), 1, now + timedelta(seconds=1))
    with pytest.raises(RateLimited):
        meter.count(kept, 1, now + timedelta(seconds=59))


def test_a_full_meter_forgets_whose_minute_ends_first() -> None:
    meter, first, others = RequestMeter(8), uuid4(), [uuid4() for _ in range(8)]
    meter.count(first, 1, NOW)
    for other in others:
        meter.count(other, 1, NOW + timedelta(seconds=1))
    for other in others:
        with pytest.raises(RateLimited):
            meter.count(other, 1, NOW + timedelta(seconds=2))
    meter.count(first, 1, NOW + timedelta(seconds=2))


@pytest.mark.long
def test_forks_count_together() -> None:
    program = """
import os
from datetime import UTC, datetime
from uuid import UUID
from tollhouse.accounts.identity.throttle import RateLimited, RequestMeter

meter, one, now = RequestMeter(), UUID(int=7), datetime(2026, 1, 1, tzinfo=UTC)
for _ in range(3):
    pid = os.fork()
    if not pid:
        meter.count(one, 3, now)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
try:
    meter.count(one, 3, now)
except RateLimited:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
