"""Connections through the SDK: connecting, refreshing from several processes and clients, lost responses, ended grants."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cast import CALLBACK, Actor, application, consent, post_form
from tests.cast import Application as Registered
from tests.sdk.driven import QUICK, driven, everything
from tests.sdk.proxy import LOSE, Proxy, error_response
from tollhouse_sdk import (
    ApiError,
    Application,
    AsyncApplication,
    AsyncTollhouse,
    CallbackInvalid,
    Database,
    FileTokens,
    Grant,
    LockTimeout,
    MemoryTokens,
    NotConnected,
    OAuth,
    Retries,
    SqlTokens,
    TokenStorage,
    Tollhouse,
    error_types,
)
from tollhouse_sdk import auth as auth_module

BOTH = pytest.mark.parametrize("kind", [Tollhouse, AsyncTollhouse])
SCOPES = ["account:read", "offline_access"]
EXPIRE = """
    UPDATE oauth_access_tokens SET expires_at = now() - interval '1 second'
    WHERE grant_id IN (SELECT id FROM oauth_grants WHERE client_id = $1)
"""


async def connected(merchant: Actor, owner: Actor, **changes: Any) -> tuple[Registered, Grant]:
    """An application and the tokens of a connection."""
    app = await application(owner)
    tokens = await app.connect(merchant, " ".join(SCOPES))
    grant = Grant(tokens["access_token"], time.time() + tokens["expires_in"], tokens["scope"], tokens["refresh_token"])
    return app, replace(grant, **changes)


def auth_of(app: Registered, tokens: TokenStorage) -> OAuth:
    """What a client of this application authenticates with."""
    return OAuth(app.client_id, app.client_secret, tokens=tokens)


async def refreshes_can_be_repeated(merchant: Actor, owner: Actor) -> bool:
    """Whether this service gives the same tokens for the same refresh."""
    app, grant = await connected(merchant, owner)
    sent = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token or "", "client_id": app.client_id}
    sent["client_secret"] = app.client_secret or ""
    url = f"{merchant.service.url}/api/v2/oauth/token"
    first, second = [await post_form(url, sent, Idempotency_Key="k" * 32) for _ in range(2)]
    return first.status == second.status == 200


class Stores:
    """Storages of the same tokens, as several processes open them."""

    def __init__(self, where: str, folder: Path, grant: Grant) -> None:
        memory = MemoryTokens()
        database = Database.sqlite(folder / "tokens.db")
        database.create_tables()
        stores: dict[str, Callable[[], TokenStorage]] = {
            "memory": lambda: memory,
            "file": lambda: FileTokens(folder / "deep" / "tokens.json"),
            "sql": lambda: SqlTokens(database, "merchant-1"),
        }
        self.open = stores[where]
        assert self.open().load() is None
        self.open().save(grant)
        assert self.open().load() == grant


WHERE = pytest.mark.parametrize("where", ["memory", "file", "sql"])


@BOTH
async def test_a_merchant_connects_and_disconnects(kind: Any, alice: Actor, bob: Actor) -> None:
    registered = await application(bob)
    make = AsyncApplication if kind is AsyncTollhouse else Application
    app: Any = make(bob.service.url, registered.client_id, registered.client_secret)
    begun = app.begin(CALLBACK, SCOPES, "test")
    path = begun.url.removeprefix(bob.service.url)
    started = (await alice.send("GET", path)).ok(303)
    callback = (await consent(alice, started.location, SCOPES)).location
    for wrong in (callback.replace("state=", "state=x"), callback.replace("iss=http", "iss=https"), CALLBACK):
        with pytest.raises(CallbackInvalid):
            await done(app.finish, begun, wrong)
    grant = await done(app.finish, begun, callback)
    assert set(grant.scope.split()) == set(SCOPES)
    client = driven(kind, bob.service.url, auth_of(registered, MemoryTokens(grant)))
    assert (await client.call("account"))["merchant_id"] == alice.merchant_id
    await done(app.end, grant)
    with pytest.raises(NotConnected):
        await client.call("account")
    await done(app.close)


@BOTH
async def test_a_denied_consent_is_said(kind: Any, alice: Actor, bob: Actor) -> None:
    registered = await application(bob)
    make = AsyncApplication if kind is AsyncTollhouse else Application
    app: Any = make(bob.service.url, registered.client_id, registered.client_secret)
    begun = app.begin(CALLBACK, SCOPES, "test")
    started = (await alice.send("GET", begun.url.removeprefix(bob.service.url))).ok(303)
    callback = (await consent(alice, started.location, [], "deny")).location
    with pytest.raises(CallbackInvalid) as denied:
        await done(app.finish, begun, callback)
    assert denied.value.error == "access_denied"
    with pytest.raises(ApiError) as refused:
        await done(app.finish, begun, f"{CALLBACK}&state={begun.state}&iss={bob.service.url}&code=none")
    assert refused.value.code == "invalid_grant"
    await done(app.close)


async def done(function: Any, *args: Any) -> Any:
    """The result of a method of either kind of application."""
    if asyncio.iscoroutinefunction(function):
        return await function(*args)
    return await asyncio.to_thread(function, *args)


@BOTH
@WHERE
async def test_one_of_many_refreshes_and_all_go_on(
    kind: Any, where: str, alice: Actor, bob: Actor, proxy: Proxy, tmp_path: Path
) -> None:
    app, grant = await connected(alice, bob, expires_at=0.0)
    stores = Stores(where, tmp_path, grant)
    clients = [driven(kind, proxy.url, auth_of(app, stores.open())) for _ in range(8)]
    answers = await asyncio.gather(*(client.call("account") for client in clients))
    assert {answer["merchant_id"] for answer in answers} == {alice.merchant_id}
    [refresh] = [request for request in proxy.passed if request.path.endswith("/token")]
    assert len(refresh.headers["Idempotency-Key"]) >= 22
    kept = stores.open().load()
    assert kept is not None
    assert kept.refresh_key is None
    assert kept.refresh_token != grant.refresh_token


@BOTH
async def test_a_rejected_token_is_refreshed_and_the_request_repeated(
    kind: Any, alice: Actor, bob: Actor, proxy: Proxy
) -> None:
    app, grant = await connected(alice, bob)
    client = driven(kind, proxy.url, auth_of(app, MemoryTokens(grant)))
    await alice.sql(EXPIRE, app.client_id)
    assert (await client.call("account"))["active"]
    assert [request.status for request in proxy.passed] == [401, 200, 200]


@BOTH
@WHERE
async def test_a_lost_response_to_a_refresh_ends_nothing(
    kind: Any, where: str, alice: Actor, bob: Actor, proxy: Proxy, tmp_path: Path
) -> None:
    if not await refreshes_can_be_repeated(alice, bob):
        pytest.skip("this service does not repeat refreshes yet")
    app, grant = await connected(alice, bob, expires_at=0.0)
    stores = Stores(where, tmp_path, grant)
    client = driven(kind, proxy.url, auth_of(app, stores.open()))
    proxy.plan.extend([LOSE, LOSE, error_response(503, "temporarily_unavailable", Retry_After="0")])
    assert (await client.call("account"))["active"]
    refreshes = [request for request in proxy.passed if request.path.endswith("/token")]
    assert [refresh.status for refresh in refreshes] == [200, 200, 503, 200]
    assert len({(refresh.headers["Idempotency-Key"], refresh.body) for refresh in refreshes}) == 1


@BOTH
@WHERE
async def test_a_refresh_that_a_killed_process_began_is_repeated_as_it_was(
    kind: Any, where: str, alice: Actor, bob: Actor, proxy: Proxy, tmp_path: Path
) -> None:
    if not await refreshes_can_be_repeated(alice, bob):
        pytest.skip("this service does not repeat refreshes yet")
    app, grant = await connected(alice, bob, expires_at=0.0)
    stores = Stores(where, tmp_path, grant)
    killed = driven(kind, proxy.url, auth_of(app, stores.open()), retries=Retries(1))
    proxy.plan.append(LOSE)
    with pytest.raises(Exception, match="No response"):
        await killed.call("account")
    begun = stores.open().load()
    assert begun is not None
    assert begun.refresh_key
    later = driven(kind, proxy.url, auth_of(app, stores.open()))
    assert (await later.call("account"))["active"]
    keys = [request.headers["Idempotency-Key"] for request in proxy.passed if request.path.endswith("/token")]
    assert keys == [begun.refresh_key] * 2


@BOTH
async def test_while_the_token_lasts_a_silent_service_is_no_problem(
    kind: Any, alice: Actor, bob: Actor, proxy: Proxy
) -> None:
    app, grant = await connected(alice, bob, expires_at=time.time() + 50)
    tokens = MemoryTokens(grant)
    client = driven(kind, proxy.url, auth_of(app, tokens), retries=Retries(1))
    proxy.plan.append(error_response(503, "temporarily_unavailable"))
    assert (await client.call("account"))["active"]
    tokens.save(replace(grant, expires_at=0.0, refresh_key="k" * 32))
    other = driven(kind, proxy.url, auth_of(app, tokens), retries=Retries(1))
    proxy.plan.append(error_response(503, "temporarily_unavailable"))
    with pytest.raises(error_types.TemporarilyUnavailable):
        await other.call("account")


@BOTH
async def test_an_ended_connection_is_said_and_not_asked_for_again(
    kind: Any, alice: Actor, bob: Actor, proxy: Proxy
) -> None:
    app, grant = await connected(alice, bob)
    tokens = MemoryTokens(grant)
    client = driven(kind, proxy.url, auth_of(app, tokens))
    (await app.revoke(grant.access_token)).ok()
    with pytest.raises(NotConnected):
        await client.call("account")
    kept = tokens.load()
    assert kept is not None
    assert kept.refresh_token is None
    with pytest.raises(error_types.InvalidToken):
        await client.call("account")
    assert len([request for request in proxy.passed if request.path.endswith("/token")]) == 1
    with pytest.raises(NotConnected):
        await driven(kind, proxy.url, auth_of(app, MemoryTokens())).call("account")
    wrong = OAuth(app.client_id, "thcs_wrong", tokens=MemoryTokens(replace(grant, expires_at=0.0)))
    with pytest.raises(error_types.InvalidClient):
        await driven(kind, proxy.url, wrong).call("account")


async def test_tokens_that_vanish_are_said(alice: Actor, bob: Actor) -> None:
    app, grant = await connected(alice, bob, expires_at=0.0)

    class Vanishing(MemoryTokens):
        def lock(self) -> Any:
            self._grant = None
            return super().lock()

    client = driven(AsyncTollhouse, bob.service.url, auth_of(app, Vanishing(grant)))
    with pytest.raises(NotConnected, match="gone"):
        await client.call("account")


async def test_a_lock_that_stays_is_said(alice: Actor, bob: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth_module, "LOCK_TIMEOUT_S", 0.1)
    app, grant = await connected(alice, bob, expires_at=0.0)
    tokens = FileTokens(tmp_path / "tokens.json")
    tokens.save(grant)
    held = tokens.lock()
    assert held.try_acquire()
    client = driven(AsyncTollhouse, bob.service.url, auth_of(app, tokens))
    with pytest.raises(LockTimeout):
        await client.call("account")
    held.release()
    held.release()
    assert (await client.call("account"))["active"]
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600


async def test_a_public_client_sends_its_id_alone(alice: Actor, bob: Actor, proxy: Proxy) -> None:
    app = await application(bob, "public")
    tokens = await app.connect(alice, " ".join(SCOPES))
    grant = Grant(tokens["access_token"], 0.0, tokens["scope"], tokens["refresh_token"])
    client = driven(AsyncTollhouse, proxy.url, OAuth(app.client_id, tokens=MemoryTokens(grant)))
    assert (await client.call("account"))["active"]
    assert "Authorization" not in proxy.passed[0].headers
    assert parse_qs(proxy.passed[0].body.decode())["client_id"] == [app.client_id]
    assert QUICK.attempts


async def test_pages_go_on_over_a_refresh(alice: Actor, bob: Actor, proxy: Proxy) -> None:
    app = await application(bob)
    tokens = await app.connect(alice, "payments:read payments:write offline_access")
    grant = Grant(tokens["access_token"], time.time() + 900, tokens["scope"], tokens["refresh_token"])
    client = driven(AsyncTollhouse, proxy.url, auth_of(app, MemoryTokens(grant)))
    for _ in range(3):
        await client.call("open_link", display_name="Coffee", amount="4.20", currency="EUR")
    pages = client.client.iterate_links(limit=1)
    first = await anext(pages)  # type: ignore[arg-type]
    await alice.sql(EXPIRE, app.client_id)
    assert len({first["id"], *(item["id"] for item in await everything(pages))}) == 3
    assert urlsplit(proxy.passed[0].path).path
