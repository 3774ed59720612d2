"""A refresh with an Idempotency-Key: the same request gets the same tokens until one was used, any other ends the grant."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests.cast import Actor, Application, application, sign_up
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.instance.supervisor import new_key
from tollhouse.kernel import tokens as token_form
from tollhouse.kernel.ids import ClientId
from tollhouse.oauth import refresh_retries, store
from tollhouse.oauth import slice as jobs
from tollhouse.oauth.client_auth import SentCredentials
from tollhouse.oauth.store import ClientProof
from tollhouse.platform.encryption import DecryptionError

SCOPE = "account:read payments:read offline_access"
KEY = "retry-7Zc0vXqT1mLk5RbYw2"
OTHER_KEY = KEY[::-1]
WRONG = "wrong"
SHORT_LIVED = {"TOLLHOUSE_ACCESS_TOKEN_TTL": "30"}
GRANT = "SELECT id, refresh_generation, revoked_because FROM oauth_grants WHERE client_id = $1"
RETRY = "SELECT r.* FROM oauth_refresh_retries r JOIN oauth_grants g ON g.id = r.grant_id WHERE g.client_id = $1"
MINUTE_LATER = """
    UPDATE oauth_refresh_retries r SET expires_at = r.expires_at - interval '60 s'
    FROM oauth_grants g WHERE g.id = r.grant_id AND g.client_id = $1
"""
TOKENS = "SELECT count(*) AS n FROM oauth_access_tokens t JOIN oauth_grants g ON g.id = t.grant_id WHERE g.client_id = $1"
WRITTEN = "SELECT xmin::text AS written FROM oauth_access_tokens WHERE token_hash = $1"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
async def tokens(app: Application, alice: Actor) -> dict[str, Any]:
    """Alice's tokens."""
    return await app.connect(alice, SCOPE)


async def grant(app: Application) -> Any:
    """The application's only grant."""
    [row] = await app.owner.sql(GRANT, app.client_id)
    return row


async def retries(app: Application) -> list[Any]:
    """What is stored for repeated requests."""
    return await app.owner.sql(RETRY, app.client_id)


async def assert_ended(app: Application, *answers: dict[str, Any]) -> None:
    """The grant was revoked because of a replay, and its tokens are invalid."""
    assert (await grant(app))["revoked_because"] == "refresh_token_replayed"
    for answer in answers:
        (await app.api(answer["access_token"], "GET", "/account")).refused("invalid_token", 401)
        (await app.refresh(answer["refresh_token"])).refused("invalid_grant", 400)


async def test_the_same_request_gets_the_same_tokens_and_rotates_once(app: Application, tokens: dict[str, Any]) -> None:
    first = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    await app.owner.sql(
        "UPDATE oauth_refresh_retries SET token_expires_at = token_expires_at - interval '5 minutes' WHERE token_hash = $1",
        token_form.digest(first["access_token"]),
    )
    again = (await app.refresh(tokens["refresh_token"], key=KEY)).ok()
    assert again.headers["Pragma"] == "no-cache"
    assert again.headers["Cache-Control"] == "no-store"
    assert again.body == first | {"expires_in": again.body["expires_in"]}
    assert again.body["expires_in"] <= first["expires_in"] - 300
    found = await grant(app)
    assert (found["refresh_generation"], found["revoked_because"]) == (1, None)
    assert (await app.owner.sql(TOKENS, app.client_id))[0]["n"] == 2


@pytest.mark.parametrize("scope", ["account:read offline_access", "account:read"])
async def test_the_scope_belongs_to_the_request(app: Application, tokens: dict[str, Any], scope: str) -> None:
    first = (await app.refresh(tokens["refresh_token"], key=KEY, scope=scope)).ok().body
    reordered = " ".join(reversed(scope.split()))
    again = (await app.refresh(tokens["refresh_token"], key=KEY, scope=reordered)).ok().body
    assert again | {"expires_in": 0} == first | {"expires_in": 0}
    assert ("refresh_token" in again) == ("offline_access" in scope)
    (await app.refresh(tokens["refresh_token"], key=KEY, scope=SCOPE)).refused("invalid_grant", 400)
    assert (await grant(app))["revoked_because"] == "refresh_token_replayed"


@pytest.mark.parametrize(
    "other", [{"key": OTHER_KEY}, {"key": KEY, "scope": SCOPE}, {}, {"key": KEY, "scope": "balances:read"}]
)
async def test_another_request_with_the_token_ends_the_grant_before_the_first_use(
    app: Application, tokens: dict[str, Any], other: dict[str, str]
) -> None:
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    refused = (await app.refresh(tokens["refresh_token"], **other)).refused("invalid_grant", 400)  # pyright: ignore[reportArgumentType]
    assert "revoked" in refused.body["error_description"]
    await assert_ended(app, tokens, fresh)
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)


async def test_a_key_after_a_refresh_without_one_ends_the_grant(app: Application, tokens: dict[str, Any]) -> None:
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    assert await retries(app) == []
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)
    await assert_ended(app, tokens, fresh)


async def test_another_application_gets_invalid_grant_and_changes_nothing(
    app: Application, bob: Actor, tokens: dict[str, Any]
) -> None:
    other = await application(bob)
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    for key in (KEY, OTHER_KEY, None):
        (await other.refresh(tokens["refresh_token"], key=key)).refused("invalid_grant", 400)
    (await app.refresh(tokens["refresh_token"], key=KEY, client_secret=WRONG)).refused("invalid_client", 401)
    assert (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body["refresh_token"] == fresh["refresh_token"]
    (await app.api(fresh["access_token"], "GET", "/account")).ok()


@pytest.mark.parametrize("path", ["/account", "/balances"])
async def test_the_first_use_of_the_access_token_ends_the_retries(
    app: Application, tokens: dict[str, Any], path: str
) -> None:
    """Also a use that lacks a permission: the token has arrived. Only the first use writes."""
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    (await app.api(tokens["access_token"], "GET", path)).ok(200 if path == "/account" else 403)
    assert len(await retries(app)) == 1
    await app.api(fresh["access_token"], "GET", path)
    assert await retries(app) == []
    written = await app.owner.sql(WRITTEN, token_form.digest(fresh["access_token"]))
    await app.api(fresh["access_token"], "GET", path)
    assert await app.owner.sql(WRITTEN, token_form.digest(fresh["access_token"])) == written
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)
    await assert_ended(app, tokens, fresh)


@pytest.mark.parametrize("key", [None, OTHER_KEY])
async def test_the_first_use_of_the_refresh_token_ends_the_retries(
    app: Application, tokens: dict[str, Any], key: str | None
) -> None:
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    latest = (await app.refresh(fresh["refresh_token"], key=key)).ok().body
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)
    await assert_ended(app, tokens, fresh, latest)


async def test_after_a_minute_the_token_counts_as_replaced(
    app: Application, tokens: dict[str, Any], services: Services
) -> None:
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    await app.owner.sql(MINUTE_LATER, app.client_id)
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)
    await assert_ended(app, tokens, fresh)
    await jobs.delete_refresh_retries(services)
    assert await retries(app) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE oauth_clients SET grant_epoch = grant_epoch + 1 WHERE id = $1",
        "UPDATE oauth_clients SET status = 'paused' WHERE id = $1",
        "UPDATE oauth_clients SET scope_mask = scope_mask & ~262144 WHERE id = $1",
    ],
)
async def test_a_repeated_request_is_checked_anew_and_ends_nothing(
    app: Application, tokens: dict[str, Any], change: str
) -> None:
    await app.refresh(tokens["refresh_token"], key=KEY)
    await app.owner.sql(change, app.client_id)
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)
    assert (await grant(app))["revoked_because"] is None


async def test_a_repeated_request_of_a_suspended_application_is_refused_until_it_is_reactivated(
    app: Application, tokens: dict[str, Any]
) -> None:
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    await app.owner.sql("UPDATE oauth_clients SET suspended_at = now() WHERE id = $1", app.client_id)
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_client", 401)
    await app.owner.sql("UPDATE oauth_clients SET suspended_at = NULL WHERE id = $1", app.client_id)
    assert (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body["access_token"] == fresh["access_token"]


async def test_scopes_removed_in_between_are_not_granted_again(app: Application, tokens: dict[str, Any]) -> None:
    """Without `scope` the response says what is left; a scope that was asked for by name is refused."""
    now = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "version")
    body = {name: now[name] for name in names} | {"scopes": ["account:read", "offline_access"]}
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    (await app.owner.dashboard("PUT", f"/oauth/clients/{app.client_id}", body)).ok()
    again = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    assert again["access_token"] == fresh["access_token"]
    assert again["scope"] == "account:read offline_access"
    latest = (await app.refresh(again["refresh_token"], key=OTHER_KEY, scope="account:read offline_access")).ok().body
    await app.owner.sql("UPDATE oauth_clients SET scope_mask = scope_mask | 4 WHERE id = $1", app.client_id)
    await app.owner.sql("UPDATE oauth_grants SET scope_mask = 262148 WHERE client_id = $1", app.client_id)
    asked = {"key": OTHER_KEY, "scope": "account:read offline_access"}
    (await app.refresh(again["refresh_token"], **asked)).refused("invalid_scope", 400)
    assert (await grant(app))["revoked_because"] is None
    assert latest["scope"] == "account:read offline_access"


async def test_a_disconnected_merchant_stays_disconnected(app: Application, alice: Actor, tokens: dict[str, Any]) -> None:
    await app.refresh(tokens["refresh_token"], key=KEY)
    await alice.dashboard("DELETE", f"/oauth/grants/{(await grant(app))['id']}")
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("invalid_grant", 400)
    assert (await grant(app))["revoked_because"] == "disconnected_by_merchant"


async def test_the_log_and_the_connection_say_nothing_of_a_repeated_request(
    app: Application, alice: Actor, tokens: dict[str, Any]
) -> None:
    count = "SELECT count(*) AS n FROM audit_lines WHERE merchant_id = $1::uuid"
    listed = (await alice.dashboard("GET", "/oauth/grants")).ok().body
    before = await alice.sql(count, alice.merchant_id)
    for _ in range(2):
        (await app.refresh(tokens["refresh_token"], key=KEY)).ok()
    assert await alice.sql(count, alice.merchant_id) == before
    assert (await alice.dashboard("GET", "/oauth/grants")).ok().body == listed
    (await app.refresh(tokens["refresh_token"], key=OTHER_KEY)).refused("invalid_grant", 400)
    assert (await alice.sql(count, alice.merchant_id))[0]["n"] == before[0]["n"] + 1


@pytest.mark.parametrize("key", ["", "a" * 21, "a" * 256, "with a space in the middle", "ümlaut-ümlaut-ümlaut-ü"])
async def test_a_malformed_key_is_refused_and_uses_nothing(app: Application, tokens: dict[str, Any], key: str) -> None:
    sent = key.encode().decode("latin-1") if not key.isascii() else key
    (await app.refresh(tokens["refresh_token"], key=sent)).refused("invalid_request", 400)
    (await app.refresh(tokens["refresh_token"], key=sent, client_secret=WRONG)).refused("invalid_client", 401)
    for longest in ("~" * 22, "!" * 255):
        tokens = (await app.refresh(tokens["refresh_token"], key=longest)).ok().body


async def test_a_key_sent_twice_is_malformed(app: Application, tokens: dict[str, Any]) -> None:
    fields = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": app.client_id}
    headers = [("Idempotency-Key", KEY)] * 2
    async with (
        aiohttp.ClientSession() as http,
        http.post(
            app.owner.service.url + "/api/v2/oauth/token",
            data=fields | {"client_secret": app.client_secret or ""},
            headers=headers,
        ) as response,
    ):
        assert (response.status, (await response.json())["error"]) == (400, "invalid_request")
    (await app.refresh(tokens["refresh_token"], key=KEY)).ok()


async def test_a_code_exchange_takes_no_key(app: Application, alice: Actor) -> None:
    fields = {"grant_type": "authorization_code", "code": await app.code(alice, SCOPE), "redirect_uri": app.redirect_uri}
    (await app.protocol("/api/v2/oauth/token", fields | {"code_verifier": app.verifier}, Idempotency_Key="short")).ok()


async def test_the_database_alone_does_not_reveal_the_tokens(app: Application, tokens: dict[str, Any]) -> None:
    """What is stored is opened by the refresh token that was sent alone: not by its digest, the key or another token."""
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    [row] = await retries(app)
    stored = b"".join(value if isinstance(value, bytes) else str(value).encode() for value in row.values())
    for secret in (fresh["access_token"], fresh["refresh_token"], tokens["refresh_token"], KEY):
        assert secret.encode() not in stored
        assert secret[5:21].encode() not in stored
    sent = SentCredentials(ClientId(app.client_id), ClientProof(None, "none"))
    digest = token_form.digest(tokens["refresh_token"])
    for guess in (digest.hex(), fresh["refresh_token"], KEY, ""):
        with pytest.raises(DecryptionError):
            refresh_retries.Retries(sent, guess, None, KEY).open(row["encrypted_tokens"])
    opened = refresh_retries.Retries(sent, tokens["refresh_token"], None, KEY).open(row["encrypted_tokens"])
    assert opened == (fresh["access_token"], fresh["refresh_token"])


async def test_a_moved_row_is_not_opened(app: Application, alice: Actor, tokens: dict[str, Any]) -> None:
    other = await app.connect(alice, SCOPE)
    for each in (tokens, other):
        (await app.refresh(each["refresh_token"], key=KEY)).ok()
    swapped = """
        UPDATE oauth_refresh_retries r SET encrypted_tokens = o.encrypted_tokens
        FROM oauth_refresh_retries o, oauth_grants g
        WHERE g.client_id = $1 AND r.grant_id = g.id AND o.grant_id <> r.grant_id
          AND o.grant_id IN (SELECT id FROM oauth_grants WHERE client_id = $1)
    """
    await app.owner.sql(swapped, app.client_id)
    (await app.refresh(tokens["refresh_token"], key=KEY)).refused("server_error", 500)


@pytest.mark.long
async def test_a_twin_waits_at_most_two_seconds(app: Application, tokens: dict[str, Any]) -> None:
    raw = await asyncpg.connect(app.owner.service.dsn)
    try:
        async with raw.transaction():
            await raw.execute(store.LOCK_GRANT, (await grant(app))["id"], app.client_id)
            waiting = await app.refresh(tokens["refresh_token"], key=KEY)
            waiting.refused("temporarily_unavailable", 503)
            assert waiting.headers["Retry-After"]
    finally:
        await raw.close()
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    assert (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body["access_token"] == fresh["access_token"]


async def test_first_uses_and_repeated_requests_at_once(app: Application, tokens: dict[str, Any]) -> None:
    """Each repeated request comes before the first use, or ends the grant: never anything else."""
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    used = [app.api(fresh["access_token"], "GET", "/account") for _ in range(5)]
    repeated = [app.refresh(tokens["refresh_token"], key=KEY) for _ in range(5)]
    answers = await asyncio.gather(*used, *repeated)
    assert {answer.status for answer in answers[:5]} <= {200, 401}
    for answer in answers[5:]:
        if answer.status == 200:
            assert answer.body["access_token"] == fresh["access_token"]
        else:
            answer.refused("invalid_grant", 400)
    assert await retries(app) == []


@pytest.mark.long
async def test_retries_survive_a_rotation_of_the_key_ring_and_a_restart(restarted: Callable[..., Service]) -> None:
    old, new = new_key("old"), new_key("new")
    service = restarted(TOLLHOUSE_SECRET_KEYS=old)
    async with (
        sign_up(service, "alice", "Alice's Coffee", keep_alive=False) as alice,
        sign_up(service, "bob", "Bob's Books", keep_alive=False) as bob,
    ):
        app = await application(bob)
        tokens = await app.connect(alice, SCOPE)
        fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
        restarted(TOLLHOUSE_SECRET_KEYS=f"{new},{old}")
        again = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
        assert again | {"expires_in": 0} == fresh | {"expires_in": 0}


async def test_after_a_restore_from_before_the_refresh_the_request_gets_new_tokens(
    app: Application, tokens: dict[str, Any]
) -> None:
    """The database as it was: what was issued since is unknown to it, and the refresh token is the current one."""
    before = await app.owner.sql(
        "SELECT refresh_generation, refresh_hash FROM oauth_grants WHERE client_id = $1", app.client_id
    )
    lost = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    [row] = await retries(app)
    await app.owner.sql("DELETE FROM oauth_refresh_retries WHERE grant_id = $1", row["grant_id"])
    await app.owner.sql("DELETE FROM oauth_access_tokens WHERE token_hash = $1", row["token_hash"])
    restore = "UPDATE oauth_grants SET refresh_generation = $2, refresh_hash = $3 WHERE client_id = $1"
    await app.owner.sql(restore, app.client_id, *before[0].values())
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    assert fresh["access_token"] != lost["access_token"]
    assert (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body["access_token"] == fresh["access_token"]
    (await app.api(lost["access_token"], "GET", "/account")).refused("invalid_token", 401)


async def test_an_access_token_shorter_than_a_minute_ends_its_retries(make_service: Callable[..., Service]) -> None:
    """`expires_in` is never 0."""
    service = make_service(**SHORT_LIVED)
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        app = await application(alice)
        tokens = await app.connect(alice, SCOPE)
        (await app.refresh(tokens["refresh_token"], key=secrets.token_urlsafe(24))).ok()
        [row] = await retries(app)
        assert (row["token_expires_at"] - row["expires_at"]).total_seconds() == 1
