"""What can be done to the service and to the model at once, each time finding that both say the same."""

from typing import Any

from hypothesis.stateful import MultipleResults, RuleBasedStateMachine, multiple

from tests.model.comparing import same_account, same_application, same_connections, same_grants, same_tokens
from tests.model.reality import CALLBACK, STATE, Reality, Reply
from tests.model.world import MINUTE, OK, SCOPES, App, Clock, Code, Grant, Merchant, Mode, Request, Scopes, Tokens, in_order

CLIENTS = "/oauth/clients"
NOTHING: MultipleResults[Any] = multiple()
"""What a rule returns that made nothing new."""


class Steps(RuleBasedStateMachine):
    """The steps that rules are made of."""

    reality: Reality
    owners: tuple[Merchant, Merchant]
    merchants: tuple[Merchant, Merchant]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.registered: list[App] = []
        self.issued: list[Tokens] = []

    def teardown(self) -> None:
        """All tokens ever issued open what the model says, and refresh as the model says."""
        try:
            self.check_everything()
        finally:
            for merchant in self.merchants:
                self.suspend(merchant, suspended=False)
            self.reality.forget(self.registered)

    def check_everything(self) -> None:
        """Look at everything; the refresh tokens newest first, because looking at them uses them; then look again."""
        for tokens in self.issued:
            same_account(self.reality, tokens)
        for tokens in reversed(self.issued):
            self.refresh_with(tokens, tokens.grant.app)
        for app in self.registered:
            same_connections(self.reality, app)
        for merchant in self.merchants:
            same_grants(self.reality, merchant, self.registered)

    # Owners

    def register_app(self, owner: int, *, public: bool, scopes: Scopes) -> App:
        """Register an application."""
        app = App(self.owners[owner], public, scopes, self.clock)
        reply = self.reality.dashboard(app.owner, "POST", CLIENTS, _settings(public, scopes))
        assert reply.status == 201, reply.raw
        app.client_id, app.secret = reply.body["client_id"], reply.body.get("client_secret")
        assert (app.secret is None) == public
        self.registered.append(app)
        return app

    def first_app(self, *, public: bool) -> App:
        """The first application, whoever needs it first."""
        return self.registered[0] if self.registered else self.register_app(0, public=public, scopes=frozenset(SCOPES))

    def save(self, app: App, scopes: Scopes, version: int) -> None:
        """PUT of the settings."""
        body = _settings(app.public, scopes) | {"version": version}
        self._changed(app, app.save(scopes, version), "PUT", "", body)

    def switch(self, app: App, version: int, *, enabled: bool) -> None:
        """POST of the status."""
        outcome = app.switch(enabled=enabled, version=version)
        self._changed(app, outcome, "POST", "/status", {"enabled": enabled, "version": version})

    def rotate(self, app: App, version: int, *, revoke_grants: bool) -> None:
        """A new secret."""
        outcome = app.rotate(revoke_grants=revoke_grants, version=version)
        body = {"revoke_grants": revoke_grants, "version": version}
        reply = self._changed(app, outcome, "POST", "/rotate-secret", body)
        if outcome == OK:
            app.old_secret, app.secret = app.secret, reply.body["client_secret"]

    def revoke_for_ever(self, app: App) -> None:
        """DELETE of the registration."""
        self._changed(app, app.revoke(), "DELETE", "")

    def disconnect(self, grant: Grant) -> None:
        """The owner ends a connection."""
        app = self._identified(grant).app
        reply = self.reality.dashboard(app.owner, "DELETE", f"{CLIENTS}/{app.client_id}/connections/{grant.grant_id}")
        _disconnected(reply, app.disconnect([grant]))

    def disconnect_all(self, app: App) -> None:
        """The owner ends them all."""
        reply = self.reality.dashboard(app.owner, "DELETE", f"{CLIENTS}/{app.client_id}/connections")
        _disconnected(reply, app.disconnect_all())

    # Merchants and the operator

    def start(self, app: App, scopes: Scopes, mode: Mode) -> Any:
        """The application sends a merchant's browser: a request, unless it is refused."""
        outcome, reply = app.authorize(scopes, mode), self.reality.authorize(app, scopes, mode)
        assert reply.outcome == (outcome if isinstance(outcome, str) else OK)
        if isinstance(outcome, str):
            return NOTHING
        outcome.path = reply.headers["Location"]
        return outcome

    def allow(self, request: Request, who: int, ticked: Scopes) -> Any:
        """A merchant allows some of what is asked: a code, unless it is too late or too little."""
        merchant = self.merchants[who]
        if not self._has_form(request, merchant):
            return NOTHING
        outcome, reply = request.allow(merchant, ticked), self._answer(request, merchant, "allow", ticked)
        assert reply.outcome == (outcome if isinstance(outcome, str) else OK)
        if isinstance(outcome, str):
            return NOTHING
        assert (reply.query["state"], reply.query["iss"], reply.query["keep"]) == (STATE, self.reality.issuer, "1")
        outcome.text = reply.query["code"]
        return outcome

    def deny(self, request: Request, who: int) -> None:
        """A merchant wants none of it."""
        merchant = self.merchants[who]
        if self._has_form(request, merchant):
            assert self._answer(request, merchant, "deny", frozenset()).outcome == request.deny(merchant)

    def withdraw(self, grant: Grant, who: int) -> None:
        """A merchant ends a connection, if it is its own."""
        merchant = self.merchants[who]
        reply = self.reality.dashboard(merchant, "DELETE", f"/oauth/grants/{self._identified(grant).grant_id}")
        _disconnected(reply, int(grant.end()) if grant.merchant is merchant else "not_found")

    def suspend(self, merchant: Merchant, *, suspended: bool) -> None:
        """The operator suspends a merchant, or ends that."""
        if merchant.suspended != suspended:
            merchant.suspended = suspended
            self.reality.suspend(merchant, suspended=suspended)

    def wait(self, seconds: int) -> None:
        """Time passes."""
        self.clock.now += seconds
        self.reality.turn_clock(self.registered, seconds)

    def wait_for(self, deadline: int, when: str) -> None:
        """Let time pass until this deadline, or a minute before it, unless that is over."""
        seconds = deadline - self.clock.now - (0 if when == "at the deadline" else MINUTE)
        if when != "now" and seconds > 0:
            self.wait(seconds)

    # Applications

    def exchange(self, code: Code, app: App) -> Any:
        """Exchange a code, be it used, late, invalid or another application's: tokens, unless it is."""
        return self._answered(self.reality.exchange(app, code.text), code.exchange(app, proved=True))

    def exchange_wrongly(self, code: Code, wrong: dict[str, str]) -> None:
        """With another verifier, callback or code, which costs the code nothing."""
        app = code.request.app
        self._answered(self.reality.exchange(app, code.text, **wrong), code.exchange(app, proved=False))

    def refresh_with(self, tokens: Tokens, app: App, scopes: Scopes | None = None) -> Any:
        """Refresh: tokens, unless it is refused."""
        return self._answered(self.reality.refresh(app, tokens, scopes), tokens.refresh(app, scopes))

    def refresh_with_old_secret(self, tokens: Tokens) -> None:
        """A secret that was replaced is worth nothing."""
        app = tokens.grant.app
        if app.old_secret:
            assert self.reality.refresh(app, tokens, secret=app.old_secret).outcome == "invalid_client"

    def give_back(self, tokens: Tokens, token: str, app: App) -> None:
        """Revoke by one of the tokens."""
        assert self.reality.protocol("revoke", app, {"token": token}).outcome == tokens.revoke(app)

    # What the steps have in common

    def _changed(self, app: App, outcome: str, method: str, path: str, body: Any = None) -> Reply:
        reply = self.reality.dashboard(app.owner, method, f"{CLIENTS}/{app.client_id}{path}", body)
        assert reply.outcome == outcome
        if outcome == OK:
            same_application(reply.body, app)
        return reply

    def _has_form(self, request: Request, merchant: Merchant) -> bool:
        """Whether the merchant has the consent form, opened now or long ago."""
        if merchant not in request.forms:
            outcome, fields = self.reality.open(request.path, merchant)
            assert outcome == request.open(merchant)
            if outcome == OK:
                request.forms[merchant] = fields
        return merchant in request.forms

    def _answer(self, request: Request, merchant: Merchant, decision: str, ticked: Scopes) -> Reply:
        scopes = [("scope", scope) for scope in in_order(ticked)]
        return self.reality.decide(request.path, merchant, [*request.forms[merchant], *scopes, ("decision", decision)])

    def _answered(self, reply: Reply, outcome: str | Tokens) -> Any:
        assert reply.outcome == (outcome if isinstance(outcome, str) else OK)
        if isinstance(outcome, str):
            return NOTHING
        same_tokens(reply, outcome)
        self.issued.append(outcome)
        return outcome

    def _identified(self, grant: Grant) -> Grant:
        """The connection with its id, which the first look at it tells."""
        if not grant.grant_id:
            same_connections(self.reality, grant.app)
        return grant


def _settings(public: bool, scopes: Scopes) -> dict[str, Any]:
    kind = "public" if public else "confidential"
    return {"name": "N", "client_type": kind, "redirect_uris": [CALLBACK], "scopes": in_order(scopes)}


def _disconnected(reply: Reply, outcome: str | int) -> None:
    assert reply.outcome == (outcome if isinstance(outcome, str) else OK)
    if isinstance(outcome, int):
        assert reply.body == {"disconnected": outcome}
