"""The records that the service shows, beside what the model says of the same things."""

from datetime import datetime
from typing import Any

from tests.model.reality import Reality, Reply
from tests.model.world import GRANT_S, MINUTE, OK, App, Clock, Grant, Merchant, Tokens, in_order

TOLERANCE_S = 20
"""Between our look at the clock and the service's, on a machine that is busy."""


def same_moment(shown: str | None, expected: float | None, clock: Clock) -> None:
    """A stamp stands for the moment the model knows, turned back with everything else."""
    if shown is None or expected is None:
        assert (shown, expected) == (None, None)
        return
    difference_s = datetime.fromisoformat(shown).timestamp() + clock.now - expected
    assert abs(difference_s) < TOLERANCE_S, f"{shown} is {difference_s} s beside what was expected"


def same_application(shown: dict[str, Any], app: App) -> None:
    """The record of an application."""
    used = [grant.used for grant in app.grants if grant.used is not None]
    assert {name: shown[name] for name in ("client_id", "status", "version", "scopes", "active_connections")} == {
        "client_id": app.client_id,
        "status": app.status,
        "version": app.version,
        "scopes": in_order(app.scopes),
        "active_connections": app.active,
    }
    assert (shown["revoked_at"] is None) == (app.status != "revoked")
    same_moment(shown["last_used_at"], max(used, default=None), app.clock)


def same_grant(shown: dict[str, Any], grant: Grant) -> None:
    """The record of a connection, as either side sees it. The model learns its id from the first look."""
    grant.grant_id = grant.grant_id or shown["grant_id"]
    assert {name: shown[name] for name in ("grant_id", "status", "scopes", "mode", "livemode")} == {
        "grant_id": grant.grant_id,
        "status": grant.status,
        "scopes": in_order(grant.scopes),
        "mode": grant.mode,
        "livemode": grant.mode == "live",
    }
    clock = grant.app.clock
    same_moment(shown["created_at"], grant.made, clock)
    same_moment(shown["expires_at"], grant.made + GRANT_S, clock)
    same_moment(shown["revoked_at"], grant.ended, clock)
    same_moment(shown["last_used_at"], grant.used, clock)


def same_connections(reality: Reality, app: App) -> None:
    """The application and its connections, as the owner sees them."""
    path = f"/oauth/clients/{app.client_id}"
    same_application(reality.dashboard(app.owner, "GET", path).body["client"], app)
    listed = reality.dashboard(app.owner, "GET", f"{path}/connections").body
    assert listed["has_more"] is False
    connections = listed["connections"]
    assert len(connections) == len(app.grants)
    for shown, grant in zip(connections, reversed(app.grants), strict=True):
        same_grant(shown, grant)
        assert shown["merchant_id"] == grant.merchant.merchant_id


def same_grants(reality: Reality, merchant: Merchant, apps: list[App]) -> None:
    """What the merchant has granted, as it sees it."""
    granted = [grant for app in apps for grant in app.grants if grant.merchant is merchant]
    shown = reality.dashboard(merchant, "GET", "/oauth/grants").body["grants"]
    assert len(shown) == len(granted)
    for grant, one in zip(sorted(granted, key=lambda grant: -grant.made), shown, strict=True):
        same_grant(one, grant)
        assert one["client_id"] == grant.app.client_id
        assert one["application"]["status"] == grant.app.status


def same_tokens(reply: Reply, tokens: Tokens) -> None:
    """A token response; the model learns the tokens from it."""
    body = reply.body
    assert reply.status == 200
    assert body["token_type"] == "Bearer"  # noqa: S105
    assert body["scope"].split(" ") == in_order(tokens.scopes)
    left = tokens.expires - tokens.grant.app.clock.now
    assert left - MINUTE < body["expires_in"] <= left
    assert ("refresh_token" in body) == (tokens.grant.current is tokens)
    tokens.access_token, tokens.refresh_token = body["access_token"], body.get("refresh_token")


def same_account(reality: Reality, tokens: Tokens) -> None:
    """What the access token opens."""
    reply = reality.account(tokens.access_token)
    outcome = tokens.call()
    assert reply.outcome == outcome
    if outcome != OK:
        return
    grant = tokens.grant
    grant.grant_id = grant.grant_id or reply.body["oauth_grant_id"]
    assert {name: reply.body[name] for name in ("merchant_id", "mode", "scopes", "oauth_client_id", "oauth_grant_id")} == {
        "merchant_id": grant.merchant.merchant_id,
        "mode": grant.mode,
        "scopes": in_order(tokens.effective),
        "oauth_client_id": grant.app.client_id,
        "oauth_grant_id": grant.grant_id,
    }
