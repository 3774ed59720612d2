"""The running service as the state machine reaches it: one kept connection, the answer as an outcome, the clock in SQL."""

import asyncio
import base64
import hashlib
import html
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import uuid4

import asyncpg
from starlette.datastructures import Headers

from tests.cast import HIDDEN, INTEGRATION, MERCHANT, PASSWORD
from tests.model.world import OK, App, Merchant, Scopes, Tokens, in_order
from tests.running import Service, settings_for
from tests.wire import Wire

CALLBACK = "https://app.example/callback?keep=1"
STATE = "the state"
VERIFIER = "a-verifier-of-fifty-characters." + "~" * 19
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
STATUS = {
    "invalid_client": 401,
    "invalid_token": 401,
    "account_suspended": 403,
    "missing_scope": 403,
    "not_found": 404,
    "application_changed": 409,
    "application_revoked": 409,
    "validation_failed": 422,
}
"""The status of an error's code; 400 where it is not here."""

# Every expiry is decided by comparing stored times, so the clock is turned forward by turning those back. An access
# token dies after 15 minutes and has a partition for its time: an hour ago is long enough.
TURN = """
    WITH clients AS (
        UPDATE oauth_clients SET created_at = created_at - $2::interval, updated_at = updated_at - $2::interval,
               revoked_at = revoked_at - $2::interval
        WHERE id = ANY($1)
    ), requests AS (
        UPDATE oauth_requests SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval,
               decided_at = decided_at - $2::interval
        WHERE client_id = ANY($1)
    ), codes AS (
        UPDATE oauth_codes SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval,
               used_at = used_at - $2::interval
        WHERE client_id = ANY($1)
    ), cutoffs AS (
        UPDATE oauth_grant_cutoffs SET revoked_at = revoked_at - $2::interval WHERE client_id = ANY($1)
    ), grants AS (
        UPDATE oauth_grants SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval,
               revoked_at = revoked_at - $2::interval
        WHERE client_id = ANY($1)
        RETURNING id
    ), activity AS (
        UPDATE oauth_grant_activity SET last_used_at = last_used_at - $2::interval
        WHERE grant_id IN (SELECT id FROM oauth_grants WHERE client_id = ANY($1))
    )
    UPDATE oauth_access_tokens SET expires_at = greatest(expires_at - $2::interval, now() - interval '1 hour')
    WHERE grant_id IN (SELECT id FROM oauth_grants WHERE client_id = ANY($1))
"""
FORGET = """
    WITH gone AS (DELETE FROM oauth_grants WHERE client_id = ANY($1) RETURNING id),
    activity AS (DELETE FROM oauth_grant_activity WHERE grant_id IN (SELECT id FROM gone))
    DELETE FROM oauth_access_tokens WHERE grant_id IN (SELECT id FROM gone)
"""


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Headers
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON body."""
        return json.loads(self.raw)

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the redirect's address."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.headers["Location"]).query).items()}

    @property
    def outcome(self) -> str:
        """What it says, as the model says it. A page says no more than its status."""
        if self.status == 303:
            return self.query.get("error", OK)
        if self.status < 300:
            return OK
        if not self.headers["Content-Type"].startswith("application/json"):
            return str(self.status)
        code = str(self.body["error"])
        assert self.status == STATUS.get(code, 400), (self.status, code)
        return code


class Reality:
    """The service, its database, and a few merchants that all histories share."""

    def __init__(self, service: Service, runner: asyncio.Runner, database: "asyncpg.Connection[Any]") -> None:
        self._runner = runner
        self._database = database
        self._wire = Wire(service.url)
        self.issuer = service.url

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """One request on the kept connection."""
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        return Reply(*self._wire.request(method, path, body, said))

    def form(self, path: str, fields: list[tuple[str, str]], **headers: str) -> Reply:
        """Post a form."""
        headers["Content_Type"] = "application/x-www-form-urlencoded"
        return self.send("POST", path, urlencode(fields).encode(), **headers)

    def dashboard(self, who: Merchant, method: str, path: str, body: Any = None) -> Reply:
        """A call of the dashboard's JSON endpoints."""
        headers = {"Cookie": who.cookie} | ({} if body is None else {"Content_Type": "application/json"})
        return self.send(method, MERCHANT + path, None if body is None else json.dumps(body).encode(), **headers)

    def authorize(self, app: App, scopes: Scopes, mode: str) -> Reply:
        """The browser's first step."""
        asked = {
            "response_type": "code",
            "client_id": app.client_id,
            "redirect_uri": CALLBACK,
            "scope": " ".join(sorted(scopes)),
            "state": STATE,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "mode": mode,
        }
        return self.send("GET", f"/api/v2/oauth/authorize?{urlencode(asked)}")

    def open(self, path: str, merchant: Merchant) -> tuple[str, list[tuple[str, str]]]:
        """The consent page: its outcome and the hidden fields of its form."""
        reply = self.send("GET", path, Cookie=merchant.cookie, Accept="text/html")
        return reply.outcome, [(name, html.unescape(value)) for name, value in HIDDEN.findall(reply.raw.decode())]

    def decide(self, path: str, merchant: Merchant, fields: list[tuple[str, str]]) -> Reply:
        """Post the consent form."""
        return self.form(path, fields, Cookie=merchant.cookie, Accept="text/html", Sec_Fetch_Site="same-origin")

    def protocol(self, path: str, app: App, fields: dict[str, str], secret: str | None = None) -> Reply:
        """Post to the token or the revoke endpoint, with the credentials of the application in the body."""
        proof = {"client_id": app.client_id} | ({} if app.public else {"client_secret": secret or app.secret or ""})
        return self.form(f"/api/v2/oauth/{path}", [*(proof | fields).items()])

    def exchange(self, app: App, code: str, /, **changes: str) -> Reply:
        """Exchange a code."""
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": VERIFIER}
        return self.protocol("token", app, fields | changes)

    def refresh(self, app: App, tokens: Tokens, scopes: Scopes | None = None, secret: str | None = None) -> Reply:
        """Refresh. Where there is no refresh token, the access token is tried in its place."""
        fields = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token or tokens.access_token}
        if scopes is not None:
            fields["scope"] = " ".join(in_order(scopes))
        return self.protocol("token", app, fields, secret)

    def account(self, access_token: str) -> Reply:
        """GET /account."""
        return self.send("GET", f"{INTEGRATION}/account", Authorization=f"Bearer {access_token}")

    def sign_up(self, name: str) -> Merchant:
        """A merchant with a session."""
        body = {"email": f"{name}-{uuid4().hex[:12]}@example.com", "password": PASSWORD, "business_name": name.title()}
        made = self.send("POST", f"{MERCHANT}/signup", json.dumps(body).encode(), Content_Type="application/json")
        assert made.status == 201, made.raw
        return Merchant(name, made.body["merchant"]["merchant_id"], made.headers["Set-Cookie"].partition(";")[0])

    def sql(self, statement: str, *args: Any) -> None:
        """Write to the database, as an operator would."""
        self._runner.run(self._database.execute(statement, *args))

    def suspend(self, merchant: Merchant, *, suspended: bool) -> None:
        """Suspend a merchant, or end its suspension."""
        moment = "now()" if suspended else "NULL"
        self.sql(f"UPDATE merchants SET suspended_at = {moment} WHERE id::text = $1", merchant.merchant_id)  # noqa: S608

    def turn_clock(self, apps: list[App], seconds: int) -> None:
        """Let time pass for everything that belongs to these applications."""
        self.sql(TURN, [app.client_id for app in apps], timedelta(seconds=seconds))

    def forget(self, apps: list[App]) -> None:
        """Take the connections of these applications out of the lists of the merchants."""
        self.sql(FORGET, [app.client_id for app in apps])


@contextmanager
def reach(dsn: str) -> Iterator[Reality]:
    """A service of our own, without a worker that would clean up by the clock that is turned, and a way to reach it."""
    settings = settings_for(dsn, fresh=True)
    with asyncio.Runner() as runner:
        database: asyncpg.Connection[Any] = runner.run(asyncpg.connect(settings.database_url))
        name = runner.run(database.fetchval("SELECT current_database()"))
        runner.run(database.execute(f"ALTER DATABASE {name} SET synchronous_commit = off"))  # no power fails here
        with Service(settings, worker=False) as service:
            runner.run(database.execute("SELECT partitions_make(now() - interval '6 hours')"))
            reality = Reality(service, runner, database)
            yield reality
            reality.close()
        runner.run(database.close())
