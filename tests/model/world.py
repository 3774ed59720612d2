"""What the interface says of applications, authorizations and tokens, as plain Python objects that know each other.

A cascade walks over everything it concerns, and nothing is found by comparing numbers: no epochs, generations or locks, so
that a mistake of the service in those is not made here again. Outcomes are texts: `ok`, the code of an error, or the
status of a page. What the service made up (ids, secrets, tokens) is written into the objects by the one who drives it.
"""

import time
from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["live", "test"]
API = ("account:read", "payments:read", "payments:write")
OFFLINE = "offline_access"
SCOPES = (*API, OFFLINE)
"""Four of the nineteen, in the order of answers: with fewer, more histories meet."""

Scopes = frozenset[str]
OK = "ok"
MINUTE = 60
REQUEST_S = 10 * MINUTE
CODE_S = 5 * MINUTE
ACCESS_S = 15 * MINUTE
GRANT_S = 30 * 24 * 60 * MINUTE
ACTIVITY_S = MINUTE


def in_order(scopes: Scopes) -> list[str]:
    """As answers list them."""
    return [scope for scope in SCOPES if scope in scopes]


def has_api(scopes: Scopes) -> bool:
    """Whether there is a permission beside offline access."""
    return any(scope in scopes for scope in API)


@dataclass(eq=False)
class Clock:
    """Turned forward only, by whole minutes; `moment` adds the time that really passes, for what is shown with stamps."""

    now: int = 0

    @property
    def moment(self) -> float:
        """Now, in seconds since 1970, as if the clock had really been turned."""
        return time.time() + self.now


@dataclass(eq=False)
class Merchant:
    """Somebody who registers applications or connects to them."""

    name: str
    merchant_id: str
    cookie: str
    suspended: bool = False

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class App:
    """An application."""

    owner: Merchant
    public: bool
    scopes: Scopes
    clock: Clock
    status: Literal["enabled", "paused", "revoked"] = "enabled"
    version: int = 1
    requests: "list[Request]" = field(default_factory=list["Request"])
    grants: "list[Grant]" = field(default_factory=list["Grant"])
    client_id: str = ""
    secret: str | None = None
    old_secret: str | None = None

    def save(self, scopes: Scopes, version: int) -> str:
        """PUT of the settings. Requests and codes end; grants lose what is not registered any more."""
        error = self._error(version)
        if error:
            return error
        self.version += 1
        self.scopes = scopes
        self._end_unfinished()
        for grant in self.grants:
            grant.narrow(scopes)
        return OK

    def switch(self, *, enabled: bool, version: int) -> str:
        """Pause or resume."""
        error = self._error(version)
        if error:
            return error
        self.version += 1
        self.status = "enabled" if enabled else "paused"
        if not enabled:
            self.end_all()
        return OK

    def rotate(self, *, revoke_grants: bool, version: int) -> str:
        """Replace the secret."""
        if self.status == "revoked":
            return "application_revoked"
        if self.public:
            return "validation_failed"
        if version != self.version:
            return "application_changed"
        self.version += 1
        if revoke_grants:
            self.end_all()
        return OK

    def revoke(self) -> str:
        """End it for ever."""
        if self.status == "revoked":
            return "application_revoked"
        self.version += 1
        self.status = "revoked"
        self.end_all()
        return OK

    def disconnect(self, grants: "list[Grant]") -> str | int:
        """The owner ends these grants: how many lived."""
        return "application_revoked" if self.status == "revoked" else sum(grant.end() for grant in grants)

    def disconnect_all(self) -> str | int:
        """The owner ends them all, and everything unfinished."""
        ended = self.disconnect(self.grants)
        if self.status != "revoked":
            self._end_unfinished()
        return ended

    def end_all(self) -> None:
        """Every grant, request and code."""
        self._end_unfinished()
        for grant in self.grants:
            grant.end()

    def authorize(self, scopes: Scopes, mode: Mode) -> "str | Request":
        """Begin an authorization."""
        if self.status != "enabled":
            return "invalid_client"
        if not has_api(scopes) or not scopes <= self.scopes:
            return "invalid_scope"
        self.requests.append(Request(self, scopes, mode, self.clock.now + REQUEST_S))
        return self.requests[-1]

    @property
    def active(self) -> int:
        """How many connections are active."""
        return sum(grant.lives for grant in self.grants)

    def _error(self, version: int) -> str | None:
        if self.status == "revoked":
            return "application_revoked"
        return None if version == self.version else "application_changed"

    def _end_unfinished(self) -> None:
        for request in self.requests:
            request.invalid = True
            if request.code is not None:
                request.code.invalid = True


@dataclass(eq=False)
class Request:
    """An authorization request. It belongs to the first merchant that opens it."""

    app: App
    scopes: Scopes
    mode: Mode
    expires: int
    invalid: bool = False
    answered: bool = False
    merchant: Merchant | None = None
    code: "Code | None" = None
    path: str = ""
    forms: dict[Merchant, list[tuple[str, str]]] = field(default_factory=dict[Merchant, list[tuple[str, str]]])

    def open(self, merchant: Merchant) -> str:
        """What this merchant's browser is shown: the form, or a page that says why there is none."""
        self.merchant = self.merchant or merchant
        if self.merchant is not merchant:
            return "404"
        if self.answered:
            return "409"
        if self.app.clock.now >= self.expires:
            return "410"
        if self.app.status != "enabled" or self.invalid:
            return "409"
        return "403" if merchant.suspended else OK

    def allow(self, merchant: Merchant, ticked: Scopes) -> "str | Code":
        """The merchant allows some of it."""
        stopped = self.open(merchant)
        if stopped != OK:
            return stopped
        granted = ticked & self.scopes
        if not has_api(granted):
            return "422"
        self.answered = True
        self.code = Code(self, merchant, granted, self.app.clock.now + CODE_S)
        return self.code

    def deny(self, merchant: Merchant) -> str:
        """The merchant wants none of it."""
        stopped = self.open(merchant)
        if stopped != OK:
            return stopped
        self.answered = True
        return "access_denied"


@dataclass(eq=False)
class Code:
    """An authorization code, single-use."""

    request: Request
    merchant: Merchant
    scopes: Scopes
    expires: int
    invalid: bool = False
    grant: "Grant | None" = None
    text: str = ""

    def exchange(self, app: App, *, proved: bool) -> "str | Tokens":
        """Exchange it, with the right verifier and callback or not. A replay ends what the code began."""
        if app.status == "revoked":
            return "invalid_client"
        if app is not self.request.app or not proved:
            return "invalid_grant"
        if self.grant is not None:
            self.grant.end()
            return "invalid_grant"
        if self.invalid or app.clock.now >= self.expires:
            return "invalid_grant"
        self.grant = Grant(app, self, self.merchant, self.scopes, app.clock.now + GRANT_S, app.clock.moment)
        app.grants.append(self.grant)
        return self.grant.issue(self.scopes)


@dataclass(eq=False)
class Grant:
    """A connection of a merchant to an application."""

    app: App
    code: Code
    merchant: Merchant
    scopes: Scopes
    expires: int
    made: float
    ended: float | None = None
    used: float | None = None
    current: "Tokens | None" = None
    grant_id: str = ""

    @property
    def mode(self) -> Mode:
        """The environment, which the request fixed."""
        return self.code.request.mode

    @property
    def lives(self) -> bool:
        """Whether it has neither ended nor expired."""
        return self.ended is None and self.app.clock.now < self.expires

    @property
    def status(self) -> str:
        """As lists show it."""
        return "revoked" if self.ended is not None else "active" if self.lives else "expired"

    def end(self) -> bool:
        """End it; whether it lived. What is over stays as it was."""
        lived = self.lives
        if lived:
            self.ended = self.app.clock.moment
        return lived

    def narrow(self, registered: Scopes) -> None:
        """Take what the application may not have any more; what is over stays as it was."""
        if not self.lives:
            return
        if not has_api(self.scopes & registered):
            self.end()
            return
        self.scopes &= registered
        if OFFLINE not in self.scopes:
            self.current = None

    def issue(self, scopes: Scopes) -> "Tokens":
        """A new access token, and the next refresh token if there is to be one."""
        tokens = Tokens(self, scopes, min(self.app.clock.now + ACCESS_S, self.expires))
        self.current = tokens if OFFLINE in scopes else None
        return tokens


@dataclass(eq=False)
class Tokens:
    """One answer of the token endpoint."""

    grant: Grant
    scopes: Scopes
    expires: int
    replaced: bool = False
    access_token: str = ""
    refresh_token: str | None = None

    def refresh(self, app: App, scopes: Scopes | None = None) -> "str | Tokens":
        """Refresh with it (with its access token, where there was no refresh token), perhaps to fewer scopes."""
        grant = self.grant
        if app.status == "revoked":
            return "invalid_client"
        if scopes is not None and not has_api(scopes):
            return "invalid_scope"
        if grant.app is not app or self.refresh_token is None:
            return "invalid_grant"
        if grant.lives and grant.current is self:
            if scopes is not None and not scopes <= grant.scopes:
                return "invalid_scope"
            self.replaced = True
            return grant.issue(grant.scopes if scopes is None else scopes)
        if self.replaced:
            grant.end()
        return "invalid_grant"

    def revoke(self, app: App) -> str:
        """Give the connection back by one of these tokens."""
        if app.status == "revoked":
            return "invalid_client"
        if self.grant.app is app:
            self.grant.end()
        return OK

    def call(self) -> str:
        """GET /account."""
        if not self.grant.lives or self.grant.app.clock.now >= self.expires:
            return "invalid_token"
        if self.grant.merchant.suspended:
            return "account_suspended"
        if "account:read" not in self.effective:
            return "missing_scope"
        clock = self.grant.app.clock
        if self.grant.used is None or clock.moment - self.grant.used >= ACTIVITY_S:
            self.grant.used = clock.moment
        return OK

    @property
    def effective(self) -> Scopes:
        """What the access token may do now."""
        return self.scopes & self.grant.scopes
