"""The cast: people and applications that talk to the service over HTTP, each with assertions of their own."""

import base64
import hashlib
import html
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID, uuid4

import aiohttp
import msgspec
import pytest
from multidict import CIMultiDictProxy

from tests.running import Service
from tollhouse.accounts.identity.model import Person
from tollhouse.kernel import clock
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.kernel.roles import Role

PASSWORD = "correct horse battery"  # noqa: S105 - of people who do not exist
INTEGRATION = "/api/v2/integration"
MERCHANT = "/api/v2/merchant"
CALLBACK = "https://app.example/callback?keep=1"
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: "CIMultiDictProxy[str]"
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON body."""
        return msgspec.json.decode(self.raw)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.raw.decode()

    @property
    def location(self) -> str:
        """Where a redirect goes."""
        return self.headers["Location"]

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the redirect's address."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}

    def ok(self, status: int = 200) -> "Answer":
        """It has this status."""
        assert self.status == status, f"{self.status}: {self.raw.decode(errors='replace')[:2000]}"
        return self

    def refused(self, code: str, status: int | None = None) -> "Answer":
        """It is refused with this code, in the one body shape."""
        assert self.status >= 400, f"{self.status}: {self.raw[:500]!r}"
        assert self.body["error"] == code, self.body
        assert self.body["error_description"]
        assert self.body["request_id"] == self.headers["X-Request-Id"]
        assert status is None or self.status == status, self.status
        return self

    def field_errors(self) -> dict[str, str]:
        """The refused fields and their codes."""
        return {problem["field"]: problem["code"] for problem in self.refused("validation_failed", 422).body["errors"]}


@dataclass
class Actor:
    """Somebody with a merchant account, a browser session and an API key of the test environment."""

    service: Service
    http: aiohttp.ClientSession
    email: str
    merchant_id: str
    keys: dict[str, str] = field(default_factory=dict)
    acting_for: str = ""
    """The merchant that the pages name in this browser, if the person belongs to several."""

    async def send(self, method: str, path: str, **kwargs: Any) -> Answer:
        """A request with the browser's cookies; redirects are not followed."""
        url = path if path.startswith("http") else self.service.url + path
        async with self.http.request(method, url, allow_redirects=False, **kwargs) as response:
            return Answer(response.status, response.headers, await response.read())

    async def dashboard(self, method: str, path: str, body: Any = None) -> Answer:
        """A call of the dashboard's JSON endpoints."""
        return await self.send(method, MERCHANT + path, **({} if body is None else {"json": body}))

    async def form(self, path: str, fields: dict[str, str] | list[tuple[str, str]]) -> Answer:
        """Post a form, as a browser on our own page would."""
        if self.acting_for:
            named = fields.items() if isinstance(fields, dict) else fields
            fields = [*named, ("acting_for", self.acting_for)]
        return await self.send("POST", path, data=fields, headers={"Sec-Fetch-Site": "same-origin"})

    async def sign_in(self) -> None:
        """Sign in again, after the session was ended."""
        (await self.dashboard("POST", "/login", {"email": self.email, "password": PASSWORD})).ok()

    async def key(self, mode: str = "test", scopes: list[str] | None = None) -> str:
        """An API key; made once per mode and set of scopes."""
        name = f"{mode} {scopes}"
        if name not in self.keys:
            body = {"name": name[:100], "mode": mode} | ({} if scopes is None else {"scopes": scopes})
            self.keys[name] = (await self.dashboard("POST", "/api-keys", body)).ok(201).body["api_key"]
        return self.keys[name]

    async def call(self, method: str, path: str, body: Any = None, *, key: str | None = None, mode: str = "test") -> Answer:
        """A call of the Integration API with this merchant's API key. `key` is the Idempotency-Key."""
        headers = {"X-API-Key": await self.key(mode)} | ({"Idempotency-Key": key} if key is not None else {})
        return await self.anonymously(method, INTEGRATION + path, body, headers)

    async def get(self, path: str, *, mode: str = "test") -> Answer:
        """GET of the Integration API."""
        return await self.call("GET", path, mode=mode)

    async def post(self, path: str, body: Any = None, *, key: str | None = None, mode: str = "test") -> Answer:
        """POST of the Integration API."""
        return await self.call("POST", path, {} if body is None else body, key=key, mode=mode)

    async def anonymously(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """A request with only these headers: no cookie."""
        connections, no_cookies = self.http.connector, aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connections, connector_owner=False, cookie_jar=no_cookies) as http:
            kwargs: dict[str, Any] = {} if body is None else {"json": body}
            async with http.request(
                method, self.service.url + path, headers=headers, allow_redirects=False, **kwargs
            ) as response:
                return Answer(response.status, response.headers, await response.read())

    async def sql(self, statement: str, *args: Any) -> list[Any]:
        """Look into the database, or turn a clock in it."""
        return await self.service.sql(statement, *args)


@dataclass
class Application:
    """A third-party application that connects merchants."""

    owner: Actor
    client_id: str
    client_secret: str | None
    redirect_uri: str = CALLBACK
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        """S256 of the verifier."""
        return base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def authorize_query(self, scope: str, **changes: str) -> dict[str, str]:
        """The parameters of an authorize call; a change to an empty text leaves one out."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": scope,
            "state": "st-" + secrets.token_hex(4),
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "mode": "test",
            **changes,
        }
        return {name: value for name, value in asked.items() if value}

    def authorize_path(self, scope: str, **changes: str) -> str:
        """The authorize address below the base URL."""
        return f"/api/v2/oauth/authorize?{urlencode(self.authorize_query(scope, **changes))}"

    async def code(self, merchant: Actor, scope: str, granted: str | None = None, **changes: str) -> str:
        """Authorize and consent: the code the callback gets. `granted` is what the merchant ticks (all, left out)."""
        started = (await merchant.send("GET", self.authorize_path(scope, **changes))).ok(303)
        answer = await consent(merchant, started.location, (scope if granted is None else granted).split())
        assert answer.status == 303, answer.text
        return answer.query["code"]

    async def token(self, **fields: str) -> Answer:
        """A token call with the client's credentials in the body."""
        return await self.protocol("/api/v2/oauth/token", fields)

    async def exchange(self, code: str, **changes: str) -> Answer:
        """Exchange a code."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            **changes,
        }
        return await self.token(**fields)

    async def refresh(self, refresh_token: str, *, key: str | None = None, at: str | None = None, **changes: str) -> Answer:
        """Refresh, with an Idempotency-Key if there is a `key`, and `at` another server."""
        fields = {"grant_type": "refresh_token", "refresh_token": refresh_token, **changes}
        return await self.protocol("/api/v2/oauth/token", fields, at=at, **({} if key is None else {"Idempotency_Key": key}))

    async def revoke(self, token: str) -> Answer:
        """Revoke."""
        return await self.protocol("/api/v2/oauth/revoke", {"token": token})

    async def protocol(self, path: str, fields: dict[str, str], *, at: str | None = None, **headers: str) -> Answer:
        """Post a form without cookies, with the client's credentials in the body unless the fields bring their own."""
        sent = {"client_id": self.client_id} | ({"client_secret": self.client_secret} if self.client_secret else {}) | fields
        return await post_form((at or self.owner.service.url) + path, sent, **headers)

    async def connect(self, merchant: Actor, scope: str, granted: str | None = None, **changes: str) -> dict[str, Any]:
        """The whole way: the token response."""
        return (await self.exchange(await self.code(merchant, scope, granted, **changes))).ok().body

    async def api(self, token: str, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        """A call of the Integration API with an access token."""
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key is not None else {})
        return await self.owner.anonymously(method, INTEGRATION + path, body, headers)


async def post_form(url: str, fields: dict[str, str] | list[tuple[str, str]] | bytes, **headers: str) -> Answer:
    """Post a form without cookies."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        sent = fields if isinstance(fields, bytes) else urlencode(fields).encode()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        async with http.post(url, data=sent, headers=headers, allow_redirects=False) as response:
            return Answer(response.status, response.headers, await response.read())


async def consent(merchant: Actor, path: str, granted: list[str], decision: str = "allow") -> Answer:
    """Open the consent page and answer it."""
    shown = (await merchant.send("GET", path)).ok()
    hidden = [(name, html.unescape(value)) for name, value in HIDDEN.findall(shown.text)]
    fields = [*hidden, *(("scope", scope) for scope in granted), ("decision", decision)]
    return await merchant.form(path, fields)


async def application(owner: Actor, client_type: str = "confidential", **changes: Any) -> Application:
    """An application of this owner with every scope."""
    body = {
        "name": "Northwind Ledger",
        "client_type": client_type,
        "description": "Bookkeeping for small studios.",
        "website_url": "https://northwind.example",
        "redirect_uris": [CALLBACK],
        "scopes": await every_scope(owner),
        **changes,
    }
    made = (await owner.dashboard("POST", "/oauth/clients", body)).ok(201).body
    return Application(owner, made["client_id"], made.get("client_secret"), redirect_uri=body["redirect_uris"][0])


async def every_scope(actor: Actor) -> list[str]:
    """All 19 scopes, as the service lists them."""
    listed = (await actor.anonymously("GET", "/api/v2/oauth/permissions")).ok().body["permissions"]
    return [permission["scope"] for permission in listed]


def of_the_file(name: str, business_name: str) -> Any:
    """A fixture: a merchant whom all tests of a file share, since none changes what another one sees."""

    @pytest.fixture(scope="module")
    async def merchant(service: Service) -> AsyncIterator[Actor]:
        async with sign_up(service, name, business_name) as actor:
            yield actor

    return merchant


@asynccontextmanager
async def sign_up(service: Service, name: str, business_name: str, *, keep_alive: bool = True) -> AsyncIterator[Actor]:
    """A new merchant with a browser session of its own. Without `keep_alive` it outlives a restart of the service."""
    connector = aiohttp.TCPConnector(force_close=not keep_alive)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        email = f"{name}-{uuid4().hex[:12]}@example.com"
        actor = Actor(service, http, email, "")
        body = {"email": email, "password": PASSWORD, "business_name": business_name}
        made = (await actor.dashboard("POST", "/signup", body)).ok(201).body
        actor.merchant_id = made["merchant"]["merchant_id"]
        yield actor


@asynccontextmanager
async def member(of: Actor, role: str, name: str = "") -> AsyncIterator[Actor]:
    """A person of this merchant with this role and a browser session of its own, without a merchant of its own."""
    async with sign_up(of.service, name or role.replace("_", "-"), "A shop that is left") as actor:
        await join(actor, of, role)
        left = "UPDATE members SET removed_at = now() WHERE user_id = $1 AND merchant_id <> $2::uuid"
        [user] = await actor.sql("SELECT id FROM users WHERE email = $1", actor.email)
        await actor.sql(
            "UPDATE merchants SET suspended_at = now(), closed_at = now() WHERE id = $1::uuid", actor.merchant_id
        )
        await actor.sql(left, user["id"], of.merchant_id)
        actor.merchant_id, actor.acting_for = of.merchant_id, ""
        yield actor


async def join(actor: Actor, of: Actor, role: str) -> None:
    """Make the person a member of another merchant, for which its session acts from now on."""
    user = "(SELECT id FROM users WHERE email = $1)"
    await actor.sql(
        f"INSERT INTO members (merchant_id, user_id, role, created_at) VALUES ($2::uuid, {user}, $3, now())",  # noqa: S608
        actor.email,
        of.merchant_id,
        role,
    )
    actor.acting_for = of.merchant_id
    await actor.sql(
        f"UPDATE sessions SET merchant_id = $2::uuid WHERE user_id = {user}",  # noqa: S608
        actor.email,
        of.merchant_id,
    )


def person_of(user_id: UUID, merchant_id: UUID, role: Role = "owner") -> Person:
    """The person as a guard hands it to actions."""
    now = clock.now()
    return Person(
        user_id=UserId(user_id),
        email="",
        merchant_id=MerchantId(merchant_id),
        business_name="",
        role=role,
        suspended=False,
        session_id=user_id,
        session_hash=b"",
        user_created_at=now,
        merchant_created_at=now,
        authenticated_at=now,
        time_zone="UTC",
        language="en",
        verified=True,
        remembered_mode=None,
    )


async def set_role(actor: Actor, role: str) -> None:
    """Change the role in the merchant that the person acts for."""
    await actor.sql(
        "UPDATE members SET role = $3 WHERE user_id = (SELECT id FROM users WHERE email = $1) AND merchant_id = $2::uuid",
        actor.email,
        actor.merchant_id,
        role,
    )


async def suspend(actor: Actor, *, suspended: bool = True) -> None:
    """Suspend the merchant, or reactivate it."""
    at = "now()" if suspended else "NULL"
    await actor.sql(f"UPDATE merchants SET suspended_at = {at} WHERE id = $1::uuid", actor.merchant_id)  # noqa: S608
