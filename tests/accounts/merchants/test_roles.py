"""What each role may do: every operation of a session is allowed or refused as `docs/teams.md` says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests import roles_table
from tests.accounts.merchants.test_suspension import SIGNING_OUT
from tests.cast import Actor, Answer, application, consent, member, set_role, sign_up
from tests.running import Service
from tollhouse.accounts.identity.guards import SessionGuard
from tollhouse.http.operations import Operation
from tollhouse.instance.api import OPERATIONS
from tollhouse.kernel.roles import NAMES, Role
from tollhouse.kernel.scopes import API, PERMISSIONS

BY_SESSION = [operation for operation in OPERATIONS if isinstance(operation.guard, SessionGuard)]
SAID = roles_table.read(roles_table.PAGE.read_text())
WRITING = [permission.scope for permission in PERMISSIONS if permission.access == "write"]
READING = [permission.scope for permission in PERMISSIONS if permission.access == "read"]


@pytest.fixture(scope="module")
async def team(service: Service) -> AsyncIterator[dict[Role, Actor]]:
    """A merchant with a member of each role."""
    async with AsyncExitStack() as stack:
        owner = await stack.enter_async_context(sign_up(service, "olivia", "Olivia's Oranges"))
        members: dict[Role, Actor] = {"owner": owner}
        for role in NAMES:
            if role != "owner":
                members[role] = await stack.enter_async_context(member(owner, role))
        yield members


async def attempt(actor: Actor, operation: Operation, mode: str) -> Answer:
    """The operation with an empty body, on things that are not there."""
    path = operation.full_path.replace("{mode}", mode)
    for name in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", str(uuid4()))
    if operation.method == "GET":
        return await actor.send("GET", path)
    if operation.surface.name == "dashboard":
        return await actor.send(operation.method, path, json={})
    return await actor.form(path, {"amount": "1.00"})


def is_refused(answer: Answer) -> bool:
    """Whether the role is refused."""
    return answer.status == 403 and b"role_forbidden" in answer.raw


def permission_of(operation: Operation) -> str:
    """The permission that the operation names."""
    assert isinstance(operation.guard, SessionGuard)
    return operation.guard.permission


def test_the_page_has_the_present_table() -> None:
    text = roles_table.PAGE.read_text()
    assert text == roles_table.page(text), "run `just records`"


@pytest.mark.long
@pytest.mark.parametrize("role", list(NAMES))
async def test_every_operation_of_a_session(team: dict[Role, Actor], role: Role) -> None:
    """In the mode of its path. An operation of both modes needs the permission in live mode, or asks its object."""
    assert len(BY_SESSION) > 180
    for operation in BY_SESSION:
        mark = SAID[role, permission_of(operation)]
        modes = {"live": mark == "yes", "test": mark != ""} if "{mode}" in operation.path else {"": mark == "yes"}
        if isinstance(operation.guard, SessionGuard) and operation.guard.of_object:
            modes = {"": mark != ""}
        for mode, allowed in modes.items():
            answer = await attempt(team[role], operation, mode)
            assert answer.status < 500, (operation.name, answer.text)
            assert is_refused(answer) is not allowed, f"{operation.method} {operation.full_path} {mode}: {answer.text[:300]}"
            if f"{operation.method} {operation.full_path}" in SIGNING_OUT:
                await team[role].sign_in()


async def test_a_mode_before_a_page_of_both_modes_gives_nothing(team: dict[Role, Actor]) -> None:
    for mode in ("test", "live"):
        assert is_refused(await team["developer"].form(f"/{mode}/settings/business", {}))


async def test_the_error_says_which_role_may(team: dict[Role, Actor]) -> None:
    answer = await team["support"].dashboard("POST", "/api-keys", {"name": "x", "mode": "test"})
    body = answer.refused("role_forbidden", 403).body
    assert (body["role"], body["roles"]) == ("support", ["owner", "administrator", "developer"])
    assert body["error_description"] == (
        "Your role (Support) does not allow this. It needs: Owner, Administrator, Developer."
    )
    shown = await team["support"].send("GET", "/live/withdrawals/new", headers={"Accept": "text/html"})
    assert "It needs: Owner, Administrator, Finance." in shown.ok(403).text


async def test_no_key_may_more_than_its_maker(team: dict[Role, Actor]) -> None:
    developer = team["developer"]
    for scopes in ([scope] for scope in WRITING):
        body = {"name": "x", "mode": "live", "scopes": scopes}
        (await developer.dashboard("POST", "/api-keys", body)).refused("role_forbidden", 403)
        (await developer.dashboard("POST", "/api-keys", body | {"mode": "test"})).ok(201)
    (await developer.dashboard("POST", "/api-keys", {"name": "x", "mode": "live"})).refused("role_forbidden", 403)
    form = [("name", "x"), ("preset", "custom"), *(("scope", scope) for scope in WRITING)]
    assert is_refused(await developer.form("/live/developers/keys", form))
    made = (await developer.dashboard("POST", "/api-keys", {"name": "x", "mode": "live", "scopes": READING})).ok(201).body
    [row] = await developer.sql(
        "SELECT email FROM users u JOIN api_keys k ON k.created_by = u.id WHERE k.id = $1", UUID(made["api_key_id"])
    )
    assert row["email"] == developer.email
    assert set(API.names()) == {*READING, *WRITING}


async def test_no_application_may_more_than_its_maker(team: dict[Role, Actor]) -> None:
    developer, owner = team["developer"], team["owner"]
    app = await application(owner)
    path = f"/oauth/clients/{app.client_id}"
    settings = (await owner.dashboard("GET", path)).ok().body["client"]
    body = {
        name: settings[name]
        for name in ("name", "description", "website_url", "redirect_uris", "scopes", "version", "client_type")
    }
    for change in ({}, {"scopes": READING}, {"redirect_uris": ["https://evil.example/"]}):
        (await developer.dashboard("PUT", path, body | change)).refused("role_forbidden", 403)
    rotation = {"revoke_grants": False, "version": settings["version"]}
    (await developer.dashboard("POST", path + "/rotate-secret", rotation)).refused("role_forbidden", 403)
    new = {name: body[name] for name in ("name", "description", "website_url", "redirect_uris")}
    new |= {"client_type": "confidential"}
    (await developer.dashboard("POST", "/oauth/clients", new | {"scopes": WRITING})).refused("role_forbidden", 403)
    made = (await developer.dashboard("POST", "/oauth/clients", new | {"scopes": READING})).ok(201).body
    (await developer.dashboard("DELETE", f"/oauth/clients/{made['client_id']}")).ok()


async def test_no_connection_may_more_than_who_gives_it(team: dict[Role, Actor], bob: Actor) -> None:
    app = await application(bob)
    tries: list[tuple[Role, str, str, bool]] = [
        ("developer", "payments:write", "live", False),
        ("developer", "payments:read", "live", True),
        ("developer", "payments:write", "test", True),
        ("finance", "withdrawals:write", "live", True),
        ("finance", "webhooks:write", "live", False),
        ("support", "payments:read", "test", False),
        ("read_only", "payments:read", "test", False),
    ]
    for role, scope, mode, allowed in tries:
        actor = team[role]
        started = (await actor.send("GET", app.authorize_path(scope, mode=mode))).ok(303)
        answer = await consent(actor, started.location, [scope])
        assert (answer.status == 303) is allowed, (role, scope, answer.text[:300])
        assert is_refused(answer) is not allowed
    given = await app.connect(team["owner"], "payments:write account:read", mode="live")
    grant = (await app.api(given["access_token"], "GET", "/account")).ok().body["oauth_grant_id"]
    limits = [{"kind": "refunds", "currency": "EUR", "per_day": "5.00"}]
    path = f"/oauth/grants/{grant}"
    (await team["developer"].dashboard("PATCH", path, {"limits": limits, "proposals_only": True})).ok()
    (await team["developer"].dashboard("PATCH", path, {"limits": []})).refused("role_forbidden", 403)
    (await team["developer"].dashboard("PATCH", path, {"proposals_only": False})).refused("role_forbidden", 403)
    (await team["finance"].dashboard("PATCH", path, {"limits": [], "proposals_only": False})).ok()
    (await team["developer"].dashboard("DELETE", path)).ok()


async def test_an_open_form_is_refused_after_a_change_of_the_role(alice: Actor) -> None:
    async with member(alice, "finance") as fred:
        (await fred.send("GET", "/test/payment-links/new")).ok()
        await set_role(fred, "read_only")
        assert is_refused(await fred.form("/test/payment-links/new", {"amount": "1.00", "currency": "EUR"}))
        await set_role(fred, "support")
        assert (await fred.send("GET", "/test/payment-links/new")).status == 200


@pytest.mark.parametrize("removed", [False, True], ids=["changed", "removed"])
async def test_who_is_changed_while_it_acts_is_refused(alice: Actor, *, removed: bool) -> None:
    """The change is committed after the guard has admitted the request, and before its transaction."""
    async with member(alice, "developer") as dan:
        connection = await asyncpg.connect(alice.service.dsn)
        try:
            transaction = connection.transaction()
            await transaction.start()
            change = "removed_at = now()" if removed else "role = 'support'"
            await connection.execute(
                f"UPDATE members SET {change} WHERE role = 'developer' AND merchant_id = $1",  # noqa: S608
                UUID(alice.merchant_id),
            )
            making = asyncio.create_task(dan.dashboard("POST", "/api-keys", {"name": "late", "mode": "test"}))
            await _is_waiting(alice)
            await transaction.commit()
        finally:
            await connection.close()
        answer = await making
        if removed:
            answer.refused("authentication_required", 401)
        else:
            answer.refused("role_forbidden", 403)
        assert (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"] == []


async def _is_waiting(actor: Actor) -> None:
    """Until a request waits for the row of a member."""
    waiting = "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FROM members%'"
    while (await actor.sql(waiting))[0]["n"] == 0:
        await asyncio.sleep(0.01)
