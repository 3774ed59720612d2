"""Whatever ends a connection or key, takes its permission or suspends somebody cancels what waits, and it stays so."""

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from tests.cast import suspend
from tests.oauth.test_suspended import EACH_WAY
from tests.payments.bank import purse
from tests.payments.proposals.desk import WITHDRAWAL, Desk
from tollhouse.http.services import Services
from tollhouse.payments.proposals import jobs

Ending = Callable[[Desk], Awaitable[object]]


async def by_merchant(desk: Desk) -> None:
    (await desk.merchant.dashboard("DELETE", f"/oauth/grants/{(await desk.grant())['grant_id']}")).ok()


async def by_stopping_everything(desk: Desk) -> None:
    (await desk.merchant.dashboard("POST", "/stop-everything", {"mode": "test"})).ok()
    desk.merchant.keys.clear()


async def by_owner(desk: Desk) -> None:
    path = f"/oauth/clients/{desk.app.client_id}/connections/{(await desk.grant())['grant_id']}"
    (await desk.app.owner.dashboard("DELETE", path)).ok()


async def by_owner_of_all(desk: Desk) -> None:
    (await desk.app.owner.dashboard("DELETE", f"/oauth/clients/{desk.app.client_id}/connections")).ok()


async def by_pause(desk: Desk) -> None:
    path = f"/oauth/clients/{desk.app.client_id}/status"
    (await desk.app.owner.dashboard("POST", path, {"enabled": False, "version": await desk.version()})).ok()
    (await desk.app.owner.dashboard("POST", path, {"enabled": True, "version": await desk.version()})).ok()


async def by_revocation(desk: Desk) -> None:
    (await desk.app.owner.dashboard("DELETE", f"/oauth/clients/{desk.app.client_id}")).ok()


async def by_rotation(desk: Desk) -> None:
    body = {"revoke_grants": True, "version": await desk.version()}
    (await desk.app.owner.dashboard("POST", f"/oauth/clients/{desk.app.client_id}/rotate-secret", body)).ok()


async def by_token_revocation(desk: Desk) -> None:
    (await desk.app.revoke(desk.tokens["access_token"])).ok()


async def by_replay(desk: Desk) -> None:
    (await desk.app.refresh(desk.tokens["refresh_token"])).ok()
    (await desk.app.refresh(desk.tokens["refresh_token"])).refused("invalid_grant")


async def by_time(desk: Desk) -> None:
    await desk.merchant.sql(
        "UPDATE oauth_grants SET expires_at = now() - interval '1 s' WHERE client_id = $1", desk.app.client_id
    )


async def by_scope(desk: Desk) -> None:
    path = f"/oauth/clients/{desk.app.client_id}"
    shown = (await desk.app.owner.dashboard("GET", path)).ok().body["client"]
    settings = {name: shown[name] for name in ("name", "client_type", "description", "website_url", "redirect_uris")}
    all_scopes = shown["scopes"]
    fewer = [scope for scope in all_scopes if scope != "withdrawals:write"]
    body = settings | {"scopes": fewer, "version": shown["version"]}
    (await desk.app.owner.dashboard("PUT", path, body)).ok()
    again = settings | {"scopes": all_scopes, "version": await desk.version()}
    (await desk.app.owner.dashboard("PUT", path, again)).ok()


WAYS: list[Ending] = [
    by_merchant, by_stopping_everything, by_owner, by_owner_of_all, by_pause, by_revocation, by_rotation,
    by_token_revocation, by_replay, by_time, by_scope,
]  # fmt: skip


@pytest.mark.parametrize("end", WAYS, ids=lambda way: way.__name__)
async def test_the_end_of_a_connection_cancels_what_waits(desk: Desk, services: Services, end: Ending) -> None:
    proposal = await desk.propose()
    await end(desk)
    assert (await desk.seen(proposal))["status"] == "canceled"
    refused = (await desk.decide(proposal)).refused("invalid_state", 409)
    assert refused.body["details"] == {"status": "canceled"}
    (await desk.decide(proposal, "reject")).refused("invalid_state", 409)
    await jobs.store_ended(services)
    [row] = await desk.merchant.sql("SELECT status FROM proposals WHERE id = $1::uuid", proposal["id"])
    assert row["status"] == "canceled"
    assert await purse(desk.merchant) == (10_000, 0, 0)


@EACH_WAY
async def test_a_suspension_of_the_application_or_its_owner_cancels_for_good(
    desk: Desk, suspend: str, reactivate: str
) -> None:
    proposal = await desk.propose()
    await desk.merchant.sql(suspend, desk.app.client_id)
    assert (await desk.seen(proposal))["status"] == "canceled"
    await desk.merchant.sql(reactivate, desk.app.client_id)
    assert (await desk.read(proposal))["status"] == "canceled"
    (await desk.decide(proposal)).refused("invalid_state", 409)


async def test_a_suspension_of_the_merchant_cancels_for_good(desk: Desk) -> None:
    proposal = await desk.propose()
    by_key = (await desk.merchant.post("/proposals", {"operation": "withdrawals", "body": WITHDRAWAL}, key="1")).ok(201).body
    await suspend(desk.merchant)
    await suspend(desk.merchant, suspended=False)
    for canceled in (proposal, by_key):
        assert (await desk.seen(canceled))["status"] == "canceled"
        (await desk.decide(canceled)).refused("invalid_state", 409)


async def test_the_revocation_of_a_key_cancels_its_own(desk: Desk) -> None:
    of_connection = await desk.propose()
    by_key = (await desk.merchant.post("/proposals", {"operation": "withdrawals", "body": WITHDRAWAL}, key="1")).ok(201).body
    for key in (await desk.merchant.dashboard("GET", "/api-keys")).ok().body["api_keys"]:
        (await desk.merchant.dashboard("DELETE", f"/api-keys/{key['api_key_id']}")).ok()
    assert (await desk.seen(by_key))["status"] == "canceled"
    (await desk.decide(by_key)).refused("invalid_state", 409)
    (await desk.decide(of_connection)).ok()


async def by_narrowing(desk: Desk) -> None:
    grant = await desk.grant()
    scopes = [scope for scope in grant["scopes"] if scope != "account:read"]
    (await desk.merchant.dashboard("PATCH", f"/oauth/grants/{grant['grant_id']}", {"scopes": scopes})).ok()


@pytest.mark.parametrize("narrow", [by_scope, by_narrowing], ids=lambda way: way.__name__)
async def test_narrowing_a_connection_cancels_all_that_waits_of_it(desk: Desk, narrow: Ending) -> None:
    before = await desk.propose("conversions")
    by_key = (await desk.merchant.post("/proposals", {"operation": "withdrawals", "body": WITHDRAWAL}, key="1")).ok(201).body
    await narrow(desk)
    assert (await desk.read(before))["status"] == "canceled"
    (await desk.decide(before)).refused("invalid_state", 409)
    assert (await desk.decide(by_key)).ok().body["status"] == "approved"
    after = await desk.propose("conversions")
    (await desk.merchant.dashboard("PATCH", f"/oauth/grants/{(await desk.grant())['grant_id']}", {"limits": []})).ok()
    assert (await desk.decide(after)).ok().body["status"] == "approved"


@pytest.mark.parametrize(
    "change",
    [
        "body = '{}'", "amount_minor = 1", "operation = 'refunds'", "expires_at = expires_at + interval '1 d'",
        "grant_id = gen_random_uuid()", "status = 'approved', ended_at = now(), decided_by = gen_random_uuid()",
        "status = 'rejected'", "status = 'failed', ended_at = now(), decided_by = gen_random_uuid()",
    ],
)  # fmt: skip
async def test_the_database_keeps_a_proposal_as_it_was_made(desk: Desk, change: str) -> None:
    proposal = await desk.propose()
    with pytest.raises(asyncpg.CheckViolationError):
        await desk.merchant.sql(f"UPDATE proposals SET {change} WHERE id = $1::uuid", proposal["id"])  # noqa: S608


async def test_the_database_approves_nothing_of_an_ended_connection(desk: Desk) -> None:
    proposal = await desk.propose()
    await by_merchant(desk)
    with pytest.raises(asyncpg.CheckViolationError, match="has ended"):
        await desk.merchant.sql(
            "UPDATE proposals SET status = 'approved', ended_at = now(), decided_by = gen_random_uuid(),"
            " result_id = gen_random_uuid() WHERE id = $1::uuid",
            proposal["id"],
        )


async def test_the_database_takes_no_proposal_by_somebody_elses_connection(desk: Desk) -> None:
    proposal = await desk.propose()
    with pytest.raises(asyncpg.CheckViolationError):
        await desk.merchant.sql(
            "INSERT INTO proposals (id, merchant_id, mode, grant_id, operation, body, currency, created_at, expires_at)"
            " SELECT gen_random_uuid(), merchant_id, 'live', grant_id, operation, body, currency, created_at, expires_at"
            " FROM proposals WHERE id = $1::uuid",
            proposal["id"],
        )
