"""Connections for `/mcp`: their tokens open nothing else, and what they may not do, the merchant can be asked for."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor, Application, application
from tests.mcp.agent import Agent, Result, with_key, with_token
from tests.oauth.signatures import Signer
from tests.oauth.test_dpop import exchange
from tests.payments.shop import COFFEE
from tests.transfers.withdrawals.steps import TO_NINA
from tollhouse.accounts.identity.guards import SpendingGuard
from tollhouse.instance.api import OPERATIONS

ACT = {"operation": "open_link", "body": COFFEE, "idempotency_key": "k"}
STARTS_WITH = "SELECT mode, resource, proposals_only FROM oauth_grants WHERE client_id = $1 ORDER BY created_at"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's agent."""
    return await application(bob)


async def test_tokens_of_the_api_do_not_open_it_nor_its_tokens_the_api(app: Application, alice: Actor) -> None:
    agent = await with_token(app, alice, "account:read payments:read")
    account = (await agent.read("account")).data
    assert account["oauth_client_id"] == app.client_id
    assert account["scopes"] == ["account:read", "payments:read"]
    token = agent.credential["Authorization"].removeprefix("Bearer ")
    refused = (await app.api(token, "GET", "/account")).refused("invalid_token", 401)
    assert f'resource_metadata="{alice.service.url}/.well-known/' in refused.headers["WWW-Authenticate"]
    other = (await app.connect(alice, "account:read"))["access_token"]
    (await app.api(other, "GET", "/account")).ok()
    refused = (await Agent(alice, {"Authorization": f"Bearer {other}"}).message("tools/list")).refused("invalid_token", 401)
    url = f"{alice.service.url}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{url}"' in refused.headers["WWW-Authenticate"]
    metadata = (await alice.anonymously("GET", "/.well-known/oauth-protected-resource/mcp")).ok().body
    assert metadata["resource"] == f"{alice.service.url}/mcp"


async def test_a_bound_token_proves_its_key_to_the_server_alone(app: Application, alice: Actor) -> None:
    signer, url = Signer(), f"{alice.service.url}/mcp"
    code = await app.code(alice, "account:read payments:read", resource=url)
    token = (await exchange(app, signer, code)).ok().body["access_token"]
    call: dict[str, Any] = {"name": "read", "arguments": {"operation": "list_links"}}
    agent = Agent(alice, {"Authorization": f"DPoP {token}"})
    for _ in range(2):
        assert (
            Result(await agent.message("tools/call", call, DPoP=signer.proof("POST", url, token))).data["payment_links"]
            == []
        )
    made = signer.proof("POST", url, token)
    (await agent.message("tools/call", call, DPoP=made)).ok()
    (await agent.message("tools/call", call, DPoP=made)).refused("invalid_dpop_proof", 401)
    (await agent.message("tools/call", call)).refused("invalid_dpop_proof", 401)
    inner = signer.proof("GET", f"{alice.service.url}/api/v2/integration/payment-links", token)
    (await agent.message("tools/call", call, DPoP=inner)).refused("invalid_dpop_proof", 401)
    bearer = Agent(alice, {"Authorization": f"Bearer {token}"})
    (await bearer.message("tools/call", call, DPoP=signer.proof("POST", url, token))).refused("invalid_token", 401)


async def test_a_token_without_the_scope_is_sent_to_the_merchant(app: Application, alice: Actor) -> None:
    """The client of a token gets the challenge as the response, so that it can ask for more; a key has nobody to ask."""
    agent = await with_token(app, alice, "payments:read")
    assert (await agent.read("list_links")).data["payment_links"] == []
    answer = await agent.message("tools/call", {"name": "act", "arguments": ACT})
    answer.refused("missing_scope", 403)
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    assert 'scope="payments:write"' in answer.headers["WWW-Authenticate"]
    answer = await agent.message("tools/call", {"name": "read", "arguments": {"operation": "list_methods"}})
    assert 'scope="projects:read settings:read"' in answer.refused("missing_scope", 403).headers["WWW-Authenticate"]
    (await (await with_key(alice, "payments:read")).tool("act", **ACT)).refused("missing_scope")


async def test_an_ended_connection_ends_its_agent(app: Application, alice: Actor) -> None:
    agent = await with_token(app, alice, "payments:read")
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()
    (await agent.message("tools/call", {"name": "read", "arguments": {"operation": "list_links"}})).refused(
        "invalid_token", 401
    )


async def test_live_connections_start_with_proposals(app: Application, alice: Actor) -> None:
    """For `/mcp`, until the merchant decides otherwise; others do not."""
    api: dict[str, Any] = {"resource": f"{alice.service.url}/api/v2/integration"}
    await with_token(app, alice, "withdrawals:write")
    await with_token(app, alice, "withdrawals:write", mode="live")
    await app.connect(alice, "withdrawals:write", mode="live", **api)
    rows = await alice.sql(STARTS_WITH, app.client_id)
    assert [tuple(row.values()) for row in rows] == [("test", "mcp", False), ("live", "mcp", True), ("live", "api", False)]


async def test_no_live_agent_moves_money_by_itself(app: Application, alice: Actor) -> None:
    """Nor with a live API key, which has no consent page."""
    spending = [operation for operation in OPERATIONS if isinstance(operation.guard, SpendingGuard)]
    assert {operation.handler.__name__ for operation in spending} >= {
        "request_withdrawal",
        "convert",
        "make_balance_payment",
    }
    agents = (
        await with_token(app, alice, "withdrawals:write conversions:write fulfillments:write payments:write", mode="live"),
        await with_key(alice, mode="live"),
    )
    for operation in spending:
        if "balance-payments" in operation.guard.label:
            continue
        names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
        sent = {"operation": operation.handler.__name__, "parameters": dict.fromkeys(names, str(uuid4()))}
        for agent in agents:
            (await agent.tool("act", **sent, body={}, idempotency_key="k")).refused("proposal_required")


async def test_the_merchant_approves_what_an_agent_proposes(app: Application, alice: Actor) -> None:
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "100.00"})).ok(201)
    agent = await with_token(app, alice, "withdrawals:read withdrawals:write")
    sent = {"operation": "withdrawals", "body": TO_NINA, "idempotency_key": "payday-1"}
    made = await asyncio.gather(*(agent.tool("propose", **sent) for _ in range(5)))
    assert len({result.data["id"] for result in made}) == 1
    proposal = made[0].data
    assert proposal["status"] == "waiting"
    assert (await agent.read("list_withdrawals")).data["withdrawals"] == []
    (await alice.dashboard("POST", f"/proposals/{proposal['id']}/approve")).ok()
    assert (await agent.read("read_proposal", proposal_id=proposal["id"])).data["status"] == "approved"
    [withdrawal] = (await agent.read("list_withdrawals")).data["withdrawals"]
    assert withdrawal["amount"] == TO_NINA["amount"]
    webhook = TO_NINA | {"webhook_url": "https://evil.example/steal"}
    sent = {"operation": "withdrawals", "body": webhook, "idempotency_key": "payday-2"}
    (await agent.tool("propose", **sent)).refused("invalid_arguments")
    (await agent.tool("propose", operation="settings", body={}, idempotency_key="k")).refused("invalid_arguments")
    refunds = {"operation": "refunds", "body": {"transaction_id": str(uuid4()), "amount": "1.00"}, "idempotency_key": "k"}
    answer = await agent.message("tools/call", {"name": "propose", "arguments": refunds})
    answer.refused("missing_scope", 403)
