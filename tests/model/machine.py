"""The state machine: each rule does one thing to the service and to the model, and both must say the same.

Rules are chosen evenly, so what ends or only manages things is gathered into few of them; else no history gets far.
"""

from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, precondition, rule

from tests.model.comparing import same_account, same_connections, same_grants
from tests.model.reality import CALLBACK
from tests.model.steps import NOTHING, Steps
from tests.model.world import (
    ACCESS_S,
    API,
    CODE_S,
    GRANT_S,
    MINUTE,
    OFFLINE,
    REQUEST_S,
    SCOPES,
    App,
    Code,
    Mode,
    Request,
    Scopes,
    Tokens,
    has_api,
)

APPS_MAX = 4
ALL, FEW = frozenset(SCOPES), frozenset((API[0], OFFLINE))
SOME = st.sets(st.sampled_from(SCOPES)).map(frozenset)
USUAL = st.one_of(st.just(ALL), st.just(ALL), st.just(FEW), SOME.filter(has_api))
MODES = st.sampled_from(("live", "test"))
PEOPLE = st.sampled_from((0, 0, 0, 1))
"""Mostly the first one, so that its connections meet."""

CHANGES = ("resume",) * 3 + ("rotate",) * 2 + ("rotate, ending all", "pause", "disconnect all", "revoke for ever")
STALE = st.sampled_from((0, 0, 0, 0, -1, 1))
"""What is added to the version that is sent."""

ENDS = ("by access token", "by refresh token", "by another application", "by the owner", "by a merchant", "by a merchant")
WRONG: tuple[dict[str, str], ...] = (
    {"code_verifier": "b" * 43},
    {"redirect_uri": CALLBACK + "&x=1"},
    {"code": "thac_" + "0" * 49},
)
SPANS = (MINUTE, MINUTE, CODE_S, REQUEST_S, ACCESS_S - MINUTE, GRANT_S // 2, GRANT_S - ACCESS_S)
"""Whole minutes, as all lifetimes are: a deadline is met exactly or missed by a minute, and a history takes less."""

SUSPENSIONS = ("suspend", "reactivate") * 3
DEADLINE = ("a minute before the deadline", "at the deadline")
SELDOM_LATE, OFTEN_LATE = st.sampled_from(("now",) * 10 + DEADLINE), st.sampled_from(("now",) * 3 + DEADLINE)


class Machine(Steps):
    """Histories of the connections between two merchants and the applications of two owners."""

    apps = Bundle[App]("apps")
    requests = Bundle[Request]("requests")
    codes = Bundle[Code]("codes")
    tokens = Bundle[Tokens]("tokens")

    # What there is

    @initialize(target=apps, public=st.booleans())
    def begin(self, public: bool) -> App:
        """There is an application."""
        return self.first_app(public=public)

    @initialize(target=tokens, public=st.booleans(), ticked=USUAL)
    def begin_connected(self, public: bool, ticked: Scopes) -> Any:
        """It is connected."""
        app = self.first_app(public=public)
        return self.exchange(self.allow(self.start(app, ALL, "test"), 0, ticked), app)

    @precondition(lambda self: len(cast("Machine", self).registered) < APPS_MAX)
    @rule(target=apps, owner=PEOPLE, public=st.booleans(), scopes=USUAL)
    def register(self, owner: int, public: bool, scopes: Scopes) -> Any:
        """An owner registers one more."""
        return self.register_app(owner, public=public, scopes=scopes)

    @rule(tokens=tokens, scopes=USUAL, late=STALE, and_back=st.booleans())
    def change(self, tokens: Tokens, scopes: Scopes, late: int, and_back: bool) -> None:
        """The owner saves the settings of an application that is connected, and perhaps those of before again."""
        app = tokens.grant.app
        before = app.scopes
        self.save(app, scopes, max(app.version + late, 1))
        if and_back:
            self.save(app, before, app.version)

    @rule(app=apps, what=st.sampled_from(CHANGES), late=STALE)
    def administer(self, app: App, what: str, late: int) -> None:
        """The owner does something else with an application."""
        version = max(app.version + late, 1)
        match what:
            case "pause" | "resume":
                self.switch(app, version, enabled=what == "resume")
            case "rotate" | "rotate, ending all":
                self.rotate(app, version, revoke_grants=what != "rotate")
            case "disconnect all":
                self.disconnect_all(app)
            case _:
                self.revoke_for_ever(app)

    # Authorizations

    @rule(target=requests, app=apps, scopes=USUAL, mode=MODES)
    def authorize(self, app: App, scopes: Scopes, mode: Mode) -> Any:
        """An application sends a merchant."""
        return self.start(app, scopes, mode)

    @rule(target=codes, request=requests, who=PEOPLE, ticked=st.one_of(USUAL, SOME), when=SELDOM_LATE)
    def consent(self, request: Request, who: int, ticked: Scopes, when: str) -> Any:
        """A merchant allows some of what is asked."""
        self.wait_for(request.expires, when)
        return self.allow(request, who, ticked)

    @rule(request=requests, who=PEOPLE)
    def refuse(self, request: Request, who: int) -> None:
        """A merchant denies."""
        self.deny(request, who)

    @rule(target=codes, app=apps, who=PEOPLE, scopes=USUAL, ticked=USUAL, mode=MODES)
    def invite(self, app: App, who: int, scopes: Scopes, ticked: Scopes, mode: Mode) -> Any:
        """An application sends a merchant, who allows."""
        request = self.start(app, scopes, mode)
        return self.allow(request, who, ticked) if isinstance(request, Request) else NOTHING

    @rule(target=tokens, app=apps, who=PEOPLE, scopes=USUAL, ticked=USUAL, mode=MODES)
    def connect(self, app: App, who: int, scopes: Scopes, ticked: Scopes, mode: Mode) -> Any:
        """The whole way."""
        code = self.invite(app, who, scopes, ticked, mode)
        return self.exchange(code, app) if isinstance(code, Code) else NOTHING

    # Tokens

    @rule(target=tokens, code=codes, when=OFTEN_LATE)
    def redeem(self, code: Code, when: str) -> Any:
        """The application exchanges a code, be it used, late or invalid."""
        self.wait_for(code.expires, when)
        return self.exchange(code, code.request.app)

    @rule(code=codes, app=apps, wrong=st.sampled_from((*WRONG, None)))
    def redeem_wrongly(self, code: Code, app: App, wrong: dict[str, str] | None) -> None:
        """With a wrong proof, or by another application."""
        if wrong:
            self.exchange_wrongly(code, wrong)
        elif app is not code.request.app:
            self.exchange(code, app)

    @rule(tokens=tokens, app=apps, wrong=st.sampled_from((*WRONG, None)))
    def replay(self, tokens: Tokens, app: App, wrong: dict[str, str] | None) -> None:
        """The code of a connection once more, with a wrong proof, by another application, or rightly."""
        if wrong:
            self.exchange_wrongly(tokens.grant.code, wrong)
        else:
            self.exchange(tokens.grant.code, app)

    @rule(target=tokens, tokens=tokens, when=SELDOM_LATE)
    def refresh(self, tokens: Tokens, when: str) -> Any:
        """With the current refresh token of a connection, if there is one."""
        self.wait_for(tokens.grant.expires, when)
        return self.refresh_with(tokens.grant.current or tokens, tokens.grant.app)

    @rule(target=tokens, tokens=tokens, scopes=st.one_of(USUAL, SOME.filter(bool)))
    def refresh_for_less(self, tokens: Tokens, scopes: Scopes) -> Any:
        """With the current refresh token, for some scopes."""
        return self.refresh_with(tokens.grant.current or tokens, tokens.grant.app, scopes)

    @rule(target=tokens, tokens=tokens)
    def refresh_with_any(self, tokens: Tokens) -> Any:
        """With a refresh token that may have been replaced."""
        return self.refresh_with(tokens, tokens.grant.app)

    @rule(tokens=tokens, app=apps)
    def refresh_wrongly(self, tokens: Tokens, app: App) -> None:
        """By another application, or with the secret of before."""
        if app is tokens.grant.app:
            self.refresh_with_old_secret(tokens)
        else:
            self.refresh_with(tokens, app)

    @rule(tokens=tokens, when=OFTEN_LATE)
    def call(self, tokens: Tokens, when: str) -> None:
        """GET /account with an access token, whatever became of it."""
        newest = tokens.grant.current
        if newest is not None and when != "now":
            tokens = newest
        self.wait_for(tokens.expires, when)
        same_account(self.reality, tokens)

    @rule(tokens=tokens, how=st.sampled_from(ENDS), app=apps, who=PEOPLE)
    def end(self, tokens: Tokens, how: str, app: App, who: int) -> None:
        """Somebody ends one connection, or tries to."""
        match how:
            case "by access token":
                self.give_back(tokens, tokens.access_token, tokens.grant.app)
            case "by refresh token":
                self.give_back(tokens, tokens.refresh_token or tokens.access_token, tokens.grant.app)
            case "by another application":
                self.give_back(tokens, tokens.refresh_token or tokens.access_token, app)
            case "by the owner":
                self.disconnect(tokens.grant)
            case _:
                self.withdraw(tokens.grant, who)

    # Time and people

    @rule(what=st.sampled_from(SPANS + SUSPENSIONS), who=PEOPLE)
    def meanwhile(self, what: int | str, who: int) -> None:
        """Time passes, or the operator suspends a merchant, or ends that."""
        if isinstance(what, int):
            self.wait(what)
        else:
            self.suspend(self.merchants[who], suspended=what == "suspend")

    @rule(app=apps, who=PEOPLE)
    def look(self, app: App, who: int) -> None:
        """Both sides look at their lists."""
        same_connections(self.reality, app)
        same_grants(self.reality, self.merchants[who], self.registered)
